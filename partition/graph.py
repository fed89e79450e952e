"""The graph to be partitioned: nodes with coordinates and weights, links in compressed sparse rows (CSR)."""

from dataclasses import dataclass

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.partition.errors import PartitionError

ABSENT = -1


@dataclass(frozen=True)
class Graph:
    """An undirected graph without self-loops; every link is stored from both of its ends. Raises PartitionError:
    inconsistent array lengths, or a weight below 1."""

    indptr: np.ndarray  #: (n + 1,) int64; the neighbours of node ``n`` are ``indices[indptr[n]:indptr[n + 1]]``
    indices: np.ndarray  #: (m,) int64 neighbour node numbers, m directed links
    coordinates: np.ndarray  #: (n, 3) integer positions (x, y, z) on a grid
    weights: np.ndarray  #: (n,) int64 cost of each node, at least 1
    #: (m,) int64 cost of cutting each directed link, the same from both ends; None: all equal
    link_weights: np.ndarray | None = None

    def __post_init__(self):
        n = self.n_nodes
        if self.coordinates.shape != (n, 3) or self.weights.shape != (n,):
            raise PartitionError(
                f"a graph of {n} nodes has coordinates of shape {self.coordinates.shape} and weights of shape"
                f" {self.weights.shape}; allowed are ({n}, 3) and ({n},): give one row per node"
            )
        if n and self.weights.min() < 1:
            raise PartitionError(
                f"node {self.weights.argmin()} has weight {self.weights.min()}; weights are integers of at least 1:"
                " scale them, for example with muphy_lb.partition.costs.weights_from_groups"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.indptr.size - 1


def graph_from_neighbours(table: np.ndarray, coordinates: np.ndarray, weights: np.ndarray | None = None) -> Graph:
    """The graph whose links are the entries of a neighbour table.

    Self-loops (a periodic axis of one voxel) and repeated links (a periodic axis of two voxels) are dropped.

    Args:
        table: (K, n) integer neighbour node numbers along K directions, negative where there is none; the directions
            must include the opposite of each.
        coordinates: (n, 3) integer positions (x, y, z).
        weights: (n,) integer node weights; ones by default.

    Raises PartitionError: a neighbour number out of range, a link without its opposite, or inconsistent array shapes.
    """
    n = table.shape[1]
    if table.size and table.max() >= n:
        raise PartitionError(f"a neighbour has number {table.max()}, but nodes are 0 to {n - 1}; renumber the table")
    indptr = np.zeros(n + 1, dtype=np.int64)
    _count_links(table, indptr)
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.int64)
    _fill_links(table, indptr, indices)
    one_way = np.empty(indptr.size - 1, dtype=np.int64)
    _find_one_way_links(indptr, indices, one_way)
    nodes = np.flatnonzero(one_way != ABSENT)
    if nodes.size:
        raise PartitionError(
            f"node {nodes[0]} has neighbour {one_way[nodes[0]]}, but not the other way round;"
            " a neighbour table must hold the opposite of each of its directions"
        )
    weights = np.ones(n, dtype=np.int64) if weights is None else integer_weights(weights).astype(np.int64, copy=False)
    return Graph(indptr, indices, np.asarray(coordinates), weights)


def integer_weights(weights) -> np.ndarray:
    """Node weights as an integer array. Raises PartitionError: they are not integers."""
    weights = np.asarray(weights)
    if not np.issubdtype(weights.dtype, np.integer):
        raise PartitionError(
            f"node weights have type {weights.dtype}; they are integers of at least 1:"
            " scale them, for example with muphy_lb.partition.costs.weights_from_groups"
        )
    return weights


@njit(cache=True)
def _is_new_link(table, k, n):
    """Whether entry k of node n is a neighbour, is not the node itself and does not occur among the entries before."""
    neighbour = table[k, n]
    if neighbour < 0 or neighbour == n:
        return False
    for earlier in range(k):
        if table[earlier, n] == neighbour:
            return False
    return True


@njit(parallel=True, cache=True)
def _count_links(table, indptr):
    for n in prange(table.shape[1]):
        count = 0
        for k in range(table.shape[0]):
            count += _is_new_link(table, k, n)
        indptr[n + 1] = count


@njit(parallel=True, cache=True)
def _fill_links(table, indptr, indices):
    for n in prange(table.shape[1]):
        j = indptr[n]
        for k in range(table.shape[0]):
            if _is_new_link(table, k, n):
                indices[j] = table[k, n]
                j += 1


@njit(parallel=True, cache=True)
def _find_one_way_links(indptr, indices, one_way):
    """Set, for each node, the first neighbour that does not have it as a neighbour, ABSENT where there is none."""
    for n in prange(indptr.size - 1):
        one_way[n] = ABSENT
        for j in range(indptr[n + 1] - 1, indptr[n] - 1, -1):
            neighbour = indices[j]
            is_mutual = False
            for k in range(indptr[neighbour], indptr[neighbour + 1]):
                is_mutual |= indices[k] == n
            if not is_mutual:
                one_way[n] = neighbour
