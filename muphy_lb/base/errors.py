"""The errors of muphy_lb, each with the exit code of the command line; and how a text is shown on a terminal."""


class MuphyError(Exception):
    """Base class of all errors that are reported to the user in one message."""

    exit_code = 1


class InputError(MuphyError):
    """Invalid input: the message gives the quantity, its value, what is allowed and the remedy."""

    exit_code = 2


class DivergedError(MuphyError):
    """The simulation diverged: a value is not finite or the Mach number exceeded its limit."""

    exit_code = 3


class OutputError(MuphyError):
    """An output cannot be written."""

    exit_code = 4


class BackendError(MuphyError):
    """The selected backend cannot run on this machine: no GPU, no toolkit, not enough memory."""

    exit_code = 5


def printable(text: str) -> str:
    """A text for a terminal: control characters, such as those of escape sequences, and all else that cannot be printed
    are spelt as in a Python string; line ends and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
