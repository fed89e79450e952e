"""Validation cases of particles."""
