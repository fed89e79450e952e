"""What a partitioning makes each part do and send in a step, counted with the links of the real lattice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numba import njit

from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.voxels import VoxelGraph

NEAREST = np.array([v for v in product((-1, 0, 1), repeat=3) if 1 <= sum(abs(x) for x in v) <= 2])
"""(18, 3) vectors to the neighbours that share a face or an edge: the directions of D3Q19."""


@dataclass(frozen=True)
class Exchange:
    """What crosses the borders of parts: one population per link.

    Attributes:
        vectors: (K, 3) integer link vectors, with each one its opposite; D3Q19 by default.
        bytes_per_population: of a message; 4 is single precision.

    Raises:
        PartitionError: a vector without its opposite.
    """

    vectors: np.ndarray = field(default_factory=lambda: NEAREST)
    bytes_per_population: int = 4

    def __post_init__(self):
        there = set(map(tuple, np.asarray(self.vectors).tolist()))
        lonely = [v for v in sorted(there) if (-v[0], -v[1], -v[2]) not in there or not any(v)]
        if lonely:
            raise PartitionError(f"link vector {lonely[0]} has no opposite; give the moving directions of a lattice")

    @property
    def halves(self) -> np.ndarray:
        """(K / 2, 3) one vector of each pair of opposites."""
        return np.array([v for v in np.asarray(self.vectors).tolist() if v > [0, 0, 0]])


@dataclass(frozen=True)
class Load:
    """What each part has to do and to send in a step; work is counted in nodes of the lightest kind.

    Attributes:
        work: (P,) float64 work of its nodes.
        edge_work: (P,) float64 of that, the work of nodes with a link to another part.
        populations: (P,) int64 directed links to other parts; as many come back.
        neighbours: (P,) int64 parts that it exchanges a message with.
        edge_nodes: nodes of all parts with a link to another part.
        cut_faces: links of length one between different parts, each counted once.
    """

    work: np.ndarray
    edge_work: np.ndarray
    populations: np.ndarray
    neighbours: np.ndarray
    edge_nodes: int
    cut_faces: int


def count_loads(graph: VoxelGraph, owners: Sequence[np.ndarray], n_parts: int, exchange: Exchange) -> list[Load]:
    """Measure several partitionings of a graph at once: neighbours are looked up once for all.

    Args:
        graph: the nodes.
        owners: (n,) integer part of each node, for each partitioning.
        n_parts: number of parts of each; memory grows with its square.
        exchange: the links that carry something.
    """
    pairs = [np.zeros((n_parts, n_parts), dtype=np.int64) for _ in owners]
    on_edge = [np.zeros(graph.n_nodes, dtype=np.bool_) for _ in owners]
    cut_faces = [0] * len(owners)
    for vector in exchange.halves:
        row = graph.neighbours(vector)
        for k, owner in enumerate(owners):
            n_cut = _count_crossings(row, owner, pairs[k], on_edge[k])
            cut_faces[k] += n_cut if np.abs(vector).sum() == 1 else 0
    return [_load(graph, *measured) for measured in zip(owners, pairs, on_edge, cut_faces, strict=True)]


def _load(graph, owner, pairs, on_edge, cut_faces) -> Load:
    both_ways = pairs + pairs.T
    unit, n_parts = float(graph.weights.min()), len(pairs)
    return Load(
        work=_sums(owner, graph.weights, n_parts) / unit,
        edge_work=_sums(owner[on_edge], graph.weights[on_edge], n_parts) / unit,
        populations=both_ways.sum(axis=1),
        neighbours=np.count_nonzero(both_ways, axis=1),
        edge_nodes=int(np.count_nonzero(on_edge)),
        cut_faces=cut_faces,
    )


def _sums(owner, weights, n_parts) -> np.ndarray:
    return np.bincount(owner, weights=weights, minlength=n_parts)


@njit(cache=True)
def _count_crossings(neighbour, owner, pairs, on_edge):
    """Add the links to other parts to ``pairs``, mark the nodes at both ends; returns how many there are."""
    n_cut = 0
    for n in range(owner.size):
        far = neighbour[n]
        if far >= 0 and owner[far] != owner[n]:
            pairs[owner[n], owner[far]] += 1
            on_edge[n] = True
            on_edge[far] = True
            n_cut += 1
    return n_cut
