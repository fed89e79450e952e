"""How good a partitioning is: balance, cut and what the ranks must exchange."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np
from numba import njit

from partition.graph import Graph

BYTES_PER_LINK = 8
COLUMNS = ("parts", "imbalance", "edge cut", "neighbours", "at most", "halo bytes", "at most", "boundary nodes")
FORMATS = ("d", ".4f", "d", ".1f", "d", "d", "d", "d")


@dataclass(frozen=True)
class Quality:
    """Numbers of one partitioning.

    Attributes:
        n_parts: number of parts.
        imbalance: weight of the heaviest part divided by the mean; 1 is perfect.
        edge_cut: links (each counted once) between different parts.
        mean_neighbours, max_neighbours: parts that a part has links to.
        halo_bytes: estimate of what all ranks together send in a step: cut directed links times bytes per link.
        max_halo_bytes: the same for the rank that sends most.
        boundary_nodes: nodes with a link to another part.
    """

    n_parts: int
    imbalance: float
    edge_cut: int
    mean_neighbours: float
    max_neighbours: int
    halo_bytes: int
    max_halo_bytes: int
    boundary_nodes: int

    def row(self) -> tuple[str, ...]:
        """The numbers as text, one for each of ``COLUMNS``."""
        return tuple(format(value, spec) for value, spec in zip(astuple(self), FORMATS, strict=True))

    def __str__(self) -> str:
        """The numbers in one line."""
        parts, imbalance, cut, mean, most, halo, most_halo, boundary = self.row()
        return (
            f"{parts} parts, imbalance {imbalance}, edge cut {cut}, neighbours {mean} (at most {most}),"
            f" halo bytes per step {halo} (at most {most_halo} a rank), boundary nodes {boundary}"
        )


def quality(graph: Graph, owner: np.ndarray, n_parts: int, bytes_per_link: int = BYTES_PER_LINK) -> Quality:
    """Measure a partitioning.

    Args:
        graph: the graph that was cut.
        owner: (n,) integer part of each node.
        n_parts: number of parts.
        bytes_per_link: bytes that one cut directed link sends per step. One population of 8 bytes is exact for a graph
            with a link per lattice direction; a graph of faces stands for several directions a link.
    """
    source, target = _cut_links(graph.indptr, graph.indices, owner)
    work = np.bincount(owner, weights=graph.weights, minlength=n_parts)
    sent = bytes_per_link * np.bincount(owner[source], minlength=n_parts)
    pairs = np.unique(owner[source].astype(np.int64) * n_parts + owner[target])
    neighbours = np.bincount(pairs // n_parts, minlength=n_parts)
    return Quality(
        n_parts=n_parts,
        imbalance=float(work.max() / work.mean()),
        edge_cut=source.size // 2,
        mean_neighbours=float(neighbours.mean()),
        max_neighbours=int(neighbours.max()),
        halo_bytes=int(sent.sum()),
        max_halo_bytes=int(sent.max()),
        boundary_nodes=np.unique(source).size,
    )


def quality_table(qualities: Mapping[str, Quality]) -> str:
    """A table with one line per named partitioning."""
    lines = [("method", *COLUMNS), *((name, *quality.row()) for name, quality in qualities.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines)


@njit(cache=True)
def _cut_links(indptr, indices, owner):
    """Source and target nodes of the directed links between different parts, ascending in the source."""
    n_cut = 0
    for n in range(indptr.size - 1):
        for j in range(indptr[n], indptr[n + 1]):
            n_cut += owner[indices[j]] != owner[n]
    source = np.empty(n_cut, dtype=np.int64)
    target = np.empty(n_cut, dtype=np.int64)
    i = 0
    for n in range(indptr.size - 1):
        for j in range(indptr[n], indptr[n + 1]):
            if owner[indices[j]] != owner[n]:
                source[i] = n
                target[i] = indices[j]
                i += 1
    return source, target
