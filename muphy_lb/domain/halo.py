"""HaloPlan: which populations are sent to which rank, in an order that both sides derive independently."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.links import SpecularLinks
from muphy_lb.domain.part import Part
from muphy_lb.lattice import Lattice


@dataclass(frozen=True)
class HaloPlan:
    """Populations sent to and received from each neighbour rank, one message each way per neighbour and step.

    Crossing links are sorted by neighbour rank, voxel id of the destination node, direction; sender and receiver
    derive the same list without communication.

    Attributes:
        neighbours: ranks, ascending.
        send_start: (len(neighbours) + 1,) message j is ``[send_start[j], send_start[j + 1])`` of the send list.
        send_node, send_q: local node and direction of each population that is sent.
        receive_start, receive_node, receive_q: the same for populations that are received; the node is the destination.
    """

    neighbours: tuple[int, ...]
    send_start: np.ndarray
    send_node: np.ndarray
    send_q: np.ndarray
    receive_start: np.ndarray
    receive_node: np.ndarray
    receive_q: np.ndarray

    @property
    def n_send(self) -> int:
        """Populations sent per step."""
        return int(self.send_node.size)

    @property
    def n_receive(self) -> int:
        """Populations received per step."""
        return int(self.receive_node.size)


def plan_halo(part: Part, lattice: Lattice, special, specular: SpecularLinks) -> HaloPlan:
    """Plan the halo of one rank.

    Args:
        part: its part of the geometry.
        lattice: the velocity set.
        special: (Q, n) ``table`` of positions in the part of the nodes at x + c_q, and ``through_solids``, the same
            through solids, which determines the neighbour ranks; nodes of the plan are columns of these.
        specular: the links that slip walls reflect.
    """
    table, through_solids = special.table, special.through_solids
    owner, voxel, rank = part.owner, part.nodes.voxel, part.rank
    node, q = [], []
    for direction, row in enumerate(table):
        fluid = np.flatnonzero(row >= 0)
        crossing = fluid[owner[row[fluid]] != rank]
        node.append(crossing)
        q.append(np.full(crossing.size, direction))
    node, q = np.concatenate(node), np.concatenate(q)
    crosses = owner[specular.far] != rank
    far, far_q = np.append(table[q, node], specular.far[crosses]), np.append(q, specular.q_far[crosses])
    node, q = np.append(node, specular.node[crosses]), np.append(q, specular.q_out[crosses])
    far_rank = owner[far]
    # f_q leaves node for the far node; by symmetry a population of the far node arrives at node in the opposite
    # direction.
    send = np.lexsort((far_q, voxel[far], far_rank))
    arriving_q = lattice.opposite[q]
    own = table[0, node]
    receive = np.lexsort((arriving_q, voxel[own], far_rank))
    adjacent = np.unique(owner[through_solids[through_solids >= 0]])
    neighbours = np.union1d(far_rank, adjacent[adjacent != rank])
    start = np.append(np.searchsorted(far_rank[send], neighbours), far_rank.size)
    return HaloPlan(
        neighbours=tuple(int(r) for r in neighbours),
        send_start=start,
        send_node=node[send],
        send_q=q[send],
        receive_start=start,
        receive_node=node[receive],
        receive_q=arriving_q[receive],
    )
