"""One call for all methods: a graph and a number of parts give the owner of each node."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType

import numpy as np

from partition.cartesian import cartesian_cut
from partition.curve import hilbert_cut
from partition.errors import PartitionError
from partition.graph import Graph
from partition.metis import metis_cut

METHODS: Mapping[str, Callable[[Graph, int], np.ndarray]] = MappingProxyType(
    {"metis": metis_cut, "curve": hilbert_cut}
    | {axes: partial(cartesian_cut, axes=axes.lower()) for axes in ("X", "Y", "Z", "XY", "XZ", "YZ", "XYZ")}
)


def partition(graph: Graph, n_parts: int, method: str = "metis") -> np.ndarray:
    """Cut a graph into parts of nearly equal weight.

    Args:
        graph: the graph.
        n_parts: number of parts (ranks).
        method: one of ``METHODS``.

    Returns:
        (n,) int32 part of each node, 0 to n_parts - 1; no part is empty. The same input gives the same output.

    Raises:
        PartitionError: unknown method, n_parts below 1 or above the number of nodes.
    """
    if method not in METHODS:
        folded = {name.lower(): name for name in METHODS}
        nearest = folded[get_close_matches(method.lower(), folded, n=1, cutoff=0.0)[0]]
        raise PartitionError(f"unknown method {method!r}; did you mean {nearest!r}? There are: {', '.join(METHODS)}")
    if n_parts < 1:
        raise PartitionError(f"the number of parts is {n_parts}; give at least 1")
    if n_parts > graph.n_nodes:
        raise PartitionError(
            f"more ranks than nodes: {n_parts} parts of a graph of {graph.n_nodes} nodes;"
            f" give at most {graph.n_nodes} parts or refine the geometry"
        )
    return METHODS[method](graph, n_parts)
