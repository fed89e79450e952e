"""Search: what lies one lattice vector away from many voxels, found among ascending voxel ids."""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

NOTHING = -1

CHUNK = 4096
"""Voxels that one thread looks up together."""

GAP = 32
"""Voxels between two of the chosen ones that end a stretch: spelling out fewer is cheaper than searching anew."""


class Places(NamedTuple):
    """What lies where in a box; voxel ids ascend in each array.

    Attributes:
        size, periodic: (3,) of the box, along x, y, z.
        plain: voxels of the nodes whose positions here are their numbers.
        grouped, grouped_node: voxels and numbers of all other nodes.
        labelled, label_code: voxels that are no nodes, and the number that stands for each of them.
    """

    size: np.ndarray
    periodic: np.ndarray
    plain: np.ndarray
    grouped: np.ndarray
    grouped_node: np.ndarray
    labelled: np.ndarray
    label_code: np.ndarray


def places_in(shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], voxel: np.ndarray) -> Places:
    """A box of ``shape`` (nz, ny, nx) in which nothing but nodes lies, at these ascending voxel ids."""
    none = np.empty(0, dtype=np.int64)
    return Places(
        size=np.array(shape[::-1], dtype=np.int64),
        periodic=np.array(periodic, dtype=bool),
        plain=voxel,
        grouped=none,
        grouped_node=none,
        labelled=none,
        label_code=none.astype(np.int16),
    )


def follow(voxel: np.ndarray, vectors: np.ndarray, places: Places, out: np.ndarray) -> None:
    """Write what lies along each vector from each voxel to ``out``.

    Args:
        voxel: (n,) int64 voxel ids, in any order; fast where they ascend.
        vectors: (Q, 3) int64 lattice vectors (x, y, z).
        places: what there is.
        out: (Q, n) integers: the node or code at ``x + vectors[q]``, ``NOTHING`` (-1) if there is none or
            if it is outside the box. Periodic axes wrap.
    """
    if out.size:
        order, fans = _fans(vectors)
        _fill(out, voxel, vectors, order, fans, places)


def _fans(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the vectors in which those that differ along x only follow each other, and where each such fan starts
    (the end comes last)."""
    order = np.lexsort(vectors.T)
    bends = np.any(np.diff(vectors[order, 1:], axis=0) != 0, axis=1)
    return order, np.concatenate(([0], 1 + np.flatnonzero(bends), [len(vectors)]))


@njit(parallel=True, cache=True)
def _fill(table, voxel, vectors, order, fans, places):
    """Fill the table, chunk by chunk and fan by fan."""
    reach = np.abs(vectors[:, 0]).max()
    for chunk in prange((voxel.size + CHUNK - 1) // CHUNK):
        first = chunk * CHUNK
        last = min(first + CHUNK, voxel.size)
        own, columns = voxel[first:last], table[:, first:last]
        stretches, widest = _stretches(own, places.size)
        codes = np.empty(widest + 2 * reach, dtype=table.dtype)
        start = np.searchsorted(places.plain, own[0])
        for fan in range(fans.size - 1):
            members = order[fans[fan] : fans[fan + 1]]
            hints = np.array([start, 0, 0])
            _fill_fan(columns, own, stretches, vectors, members, reach, codes, places, hints)


@njit(cache=True)
def _stretches(voxel, size):
    """(k + 1, 4) first position and x, y, z of each stretch: ascending ids in one row of the box without wide gaps.

    The end of the last comes last. Also returns how many voxels the longest one covers.
    """
    stretches = np.empty((voxel.size + 1, 4), dtype=np.int32)
    count, row_end, widest = 0, -1, 0
    start = voxel[0]
    for n in range(voxel.size):
        step = voxel[n] - voxel[n - 1] if n else 0
        if step < 1 or step > GAP or voxel[n] >= row_end:
            start = voxel[n]
            row = start // size[0]
            row_end = (row + 1) * size[0]
            stretches[count] = n, start - row * size[0], row % size[1], row // size[1]
            count += 1
        widest = max(widest, voxel[n] - start + 1)
    stretches[count, 0] = voxel.size
    return stretches[: count + 1], widest


@njit(cache=True)
def _fill_fan(table, voxel, stretches, vectors, members, reach, codes, places, hints):
    """Follow the vectors of one fan: spell out the voxels that a stretch leads to, once for all, then look up."""
    _, step_y, step_z = vectors[members[0]]
    for s in range(len(stretches) - 1):
        first, last = stretches[s, 0], stretches[s + 1, 0]
        y = _wrapped(stretches[s, 2] + step_y, places.size[1], places.periodic[1])
        z = _wrapped(stretches[s, 3] + step_z, places.size[2], places.periodic[2])
        start = voxel[first] - reach
        window = codes[: voxel[last - 1] + reach + 1 - start]
        window[:] = NOTHING
        if y >= 0 and z >= 0:
            row = (z * places.size[1] + y) * places.size[0]
            _spell_row(window, stretches[s, 1] - reach, row, places, hints)
        for q in members:
            links, shift = table[q], vectors[q, 0] - start
            for n in range(first, last):
                # Unsigned, or else every look-up asks whether it counts from the end.
                links[n] = window[np.uint64(voxel[n] + shift)]


@njit(cache=True)
def _wrapped(x, size, periodic):
    """A coordinate moved into the box; -1 outside a non-periodic one."""
    if 0 <= x < size:
        return x
    return x % size if periodic else -1


@njit(cache=True)
def _spell_row(codes, x, row, places, hints):
    """Write down what lies at coordinates ``x``, ``x + 1``, ... of the row that starts with voxel ``row``."""
    size = places.size[0]
    i = 0
    while i < codes.size:
        inside = _wrapped(x + i, size, places.periodic[0])
        length = 1 if inside < 0 else min(codes.size - i, size - inside)
        if inside >= 0:
            _spell(codes[i : i + length], row + inside, places, hints)
        i += length


@njit(cache=True)
def _spell(codes, start, places, hints):
    """Write down the nodes and labels of the consecutive voxels from ``start`` on."""
    j = _first_not_below(places.plain, start, hints[0])
    while j < places.plain.size and places.plain[j] < start + codes.size:
        codes[places.plain[j] - start] = j
        j += 1
    hints[0] = j
    hints[1] = _spell_listed(codes, start, places.grouped, places.grouped_node, hints[1])
    hints[2] = _spell_listed(codes, start, places.labelled, places.label_code, hints[2])


@njit(cache=True)
def _spell_listed(codes, start, voxel, value, hint):
    """Write down the values of those listed among the voxels from ``start`` on; returns the next hint."""
    j = _first_not_below(voxel, start, hint)
    while j < voxel.size and voxel[j] < start + codes.size:
        codes[voxel[j] - start] = value[j]
        j += 1
    return j


@njit(cache=True)
def _first_not_below(ids, target, hint):
    """Position of the first of the ascending ids that is >= target; the nearer it is to the hint, the faster."""
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
