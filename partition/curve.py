"""Partitioning by cutting the Hilbert space-filling curve into segments of equal weight. Source: J. Skilling,
"Programming the Hilbert curve", AIP Conference Proceedings 707, 381 (2004)."""

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.partition.costs import part_shares, weight_bounds
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import VoxelGraph

INDEX_BITS = 63


def hilbert_cut(graph: Graph | VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    """(n,) int32 owners: segments of the curve of equal weight, or of weights in proportion to ``shares``. No part is
    empty if n_parts <= n_nodes."""
    order = np.argsort(hilbert_index(graph.coordinates), kind="stable")
    bounds = weight_bounds(graph.weights[order], part_shares(shares, n_parts))
    owner = np.empty(graph.n_nodes, dtype=np.int32)
    owner[order] = np.repeat(np.arange(n_parts, dtype=np.int32), np.diff(bounds))
    return owner


def hilbert_index(coordinates: np.ndarray) -> np.ndarray:
    """(n,) int64 indices of grid points along the Hilbert curve of the smallest cube of side 2^b that contains them.

    Axes along which all points agree are dropped, so a plane gets the two-dimensional curve. Beyond 63 bits
    (2^21 points along each of three axes) neighbouring points may share an index.

    Args:
        coordinates: (n, d) integer positions.
    """
    shifted = coordinates - coordinates.min(axis=0)
    shifted = np.ascontiguousarray(shifted[:, shifted.any(axis=0)])
    n_axes = shifted.shape[1]
    n_bits = int(shifted.max(initial=0)).bit_length()
    excess = max(0, n_bits - INDEX_BITS // max(1, n_axes))
    return _indices(shifted >> excess, n_bits - excess)


@njit(parallel=True, cache=True)
def _indices(points, n_bits):
    index = np.zeros(points.shape[0], dtype=np.int64)
    for n in prange(points.shape[0]):
        if points.shape[1] > 0:
            _to_transposed_index(points[n], n_bits)
            index[n] = _interleave(points[n], n_bits)
    return index


@njit(cache=True)
def _to_transposed_index(x, n_bits):
    """Replace the axes x by the transposed Hilbert index: bit b of all axes together is digit b of the index."""
    for b in range(n_bits - 1, 0, -1):
        low_bits = (1 << b) - 1
        for i in range(x.size):
            if x[i] >> b & 1:
                x[0] ^= low_bits
            else:
                swap = (x[0] ^ x[i]) & low_bits
                x[0] ^= swap
                x[i] ^= swap
    for i in range(1, x.size):
        x[i] ^= x[i - 1]
    flip = 0
    for b in range(n_bits - 1, 0, -1):
        if x[-1] >> b & 1:
            flip ^= (1 << b) - 1
    for i in range(x.size):
        x[i] ^= flip


@njit(cache=True)
def _interleave(x, n_bits):
    index = 0
    for b in range(n_bits - 1, -1, -1):
        for i in range(x.size):
            index = index << 1 | x[i] >> b & 1
    return index
