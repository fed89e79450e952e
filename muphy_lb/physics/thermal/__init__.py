"""Thermal flow: a temperature that the flow carries and that drives it by buoyancy."""
