"""Beads: particles that drag the fluid along, held together by bonds, kept apart by excluded volume.

- ``section``: keys; ``species``: from the case to lattice units; ``start``: positions, chains, bonds; ``checks``.
- ``model``: set and stages; ``motion``: velocity Verlet; ``coupling``: friction with the fluid; ``forces``: bonds,
  bending, pairs, walls, pull. ``observers``: records over time.
"""
