"""Tiles, cubes of voxels that go to a part as a whole: the graph that large graphs are partitioned on.

The links between tiles are counted in one pass over the nodes in ascending order, with three planes of the box in
memory; the graph of the nodes is never built. Interfaces between parts follow tile faces, so they are slightly larger
than those of the graph of nodes; the smaller the tiles, the less.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import NODES_PER_TASK, VoxelGraph

TILES_PER_PART = 200  # smallest number of tiles per part: one tile is then half a per cent of a part
TARGET_TILES = 100_000  # number of tiles aimed at if all are full: METIS partitions as many in a tenth of a second


@dataclass(frozen=True)
class TileGraph:
    """The graph of the occupied tiles."""

    #: one node per tile: its weight is the sum over its nodes, a link weight the number of faces between nodes
    graph: Graph
    tile: np.ndarray  #: (t,) int64 ascending row-major numbers of the tiles in the box of tiles
    side: int  #: voxels along an edge of a tile
    shape: tuple[int, int, int]  #: (nz, ny, nx) of the box of voxels

    def owner_of_voxels(self, tile_owner: np.ndarray, voxel: np.ndarray) -> np.ndarray:
        """(n,) int32 owner of each voxel: that of its tile."""
        owner = np.empty(voxel.size, dtype=np.int32)
        _assign_owners(owner, voxel, self.tile, tile_owner, np.array(self.shape[::-1]), self.side)
        return owner


def tile_side(n_nodes: int, n_parts: int) -> int:
    """Tile edge [voxels] that gives each part enough tiles, as a tile holds at most side^3 nodes; 1: few nodes."""
    least = TILES_PER_PART * n_parts
    side = max(1, round((n_nodes / max(least, TARGET_TILES)) ** (1 / 3)))
    while side > 1 and side**3 * least > n_nodes:
        side -= 1
    return side


def tiles_of(graph: VoxelGraph, n_parts: int) -> TileGraph:
    """The tiles on which a graph is partitioned into this number of parts."""
    return tile_graph(graph.chunks(), graph.shape, graph.periodic, tile_side(graph.n_nodes, n_parts))


def tile_graph(chunks: Iterable[tuple[np.ndarray, np.ndarray]], shape, periodic, side: int) -> TileGraph:
    """The graph of tiles of nodes that are passed in chunks.

    Args:
        chunks: voxel ids and weights of nodes, both (k,) integers; ids ascend inside a chunk and from chunk to chunk.
        shape: (nz, ny, nx) of the box.
        periodic: three flags (x, y, z); periodic axes wrap.
        side: voxels along an edge of a tile.

    Raises PartitionError: ids that do not ascend, such as one that appears twice.
    """
    size = np.array(shape[::-1], dtype=np.int64)
    n_tiles = -(-size // side)
    layers = zip(*_layers(chunks, size, np.array(periodic, dtype=bool), side), strict=True)
    found, *sums = (np.concatenate(column) for column in layers)
    tile, index = np.unique(found, return_inverse=True)
    weights, *faces = (np.bincount(index, column, tile.size).astype(np.int64) for column in sums)
    coordinates = np.stack(np.unravel_index(tile, n_tiles[::-1])[::-1], axis=-1)
    one, other, link_weights = _tile_links(tile, coordinates, n_tiles, faces)
    graph = _symmetric_graph(coordinates, weights, (one, other, link_weights))
    return TileGraph(graph, tile, side, triple(int(n) for n in shape))


def _planes(chunks, plane: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (z, ids inside the plane, weights) of the nodes, plane by plane; a plane may be split into several."""
    last = -1
    for voxel, weights in chunks:
        if voxel.size == 0:
            continue
        if voxel[0] <= last or np.any(voxel[1:] <= voxel[:-1]):
            raise PartitionError(
                "voxel ids do not ascend, or one appears twice; every node needs a voxel of its own, in ascending order"
            )
        last = voxel[-1]
        z = np.arange(voxel[0] // plane, last // plane + 1)
        bounds = np.searchsorted(voxel, plane * np.append(z, z[-1] + 1))
        for k in np.flatnonzero(np.diff(bounds)):
            piece = slice(bounds[k], bounds[k + 1])
            yield int(z[k]), voxel[piece] - plane * z[k], weights[piece]


def _layers(chunks, size, periodic, side) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield (tile numbers, weights, faces shared with the preceding tile along x, y, z), layer by layer of tiles. If z
    is periodic, a final entry holds the faces between the last and the first plane, as tiles without weight."""
    columns = -(-size[:2] // side)
    sums = np.zeros((4, columns[1] * columns[0]), dtype=np.int64)
    first, before, here = (np.zeros(size[0] * size[1], dtype=np.bool_) for _ in range(3))
    wrapped = np.zeros_like(sums)
    at = None
    for z, ids, weights in _planes(chunks, int(size[0] * size[1])):
        if at is not None and z != at:
            before, here = here, before
            here[:] = False
            if z != at + 1:
                before[:] = False
            if z // side != at // side:
                yield _occupied(sums, at // side)
                sums[:] = 0
        at = z
        _add_plane(sums, here, ids, weights, (size[0], size[1], periodic[0], periodic[1], side))
        if z % side == 0 and z > 0:
            _add_faces(sums[3], before, ids, size[0], side)
        if z == 0:
            first |= here
        if z == size[2] - 1 and periodic[2]:
            _add_faces(wrapped[3], first, ids, size[0], side)
    yield _occupied(sums, at // side)
    yield _occupied(wrapped, 0)


def _occupied(sums: np.ndarray, layer: int) -> tuple[np.ndarray, ...]:
    found = np.flatnonzero(sums.any(axis=0))
    return (found + layer * sums.shape[1], *sums[:, found])


def _tile_links(tile, coordinates, n_tiles, faces) -> tuple[np.ndarray, ...]:
    """(lower tile, higher tile, number of common faces) of each pair of adjacent tiles, by ascending pair."""
    pairs, counts = [], []
    strides = (1, n_tiles[0], n_tiles[0] * n_tiles[1])
    for i in range(3):
        here = np.flatnonzero(faces[i])
        before = (coordinates[here, i] - 1) % n_tiles[i] - coordinates[here, i]
        there = np.searchsorted(tile, tile[here] + before * strides[i])
        apart = here != there
        pairs.append((np.minimum(here, there) * tile.size + np.maximum(here, there))[apart])
        counts.append(faces[i][here][apart])
    pair, index = np.unique(np.concatenate(pairs), return_inverse=True)
    return pair // tile.size, pair % tile.size, np.bincount(index, np.concatenate(counts), pair.size).astype(np.int64)


def _symmetric_graph(coordinates, weights, links) -> Graph:
    """The graph with these undirected links (one end, other end, weight), each stored from both ends."""
    one, other, link_weights = links
    source, target = np.concatenate((one, other)), np.concatenate((other, one))
    order = np.lexsort((target, source))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=weights.size))))
    return Graph(indptr, target[order], coordinates, weights, np.tile(link_weights, 2)[order])


@njit(cache=True)
def _add_plane(sums, here, ids, weights, frame):
    """Mark the nodes of a plane, and add their weights and their faces with the preceding tiles along x and y. Ids
    ascend, so the preceding nodes are already marked, as are the first ones where an axis wraps."""
    nx, ny, wraps_x, wraps_y, side = frame
    n_columns = (nx + side - 1) // side
    for j in range(ids.size):
        n = ids[j]
        here[n] = True
        y = n // nx
        x = n - y * nx
        row, column = y // side * n_columns, x // side
        sums[0, row + column] += weights[j]
        if x % side == 0 and x > 0 and here[n - 1]:
            sums[1, row + column] += 1
        if y % side == 0 and y > 0 and here[n - nx]:
            sums[2, row + column] += 1
        if wraps_x and x == nx - 1 and here[y * nx]:
            sums[1, row] += 1
        if wraps_y and y == ny - 1 and here[x]:
            sums[2, column] += 1


@njit(cache=True)
def _add_faces(faces, other, ids, nx, side):
    """Count, per tile, the nodes of a plane that have a node at the same position of another plane."""
    n_columns = (nx + side - 1) // side
    for j in range(ids.size):
        if other[ids[j]]:
            y = ids[j] // nx
            faces[y // side * n_columns + (ids[j] - y * nx) // side] += 1


@njit(parallel=True, cache=True)
def _assign_owners(owner, voxel, tile, tile_owner, size, side):
    """Write the owner of each node. Successive nodes mostly lie in one tile, which is then not looked up again."""
    n_columns, n_rows = (size[0] + side - 1) // side, (size[1] + side - 1) // side
    for task in prange((voxel.size + NODES_PER_TASK - 1) // NODES_PER_TASK):
        found, at = np.int64(-1), 0
        for n in range(task * NODES_PER_TASK, min(voxel.size, (task + 1) * NODES_PER_TASK)):
            row = voxel[n] // size[0]
            column = (voxel[n] - row * size[0]) // side
            z = row // size[1]
            of_node = (z // side * n_rows + (row - z * size[1]) // side) * n_columns + column
            if of_node != found:
                found, at = of_node, np.searchsorted(tile, of_node)
            owner[n] = tile_owner[at]
