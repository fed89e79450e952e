"""Validation of solids that dissolve or grow. ``table`` holds the cases: plane fronts behind a layer of diffusion, and
a disc under a uniform rate."""
