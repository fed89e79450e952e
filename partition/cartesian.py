"""Cartesian cuts: slabs, columns and blocks along the axes X, Y, Z, XY, XZ, YZ, XYZ.

The nodes are cut at weight quantiles along the first axis, each slab at its own quantiles along the second, each
column along the third. Nodes in one coordinate plane are ordered lexicographically by the remaining axes, so a cut may
run through a plane: the border then has one step, and the balance does not depend on the geometry.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from partition.graph import Graph
from partition.weights import equal_weight_bounds

AXES = "xyz"


def cartesian_cut(graph: Graph, n_parts: int, axes: str) -> np.ndarray:
    """(n,) int32 owners of a nested cut along ``axes``, for example "xz"; no part is empty if n_parts <= n_nodes."""
    numbers = [AXES.index(axis) for axis in axes]
    low = graph.coordinates.min(axis=0)
    extents = graph.coordinates.max(axis=0) - low + 1
    counts = parts_per_axis(n_parts, extents[numbers])
    keys = [_axis_first_key(graph.coordinates, i) for i in numbers]
    owner = np.empty(graph.n_nodes, dtype=np.int32)
    for r, nodes in enumerate(_nested_pieces(np.arange(graph.n_nodes), graph.weights, keys, counts)):
        owner[nodes] = r
    return owner


def parts_per_axis(n_parts: int, extents: Sequence[int]) -> tuple[int, ...]:
    """Factors of ``n_parts``, one per axis, whose blocks of a box with these extents have the least surface."""
    divisors = [d for d in range(1, n_parts + 1) if n_parts % d == 0]
    choices = (counts for counts in product(divisors, repeat=len(extents)) if prod(counts) == n_parts)
    return min(choices, key=lambda counts: sum(count / extent for count, extent in zip(counts, extents, strict=True)))


def _axis_first_key(coordinates: np.ndarray, axis: int) -> np.ndarray:
    """(n,) int64 keys that order nodes along an axis and, in one plane, by the other axes, the highest first."""
    shifted = coordinates - coordinates.min(axis=0)
    size = shifted.max(axis=0) + 1
    key = shifted[:, axis]
    for i in (2, 1, 0):
        if i != axis:
            key = key * size[i] + shifted[:, i]
    return key


def _nested_pieces(nodes: np.ndarray, weights: np.ndarray, keys, counts) -> Iterator[np.ndarray]:
    """Node numbers of one part after the other."""
    if not counts:
        yield nodes
        return
    order = nodes[np.argsort(keys[0][nodes], kind="stable")]
    bounds = equal_weight_bounds(weights[order], counts[0], least=prod(counts[1:]))
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        yield from _nested_pieces(order[start:stop], weights, keys[1:], counts[1:])
