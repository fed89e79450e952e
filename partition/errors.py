"""The error type of the partition package."""

from muphy_lb.base.errors import InputError


class PartitionError(InputError, ValueError):
    """Invalid partitioning input: the message gives the quantity, its value, what is allowed and the remedy."""
