"""boundaries: openings, velocity profiles, waveforms, wall motion and feedback, in lattice units.

- ``opening_geometry``: conditions of openings, their areas, centroids, normals and vessels, which ``opening_walls``
  tells; ``profiles``: velocity across an opening, steady or pulsating (Womersley), on the section that it is solved on.
- ``feedback``: outlets that answer their flow. ``waveform``: values over time, and the body force.
- ``sections``: cross-sections of the fluid in planes. ``wall_motion``: motion, interpolation and slip of walls;
  ``wall_balance``: mass at interpolated walls.
"""
