"""GhostLayer: the nodes of other ranks one lattice vector away, and the own nodes that are ghosts of other ranks."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.part import Part


@dataclass(frozen=True)
class GhostLayer:
    """The exchange of a field's values at neighbouring nodes: one value per node, one message each way per neighbour.

    Nodes are sorted by neighbour rank, then voxel id, on both sides, so the order need not be communicated.

    Attributes:
        send_start: (neighbours + 1,) message j is ``[send_start[j], send_start[j + 1])`` of the send list; the
            neighbours are those of the :class:`~muphy_lb.domain.HaloPlan`.
        send_node: local node of each value that is sent.
        receive_start: the same for the values that are received.
        position: position in the rank's part of each ghost node, in the order in which values are received.
    """

    send_start: np.ndarray
    send_node: np.ndarray
    receive_start: np.ndarray
    position: np.ndarray


def plan_ghost_layer(part: Part, table: np.ndarray, local: np.ndarray, neighbours: tuple[int, ...]) -> GhostLayer:
    """Plan the ghost layer of a rank.

    Args:
        part: its part of the geometry.
        table: (Q, k) positions in the part of the neighbours of some own nodes, or link codes; all nodes with a link to
            another rank are among them.
        local: (k,) local numbers of these own nodes.
        neighbours: ranks, ascending.
    """
    owner, voxel = part.owner, part.nodes.voxel
    crosses = table >= 0
    crosses[crosses] = owner[table[crosses]] != part.rank
    _, column = np.nonzero(crosses)
    far = table[crosses].astype(np.int64)
    position = np.unique(far)
    position = position[np.lexsort((voxel[position], owner[position]))]
    rank, own = np.unique(np.stack((owner[far], column)), axis=1)
    order = np.lexsort((voxel[table[0, own]], rank))
    bounds = np.array([*neighbours, np.iinfo(np.int64).max])
    return GhostLayer(
        send_start=np.searchsorted(rank[order], bounds),
        send_node=local[own[order]],
        receive_start=np.searchsorted(owner[position], bounds),
        position=position,
    )
