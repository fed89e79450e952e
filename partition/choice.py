"""The automatic choice of a method by predicted step time."""

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
"""Predictions that differ by less are taken as equal; then the least halo wins."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, from what, and why.

    Attributes:
        method: the name of the chosen method.
        candidates: the numbers of each method that was tried; empty if size alone decided.
        reason: one sentence.
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
    """What stands behind a line of a table."""
    return "<- auto" if method == chosen else ""


def choose(
    graph: VoxelGraph,
    n_parts: int,
    exchange: Exchange = D3Q19_FP32,
    cost: StepCost = H200,
    shares=None,
) -> tuple[np.ndarray, Choice]:
    """Cut a graph by every candidate and take the one whose step should be shortest.

    Beyond ``NODE_GRAPH_LIMIT`` nodes tiles are cut, and nothing else is tried.

    Args:
        graph: the nodes.
        n_parts: number of parts (ranks), at most as many as nodes.
        exchange: what crosses borders.
        cost: the machine.
        shares: relative speeds of the ranks; equal by default.

    Returns:
        (n,) int32 owners, and the choice.
    """
    if graph.n_nodes > NODE_GRAPH_LIMIT:
        reason = (
            f"partition: tiles, because {graph.n_nodes:,} nodes are more than the {NODE_GRAPH_LIMIT:,} whose links"
            " METIS is given one by one"
        )
        return METHODS["tiles"](graph, n_parts, shares), Choice("tiles", MappingProxyType({}), reason)
    owners = {method: METHODS[method](graph, n_parts, shares) for method in CANDIDATES}
    choice = best_of(qualities(graph, owners, n_parts, exchange, cost, shares))
    return owners[choice.method], choice


def best_of(candidates: Mapping[str, Quality]) -> Choice:
    """The choice among measured candidates: shortest predicted step; among equals, the least a rank has to send."""
    shortest = min(found.step_us for found in candidates.values())
    equals = [name for name, found in candidates.items() if found.step_us <= (1 + TOLERANCE) * shortest]
    method = min(equals, key=lambda name: (candidates[name].max_halo_bytes, candidates[name].step_us))
    return Choice(method, MappingProxyType(dict(candidates)), _reason(candidates, method))


def _reason(candidates: Mapping[str, Quality], method: str) -> str:
    taken = candidates[method]
    text = f"partition: {method}, predicted step {taken.step_us:.1f} us"
    others = [name for name in candidates if name != method]
    if not others:
        return text
    name = min(others, key=lambda name: candidates[name].step_us)
    next_best = candidates[name]
    return (
        f"{text}; next best {name} with {next_best.step_us:.1f} us (imbalance {taken.imbalance:.3f} against"
        f" {next_best.imbalance:.3f}, at most {taken.max_halo_bytes / 1e6:.3g} MB a rank and step against"
        f" {next_best.max_halo_bytes / 1e6:.3g} MB)"
    )
