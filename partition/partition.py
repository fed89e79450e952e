"""Common interface of all methods: the owner of each node from a graph and a number of parts."""

from difflib import get_close_matches
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.choice import Choice, choose
from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import METHODS
from muphy_lb.partition.quality import D3Q19_FP32, H200
from muphy_lb.partition.voxels import VoxelGraph

AUTO = "auto"


def partition(graph: VoxelGraph, n_parts: int, method: str = AUTO, shares=None) -> np.ndarray:
    """Partition a graph into parts of nearly equal weight, or of weights in proportion to ``shares``.

    Args:
        graph: the graph.
        n_parts: number of parts (ranks).
        method: one of ``METHODS``, or "auto": the one with the shortest predicted step on the default machine;
            :func:`partition_with_reason` accepts other machines and reports the reason.
        shares: relative speeds of the ranks, one positive number for each; equal by default.

    Returns:
        (n,) int32 part of each node, 0 to n_parts - 1; no part is empty. Deterministic.

    Raises:
        PartitionError: unknown method, n_parts below 1 or above the number of nodes, invalid shares.
    """
    return partition_with_reason(graph, n_parts, method, shares=shares)[0]


def partition_with_reason(
    graph: VoxelGraph,
    n_parts: int,
    method: str = AUTO,
    exchange: Exchange = D3Q19_FP32,
    cost: StepCost = H200,
    shares=None,
) -> tuple[np.ndarray, Choice]:
    """Partition a graph as :func:`partition` does, and tell the method with the reason for it.

    Args:
        graph, n_parts, method, shares: as of :func:`partition`.
        exchange, cost: data exchanged between parts, and cost model of the machine, by which "auto" chooses.

    Raises:
        PartitionError: as :func:`partition`.
    """
    check_parts(graph, n_parts, method)
    if method == AUTO:
        return choose(graph, n_parts, exchange, cost, shares)
    return METHODS[method](graph, n_parts, shares), Choice(method, MappingProxyType({}), "")


def check_parts(graph: VoxelGraph, n_parts: int, method: str) -> None:
    """Check the method and the number of parts.

    Raises:
        PartitionError: as :func:`partition`.
    """
    names = (AUTO, *METHODS)
    if method not in names:
        folded = {name.lower(): name for name in names}
        nearest = folded[get_close_matches(method.lower(), folded, n=1, cutoff=0.0)[0]]
        raise PartitionError(f"unknown method {method!r}; did you mean {nearest!r}? There are: {', '.join(names)}")
    if n_parts < 1:
        raise PartitionError(f"the number of parts is {n_parts}; give at least 1")
    if n_parts > graph.n_nodes:
        raise PartitionError(
            f"more ranks than nodes: {n_parts} parts of a graph of {graph.n_nodes} nodes;"
            f" give at most {graph.n_nodes} parts or refine the geometry"
        )
