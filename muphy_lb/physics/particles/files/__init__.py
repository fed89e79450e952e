"""Files of particles: tables that a user hands in, trajectories that a run writes. ``read`` chooses the reader and
reads CSV, ``extxyz`` extended XYZ, ``lammps`` LAMMPS data files, ``vtkhdf`` VTKHDF with path lines; ``text`` reads
lines and units without trust; ``table`` is the checked record."""
