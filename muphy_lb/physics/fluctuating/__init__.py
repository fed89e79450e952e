"""Thermal fluctuations of the flow: noise on every mode that the collision dissipates."""
