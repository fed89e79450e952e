"""validation: published cases with their numbers.

- ``case``: the frame of a case, its rows and verdict; ``cases``: the table of all; ``command``: ``muphy-lb validate``.
- ``flows``: flows in lattice units; ``search``: the number at which a flow changes, by several side by side;
  ``limits``: what half precision and in-place streaming cannot do.
- ``plot``, ``report``: plots as data; the report. ``flow/``: cases of the flow; the other folders: of physics packages.
"""
