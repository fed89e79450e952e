"""The neighbour table: for every node and lattice vector, the number of the node it leads to."""

import numpy as np
from numba import njit, prange

from geometry.flags import FIRST_WALL_NUMBER
from geometry.nodes import NodeList

WALL_LINK = -1
FIRST_OPENING_LINK = -2
FIRST_WALL_LINK = FIRST_OPENING_LINK - FIRST_WALL_NUMBER
CHUNK = 4096
GALLOP = 8


def neighbour_table(nodes: NodeList, vectors, subset: np.ndarray | None = None) -> np.ndarray:
    """Neighbour node numbers along lattice vectors.

    Args:
        nodes: the node list.
        vectors: (Q, 3) integer lattice vectors (x, y, z).
        subset: node numbers to tabulate; all of them by default.

    Returns:
        (Q, n) int32 (int64 beyond 2^31 nodes): the node at ``x + vectors[q]``; ``WALL_LINK`` (-1) where that voxel
        is solid or outside the box; ``FIRST_OPENING_LINK - k`` (-2 - k) where it belongs to opening ``k``;
        ``FIRST_WALL_LINK - k`` (-114 - k) where it belongs to labelled wall ``k``.
        Periodic axes wrap.
    """
    chosen = np.arange(nodes.n_nodes) if subset is None else np.asarray(subset, dtype=np.int64)
    plain_end = int(nodes.group_start[1])
    grouped = plain_end + np.argsort(nodes.voxel[plain_end:])
    dtype = np.int32 if nodes.n_nodes < 2**31 else np.int64
    table = np.empty((len(vectors), chosen.size), dtype=dtype)
    for q, vector in enumerate(np.asarray(vectors, dtype=np.int64)):
        _fill_direction(
            table[q],
            nodes.voxel[chosen],
            vector,
            np.array(nodes.shape[::-1]),
            np.array(nodes.periodic),
            nodes.voxel[:plain_end],
            nodes.voxel[grouped],
            grouped,
            nodes.label_voxel,
            nodes.label_number,
        )
    return table


@njit(cache=True)
def _target_voxel(voxel, vector, size, periodic):
    """Voxel id one vector away, -1 outside a non-periodic box."""
    target = 0
    stride = 1
    rest = voxel
    for i in range(3):
        x = rest % size[i] + vector[i]
        rest //= size[i]
        if x < 0 or x >= size[i]:
            if not periodic[i]:
                return -1
            x %= size[i]
        target += stride * x
        stride *= size[i]
    return target


@njit(cache=True)
def _first_not_below(ids, target, hint):
    """Position of the first of the ascending ids that is >= target; fast when it lies just behind the hint."""
    low = 0
    if hint == 0 or ids[hint - 1] < target:
        low = hint
        for j in range(hint, min(hint + GALLOP, ids.size)):
            if ids[j] >= target:
                return j
    high = ids.size
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _outside_group_zero(target, grouped_voxel, grouped_node, label_voxel, label_number):
    """Node number or link code of a target voxel that is not in group 0."""
    j = _first_not_below(grouped_voxel, target, 0)
    if j < grouped_voxel.size and grouped_voxel[j] == target:
        return grouped_node[j]
    j = _first_not_below(label_voxel, target, 0)
    if j < label_voxel.size and label_voxel[j] == target:
        return FIRST_OPENING_LINK - np.int64(label_number[j])
    return np.int64(WALL_LINK)


@njit(parallel=True, cache=True)
def _fill_direction(
    row, voxel, vector, size, periodic, plain_voxel, grouped_voxel, grouped_node, label_voxel, label_number
):
    for chunk in prange((row.size + CHUNK - 1) // CHUNK):
        hint = 0
        for n in range(chunk * CHUNK, min(row.size, (chunk + 1) * CHUNK)):
            target = _target_voxel(voxel[n], vector, size, periodic)
            if target < 0:
                row[n] = WALL_LINK
                continue
            hint = _first_not_below(plain_voxel, target, hint)
            if hint < plain_voxel.size and plain_voxel[hint] == target:
                row[n] = hint
            else:
                row[n] = _outside_group_zero(target, grouped_voxel, grouped_node, label_voxel, label_number)
