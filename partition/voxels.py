"""Nodes on a voxel grid: their coordinates, and the links among them, which are computed on demand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.graph import ABSENT, Graph, graph_from_neighbours, integer_weights

NODES_PER_TASK = 4096  # nodes that one thread looks up at a time

#: (6, 3) vectors to the voxels that share a face.
FACES = np.array([(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)])
#: Largest graph whose links are listed: METIS on the graph of nodes takes about 360 bytes per node (measured).
NODE_GRAPH_LIMIT = 100_000_000
OUTSIDE = np.iinfo(np.int64).max
CHUNK_NODES = 1 << 22
MAX_RUNS = 256  # largest number of ascending runs of voxel ids that are merged; beyond, the ids are sorted


@dataclass(frozen=True)
class VoxelGraph:
    """Nodes at voxels of a box, linked if they share a face."""

    #: (n,) int64 voxel ids ``(z * ny + y) * nx + x``, each once, in any order; node numbers are positions here
    voxel: np.ndarray
    shape: tuple[int, int, int]  #: (nz, ny, nx) of the box
    periodic: tuple[bool, bool, bool]  #: three flags (x, y, z); periodic axes wrap
    weights: np.ndarray  #: (n,) integer cost of each node, at least 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.voxel.size)

    @property
    def size(self) -> np.ndarray:
        """(3,) int64 voxels of the box along x, y, z."""
        return np.array(self.shape[::-1], dtype=np.int64)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """(n, 3) int32 positions (x, y, z)."""
        found = np.empty((self.n_nodes, 3), dtype=np.int32)
        _locate(self.voxel, self.size, found)
        return found

    @cached_property
    def order(self) -> np.ndarray:
        """(n,) node numbers by ascending voxel id. Raises PartitionError: a voxel appears twice."""
        if np.all(self.voxel[1:] > self.voxel[:-1]):
            return np.arange(self.n_nodes, dtype=_number_type(self.n_nodes))
        order = np.argsort(self.voxel, kind="stable").astype(_number_type(self.n_nodes), copy=False)
        ordered = self.voxel[order]
        repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
        if repeated.size:
            raise PartitionError(f"voxel id {ordered[repeated[0]]} appears twice; every node needs a voxel of its own")
        return order

    @cached_property
    def ordered(self) -> np.ndarray:
        """(n,) ascending voxel ids."""
        return self.voxel[self.order]

    @cached_property
    def links(self) -> Graph:
        """The graph of all nodes with explicit links, as required by METIS."""
        table = np.empty((len(FACES), self.n_nodes), dtype=_number_type(self.n_nodes))
        for row, vector in zip(table, FACES, strict=True):
            row[:] = self.neighbours(vector)
        return graph_from_neighbours(table, self.coordinates, self.weights)

    def neighbours(self, vector) -> np.ndarray:
        """(n,) node number one ``vector`` (x, y, z) away from each node, ``ABSENT`` (-1) where there is none."""
        row = np.empty(self.n_nodes, dtype=_number_type(self.n_nodes))
        periodic = np.array(self.periodic, dtype=bool)
        _fill_neighbours(row, self.order, self.ordered, self.coordinates, self.size, periodic, np.asarray(vector))
        return row

    def with_weights(self, weights: np.ndarray) -> "VoxelGraph":
        """The same nodes with other weights. Raises PartitionError: not one integer of at least 1 for each node."""
        return replace(self, weights=_checked_weights(weights, self.n_nodes))

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield chunks (voxel ids, weights), ascending from chunk to chunk, if possible without sorting all nodes."""
        starts = np.concatenate(([0], 1 + np.flatnonzero(self.voxel[1:] <= self.voxel[:-1]), [self.n_nodes]))
        if starts.size > MAX_RUNS:
            for first in range(0, self.n_nodes, CHUNK_NODES):
                chunk = self.order[first : first + CHUNK_NODES]
                yield self.voxel[chunk], self.weights[chunk]
            return
        runs = [slice(start, stop) for start, stop in zip(starts[:-1], starts[1:], strict=True)]
        yield from self._merged(runs)

    def _merged(self, runs: list[slice]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The chunks of a list that consists of a few ascending runs, merged slab by slab of the box."""
        plane = int(self.size[0] * self.size[1])
        first, last = (int(pick) // plane for pick in (self.voxel.min(), self.voxel.max()))
        n_slabs = min(last - first + 1, -(-self.n_nodes // CHUNK_NODES))
        bounds = plane * np.linspace(first, last + 1, n_slabs + 1).astype(np.int64)
        cuts = [run.start + np.searchsorted(self.voxel[run], bounds) for run in runs]
        for k in range(n_slabs):
            pieces = [slice(cut[k], cut[k + 1]) for cut in cuts]
            voxel = np.concatenate([self.voxel[piece] for piece in pieces])
            order = np.argsort(voxel, kind="stable")
            yield voxel[order], np.concatenate([self.weights[piece] for piece in pieces])[order]


def graph_from_voxels(voxel: np.ndarray, shape, periodic, weights: np.ndarray | None = None) -> VoxelGraph:
    """The graph of voxels that share a face; node numbers are positions in ``voxel``.

    Args:
        voxel: (n,) int64 voxel ids ``(z * ny + y) * nx + x``, each once, in any order.
        shape: (nz, ny, nx) of the box.
        periodic: three flags (x, y, z); periodic axes wrap.
        weights: (n,) integer node weights; ones by default.

    Raises PartitionError: an id outside the box, a repeated id, or invalid weights.
    """
    voxel = np.asarray(voxel, dtype=np.int64)
    shape, periodic = tuple(int(size) for size in shape), tuple(bool(flag) for flag in periodic)
    n_voxels = shape[0] * shape[1] * shape[2]
    if voxel.size and (voxel.min() < 0 or voxel.max() >= n_voxels):
        wrong = voxel.min() if voxel.min() < 0 else voxel.max()
        raise PartitionError(
            f"voxel id {wrong} lies outside the box of {n_voxels} voxels; check that ids are (z * ny + y) * nx + x"
        )
    graph = VoxelGraph(voxel, shape, periodic, _checked_weights(weights, voxel.size))
    if (
        graph.n_nodes <= NODE_GRAPH_LIMIT
    ):  # larger graphs are cut into tiles, which check for duplicates and need no order
        _ = graph.order
    return graph


def _checked_weights(weights, n: int) -> np.ndarray:
    """Integer weights, at least 1, one per node; ones (a broadcast scalar) by default."""
    weights = np.broadcast_to(np.uint8(1), n) if weights is None else integer_weights(weights)
    if weights.shape != (n,):
        raise PartitionError(f"weights of shape {weights.shape} for {n} nodes; give one integer for each node")
    if n and weights.min() < 1:
        raise PartitionError(
            f"node {weights.argmin()} has weight {weights.min()}; weights are integers of at least 1:"
            " scale them, for example with muphy_lb.partition.costs.weights_from_groups"
        )
    return weights


def _number_type(n_nodes: int) -> type[Any]:
    return np.int32 if n_nodes < 2**31 else np.int64


@njit(parallel=True, cache=True)
def _locate(voxel, size, coordinates):
    for n in prange(voxel.size):
        row = voxel[n] // size[0]
        coordinates[n, 0] = voxel[n] - row * size[0]
        coordinates[n, 1] = row % size[1]
        coordinates[n, 2] = row // size[1]


@njit(parallel=True, cache=True)
def _fill_neighbours(row, order, ordered, coordinates, size, periodic, vector):
    """Write the node number of the neighbour of each node along a vector. Within a chunk the target ids ascend with the
    voxel ids, except where they wrap, so that a single forward scan of the ascending ids finds them."""
    shift = (vector[2] * size[1] + vector[1]) * size[0] + vector[0]
    for chunk in prange((ordered.size + NODES_PER_TASK - 1) // NODES_PER_TASK):
        first = chunk * NODES_PER_TASK
        position = np.searchsorted(ordered, ordered[first] + shift)
        for j in range(first, min(ordered.size, first + NODES_PER_TASK)):
            n = order[j]
            wrap = _wrap_shift(coordinates[n], vector, size, periodic)
            target = ordered[j] + shift
            if wrap == 0:
                position = _first_not_below(ordered, position, target)
                row[n] = _node_at(order, ordered, position, target)
            elif wrap == OUTSIDE:
                row[n] = ABSENT
            else:
                row[n] = _node_at(order, ordered, np.searchsorted(ordered, target + wrap), target + wrap)


@njit(cache=True)
def _first_not_below(ordered, position, target):
    while position < ordered.size and ordered[position] < target:
        position += 1
    return position


@njit(cache=True)
def _wrap_shift(coordinates, vector, size, periodic):
    """Correction of the id of ``coordinates + vector`` for periodic wrapping; OUTSIDE if that is not in the box."""
    wrap, stride = 0, 1
    for i in range(3):
        x = coordinates[i] + vector[i]
        if x < 0 or x >= size[i]:
            if not periodic[i]:
                return OUTSIDE
            wrap += (x % size[i] - x) * stride
        stride *= size[i]
    return wrap


@njit(cache=True)
def _node_at(order, ordered, position, target):
    if position < ordered.size and ordered[position] == target:
        return order[position]
    return ABSENT
