"""The partitioning methods, by name.

- Cartesian, along the axes X, Y, Z, XY, XZ, YZ, XYZ: the nodes are cut at weight quantiles along the first axis, each
  slab at its own quantiles along the second, each column along the third. Nodes in one coordinate plane are ordered by
  the axes cut before and then by the others, so a cut may run through a plane: the interface then has one step, and the
  balance does not depend on the geometry.
- METIS k-way graph partitioning; pymetis is imported here alone. Source: G. Karypis and V. Kumar, "A fast and high
  quality multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20, 359 (1998).
- METIS on tiles (``tiles.py``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from types import MappingProxyType

import numpy as np
import pymetis

from muphy_lb.partition.costs import part_shares, weight_bounds
from muphy_lb.partition.curve import hilbert_cut
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.tiles import tiles_of
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
    by_place = graph.order if isinstance(graph, VoxelGraph) else np.lexsort(coordinates)
    parts = _nested_parts(by_place, graph.weights, [coordinates[i] for i in numbers], fractions)
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
    along = coordinates[0][nodes]
    order = nodes if np.all(along[1:] >= along[:-1]) else nodes[np.argsort(along, kind="stable")]
    bounds = weight_bounds(weights[order], shares.reshape(len(shares), -1).sum(axis=1), least=prod(shares.shape[1:]))
    for k, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        yield from _nested_parts(order[start:stop], weights, coordinates[1:], shares[k])


SEED = 1
NODES_PER_MILLE, TILES_PER_MILLE = 10, 2  # METIS leaves parts of nodes far below what is allowed, those of tiles there


def metis_cut(graph: Graph, n_parts: int, shares=None, *, per_mille: int = NODES_PER_MILLE) -> np.ndarray:
    """(n,) int32 owners with a small total weight of cut links; deterministic.

    The target is an imbalance of ``1 + per_mille / 1000`` relative to equal parts, or to parts in proportion to
    ``shares``; parts need not be connected. METIS may leave parts empty if parts have few nodes or a node is heavier
    than a part should be: then the Hilbert curve, which leaves none empty, is used instead.
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
        options=pymetis.Options(seed=SEED, ufactor=per_mille),
    )
    owner = np.asarray(found.vertex_part, dtype=np.int32)
    if np.bincount(owner, minlength=n_parts).min() == 0:
        return hilbert_cut(graph, n_parts, shares)
    return owner


Cut = Callable[..., np.ndarray]
CARTESIAN = ("X", "Y", "Z", "XY", "XZ", "YZ", "XYZ")
SIMPLE: Mapping[str, Cut] = MappingProxyType(
    {"curve": hilbert_cut} | {axes: partial(cartesian_cut, axes=axes.lower()) for axes in CARTESIAN}
)
#: Functions of (graph of tiles, number of parts, shares; None: equal) that return the (t,) int32 owners of tiles.
ON_TILES: Mapping[str, Cut] = MappingProxyType({"tiles": partial(metis_cut, per_mille=TILES_PER_MILLE), **SIMPLE})


def metis_of_nodes(graph: VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    """:func:`metis_cut` of the graph of all nodes."""
    return metis_cut(graph.links, n_parts, shares)


def tile_cut(graph: VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    """(n,) int32 owners by METIS on tiles, each node taking the owner of its tile; no part is empty."""
    tiles = tiles_of(graph, n_parts)
    return tiles.owner_of_voxels(ON_TILES["tiles"](tiles.graph, n_parts, shares), graph.voxel)


#: Functions of (graph, number of parts, shares; None: equal) that return (n,) int32 owners with no part empty.
METHODS: Mapping[str, Cut] = MappingProxyType({"metis": metis_of_nodes, "tiles": tile_cut, **SIMPLE})
