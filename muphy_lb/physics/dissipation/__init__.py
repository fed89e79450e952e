"""Viscous dissipation of the flow as a physics package."""
