"""Validation of two fluids. ``table`` holds the cases: the pressure of Laplace, layers that slide past each other, the
contact angle of a drop on a wall."""
