"""Vicinity: which voxels lie within one lattice vector of some nodes."""

from itertools import product

import numpy as np
from numba import njit, prange

from muphy_lb.geometry.search import follow, places_in

AROUND = np.array(list(product((-1, 0, 1), repeat=3)))
"""(27, 3) vectors to a voxel and its neighbours."""

CHUNK = 2**16
"""Voxels looked at together."""


class Vicinity:
    """The nodes of a box and the 26 neighbours of each; periodic axes wrap.

    Args:
        voxel: (n,) int64 ascending voxel ids of the nodes.
        shape: (nz, ny, nx) of the box.
        periodic: whether the box wraps, along x, y, z.
    """

    def __init__(self, voxel: np.ndarray, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]):
        self._places = places_in(shape, periodic, voxel)
        layers = tuple(np.zeros(size, dtype=bool) for size in shape[::-1])
        _mark_layers(voxel, *layers)
        self._layers = tuple(widened(mask, 0, wraps) for mask, wraps in zip(layers, periodic, strict=True))

    def holds(self, voxel: np.ndarray) -> np.ndarray:
        """(m,) truth for voxel ids in any order, fast where they ascend: one of the nodes, or a neighbour of one."""
        held = _in_layers(voxel, *self._layers)
        candidates = np.flatnonzero(held)
        for first in range(0, candidates.size, CHUNK):
            part = candidates[first : first + CHUNK]
            held[part] = self._touches(voxel[part])
        return held

    def _touches(self, voxel: np.ndarray) -> np.ndarray:
        node = np.empty((len(AROUND), voxel.size), dtype=np.int64)
        follow(voxel, AROUND, self._places, node)
        return (node >= 0).any(axis=0)


def widened(mask: np.ndarray, axis: int, wraps: bool) -> np.ndarray:
    """Truth of a voxel or of one of its two neighbours along an axis, which may wrap."""
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
    """(m,) truth: all three layers of a voxel are marked."""
    inside = np.empty(voxel.size, dtype=np.bool_)
    for i in prange(voxel.size):
        row = voxel[i] // in_x.size
        inside[i] = in_x[voxel[i] - row * in_x.size] and in_y[row % in_y.size] and in_z[row // in_y.size]
    return inside
