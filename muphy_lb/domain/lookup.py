"""From a voxel to its node, and to the nodes around a particle.

A VoxelLookup has sparse blocks of 8^3 voxels: the box is covered by a coarse grid of block numbers, and only blocks
with nodes have entries. A block has entries for the voxels around it too, across periodic edges as well, so that what
is at the 26 neighbours of a voxel is read from fixed distances around its own entry.

Of the nodes of other ranks it contains the 26 neighbours of own nodes, numbered: the *corner layer*, in which particles
find fields at all corners of the cell of nodes around them. Fields of the corner layer have its values behind those of
the own nodes.

:func:`look_up` specifies what is found at a voxel, :func:`look_up_node` makes it a node function;
:func:`look_around_nodes` makes those for the voxels around a node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.part import GhostLayer
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.geometry.search import distinct
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER

EDGE_BITS = 3
EDGE = 1 << EDGE_BITS
WIDTH = EDGE + 2
STRIDES = 1, WIDTH, WIDTH**2  # distances in ``VoxelLookup.entry`` between neighbours along x, y, z
BLOCK = WIDTH**3
BLOCKS_AT_ONCE = 4096
LAYER = 9  # position of the index of the first node of the corner layer in ``VoxelLookup.size``
WALL, OPENING = -1, -2  # entries of voxels that are no nodes: ``WALL``; ``OPENING - k`` at opening k
HERE = 0  # instead of the address of the node of a particle that is where it was: that of some node of this rank
HALF = 0.5
AROUND = tuple(vector for vector in product((-1, 0, 1), repeat=3) if any(vector))


@dataclass(frozen=True)
class VoxelLookup:
    """The node at each voxel of a rank's nodes and their surroundings."""

    #: (10,) int64: voxels of the box along x, y, z, blocks along x, y, z, 1 for each axis that is periodic, and the
    #: index of the first node of the corner layer
    size: np.ndarray
    block: np.ndarray  #: (number of coarse cells,) int32 number of each block, x fastest, -1 where it has no entries
    #: (n_blocks * 1000,) int32, of the voxels of a block and around it, x fastest: index of the node in fields of the
    #: corner layer, ``WALL``, or ``OPENING - k`` for a voxel of opening k
    entry: np.ndarray
    ranks: tuple[int, ...]  #: other ranks with nodes in the lookup, ascending
    layer: GhostLayer  #: the corner layer, its messages in the order of ``ranks``
    owner: np.ndarray  #: (layer,) position in ``ranks`` of the owner of each node of the layer


