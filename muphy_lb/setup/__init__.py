"""setup: from a case in SI units to domains, operators and conditions in lattice units.

- ``numerics``: time step, relaxation time, units. ``geometry``; ``sharing``: owners of nodes; ``distribute``: parts of
  ranks.
- ``collision``; ``boundaries``: openings and walls; ``waveforms``: values over time; ``force``: the body force.
- ``initial``: density, velocity and the stress and pressure that belong to them; ``input_fields``: fields from files.
- ``advice/``: warnings and estimates before a run.
"""
