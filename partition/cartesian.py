"""Cartesian cuts: slabs, columns and blocks along the axes X, Y, Z, XY, XZ, YZ, XYZ.

The nodes are cut at weight quantiles along the first axis, each slab at its own quantiles along the second, each
column along the third. Nodes in one coordinate plane are ordered by the axes cut before and then by the others, so a
cut may run through a plane: the border then has one step, and the balance does not depend on the geometry.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import VoxelGraph
from muphy_lb.partition.weights import part_shares, weight_bounds

AXES = "xyz"


def cartesian_cut(graph: Graph | VoxelGraph, n_parts: int, shares=None, *, axes: str) -> np.ndarray:
    """(n,) int32 owners of a nested cut along ``axes``, for example "xz".

    Parts have equal weight, or weight in proportion to ``shares``; none is empty if n_parts <= n_nodes.
    """
    low = graph.coordinates.min(axis=0)
    extents = graph.coordinates.max(axis=0) - low + 1
    narrow = np.min_scalar_type(int(extents.max()))  # NumPy sorts 16 bits in linear time
    places = [(graph.coordinates[:, i] - low[i]).astype(narrow) for i in range(3)]
    numbers = [AXES.index(axis) for axis in axes]
    counts = parts_per_axis(n_parts, extents[numbers])
    wanted = part_shares(shares, n_parts).reshape(counts)
    owner = np.empty(graph.n_nodes, dtype=np.int32)
    pieces = _nested_pieces(np.lexsort(places), graph.weights, [places[i] for i in numbers], wanted)
    for r, nodes in enumerate(pieces):
        owner[nodes] = r
    return owner


def parts_per_axis(n_parts: int, extents: Sequence[int]) -> tuple[int, ...]:
    """Factors of ``n_parts``, one per axis, whose blocks of a box with these extents have the least surface."""
    divisors = [d for d in range(1, n_parts + 1) if n_parts % d == 0]
    choices = (counts for counts in product(divisors, repeat=len(extents)) if prod(counts) == n_parts)
    return min(choices, key=lambda counts: sum(count / extent for count, extent in zip(counts, extents, strict=True)))


def _nested_pieces(nodes: np.ndarray, weights: np.ndarray, places, shares: np.ndarray) -> Iterator[np.ndarray]:
    """Node numbers of one part after the other; ``shares`` has an axis for each of the places to cut along."""
    if not places:
        yield nodes
        return
    order = nodes[np.argsort(places[0][nodes], kind="stable")]
    bounds = weight_bounds(weights[order], shares.reshape(len(shares), -1).sum(axis=1), least=prod(shares.shape[1:]))
    for k, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        yield from _nested_pieces(order[start:stop], weights, places[1:], shares[k])
