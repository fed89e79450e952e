"""The error type of the geometry package."""


class GeometryError(ValueError):
    """Invalid geometric input: the message gives the quantity, its value, what is allowed and the remedy."""
