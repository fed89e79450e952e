"""The permeability of a rock: its flows, their settling, and its limit on infinitely fine grids."""
