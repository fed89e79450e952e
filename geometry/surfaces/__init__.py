"""Triangulated surfaces: reading, topology, repair, ends of vessels, intersection of links with the wall. ``readers``
reads each format, ``surface`` diagnoses and voxelises, ``mend`` repairs and opens ends, ``triangles`` holds topology,
``surface_cuts`` intersects links with the wall, ``surface_areas`` computes the area of the wall around these points."""
