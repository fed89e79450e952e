"""The error type of the partition package; and how a text is shown on a terminal."""


class PartitionError(ValueError):
    """Invalid partitioning input: the message gives the quantity, its value, what is allowed and the remedy."""


def printable(text: str) -> str:
    """A text for a terminal: control characters, such as those of escape sequences, and all else that cannot be printed
    are spelt as in a Python string; line ends and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
