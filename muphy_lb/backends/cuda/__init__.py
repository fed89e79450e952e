"""The GPU backend: Numba-CUDA."""
