"""Compiled kernels that are kept on disk."""
