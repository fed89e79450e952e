"""Cartesian partitionings: slabs, columns and blocks along the axes X, Y, Z, XY, XZ, YZ, XYZ.

The nodes are cut at weight quantiles along the first axis, each slab at its own quantiles along the second, each
column along the third. Nodes in one coordinate plane are ordered by the axes cut before and then by the others, so a
cut may run through a plane: the interface then has one step, and the balance does not depend on the geometry.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from muphy_lb.partition.costs import part_shares, weight_bounds
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.voxels import VoxelGraph

AXES = "xyz"


def cartesian_cut(graph: Graph | VoxelGraph, n_parts: int, shares=None, *, axes: str) -> np.ndarray:
    """(n,) int32 owners by nested cuts along ``axes``, for example "xz".

    Parts have equal weight, or weights in proportion to ``shares``; none is empty if n_parts <= n_nodes.
    """
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
