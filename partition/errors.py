"""The error type of the partition package."""


class PartitionError(ValueError):
    """Invalid partitioning input: the message gives the quantity, its value, what is allowed and the remedy."""
