"""Voxels found in sorted voxel ids: the nodes or labels one lattice vector away, and the vicinity of a set of nodes.

Voxels are processed in runs: ascending ids within one row of the box (along x). For each run and each group of vectors
with the same (y, z) components, the codes of the target row are expanded into a small window once; the vectors of the
group then only differ in the offset at which they read the window.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numba import prange, types

from muphy_lb.base.kept.functions import njit

NOTHING = -1

VOXELS_PER_TASK = 4096  # voxels that one thread looks up at a time
MAX_GAP = 32  # largest step between successive ids of a run: expanding a shorter gap is cheaper than a new search


class NodeIndex(NamedTuple):
    """Sorted voxel ids of the nodes and labelled voxels of a box; ids ascend in each array."""

    #: size, periodic: (3,) size and periodicity of the box, along x, y, z
    size: np.ndarray
    periodic: np.ndarray
    plain: np.ndarray  #: (n_plain,) voxels of nodes 0 ... n_plain - 1: the position is the node number.
    #: grouped, grouped_node: voxels and node numbers of all other nodes
    grouped: np.ndarray
    grouped_node: np.ndarray
    #: labelled, label_code: voxels that are not nodes, and the code of each
    labelled: np.ndarray
    label_code: np.ndarray


def index_nodes(shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], voxel: np.ndarray) -> NodeIndex:
    """The index of a box of ``shape`` (nz, ny, nx) with nodes at these ascending voxel ids, without labels."""
    none = np.empty(0, dtype=np.int64)
    return NodeIndex(
        size=np.array(shape[::-1], dtype=np.int64),
        periodic=np.array(periodic, dtype=bool),
        plain=voxel,
        grouped=none,
        grouped_node=none,
        labelled=none,
        label_code=none.astype(np.int16),
    )


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct ones of (n,) values, ascending: many times as fast as :func:`numpy.unique`, which hashes, where they
    consist of few ascending sequences."""
    ascending = np.sort(values, axis=None, kind="stable")
    return ascending[np.append(True, ascending[1:] != ascending[:-1])[: ascending.size]]


def number_type(n_nodes: int) -> type[np.signedinteger]:
    """The integers that hold node numbers and codes: of 32 bits, where these can number the nodes."""
    return np.int32 if n_nodes < 2**31 else np.int64


def look_up(voxel: np.ndarray, vectors: np.ndarray, index: NodeIndex, out: np.ndarray) -> None:
    """Write the node or code found along each vector from each voxel to ``out``.

    Args:
        voxel: (n,) int64 voxel ids, in any order; fast where they ascend.
        vectors: (Q, 3) int64 lattice vectors (x, y, z).
        index: the nodes and labels of the box.
        out: (Q, n) integers of :func:`number_type`: the node or code at ``x + vectors[q]``, ``NOTHING`` (-1) if there
            is none or if it is outside the box. Periodic axes wrap.
    """
    if out.size:
        order = np.lexsort(vectors.T)
        changes = np.any(np.diff(vectors[order, 1:], axis=0) != 0, axis=1)
        group_start = np.concatenate(([0], 1 + np.flatnonzero(changes), [len(vectors)]))
        _fill(out, voxel, vectors, order, group_start, np.abs(vectors[:, 0]).max(), index)


IDS = types.int64[::1]
TYPES_OF_INDEX = types.NamedTuple((IDS, types.boolean[::1], IDS, IDS, IDS, IDS, types.int16[::1]), NodeIndex)
TYPES_OF_FILL = types.int32[:, ::1], IDS, types.int64[:, ::1], IDS, IDS, types.int64, TYPES_OF_INDEX


