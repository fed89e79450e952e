"""Validation of free surfaces."""
