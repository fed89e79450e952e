"""Analytic geometries."""
