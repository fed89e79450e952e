"""Analytic geometries, which need no input file."""
