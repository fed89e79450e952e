"""Sums of real numbers as integers, exact in any order."""

from math import ceil, log2

import numpy as np

FIXED_POINT_BITS = 60  # of sums over all nodes: leaves room for a mean speed of 4 in lattice units


def scale_of_sums(n_nodes: int) -> float:
    """The scale with which speeds of that many nodes are summed as integers, which is exact in any order."""
    return 2.0 ** (FIXED_POINT_BITS - ceil(log2(n_nodes + 1)))


def in_two_parts(value, scale):
    """(whole, rest) int64: value * scale, truncated, and what that left of it, times scale again and truncated. ``(sum
    of whole + sum of rest / scale) / scale`` is the sum of the values up to 1 / scale^2 each; scale is a power of
    two."""
    scaled = np.float64(value) * scale
    whole = np.int64(scaled)
    return whole, np.int64((scaled - np.float64(whole)) * scale)


def from_two_parts(whole, rest, scale: float) -> np.ndarray:
    """The sums of the values from those of their parts."""
    return (whole + rest / scale) / scale
