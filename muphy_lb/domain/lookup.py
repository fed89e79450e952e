"""VoxelLookup: from a voxel to its local node, for particles that move through the box.

Sparse blocks of 8^3 voxels: the box is covered by a coarse grid of block numbers, and only blocks with nodes have
entries. Of the nodes of other ranks it contains the 26 neighbours of own nodes.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.local import LocalDomain
from muphy_lb.geometry.nodes import voxel_coordinates

EDGE_BITS = 3
EDGE = 1 << EDGE_BITS
NOTHING = -1
# Entry of a node of rank r: FIRST_REMOTE - r.
FIRST_REMOTE = -2


@dataclass(frozen=True)
class VoxelLookup:
    """The node at each voxel of a rank's nodes and their surroundings.

    Attributes:
        size: (nx, ny, nz) of the box.
        periodic: whether the box is periodic along x, y, z.
        block: (number of coarse cells,) int32 number of each block, x fastest, -1 where it has no nodes.
        entry: (n_blocks * 512,) int32, x fastest in a block: local number of an own node, ``FIRST_REMOTE - rank``
            for a node of another rank, ``NOTHING`` elsewhere.
    """

    size: tuple[int, int, int]
    periodic: tuple[bool, bool, bool]
    block: np.ndarray
    entry: np.ndarray

    @property
    def ranks(self) -> tuple[int, ...]:
        """Other ranks with nodes in the lookup, ascending."""
        return tuple(sorted({int(FIRST_REMOTE - entry) for entry in np.unique(self.entry) if entry <= FIRST_REMOTE}))

    @property
    def n_blocks(self) -> tuple[int, int, int]:
        """Number of coarse cells along x, y, z."""
        return tuple(-(-n // EDGE) for n in self.size)

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
    size = tuple(int(n) for n in part.nodes.shape[::-1])
    bx, by, bz = (-(-n // EDGE) for n in size)
    x, y, z = voxel_coordinates(part.nodes.voxel, part.nodes.shape).T
    cell = (z // EDGE * by + y // EDGE) * bx + x // EDGE
    used, number = np.unique(cell, return_inverse=True)
    block = np.full(bx * by * bz, NOTHING, dtype=np.int32)
    block[used] = np.arange(used.size)
    value = (FIRST_REMOTE - part.owner).astype(np.int32)
    own = part.owner == part.rank
    value[own] = np.arange(domain.n_nodes) if domain.local_of is None else domain.local_of[own]
    entry = np.full(used.size * EDGE**3, NOTHING, dtype=np.int32)
    entry[number * EDGE**3 + (z % EDGE * EDGE + y % EDGE) * EDGE + x % EDGE] = value
    return VoxelLookup(size, tuple(bool(wraps) for wraps in part.nodes.periodic), block, entry)
