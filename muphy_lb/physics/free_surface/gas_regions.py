"""The connected regions of gas, on any ranks.

Gas cells are connected by the links of the lattice, also through an interface cell between them; two interface cells do
not connect, so that a film of two of them keeps bubbles apart. An interface cell without gas beside it belongs to the
region of the interface cells around it; if these belong to none, such cells are regions of their own.
"""

import numpy as np

from muphy_lb.domain.components import JOINED, JOINING, OUT, components
from muphy_lb.model.action import RankArrays
from muphy_lb.physics.free_surface.cells import GAS, INTERFACE, LIQUID

NOWHERE = -1
"""Label of liquid cells."""
OF_THEIR_OWN = np.int64(1) << 62
"""Added to the labels of cells without gas beside them: every other label is smaller."""


def region_labels(rank: RankArrays, cell: np.ndarray) -> np.ndarray:
    """(n,) smallest voxel id of the region that each cell (n,) belongs to, int64, ``NOWHERE`` in liquid; collective."""
    voxel = np.asarray(rank.domain.voxel, dtype=np.int64)
    kind = np.select([cell == GAS, cell == INTERFACE], [JOINING, JOINED], OUT).astype(np.uint8)
    label, is_alone = _spread(rank, kind, voxel)
    is_alone &= cell == INTERFACE
    if rank.communicator.total(int(is_alone.sum())):
        beside = _smallest_beside(rank, np.where(is_alone | (cell != INTERFACE), OF_THEIR_OWN, label), is_alone)
        start = np.where(beside < OF_THEIR_OWN, beside, OF_THEIR_OWN + voxel)
        found, _ = _spread(rank, np.where(is_alone, JOINING, OUT).astype(np.uint8), start)
        label = np.where(is_alone, np.where(found < OF_THEIR_OWN, found, found - OF_THEIR_OWN), label)
    return np.where(cell == LIQUID, NOWHERE, label)


def _spread(rank: RankArrays, kind: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) smallest of the values (n,) in the component of each node, over all ranks, and (n,) whether it is alone."""
    first_of = components(rank.domain, rank.with_ghosts(kind))
    own, is_alone = first_of[: values.size], np.bincount(first_of)[first_of[: values.size]] == 1
    has_changed = True
    while has_changed:
        whole = rank.with_ghosts(values)
        np.minimum.at(whole, first_of, whole.copy())
        has_changed = rank.communicator.total(int((whole[own] != values).sum())) > 0
        values = whole[own]
    return values, is_alone


def _smallest_beside(rank: RankArrays, values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(n,) smallest of the values (n,) at the neighbours of chosen nodes, ``OF_THEIR_OWN`` without one."""
    whole, found = rank.with_ghosts(values), np.full(values.size, OF_THEIR_OWN)
    nodes = np.flatnonzero(chosen)
    for codes in rank.domain.neighbours_with_ghosts(rank.domain.lattice.c[1:], nodes):
        found[nodes] = np.where(codes >= 0, np.minimum(found[nodes], whole[codes]), found[nodes])
    return found
