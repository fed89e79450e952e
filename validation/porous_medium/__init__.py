"""Validation of porous media. ``table`` holds the cases: layers beside clear fluid, stripes at 45 degrees, a slab in a
stream, and a cube whose permeability goes to 0 and to infinity."""