@njit(parallel=True, cache=True, usually=TYPES_OF_FILL)
def _fill(table, voxel, vectors, order, group_start, max_shift, index):
    """Fill the table, chunk by chunk in parallel, and group by group of vectors."""
    for chunk in prange((voxel.size + VOXELS_PER_TASK - 1) // VOXELS_PER_TASK):
        first = chunk * VOXELS_PER_TASK
        last = min(first + VOXELS_PER_TASK, voxel.size)
        own, columns = voxel[first:last], table[:, first:last]
        runs, longest = _contiguous_runs(own, index.size)
        codes = np.empty(longest + 2 * max_shift, dtype=table.dtype)
        start = _first_not_below(index.plain, own[0], 0)
        hints = np.empty(3, dtype=np.int64)
        for group in range(group_start.size - 1):
            members = order[group_start[group] : group_start[group + 1]]
            hints[0], hints[1], hints[2] = start, 0, 0
            _fill_group(columns, own, runs, vectors, members, max_shift, codes, index, hints)


@njit(cache=True)
def _contiguous_runs(voxel, size):
    """(k + 1, 4) first position and x, y, z of each run: ascending ids in one row of the box without large gaps. The
    last row holds the end of the last run. Also returns the number of voxels that the longest run spans."""
    runs = np.empty((voxel.size + 1, 4), dtype=np.int32)
    count, row_end, longest = 0, -1, 0
    start = voxel[0]
    for n in range(voxel.size):
        step = voxel[n] - voxel[n - 1] if n else 0
        if step < 1 or step > MAX_GAP or voxel[n] >= row_end:
            start = voxel[n]
            row = start // size[0]
            row_end = (row + 1) * size[0]
            runs[count, 0], runs[count, 1] = n, start - row * size[0]
            runs[count, 2], runs[count, 3] = row % size[1], row // size[1]
            count += 1
        longest = max(longest, voxel[n] - start + 1)
    runs[count, 0] = voxel.size
    return runs[: count + 1], longest


@njit(cache=True)
def _fill_group(table, voxel, runs, vectors, members, max_shift, codes, index, hints):
    """Fill the table for one group of vectors: expand the target row of each run once, then read it per vector."""
    _, step_y, step_z = vectors[members[0]]
    for s in range(len(runs) - 1):
        first, last = runs[s, 0], runs[s + 1, 0]
        y = _wrapped(runs[s, 2] + step_y, index.size[1], index.periodic[1])
        z = _wrapped(runs[s, 3] + step_z, index.size[2], index.periodic[2])
        start = voxel[first] - max_shift
        window = codes[: voxel[last - 1] + max_shift + 1 - start]
        window[:] = NOTHING
        if y >= 0 and z >= 0:
            row = (z * index.size[1] + y) * index.size[0]
            _expand_row(window, runs[s, 1] - max_shift, row, index, hints)
        for q in members:
            links, shift = table[q], vectors[q, 0] - start
            for n in range(first, last):
                # An unsigned subscript spares Numba's test for negative (wrap-around) indices.
                links[n] = window[np.uint64(voxel[n] + shift)]


@njit(cache=True)
def _wrapped(x, size, periodic):
    """A coordinate wrapped into a periodic box; -1 outside a box that is not periodic."""
    if 0 <= x < size:
        return x
    return x % size if periodic else -1


@njit(cache=True)
def _expand_row(codes, x, row, index, hints):
    """Write the codes at coordinates ``x``, ``x + 1``, ... of the row whose first voxel is ``row``."""
    size = index.size[0]
    i = 0
    while i < codes.size:
        inside = _wrapped(x + i, size, index.periodic[0])
        length = 1 if inside < 0 else min(codes.size - i, size - inside)
        if inside >= 0:
            _expand(codes[i : i + length], row + inside, index, hints)
        i += length


@njit(cache=True)
def _expand(codes, start, index, hints):
    """Write the nodes and labels of the consecutive voxels from ``start`` on; ``hints`` are search positions."""
    j = _first_not_below(index.plain, start, hints[0])
    last = j + codes.size - 1
    if last < index.plain.size and index.plain[last] == start + codes.size - 1:  # nodes without a gap
        for i in range(codes.size):
            codes[i] = j + i
        hints[0] = last + 1
        return
    while j < index.plain.size and index.plain[j] < start + codes.size:
        codes[index.plain[j] - start] = j
        j += 1
    hints[0] = j
    hints[1] = _expand_listed(codes, start, index.grouped, index.grouped_node, hints[1])
    hints[2] = _expand_listed(codes, start, index.labelled, index.label_code, hints[2])


@njit(cache=True)
def _expand_listed(codes, start, voxel, value, hint):
    """Write the values of the listed voxels among those from ``start`` on; returns the next search hint."""
    j = _first_not_below(voxel, start, hint)
    while j < voxel.size and voxel[j] < start + codes.size:
        codes[voxel[j] - start] = value[j]
        j += 1
    return j


@njit(cache=True)
def _first_not_below(ids, target, hint):
    """Position of the first of the ascending ids that is >= target: galloping search from ``hint``, then bisection."""
    low, high, step = hint, hint, 1
    while high < ids.size and ids[high] < target:
        low = high + 1
        high += step
        step *= 2
    high = min(high, ids.size)
    step = 1
    while low > 0 and ids[low - 1] >= target:
        high = low - 1
        low -= step
        step *= 2
    low = max(low, 0)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


#: (27, 3) vectors from a voxel to itself and its 26 neighbours.
STENCIL_27 = np.array(list(product((-1, 0, 1), repeat=3)))
VOXELS_PER_CHUNK = 2**16  # voxels processed at a time


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
        return np.any(node >= 0, axis=0)


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


MARKS = "(int64[::1], boolean[::1], boolean[::1], boolean[::1])"  # types of the arguments of the functions below


@njit(cache=True, usually=MARKS)
def _mark_layers(voxel, in_x, in_y, in_z):
    """Mark the layers across each axis that hold one of the voxels."""
    for i in range(voxel.size):
        row = voxel[i] // in_x.size
        in_x[voxel[i] - row * in_x.size] = True
        in_y[row % in_y.size] = True
        in_z[row // in_y.size] = True


@njit(parallel=True, cache=True, usually=MARKS)
def _in_layers(voxel, in_x, in_y, in_z):
    """(m,) bool: whether all three layers of a voxel are marked (necessary for it to be near a node)."""
    inside = np.empty(voxel.size, dtype=np.bool_)
    for i in prange(voxel.size):
        row = voxel[i] // in_x.size
        inside[i] = in_x[voxel[i] - row * in_x.size] and in_y[row % in_y.size] and in_z[row // in_y.size]
    return inside
