"""The equations of a free surface."""
