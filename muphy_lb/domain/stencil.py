"""StencilTable: the addresses of the neighbours' values that a stencil reads.

A field is one flat array: one value per node, then one per node of the ghost layer, then one per
extrapolated value beyond a wall. The table leads from a node to its neighbours in the order of the vectors; it is
run-compressed like that of populations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.fitted_values import fit, is_fitted
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.runs import RunTable, compress
from muphy_lb.domain.scalar_boundary import Extrapolations, ScalarBoundary, chosen, extrapolate, joined


@dataclass(frozen=True)
class StencilTable:
    """Neighbours of a stencil."""

    domain: LocalDomain  #: the local domain
    vectors: np.ndarray  #: (K, 3) to the neighbours
    n_slots: int  #: size of the field's array
    exchange: Exchange  #: the exchange of values with other ranks
    first_extrapolated: int
    #: the extrapolated values that are stored in the array, from ``first_extrapolated`` on
    extrapolated: Extrapolations
    copies: Extrapolations  #: those that are simply the value of a node

    @property
    def n_entries(self) -> int:
        """Number of entries of a node, K."""
        return len(self.vectors)

    @property
    def n_edge_extrapolated(self) -> int:
        """Number of stored extrapolated values of edge nodes, which come first."""
        return int(np.searchsorted(self.extrapolated.node, self.domain.n_edge))

    def plain(self, phase: int = 0) -> np.ndarray:
        """(K, pitch) int64 table, uncompressed: the specification; all phases are alike."""
        return np.concatenate(list(self.chunks()), axis=1)

    def runs(self, phase: int = 0) -> RunTable:
        """The run-compressed table; all phases are alike."""
        return compress(self.chunks(), self.n_entries, self.n_slots)

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses of the neighbours of own nodes; link codes where they are not fluid."""
        return self.domain.neighbours_with_ghosts(self.vectors, nodes)

    def chunks(self) -> Iterator[np.ndarray]:
        """The table in chunks (K, m) of consecutive nodes."""
        domain = self.domain
        own = np.arange(self.first_extrapolated, self.first_extrapolated + self.extrapolated.node.size)
        for first in range(0, domain.pitch, CHUNK_NODES):
            last = min(first + CHUNK_NODES, domain.pitch)
            table = np.tile(np.arange(first, last), (self.n_entries, 1))
            there = min(last, domain.n_nodes)
            if there > first:
                table[:, : there - first] = self.neighbours(slice(first, there))
            for values, index in ((self.extrapolated, own), (self.copies, self.copies.index[0])):
                chosen = slice(*np.searchsorted(values.node, (first, last)))
                table[values.k[chosen], values.node[chosen] - first] = index[chosen]
            yield table


def build_stencil(domain: LocalDomain, vectors: np.ndarray, boundary: ScalarBoundary) -> StencilTable:
    """Fold boundaries and ghost nodes into the table of a stencil. ``vectors``: (K, 3), of at most two non-zero
    components each, including all that have one; ``boundary``: the boundary conditions where the neighbour is not
    fluid."""
    layer, pitch = domain.ghost_layer, domain.pitch
    found = _extrapolate_all(domain, vectors, boundary)
    is_copy = found.is_copy
    extrapolated, copies = chosen(found, ~is_copy), chosen(found, is_copy)
    first_extrapolated = pitch + layer.position.size
    slots = slice(pitch, first_extrapolated)
    return StencilTable(
        domain=domain,
        vectors=vectors,
        n_slots=first_extrapolated + extrapolated.node.size,
        exchange=Exchange(layer.send_node, layer.send_start, slots, layer.receive_start),
        first_extrapolated=first_extrapolated,
        extrapolated=extrapolated,
        copies=copies,
    )


def _extrapolate_all(domain: LocalDomain, vectors, boundary: ScalarBoundary) -> Extrapolations:
    found, whole, cuts = [], np.concatenate((np.zeros((1, 3), dtype=np.int64), vectors)), domain.part.nodes.cuts
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        last = min(first + CHUNK_NODES, domain.n_nodes)
        codes = domain.neighbours_with_ghosts(whole, slice(first, last))
        nodes = np.flatnonzero((codes < 0).any(axis=0))
        codes, nodes = codes[:, nodes], first + nodes
        fitted = is_fitted(codes[1:], domain.voxel[nodes], vectors, cuts)
        plain, round_ = (np.ascontiguousarray(codes[:, mask]) for mask in (~fitted, fitted))
        found.append(extrapolate(plain, nodes[~fitted], vectors, boundary))
        if fitted.any():
            found.append(fit(round_, nodes[fitted], domain.voxel[nodes[fitted]], vectors, boundary, cuts))
    return joined(found)
