"""Benchmarks of flow with a free surface.

``schreiber`` compares with the free surface of Schreiber et al.; ``table`` lists.
"""
