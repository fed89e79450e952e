"""Automatic choice of the partitioning method by predicted step time."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import CARTESIAN, METHODS
from muphy_lb.partition.quality import D3Q19_FP32, H200, Quality, qualities, quality_table
from muphy_lb.partition.voxels import NODE_GRAPH_LIMIT, VoxelGraph

CANDIDATES = ("metis", "curve", *CARTESIAN)
TOLERANCE = 0.01
"""Predictions that differ by less, relatively, count as equal; the smaller halo then decides."""


@dataclass(frozen=True)
class Choice:
    """The chosen method, the candidates, and the reason.

    Attributes:
        method: the name of the chosen method.
        candidates: the quality of each method that was tried; empty if the size of the graph alone decided, or the
            method was asked for.
        reason: one sentence; empty if the method was asked for.
    """

    method: str
    candidates: Mapping[str, Quality]
    reason: str

    def __str__(self) -> str:
        """The table of candidates and the reason."""
        if not self.candidates:
            return self.reason
        rows = [(name, found, mark(name, self.method)) for name, found in self.candidates.items()]
        return f"{quality_table(rows)}\n{self.reason}"


def mark(method: str, chosen: str) -> str:
    """The mark at the end of a method's line in a table."""
    return "<- auto" if method == chosen else ""


def choose(
    graph: VoxelGraph,
    n_parts: int,
    exchange: Exchange = D3Q19_FP32,
    cost: StepCost = H200,
    shares=None,
) -> tuple[np.ndarray, Choice]:
    """Partition a graph by every candidate method and choose the one with the shortest predicted step.

    Beyond ``NODE_GRAPH_LIMIT`` nodes, only tiles are used.

    Args:
        graph: the nodes.
        n_parts: number of parts (ranks), at most as many as nodes.
        exchange: the data exchanged between parts.
        cost: cost model of the machine.
        shares: relative speeds of the ranks; equal by default.

    Returns:
        (n,) int32 owners, and the choice.
    """
    if graph.n_nodes > NODE_GRAPH_LIMIT:
        reason = (
            f"partition: tiles, because {graph.n_nodes:,} nodes exceed the limit of {NODE_GRAPH_LIMIT:,} for"
            " METIS on the graph of nodes"
        )
        return METHODS["tiles"](graph, n_parts, shares), Choice("tiles", MappingProxyType({}), reason)
    owners = {method: METHODS[method](graph, n_parts, shares) for method in CANDIDATES}
    choice = best_of(qualities(graph, owners, n_parts, exchange, cost, shares))
    return owners[choice.method], choice


def best_of(candidates: Mapping[str, Quality]) -> Choice:
    """The choice among evaluated candidates: shortest predicted step; among equals, smallest halo of a rank."""
    shortest = min(found.step_us for found in candidates.values())
    candidates_equal = [name for name, found in candidates.items() if found.step_us <= (1 + TOLERANCE) * shortest]
    method = min(candidates_equal, key=lambda name: (candidates[name].max_halo_bytes, candidates[name].step_us))
    return Choice(method, MappingProxyType(dict(candidates)), _reason(candidates, method))


def _reason(candidates: Mapping[str, Quality], method: str) -> str:
    best = candidates[method]
    text = f"partition: {method}, predicted step {best.step_us:.1f} us"
    others = [name for name in candidates if name != method]
    if not others:
        return text
    name = min(others, key=lambda name: candidates[name].step_us)
    next_best = candidates[name]
    return (
        f"{text}; next best {name} with {next_best.step_us:.1f} us (imbalance {best.imbalance:.3f} against"
        f" {next_best.imbalance:.3f}, at most {best.max_halo_bytes / 1e6:.3g} MB per rank and step against"
        f" {next_best.max_halo_bytes / 1e6:.3g} MB)"
    )
