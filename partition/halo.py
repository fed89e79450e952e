"""Work and communication of each part of a partitioning in a step, counted on the links of the lattice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import known
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import VoxelGraph

#: (18, 3) vectors to the neighbours that share a face or an edge: the moving directions of D3Q19.
NEAREST = np.array([v for v in product((-1, 0, 1), repeat=3) if 1 <= sum(abs(x) for x in v) <= 2])


@dataclass(frozen=True)
class Exchange:
    """The data exchanged between parts: one population per directed link. Raises PartitionError: a vector without its
    opposite."""

    #: (K, 3) integer link vectors, including the opposite of each; D3Q19 by default
    vectors: np.ndarray = field(default_factory=lambda: NEAREST)
    bytes_per_population: int = 4  #: size of a population in a message; 4 is single precision

    def __post_init__(self):
        present = set(map(tuple, np.asarray(self.vectors).tolist()))
        unpaired = [v for v in sorted(present) if (-v[0], -v[1], -v[2]) not in present or not any(v)]
        if unpaired:
            raise PartitionError(f"link vector {unpaired[0]} has no opposite; give the moving directions of a lattice")

    @property
    def populations_per_face(self) -> int:
        """Populations that cross a face of a node one way: links along its normal and oblique ones."""
        return int(np.count_nonzero(np.asarray(self.vectors) > 0, axis=0).max())

    @property
    def halves(self) -> np.ndarray:
        """(K / 2, 3) one vector of each pair of opposites."""
        return np.array([v for v in np.asarray(self.vectors).tolist() if v > [0, 0, 0]])


@dataclass(frozen=True)
class PartLoads:
    """Work and communication of each of P parts in a step; work is counted in nodes of the cheapest kind."""

    work: np.ndarray  #: (P,) float64 total work of the nodes
    edge_work: np.ndarray  #: (P,) float64 work of the nodes with a link to another part
    populations: np.ndarray  #: (P,) int64 number of populations sent to other parts; as many are received
    neighbours: np.ndarray  #: (P,) int64 number of parts with which messages are exchanged
    edge_nodes: int  #: number of nodes, of all parts, with a link to another part
    cut_faces: int  #: number of links of length one between different parts, each counted once


def count_loads(graph: VoxelGraph, owners: Sequence[np.ndarray], n_parts: int, exchange: Exchange) -> list[PartLoads]:
    """Evaluate several partitionings of a graph at once: neighbours are looked up only once.

    Args:
        owners: (n,) integer part of each node, for each partitioning.
        n_parts: number of parts of each; memory scales with its square.
        exchange: the links along which populations are exchanged.
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


def tile_loads(graph: Graph, owner: np.ndarray, n_parts: int, exchange: Exchange, unit: float) -> PartLoads:
    """The loads of a partitioning of tiles, where each face that is cut counts as a node of the cheapest kind on an
    even interface: oblique links at its rim are left out.

    Args:
        graph: the graph of tiles, whose link weights are numbers of faces.
        owner: (t,) part of each tile.
        n_parts, exchange: as of :func:`count_loads`.
        unit: weight of a node of the cheapest kind.
    """
    source = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    cut = owner[source] != owner[graph.indices]
    sender, receiver = owner[source[cut]].astype(np.int64), owner[graph.indices[cut]]
    faces = _sums(sender, known(graph.link_weights)[cut], n_parts)
    work = _sums(owner, graph.weights, n_parts) / unit
    pairs = np.unique(sender * n_parts + receiver)
    return PartLoads(
        work=work,
        edge_work=np.minimum(work, faces),
        populations=(faces * exchange.populations_per_face).astype(np.int64),
        neighbours=np.bincount(pairs // n_parts, minlength=n_parts),
        edge_nodes=int(faces.sum()),
        cut_faces=int(faces.sum()) // 2,
    )


def _load(graph, owner, pairs, on_edge, cut_faces) -> PartLoads:
    both_ways = pairs + pairs.T
    unit, n_parts = float(graph.weights.min()), len(pairs)
    return PartLoads(
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
    """Add the links between parts to ``pairs`` and mark the nodes at both ends; returns the number of these links."""
    n_cut = 0
    for n in range(owner.size):
        other = neighbour[n]
        if other >= 0 and owner[other] != owner[n]:
            pairs[owner[n], owner[other]] += 1
            on_edge[n] = True
            on_edge[other] = True
            n_cut += 1
    return n_cut
