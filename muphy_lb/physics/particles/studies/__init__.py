"""Validation of particles."""
