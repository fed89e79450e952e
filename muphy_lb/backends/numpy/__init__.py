"""The specification backend."""
