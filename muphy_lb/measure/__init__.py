"""Measuring: what a flow in a rock or a vessel amounts to, in SI units."""
