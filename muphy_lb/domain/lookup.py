"""VoxelLookup: from a voxel to its local node, for particles that move through the box.

Sparse blocks of 8^3 voxels: the box is covered by a coarse grid of block numbers, and only blocks with nodes have
entries. Of the nodes of other ranks it contains the 26 neighbours of own nodes, numbered: the *corner layer*, in which
particles find fields at all corners of the cell of nodes around them.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from muphy_lb.domain.ghost_layer import GhostLayer
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.geometry.flags import FIRST_WALL_NUMBER
from muphy_lb.geometry.nodes import voxel_coordinates

EDGE_BITS = 3
EDGE = 1 << EDGE_BITS
NOTHING = -1
# Entry of node k of the corner layer: FIRST_REMOTE - k; of a voxel of opening k: FIRST_OPENING - k.
FIRST_REMOTE = -2
FIRST_OPENING = -(1 << 30)
AROUND = tuple(vector for vector in product((-1, 0, 1), repeat=3) if any(vector))


@dataclass(frozen=True)
class VoxelLookup:
    """The node at each voxel of a rank's nodes and their surroundings.

    Attributes:
        size: (nx, ny, nz) of the box.
        periodic: whether the box is periodic along x, y, z.
        block: (number of coarse cells,) int32 number of each block, x fastest, -1 where it has no entries.
        entry: (n_blocks * 512,) int32, x fastest in a block: local number of an own node, ``FIRST_REMOTE - k`` for node
            k of the corner layer, ``FIRST_OPENING - k`` for a voxel of opening k, ``NOTHING`` elsewhere.
        ranks: other ranks with nodes in the lookup, ascending.
        layer: the corner layer, its messages in the order of ``ranks``.
        owner: (layer,) position in ``ranks`` of the owner of each node of the layer.
    """

    size: tuple[int, int, int]
    periodic: tuple[bool, bool, bool]
    block: np.ndarray
    entry: np.ndarray
    ranks: tuple[int, ...]
    layer: GhostLayer
    owner: np.ndarray

    @property
    def n_blocks(self) -> tuple[int, int, int]:
        """Number of coarse cells along x, y, z."""
        return _coarse(self.size)

    def at(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Entries at voxels of the box: the specification of the look-up in kernels."""
        bx, by, _ = self.n_blocks
        number = self.block[(z // EDGE * by + y // EDGE) * bx + x // EDGE]
        within = (z % EDGE * EDGE + y % EDGE) * EDGE + x % EDGE
        found = self.entry[np.maximum(number, 0) * EDGE**3 + within]
        return np.where(number < 0, NOTHING, found)


def build_lookup(domain: LocalDomain) -> VoxelLookup:
    """Build the lookup of a rank."""
    part = domain.part
    nodes, own = part.nodes, part.owner == part.rank
    size = tuple(int(n) for n in nodes.shape[::-1])
    local = np.arange(domain.n_nodes) if domain.local_of is None else domain.local_of[own]
    ranks, layer = _corner_layer(domain, own)
    value = np.full(nodes.voxel.size, NOTHING)
    value[own] = local
    value[layer.position] = FIRST_REMOTE - np.arange(layer.position.size)
    is_opening = nodes.label_number < FIRST_WALL_NUMBER
    voxel = np.concatenate((nodes.voxel, nodes.label_voxel[is_opening]))
    value = np.concatenate((value, FIRST_OPENING - nodes.label_number[is_opening].astype(np.int64)))
    block, entry = _blocks(voxel[value != NOTHING], value[value != NOTHING], nodes.shape)
    return VoxelLookup(
        size=size,
        periodic=tuple(bool(wraps) for wraps in nodes.periodic),
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
    block = np.full(bx * by * bz, NOTHING, dtype=np.int32)
    block[used] = np.arange(used.size)
    entry = np.full(used.size * EDGE**3, NOTHING, dtype=np.int32)
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
