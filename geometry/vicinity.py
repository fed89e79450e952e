"""Vicinity: the voxels within one lattice vector of a set of nodes."""

from itertools import product

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.search import index_nodes, look_up, number_type

STENCIL_27 = np.array(list(product((-1, 0, 1), repeat=3)))
"""(27, 3) vectors from a voxel to itself and its 26 neighbours."""

VOXELS_PER_CHUNK = 2**16
"""Voxels processed at a time."""


class Vicinity:
    """The nodes of a box and the 26 neighbours of each; periodic axes wrap.

    Args:
        voxel: (n,) int64 ascending voxel ids of the nodes.
        shape: (nz, ny, nx) of the box.
        periodic: whether the box wraps, along x, y, z.
    """

    def __init__(self, voxel: np.ndarray, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]):
        self._index = index_nodes(shape, periodic, voxel)
        layers = tuple(np.zeros(size, dtype=bool) for size in shape[::-1])
        _mark_layers(voxel, *layers)
        self._layers = tuple(dilated(mask, 0, wraps) for mask, wraps in zip(layers, periodic, strict=True))

    def holds(self, voxel: np.ndarray) -> np.ndarray:
        """(m,) bool: whether each voxel is a node or a neighbour of one; ids in any order, fast where they ascend."""
        held = _in_layers(voxel, *self._layers)
        candidates = np.flatnonzero(held)
        for first in range(0, candidates.size, VOXELS_PER_CHUNK):
            chunk = candidates[first : first + VOXELS_PER_CHUNK]
            held[chunk] = self._touches(voxel[chunk])
        return held

    def _touches(self, voxel: np.ndarray) -> np.ndarray:
        node = np.empty((len(STENCIL_27), voxel.size), dtype=number_type(self._index.plain.size))
        look_up(voxel, STENCIL_27, self._index, node)
        return (node >= 0).any(axis=0)


def dilated(mask: np.ndarray, axis: int, wraps: bool) -> np.ndarray:
    """The mask dilated by one voxel in both directions along an axis, which may wrap."""
    mask = np.moveaxis(mask, axis, 0)
    wide = mask.copy(order="K")
    wide[1:] |= mask[:-1]
    wide[:-1] |= mask[1:]
    if wraps:
        wide[0] |= mask[-1]
        wide[-1] |= mask[0]
    return np.moveaxis(wide, 0, axis)


@njit(cache=True)
def _mark_layers(voxel, in_x, in_y, in_z):
    """Mark the layers across each axis that hold one of the voxels."""
    for i in range(voxel.size):
        row = voxel[i] // in_x.size
        in_x[voxel[i] - row * in_x.size] = True
        in_y[row % in_y.size] = True
        in_z[row // in_y.size] = True


@njit(parallel=True, cache=True)
def _in_layers(voxel, in_x, in_y, in_z):
    """(m,) bool: whether all three layers of a voxel are marked (necessary for it to be near a node)."""
    inside = np.empty(voxel.size, dtype=np.bool_)
    for i in prange(voxel.size):
        row = voxel[i] // in_x.size
        inside[i] = in_x[voxel[i] - row * in_x.size] and in_y[row % in_y.size] and in_z[row // in_y.size]
    return inside
