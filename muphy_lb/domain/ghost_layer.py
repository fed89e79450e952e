"""Ring: the nodes of other ranks one lattice vector away, and the own nodes that other ranks need."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.part import Part


@dataclass(frozen=True)
class Ring:
    """What crosses when neighbours' values of a field are needed: one value a node, one message each way per neighbour.

    Nodes are sorted by neighbour rank, then voxel id, on both sides; nobody needs to tell the other.

    Attributes:
        send_start: (neighbours + 1,) message j is ``[send_start[j], send_start[j + 1])`` of the send list; the
            neighbours are those of the :class:`~muphy_lb.domain.HaloPlan`.
        send_node: local node of each value that leaves.
        receive_start: the same for values that arrive.
        place: where each of the nodes that they belong to lies in the rank's part.
    """

    send_start: np.ndarray
    send_node: np.ndarray
    receive_start: np.ndarray
    place: np.ndarray


def plan_ring(part: Part, table: np.ndarray, local: np.ndarray, neighbours: tuple[int, ...]) -> Ring:
    """Plan the ring of a rank.

    Args:
        part: its part of the geometry.
        table: (Q, k) places in the part, or codes, around some own nodes: all that have a link to another rank.
        local: (k,) local numbers of these own nodes.
        neighbours: ranks, ascending.
    """
    owner, voxel = part.owner, part.nodes.voxel
    crosses = table >= 0
    crosses[crosses] = owner[table[crosses]] != part.rank
    _, column = np.nonzero(crosses)
    far = table[crosses].astype(np.int64)
    place = np.unique(far)
    place = place[np.lexsort((voxel[place], owner[place]))]
    rank, own = np.unique(np.stack((owner[far], column)), axis=1)
    order = np.lexsort((voxel[table[0, own]], rank))
    bounds = np.array([*neighbours, np.iinfo(np.int64).max])
    return Ring(
        send_start=np.searchsorted(rank[order], bounds),
        send_node=local[own[order]],
        receive_start=np.searchsorted(owner[place], bounds),
        place=place,
    )
