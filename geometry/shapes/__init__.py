"""Analytic geometries, which need no input file. ``catalogue`` lists the shapes by name, ``benchmark_shapes`` holds
those of published cases, ``tubes`` trees of vessels, ``packings`` packs and lists of spheres, ``shape_parts`` their
common parts."""
