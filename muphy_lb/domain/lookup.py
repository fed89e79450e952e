"""VoxelLookup: from a voxel to its node, for particles that move through the box.

Sparse blocks of 8^3 voxels: the box is covered by a coarse grid of block numbers, and only blocks with nodes have
entries. Of the nodes of other ranks it contains the 26 neighbours of own nodes, numbered: the *corner layer*, in which
particles find fields at all corners of the cell of nodes around them. Fields of the corner layer have its values behind
those of the own nodes.

:func:`look_up` specifies what is found at a voxel, :func:`look_up_node` makes it a node function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from muphy_lb.domain.ghost_layer import GhostLayer
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.geometry.flags import FIRST_WALL_NUMBER
from muphy_lb.geometry.nodes import voxel_coordinates

EDGE_BITS = 3
EDGE = 1 << EDGE_BITS
LAYER = 9
"""Position of the index of the first node of the corner layer in ``VoxelLookup.size``."""
WALL, OPENING = -1, -2
"""What is found where there is no node: ``WALL``; at a voxel of opening k: ``OPENING - k``."""
OUTSIDE = -(1 << 60)
AROUND = tuple(vector for vector in product((-1, 0, 1), repeat=3) if any(vector))


@dataclass(frozen=True)
class VoxelLookup:
    """The node at each voxel of a rank's nodes and their surroundings.

    Attributes:
        size: (10,) int64: voxels of the box along x, y, z, blocks along x, y, z, 1 for each axis that is periodic, and
            the index of the first node of the corner layer.
        block: (number of coarse cells,) int32 number of each block, x fastest, -1 where it has no entries.
        entry: (n_blocks * 512,) int32, x fastest in a block: index of the node in fields of the corner layer, ``WALL``,
            or ``OPENING - k`` for a voxel of opening k.
        ranks: other ranks with nodes in the lookup, ascending.
        layer: the corner layer, its messages in the order of ``ranks``.
        owner: (layer,) position in ``ranks`` of the owner of each node of the layer.
    """

    size: np.ndarray
    block: np.ndarray
    entry: np.ndarray
    ranks: tuple[int, ...]
    layer: GhostLayer
    owner: np.ndarray


def look_up(lookup, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Nodes at voxels, across periodic edges too: the specification.

    Args:
        lookup: a :class:`VoxelLookup`, or its arrays on a device that NumPy can read.
        x, y, z: (n,) voxels, anywhere.

    Returns:
        (n,) int64 indices of nodes in fields of the corner layer: below ``size[LAYER]`` own ones. Negative where there
        is no node: ``OPENING - k`` at opening k, elsewhere ``WALL``, outside the box, too.
    """
    (box, (bx, by, _), wraps), voxel = lookup.size[:LAYER].reshape(3, 3), np.stack((x, y, z))
    is_outside = ((wraps[:, None] == 0) & ((voxel < 0) | (voxel >= box[:, None]))).any(axis=0)
    x, y, z = voxel % box[:, None]
    number = lookup.block[(z // EDGE * by + y // EDGE) * bx + x // EDGE].astype(np.int64)
    within = (z % EDGE * EDGE + y % EDGE) * EDGE + x % EDGE
    found = lookup.entry[np.maximum(number, 0) * EDGE**3 + within].astype(np.int64)
    return np.where(is_outside | (number < 0), WALL, found)


class LookUp(NamedTuple):
    """Node functions that look up several voxels around one.

    ``along_x(lookup, x)``, and so for y and z: what a coordinate, at most one box away from the box, adds to the number
    of a coarse cell and to the position in a block. ``at(lookup, x, y, z)``: what is found at the voxel of three such
    pairs. It reads without a condition, so that GPUs wait for several voxels at once.
    """

    along_x: Callable
    along_y: Callable
    along_z: Callable
    at: Callable


@cache
def look_up_nodes(jit) -> LookUp:
    """The node functions of :func:`look_up` in two parts."""
    cube, wall, nothing, address = np.int64(3 * EDGE_BITS), np.int64(WALL), np.int64(0), np.uint64

    def at(lookup, x, y, z):
        cell = x[0] + y[0] + z[0]
        number = np.int64(lookup.block[address(max(cell, nothing))])
        position = (max(number, nothing) << cube) + x[1] + y[1] + z[1]
        found = np.int64(lookup.entry[address(position)])
        return found if min(cell, number) >= nothing else wall

    return LookUp(*(_along_node(jit, axis) for axis in range(3)), jit(at))


def _along_node(jit, axis: int):
    bits, within, shift = np.int64(EDGE_BITS), np.int64(EDGE - 1), np.int64(EDGE_BITS * axis)
    outside, nothing, one = np.int64(OUTSIDE), np.int64(0), np.int64(1)
    strides = (lambda size: one, lambda size: size[3], lambda size: size[3] * size[4])
    stride, wraps = jit(strides[axis]), 6 + axis

    def along(lookup, x):
        size = lookup.size
        n = size[axis]
        if size[wraps] == 1:
            x = x + n if x < 0 else x
            x = x - n if x >= n else x
        cell = (x >> bits) * stride(size)
        return (cell, (x & within) << shift) if 0 <= x < n else (outside, nothing)

    return jit(along)


@cache
def look_up_node(jit):
    """Node function ``(lookup, x, y, z)`` of :func:`look_up`, for one voxel at most one box away from the box."""
    along_x, along_y, along_z, at = look_up_nodes(jit)

    def find(lookup, x, y, z):
        return at(lookup, along_x(lookup, x), along_y(lookup, y), along_z(lookup, z))

    return jit(find)


def build_lookup(domain: LocalDomain) -> VoxelLookup:
    """Build the lookup of a rank."""
    part = domain.part
    nodes, own = part.nodes, part.owner == part.rank
    box = nodes.shape[::-1]
    local = np.arange(domain.n_nodes) if domain.local_of is None else domain.local_of[own]
    ranks, layer = _corner_layer(domain, own)
    value = np.full(nodes.voxel.size, WALL)
    value[own] = local
    value[layer.position] = domain.pitch + np.arange(layer.position.size)
    is_opening = nodes.label_number < FIRST_WALL_NUMBER
    voxel = np.concatenate((nodes.voxel, nodes.label_voxel[is_opening]))
    value = np.concatenate((value, OPENING - nodes.label_number[is_opening].astype(np.int64)))
    block, entry = _blocks(voxel[value != WALL], value[value != WALL], nodes.shape)
    return VoxelLookup(
        size=np.array([*box, *_coarse(box), *nodes.periodic, domain.pitch], dtype=np.int64),
        block=block,
        entry=entry,
        ranks=ranks,
        layer=layer,
        owner=np.repeat(np.arange(len(ranks)), np.diff(layer.receive_start)),
    )


def beside_walls(domain: LocalDomain) -> np.ndarray:
    """(n,) int8, 1 at own nodes with a voxel among the 26 around that is no node."""
    found = np.zeros(domain.n_nodes, dtype=np.int8)
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        nodes = slice(first, min(first + CHUNK_NODES, domain.n_nodes))
        listed = nodes if domain.listed is None else domain.listed[nodes]
        found[nodes] = (domain.search.table(np.array(AROUND), listed) < 0).any(axis=0)
    return found


def _coarse(size) -> tuple[int, int, int]:
    nx, ny, nz = (-(-n // EDGE) for n in size)
    return nx, ny, nz


def _blocks(voxel: np.ndarray, value: np.ndarray, shape) -> tuple[np.ndarray, np.ndarray]:
    """Block numbers and entries of some voxels; of a voxel that appears twice the first value counts."""
    bx, by, bz = _coarse(shape[::-1])
    x, y, z = voxel_coordinates(voxel, shape).T
    cell = (z // EDGE * by + y // EDGE) * bx + x // EDGE
    used, number = np.unique(cell, return_inverse=True)
    block = np.full(bx * by * bz, -1, dtype=np.int32)
    block[used] = np.arange(used.size)
    entry = np.full(used.size * EDGE**3, WALL, dtype=np.int32)
    address = number * EDGE**3 + (z % EDGE * EDGE + y % EDGE) * EDGE + x % EDGE
    entry[address[::-1]] = value[::-1]
    return block, entry


def _corner_layer(domain: LocalDomain, own: np.ndarray) -> tuple[tuple[int, ...], GhostLayer]:
    """The nodes of other ranks beside own nodes in any of 26 directions, and the own nodes beside others'."""
    part = domain.part
    voxel, owner, foreign = part.nodes.voxel, part.owner, np.flatnonzero(~own)
    beside = domain.search.table(np.array(AROUND), foreign)
    is_own = beside >= 0
    is_own[is_own] = own[beside[is_own]]
    _, column = np.nonzero(is_own)
    position = np.unique(foreign[column])
    position = position[np.lexsort((voxel[position], owner[position]))]
    rank, sent = np.unique(np.stack((owner[foreign[column]], beside[is_own])), axis=1)
    order = np.lexsort((voxel[sent], rank))
    ranks = np.unique(owner[position])
    bounds = np.append(ranks, np.iinfo(np.int64).max)
    layer = GhostLayer(
        send_start=np.searchsorted(rank[order], bounds),
        send_node=(sent if domain.local_of is None else domain.local_of[sent])[order],
        receive_start=np.searchsorted(owner[position], bounds),
        position=position,
    )
    return tuple(int(each) for each in ranks), layer
