"""Files as such: written whole or not at all, read without trust; for all packages, whatever is in the files."""

PREPARED = ".h5"
"""Ending of prepared geometries."""
