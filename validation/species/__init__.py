"""Validation of dissolved species. ``table`` holds the cases: rate laws in stirred fluid, a reactor, uptake at walls,
dispersion in shear flow."""
