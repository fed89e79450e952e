"""The one error type of the geometry package."""


class GeometryError(ValueError):
    """Bad geometric input: the message names the thing, its value, what is allowed and the remedy."""
