"""Validation of the viscous dissipation. ``table`` holds the power balance of flows through pipes."""
