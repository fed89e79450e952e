"""Tracers: points that move with the flow and diffuse."""
