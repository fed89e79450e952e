"""Widths of pores: how far apart the walls are around each fluid voxel."""

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.limits import ask_for_voxels
from muphy_lb.geometry.nodes import NodeList

HALF_LINKS = np.array(
    [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
)
"""Axes and diagonals of faces (x, y, z), one direction of each pair."""

BYTES_PER_VOXEL = 4


def pore_widths(nodes: NodeList) -> np.ndarray:
    """Shortest chord through each node along the axes and the diagonals of faces: the width of its pore there.

    A chord is a row of fluid voxels between two walls; its length is the number of its voxels times that of a step.
    Between parallel walls along the axes or diagonals it is exactly their distance.

    Returns:
        (n,) float32 widths [voxels]; infinite where no chord ends at walls.

    Raises:
        GeometryError: too little memory for the box.
    """
    ask_for_voxels(nodes.shape, BYTES_PER_VOXEL, "the widths of the pores")
    voxel = np.asarray(nodes.voxel)
    box = np.zeros(nodes.shape, np.float32)
    box.flat[voxel] = np.inf
    for step in HALF_LINKS:
        _shorten(box, voxel, step[::-1].copy(), np.float32(np.linalg.norm(step)), np.array(nodes.periodic[::-1]))
    return box.reshape(-1)[voxel]


@njit(parallel=True, cache=True)
def _shorten(box, voxel, step, length, periodic):
    """Lower ``box`` to the lengths of the chords along ``step`` (z, y, x); each starts where a wall lies behind."""
    nz, ny, nx = box.shape
    for n in prange(voxel.size):
        z, y, x = voxel[n] // (ny * nx), voxel[n] // nx % ny, voxel[n] % nx
        behind = _shifted((z, y, x), (-step[0], -step[1], -step[2]), box.shape, periodic)
        if box[behind] > 0.0 and behind[0] >= 0:
            continue
        count, place = 0, (z, y, x)
        while place[0] >= 0 and box[place] > 0.0:
            count += 1
            place = _shifted(place, (step[0], step[1], step[2]), box.shape, periodic)
        place = z, y, x
        for _ in range(count):
            box[place] = min(box[place], count * length)
            place = _shifted(place, (step[0], step[1], step[2]), box.shape, periodic)


@njit(cache=True)
def _shifted(place, step, shape, periodic):
    """The place (z, y, x) one step further; (-1, -1, -1) outside the box."""
    z, y, x = place[0] + step[0], place[1] + step[1], place[2] + step[2]
    if periodic[0]:
        z %= shape[0]
    if periodic[1]:
        y %= shape[1]
    if periodic[2]:
        x %= shape[2]
    outside = z < 0 or y < 0 or x < 0 or z >= shape[0] or y >= shape[1] or x >= shape[2]
    return (-1, -1, -1) if outside else (z, y, x)
