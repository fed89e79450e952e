"""Thermal flow: a temperature that the flow advects and that drives it by buoyancy."""
