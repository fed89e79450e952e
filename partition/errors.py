"""The one error type of the partition package."""


class PartitionError(ValueError):
    """Bad partitioning input: the message names the thing, its value, what is allowed and the remedy."""
