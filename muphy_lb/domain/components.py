"""Connected components of a rank's nodes, its ghost nodes among them."""

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.geometry.clean import root

OUT, JOINED, JOINING = 0, 1, 2
"""A node that belongs to no component; one that is linked to ``JOINING`` nodes; one that is linked to both kinds."""


def components(domain: LocalDomain, kind: np.ndarray) -> np.ndarray:
    """(pitch + ghosts,) the first node of the component of each node, by the links of its lattice.

    Args:
        domain: the nodes of a rank.
        kind: (pitch + ghosts,) uint8, ``OUT``, ``JOINED`` or ``JOINING``.
    """
    first_of = np.arange(kind.size)
    nodes = np.flatnonzero(kind[: domain.n_nodes])
    for first in range(0, nodes.size, CHUNK_NODES):
        some = nodes[first : first + CHUNK_NODES]
        _join(first_of, some, domain.neighbours_with_ghosts(domain.lattice.c[1:], some), kind)
    _settle(first_of)
    return first_of


@njit(cache=True)
def _join(first_of, nodes, beside, kind):
    """Join the components of nodes (m,) with those of their linked neighbours among (Q - 1, m)."""
    for k in range(nodes.size):
        for q in range(beside.shape[0]):
            far = beside[q, k]
            if far >= 0 and kind[far] and (kind[far] == JOINING or kind[nodes[k]] == JOINING):
                one, other = root(first_of, nodes[k]), root(first_of, far)
                first_of[max(one, other)] = min(one, other)


@njit(cache=True)
def _settle(first_of):
    """Let every node know the first one of its component."""
    for node in range(first_of.size):
        first_of[node] = first_of[first_of[node]]
