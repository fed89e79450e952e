"""Compiled kernels that are kept on disk.

- ``store``: the files, their number and their age; ``turns``: which of several processes compiles.
- ``helpers``: processes that compile beside this one; ``helper``: one of them.
- ``cpu_store``: kernels for CPUs; ``known``: tried versions; ``signatures``: quicker inference of types.
- ``functions``: ``njit`` for functions of Numba. ``code_digest``: the digest by which compiled code is found again.

Kernels for GPUs: ``backends/cuda/kept.py``.
"""
