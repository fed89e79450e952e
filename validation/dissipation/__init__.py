"""Validation of the viscous dissipation."""
