"""Triangulated surfaces: reading, topology, repair, ends of vessels, intersection of links with the wall."""
