"""engine: a model bound to one rank's nodes and device; it advances time steps.

- ``engine``: Engine, the object. ``step``: the order of a step, from the model alone, and its tasks;
  ``stages``: launches of stages; ``autotune``: launch shapes timed once.
- ``fields``: memory, halo and stencils of fields; ``particles``: the same of particles; ``parameters``: values of named
  parameters; ``timed_values``: values that change from step to step.
- ``boundary_links``: openings, walls and feedback on the device, sums over partly filled nodes included.
- ``actions``: work between two steps. ``ahead``, ``sums``, ``transfers``: values for measurements and checkpoints.
"""
