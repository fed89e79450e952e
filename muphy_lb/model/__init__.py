"""model: the contract of a physics with the engine, in lattice units.

- ``model``: fields, stages, parameters, particles, and what each of them declares. ``flow``: the flow of a case as
  physics packages extend it; ``isothermal``: its first model, the flow alone.
- ``action``: work on the host between two steps; ``beat``: a flow that repeats itself, stored and replayed.
  ``settle``: a particle that moved is put into its voxel.
"""
