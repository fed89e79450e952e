"""How much memory a case needs at every node, before anything of it is allocated."""

import numpy as np

from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import packages
from muphy_lb.case.case import Case
from muphy_lb.domain import ROW, TILE
from muphy_lb.domain.streaming import streaming_named
from muphy_lb.lattice import Lattice

# Of the run table per node and direction: 0.34 to 0.44 in vessels and sphere packs, more in pores a few voxels wide.
BYTES_PER_DIRECTION = 0.5


def bytes_per_node(case: Case, lattice: Lattice) -> float:
    """Estimated memory of one node [bytes]: two copies of its populations (one in place), its share of the address
    table, and the fields of other physics."""
    return _bytes(case, lattice, 1 if streaming_named(case.compute.streaming).in_place else 2)


def bytes_per_update(case: Case, lattice: Lattice) -> float:
    """Estimate of what a step moves for each node [bytes]: the populations that it reads and writes, and the rest of
    what there is."""
    return _bytes(case, lattice, 2)


def _bytes(case: Case, lattice: Lattice, copies: int) -> float:
    stored = np.dtype(PRECISIONS[case.compute.precision].storage).itemsize * ROW / TILE
    populations = lattice.q * copies * stored + (lattice.q - 1) * BYTES_PER_DIRECTION
    return populations + sum(physics.bytes_per_node(case, lattice) for physics in packages(case))
