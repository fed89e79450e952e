"""Suspended particles: tracers, and beads coupled to the flow, with bonds and pair forces."""
