"""bench: speed relative to the memory bandwidth measured in the same run.

- ``command``: ``muphy-lb bench``; ``jobs``: a case with its geometry; ``built_in``: geometries; ``stream``: traffic of
  a step, counted from the model, and its measurement; ``whole``: whole runs by phase; ``peak``: of
  arithmetic; ``plots``.
- ``papers/``: benchmarks of papers beside their own numbers; ``thermal/``, ``free_surface/``: those of a physics;
  ``compare/``: backends side by side; ``scaling/``: more and more ranks.
"""
