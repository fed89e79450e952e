"""The error type of the geometry package."""

from muphy_lb.errors import InputError


class GeometryError(InputError, ValueError):
    """Invalid geometric input: the message gives the quantity, its value, what is allowed and the remedy."""
