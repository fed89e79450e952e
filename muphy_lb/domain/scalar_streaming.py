"""ScalarStreamingTable: the addresses of the populations of a scalar that arrive at a node.

They are rows of one flat array, direction after direction: ``q * pitch + n`` is the population that left node n along
q. Behind the rows are those received from other ranks, then those returned by boundaries. With g~ the population that
leaves towards a boundary half-way along its link, and w the weight of all moving populations (1/8):

    fixed:    g = -g~ + 2 w T_w                                       (anti-bounce-back)
    flux:     g = [(1 + A) g~ + B] / (1 - A),  A = kappa (a - 1) / (w (1 + a)),  B = 2 kappa s / (1 + a)
    outflow:  g = the population that the node sent in the opposite direction

A flux of 0 is bounce-back. The flux g - g~ is kappa times that of the extrapolated value
(:mod:`muphy_lb.domain.extrapolation`).
Ginzburg, Adv. Water Resour. 28, 1171 (2005); Yoshida, Nagaoka, J. Comput. Phys. 229, 7774 (2010).
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.extrapolation import FIXED, MOST_TERMS, OUTFLOW, Extrapolations, ScalarBoundary
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.stencil import StencilTable, chosen
from muphy_lb.lattice import Lattice


@dataclass(frozen=True)
class ScalarStreamingTable(StencilTable):
    """Addresses of arriving populations; entry k of a node is for the one along vector k + 1 of the lattice.

    Attributes:
        slot: (R, K) addresses of the populations of each ghost node, -1 for those that are not received.
    """

    slot: np.ndarray

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses; link codes where they come from a boundary."""
        return _addresses(self.domain, self.domain.neighbours_with_ghosts(-self.vectors, nodes), self.slot)


def build_scalar_streaming(
    domain: LocalDomain, lattice: Lattice, boundary: ScalarBoundary, diffusivity: float
) -> ScalarStreamingTable:
    """Fold boundaries and ghost nodes into the table of a scalar's populations.

    Args:
        domain: the nodes of a rank.
        lattice: of the scalar; all its moving populations have the same weight.
        boundary: the boundary conditions where the neighbour is not fluid.
        diffusivity: in lattice units.
    """
    vectors, rows = lattice.c[1:], lattice.q * domain.pitch
    exchange, slot = _plan_exchange(domain, vectors, rows)
    found = _returned(domain, lattice, boundary, diffusivity)
    first_extrapolated = rows + exchange.n_unpack
    extrapolated = chosen(found, ~found.is_copy)
    return ScalarStreamingTable(
        domain=domain,
        vectors=vectors,
        n_slots=first_extrapolated + extrapolated.node.size,
        exchange=exchange,
        first_extrapolated=first_extrapolated,
        extrapolated=extrapolated,
        copies=chosen(found, found.is_copy),
        slot=slot,
    )


def _plan_exchange(domain: LocalDomain, vectors: np.ndarray, rows: int) -> tuple[Exchange, np.ndarray]:
    """The exchange, sorted on both sides by neighbour, voxel and direction of the sending node; and the slots."""
    layer, pitch, edge = domain.ghost_layer, domain.pitch, slice(0, domain.n_edge)
    target = domain.neighbours_with_ghosts(vectors, edge)
    k, node = np.nonzero(target >= pitch)
    rank = np.searchsorted(layer.receive_start, target[k, node] - pitch, side="right")
    order = np.lexsort((k, domain.voxel[node], rank))
    bounds = np.arange(1, len(layer.receive_start) + 1)
    source = domain.neighbours_with_ghosts(-vectors, edge)
    row = np.broadcast_to(np.arange(len(vectors))[:, None], source.shape)[source >= pitch]
    slot = np.full((layer.position.size, len(vectors)), -1, dtype=np.int64)
    slot[source[source >= pitch] - pitch, row] = 0
    arrives = slot == 0
    slot[arrives] = rows + np.arange(np.count_nonzero(arrives))
    sent = np.append(0, np.cumsum(arrives.sum(axis=1)))
    exchange = Exchange(
        pack=((k + 1) * pitch + node)[order],
        pack_start=np.searchsorted(rank[order], bounds),
        unpack=slice(rows, rows + int(sent[-1])),
        unpack_start=sent[layer.receive_start],
    )
    return exchange, slot


def _addresses(domain: LocalDomain, source: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Addresses of the populations that own and ghost nodes sent along their directions; codes stay codes."""
    row = np.broadcast_to(np.arange(len(source))[:, None], source.shape)
    own = (source >= 0) & (source < domain.pitch)
    found = np.where(own, (row + 1) * domain.pitch + source, source)
    far = source >= domain.pitch
    found[far] = slot[source[far] - domain.pitch, row[far]]
    return found


def _returned(domain: LocalDomain, lattice: Lattice, boundary: ScalarBoundary, diffusivity: float) -> Extrapolations:
    """The populations that boundaries return, by node."""
    weight, constant, returns = _rules(lattice, boundary, diffusivity)
    nodes, entries, numbers = [], [], []
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        codes = domain.neighbours_with_ghosts(-lattice.c[1:], slice(first, min(first + CHUNK_NODES, domain.n_nodes)))
        k, node = np.nonzero(codes < 0)
        order = np.lexsort((k, node))
        nodes.append(first + node[order])
        entries.append(k[order])
        numbers.append(boundary.numbers_of(codes[k, node][order].astype(np.int64)))
    node, k, number = (np.concatenate(parts) for parts in (nodes, entries, numbers))
    sent = np.where(returns[number], lattice.opposite[k + 1], k + 1) * domain.pitch + node
    index, weights = np.zeros((MOST_TERMS, k.size), dtype=np.int64), np.zeros((MOST_TERMS, k.size))
    index[:], weights[0] = sent, weight[number]
    return Extrapolations(node, k, index, weights, constant[number])


def _rules(lattice: Lattice, boundary: ScalarBoundary, diffusivity: float):
    """Weight and constant of each boundary, and whether they apply to the population that leaves towards it."""
    w, a = lattice.w[1], boundary.factors
    inner = diffusivity * (a - 1.0) / (w * (1.0 + a))
    weight, constant = (1.0 + inner) / (1.0 - inner), 2.0 * diffusivity * boundary.value / (1.0 + a) / (1.0 - inner)
    is_fixed, is_free = boundary.kind == FIXED, boundary.kind == OUTFLOW
    weight = np.where(is_fixed, -1.0, np.where(is_free, 1.0, weight))
    constant = np.where(is_fixed, 2.0 * w * boundary.value, np.where(is_free, 0.0, constant))
    return weight, constant, ~is_free
