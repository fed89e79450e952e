"""The partitioning methods, by name.

- Cartesian, along the axes X, Y, Z, XY, XZ, YZ, XYZ: the nodes are cut at weight quantiles along the first axis, each
  slab at its own quantiles along the second, each column along the third. Nodes in one coordinate plane are ordered by
  the axes cut before and then by the others, so a cut may run through a plane: the interface then has one step, and the
  balance does not depend on the geometry.
- METIS k-way graph partitioning; pymetis is imported here alone. Source: G. Karypis and V. Kumar, "A fast and high
  quality multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20, 359 (1998).
- METIS on tiles, cubes of voxels weighted by their nodes, for very large graphs. The links between tiles are counted in
  one pass over the nodes in ascending order, with three planes of the box in memory; the graph of the nodes is never
  built. Interfaces between parts follow tile faces, so they are slightly larger than those of METIS on the graph of
  nodes; the smaller the tiles, the less.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from types import MappingProxyType

import numpy as np
import pymetis
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.partition.costs import part_shares, weight_bounds
from muphy_lb.partition.curve import hilbert_cut
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import VoxelGraph

AXES = "xyz"


def cartesian_cut(graph: Graph | VoxelGraph, n_parts: int, shares=None, *, axes: str) -> np.ndarray:
    """(n,) int32 owners by nested cuts along ``axes``, for example "xz". Parts have equal weight, or weights in
    proportion to ``shares``; none is empty if n_parts <= n_nodes."""
    low = graph.coordinates.min(axis=0)
    extents = graph.coordinates.max(axis=0) - low + 1
    narrow = np.min_scalar_type(int(extents.max()))  # NumPy sorts 16 bits in linear time
    coordinates = [(graph.coordinates[:, i] - low[i]).astype(narrow) for i in range(3)]
    numbers = [AXES.index(axis) for axis in axes]
    counts = parts_per_axis(n_parts, extents[numbers])
    fractions = part_shares(shares, n_parts).reshape(counts)
    owner = np.empty(graph.n_nodes, dtype=np.int32)
    parts = _nested_parts(np.lexsort(coordinates), graph.weights, [coordinates[i] for i in numbers], fractions)
    for r, nodes in enumerate(parts):
        owner[nodes] = r
    return owner


def parts_per_axis(n_parts: int, extents: Sequence[int]) -> tuple[int, ...]:
    """Factors of ``n_parts``, one per axis, that minimise the surface of the blocks of a box with these extents."""
    divisors = [d for d in range(1, n_parts + 1) if n_parts % d == 0]
    choices = (counts for counts in product(divisors, repeat=len(extents)) if prod(counts) == n_parts)
    return min(choices, key=lambda counts: sum(count / extent for count, extent in zip(counts, extents, strict=True)))


def _nested_parts(nodes: np.ndarray, weights: np.ndarray, coordinates, shares: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the node numbers of one part after the other; ``shares`` has one axis per coordinate to cut along."""
    if not coordinates:
        yield nodes
        return
    order = nodes[np.argsort(coordinates[0][nodes], kind="stable")]
    bounds = weight_bounds(weights[order], shares.reshape(len(shares), -1).sum(axis=1), least=prod(shares.shape[1:]))
    for k, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        yield from _nested_parts(order[start:stop], weights, coordinates[1:], shares[k])


SEED = 1
IMBALANCE_PER_MILLE = 10


def metis_cut(graph: Graph, n_parts: int, shares=None) -> np.ndarray:
    """(n,) int32 owners with a small total weight of cut links; deterministic.

    The target is an imbalance of 1.01 relative to equal parts, or to parts in proportion to ``shares``; parts need not
    be connected. METIS may leave parts empty if parts have few nodes or a node is heavier than a part should be: then
    the Hilbert curve, which leaves none empty, is used instead.
    """
    if n_parts == 1:
        return np.zeros(graph.n_nodes, dtype=np.int32)
    found = pymetis.part_graph(
        n_parts,
        pymetis.CSRAdjacency(graph.indptr, graph.indices),
        vweights=graph.weights,
        eweights=graph.link_weights,
        tpwgts=None if shares is None else part_shares(shares, n_parts).tolist(),
        recursive=False,
        options=pymetis.Options(seed=SEED, ufactor=IMBALANCE_PER_MILLE),
    )
    owner = np.asarray(found.vertex_part, dtype=np.int32)
    if np.bincount(owner, minlength=n_parts).min() == 0:
        return hilbert_cut(graph, n_parts, shares)
    return owner


TILES_PER_PART = 200  # smallest number of tiles per part: one tile is then half a per cent of a part
TARGET_TILES = 500_000  # total number of tiles aimed at: METIS partitions as many in one or two seconds


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


def tile_cut(graph: VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    """(n,) int32 owners: METIS on the graph of tiles, each node taking the owner of its tile; no part is empty."""
    side = tile_side(graph.n_nodes, n_parts)
    tiles = tile_graph(graph.chunks(), graph.shape, graph.periodic, side)
    return tiles.owner_of_voxels(metis_cut(tiles.graph, n_parts, shares), graph.voxel)


def tile_side(n_nodes: int, n_parts: int) -> int:
    """Largest tile edge [voxels] that guarantees enough tiles, as a tile holds at most side^3 nodes."""
    least = max(TILES_PER_PART * n_parts, TARGET_TILES)
    side = max(1, round((n_nodes / least) ** (1 / 3)))
    while side > 1 and side**3 * least > n_nodes:
        side -= 1
    return side


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
    n_columns, n_rows = (size[0] + side - 1) // side, (size[1] + side - 1) // side
    for n in prange(voxel.size):
        row = voxel[n] // size[0]
        column = (voxel[n] - row * size[0]) // side
        z = row // size[1]
        of_node = (z // side * n_rows + (row - z * size[1]) // side) * n_columns + column
        owner[n] = tile_owner[np.searchsorted(tile, of_node)]


def _metis(graph: VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    return metis_cut(graph.links, n_parts, shares)


CARTESIAN = ("X", "Y", "Z", "XY", "XZ", "YZ", "XYZ")
#: Functions of (graph, number of parts, shares; None: equal) that return (n,) int32 owners with no part empty.
METHODS: Mapping[str, Callable[..., np.ndarray]] = MappingProxyType(
    {"metis": _metis, "tiles": tile_cut, "curve": hilbert_cut}
    | {axes: partial(cartesian_cut, axes=axes.lower()) for axes in CARTESIAN}
)
