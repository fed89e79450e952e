"""The CPU backend: Numba, threads."""
