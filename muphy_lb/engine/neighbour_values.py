"""NeighbourValues: values at the nodes of a rank and at those beside them, on the host, before a run starts."""

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.domain.links import REMOTE_LINK


class NeighbourValues:
    """Finds the values at neighbours of nodes, also of other ranks.

    Args:
        domain: the nodes of this rank.
        communicator: the ranks.
    """

    def __init__(self, domain: LocalDomain, communicator):
        self._domain, self._communicator = domain, communicator

    def with_ghosts(self, rows: np.ndarray) -> np.ndarray:
        """(K, n + g) values of the n local nodes and of g ghost nodes, of (K, n) values; collective."""
        layer, ranks = self._domain.ghost_layer, self._domain.halo.neighbours
        if not ranks:
            return rows
        sent = {
            rank: np.ascontiguousarray(rows[:, layer.send_node[layer.send_start[k] : layer.send_start[k + 1]]])
            for k, rank in enumerate(ranks)
        }
        received = self._communicator.swap(sent)
        return np.concatenate([rows, *(received[rank] for rank in ranks)], axis=1)

    def places(self, vectors: np.ndarray, nodes: slice) -> np.ndarray:
        """(V, m) columns of :meth:`with_ghosts` that are one lattice vector away from some local nodes, or the code of
        a link into a wall or an opening (:mod:`muphy_lb.geometry.neighbours`); solids are walls."""
        domain = self._domain
        found = domain.neighbours_with_ghosts(vectors, nodes)
        if domain.search.solid is not None:
            own = domain.neighbours(vectors, nodes)
            found = np.where((own >= 0) | (own == REMOTE_LINK), found, own)
        return np.where(found >= domain.pitch, found - (domain.pitch - domain.n_nodes), found)
