"""bench: speed relative to the memory bandwidth measured in the same run.

- ``command``: ``muphy-lb bench``; ``jobs``: a case with its geometry; ``built_in``: geometries and papers;
  ``stream``: traffic of a step, counted from the model, and its measurement; ``table1``: a paper's table; ``plots``.
  ``whole``: whole runs by phase.
- ``compare/``: backends side by side; ``scaling/``: more and more ranks; ``thermal/``: benchmarks of thermal flow.
"""
