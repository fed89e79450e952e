"""Suspended particles: tracers, and beads coupled to the flow, with bonds and pair forces.

- ``section``, ``base_section``: keys of a table [[particles]]; ``package``: the entry.
- ``species``: the particles of one table, their start; a further kind derives from it. ``tracers/``, ``beads/``: kinds.
- ``openings``: how particles enter and leave.
- ``snapshots``: positions over time; ``measures``: observables, planes that count; ``files/``: formats.
"""
