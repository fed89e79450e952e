"""Triangulated surfaces: reading, topology, mending, ends of vessels, where links meet the wall."""