def look_up(lookup, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Nodes at voxels, across periodic edges too: the specification.

    Args:
        lookup: a :class:`VoxelLookup`, or its arrays on a device that NumPy can read.
        x, y, z: (n,) voxels, anywhere.

    Returns:
        (n,) int64 indices of nodes in fields of the corner layer: below ``size[LAYER]`` own ones. Negative where there
        is no node: ``OPENING - k`` at opening k, elsewhere ``WALL``, outside the box, too.
    """
    (box, _, wraps), voxel = lookup.size[:LAYER].reshape(3, 3), np.stack((x, y, z))
    is_outside = ((wraps[:, None] == 0) & ((voxel < 0) | (voxel >= box[:, None]))).any(axis=0)
    place = places_of(lookup, *(voxel % box[:, None]))
    found = lookup.entry[np.maximum(place, 0)].astype(np.int64)
    return np.where(is_outside | (place < 0), WALL, found)


def places_of(lookup, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """(n,) int64 positions of the entries of voxels of the box, block after block; negative where there are none."""
    bx, by, _ = lookup.size[3:6]
    number = lookup.block[(z // EDGE * by + y // EDGE) * bx + x // EDGE].astype(np.int64)
    within = (x % EDGE + 1) * STRIDES[0] + (y % EDGE + 1) * STRIDES[1] + (z % EDGE + 1) * STRIDES[2]
    return np.where(number < 0, -1, number * BLOCK + within)


class LookAround(NamedTuple):
    """Node functions that look up what is around a node. ``place(lookup, x, y, z)``: position of the entry of a voxel,
    which must be that of a node of this rank. ``at(lookup, place, to_x, to_y, to_z)``: what is found so many voxels,
    -1, 0 or 1 along each axis, from there."""

    place: Callable
    at: Callable


@cache
def look_around_nodes(jit) -> LookAround:
    """The node functions that look up what is around a node."""
    bits, within, block, (_, to_y, to_z) = np.int32(EDGE_BITS), np.int32(EDGE - 1), np.int64(BLOCK), STRIDES
    centre, number, address = np.int32(sum(STRIDES)), np.uint32, np.uint64

    def place(lookup, x, y, z):
        cell = ((z >> bits) * lookup.size[4] + (y >> bits)) * lookup.size[3] + (x >> bits)
        position = centre + (x & within) + to_y * (y & within) + to_z * (z & within)
        return lookup.block[address(number(cell))] * block + number(position)

    def at(lookup, place, along_x, along_y, along_z):
        return lookup.entry[address(place + along_x + to_y * along_y + to_z * along_z)]

    return LookAround(jit(place), jit(at))


@cache
def into_box_node(jit):
    """Node function ``(x, n, wraps)``: a coordinate at most one box away from the box of n voxels, brought into it if
    the axis is periodic."""

    def into_box(x, n, wraps):
        if wraps == 1:
            x = x + n if x < 0 else x
            x = x - n if x >= n else x
        return x

    return jit(into_box)


@cache
def look_up_node(jit):
    """Node function ``(lookup, x, y, z)`` of :func:`look_up`, for one voxel at most one box away from the box."""
    wall, (place, at), zero = np.int32(WALL), look_around_nodes(jit), np.int32(0)
    bits, into_box = np.int64(EDGE_BITS), into_box_node(jit)

    def find(lookup, x, y, z):
        size = lookup.size
        x, y, z = into_box(x, size[0], size[6]), into_box(y, size[1], size[7]), into_box(z, size[2], size[8])
        if not (0 <= x < size[0] and 0 <= y < size[1] and 0 <= z < size[2]):
            return wall
        if lookup.block[((z >> bits) * size[4] + (y >> bits)) * size[3] + (x >> bits)] < zero:
            return wall
        return at(lookup, place(lookup, x, y, z), zero, zero, zero)

    return jit(find)


def crossed(offset: np.ndarray) -> np.ndarray:
    """The neighbour, -1 or 1, into whose voxel offsets lead from the centre of their own, or 0."""
    return (offset >= HALF).astype(np.int64) - (offset < -HALF)


@cache
def crossed_node(jit):
    """Node function of :func:`crossed`, for one offset."""
    half, ahead, behind, nowhere = HALF, np.int32(1), np.int32(-1), np.int32(0)
    return jit(lambda offset: ahead if offset >= half else behind if offset < -half else nowhere)


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
    size = np.array([*box, *_coarse(box), *nodes.periodic, domain.pitch], dtype=np.int64)
    block, entry = _blocks(voxel[value != WALL], value[value != WALL], nodes.shape)
    return VoxelLookup(
        size=size,
        block=block,
        entry=_with_surroundings(entry, block, size).reshape(-1),
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
    """Block numbers, and the entries (n_blocks, 8, 8, 8) of some voxels; of a voxel that appears twice the first value
    counts."""
    bx, by, bz = _coarse(shape[::-1])
    x, y, z = voxel_coordinates(voxel, shape).T
    cell = (z // EDGE * by + y // EDGE) * bx + x // EDGE
    used, number = np.unique(cell, return_inverse=True)
    block = np.full(bx * by * bz, -1, dtype=np.int32)
    block[used] = np.arange(used.size)
    entry = np.full((used.size, EDGE, EDGE, EDGE), WALL, dtype=np.int32)
    last_first = slice(None, None, -1)
    entry[tuple(each[last_first] for each in (number, z % EDGE, y % EDGE, x % EDGE))] = value[last_first]
    return block, entry


def _with_surroundings(entry: np.ndarray, block: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Entries (n_blocks, 10, 10, 10) of the voxels of blocks and around them."""
    box, (bx, by, bz), wraps = size[:LAYER].reshape(3, 3)
    wide = np.full((len(entry), WIDTH, WIDTH, WIDTH), WALL, dtype=np.int32)
    wide[:, 1:-1, 1:-1, 1:-1] = entry
    used = np.flatnonzero(block >= 0)
    cell = np.stack((used % bx, used // bx % by, used // (bx * by)))
    coarse = np.array((bx, by, bz))[:, None]
    for way in AROUND:
        beside = cell + np.array(way)[:, None]
        exists = ((beside >= 0) & (beside < coarse)).all(axis=0)
        x, y, z = np.where(exists, beside, 0)
        number = np.where(exists, block[(z * by + y) * bx + x], -1)
        there = number >= 0
        target = tuple((0, slice(1, -1), WIDTH - 1)[each + 1] for each in way[::-1])
        source = tuple((EDGE - 1, slice(None), 0)[each + 1] for each in way[::-1])
        wide[(there, *target)] = entry[(number[there], *source)]
    at_edge = ((wraps[:, None] == 1) & ((cell == 0) | (cell == coarse - 1))).any(axis=0)
    for some in np.array_split(np.flatnonzero(at_edge), 1 + np.count_nonzero(at_edge) // BLOCKS_AT_ONCE):
        wide[some] = _across_edges(entry, block, size, cell[:, some])
    return wide


def _across_edges(entry: np.ndarray, block: np.ndarray, size: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Entries (n, 10, 10, 10) of blocks in the cells (3, n), with those across periodic edges."""
    box, (bx, by, _), wraps = size[:LAYER].reshape(3, 3)
    along = []
    for k in range(3):
        voxel = EDGE * cell[k][:, None] + np.arange(-1, EDGE + 1)
        along.append((voxel % box[k], (voxel >= -wraps[k]) & (voxel < box[k] + wraps[k])))
    (x, near_x), (y, near_y), (z, near_z) = along
    x, near_x = x[:, None, None, :], near_x[:, None, None, :]
    y, near_y = y[:, None, :, None], near_y[:, None, :, None]
    z, near_z = z[:, :, None, None], near_z[:, :, None, None]
    number = block[(z // EDGE * by + y // EDGE) * bx + x // EDGE]
    found = entry[np.maximum(number, 0), z % EDGE, y % EDGE, x % EDGE]
    return np.where((number >= 0) & near_x & near_y & near_z, found, WALL)


def _corner_layer(domain: LocalDomain, own: np.ndarray) -> tuple[tuple[int, ...], GhostLayer]:
    """The nodes of other ranks beside own nodes in any of 26 directions, and the own nodes beside others'."""
    part = domain.part
    voxel, owner, foreign = part.nodes.voxel, part.owner, np.flatnonzero(~own)
    beside = domain.search.table(np.array(AROUND), foreign)
    is_own = beside >= 0
    is_own[is_own] = own[beside[is_own]]
    _, column = np.nonzero(is_own)
    position = distinct(foreign[column])
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


def corners(lookup, voxel: np.ndarray, offset: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and weights (2^d, n) of the corners of the cells around positions (3, n) voxel + offset: linear
    interpolation among the nodes that exist, whose weights add up to one."""
    base = np.floor(offset).astype(np.int64)
    fraction = offset - base
    found, weights = [], []
    for corner in range(1 << dimension):
        upper = np.array([corner >> k & 1 for k in range(3)])[:, None]
        found.append(look_up(lookup, *(voxel + base * (np.arange(3)[:, None] < dimension) + upper)))
        shares = np.where(upper == 1, fraction, 1.0 - fraction)[:dimension]
        weights.append(shares.prod(axis=0))
    address, weight = np.array(found), np.array(weights)
    weight = np.where(address >= 0, weight, 0.0)
    with np.errstate(invalid="ignore"):  # no node around: the particle is lost, which is reported after the step
        return address, weight / weight.sum(axis=0)


def nearest_node(lookup, voxel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Address and weight (1, n) of the nodes at some voxels (3, n), as :func:`corners` returns them."""
    return look_up(lookup, *voxel)[None], np.ones((1, voxel.shape[1]))


@cache
def corner_node(jit, dimension: int, nearest: bool):
    """Node function ``(lookup, voxel, offset, c)`` -> address and weight of one corner of the cell around a position,
    or, if it is the ``nearest`` node, of that. Weights of corners without a node are 0, and are still to be divided by
    the sum of all."""
    place, at = look_around_nodes(jit)
    zero, one, whole, nowhere, behind = np.float64(0.0), np.float64(1.0), np.int32, np.int32(0), np.int32(-1)
    has_z = dimension == 3

    def own(lookup, voxel, offset, c):
        return at(lookup, place(lookup, *voxel), nowhere, nowhere, nowhere), one

    def corner(lookup, voxel, offset, c):
        ux, uy, uz = whole(c & 1), whole(c >> 1 & 1), whole(c >> 2 & 1)
        bx = behind if offset[0] < zero else nowhere
        by = behind if offset[1] < zero else nowhere
        bz = behind if has_z and offset[2] < zero else nowhere
        fx, fy, fz = offset[0] - bx, offset[1] - by, (offset[2] - bz if has_z else zero)
        address = at(lookup, place(lookup, *voxel), bx + ux, by + uy, bz + uz)
        weight = (fx if ux else one - fx) * (fy if uy else one - fy) * (fz if uz else one - fz)
        return address, weight if address >= 0 else zero

    return jit(own if nearest else corner)


def n_corners(dimension: int, nearest: bool) -> int:
    """Number of nodes that a particle is coupled to."""
    return 1 if nearest else 1 << dimension
