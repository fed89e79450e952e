"""The GPU backend: Numba-CUDA.

- ``device``: the only import of ``numba.cuda``; ``backend``: memory, queues and launches; ``kernels``: their table.
- ``access``: addresses of a node's populations; ``vectors``: instructions that Numba does not provide.
- Loops: ``skeletons`` (nodes), ``stage_skeletons`` (stages, chosen nodes), ``boundary_skeletons`` (openings, walls,
  schedules), ``particle_skeletons`` (particles, migration, friction).
- ``peers`` and ``nccl``: memory of other GPUs. ``kept``: compiled kernels on disk.
"""
