"""The owner of each node: by one method, by the fastest according to the predicted step time, or by all of them side by
side, for several numbers of parts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from numbers import Integral
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.costs import STEP_COSTS, StepCost, part_shares
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import CARTESIAN, METHODS, ON_TILES
from muphy_lb.partition.quality import D3Q19_FP32, H200, Quality, qualities, quality, quality_table, tile_qualities
from muphy_lb.partition.tiles import tile_side, tiles_of
from muphy_lb.partition.voxels import NODE_GRAPH_LIMIT, VoxelGraph, graph_from_voxels

CANDIDATES = ("metis", "curve", *CARTESIAN)
TOLERANCE = 0.01  # predictions that differ by less, relatively, count as equal; the smaller halo then decides


@dataclass(frozen=True)
class Choice:
    """The chosen method, the candidates, and the reason."""

    method: str  #: the name of the chosen method
    #: the quality of each method that was tried; empty if the method was asked for
    candidates: Mapping[str, Quality]
    reason: str  #: one sentence; empty if the method was asked for

    def __str__(self) -> str:
        if not self.candidates:
            return self.reason
        rows = [(name, found, mark(name, self.method)) for name, found in self.candidates.items()]
        return f"{quality_table(rows)}\n{self.reason}"


def mark(method: str, chosen: str) -> str:
    """The mark at the end of a method's line in a table."""
    return "<- auto" if method == chosen else ""


def choose(
    graph: VoxelGraph, n_parts: int, exchange: Exchange = D3Q19_FP32, cost: StepCost = H200, shares=None
) -> tuple[np.ndarray, Choice]:
    """Partition a graph by every candidate method and choose the one with the shortest predicted step.

    Where there are many nodes, METIS cuts tiles, the other candidates are compared on tiles too, and predictions count
    the faces between tiles.

    Args:
        n_parts: number of parts (ranks), at most as many as nodes.
        exchange: the data exchanged between parts.
        shares: relative speeds of the ranks; equal by default.

    Returns:
        (n,) int32 owners, and the choice.
    """
    if tile_side(graph.n_nodes, n_parts) > 1:
        return _choose_on_tiles(graph, n_parts, exchange, cost, shares)
    owners = {method: METHODS[method](graph, n_parts, shares) for method in CANDIDATES}
    choice = best_of(qualities(graph, owners, n_parts, exchange, cost, shares))
    return owners[choice.method], choice


def _choose_on_tiles(graph: VoxelGraph, n_parts: int, exchange, cost, shares) -> tuple[np.ndarray, Choice]:
    tiles = tiles_of(graph, n_parts)
    owners = {name: cut(tiles.graph, n_parts, shares) for name, cut in ON_TILES.items()}
    wanted, unit = part_shares(shares, n_parts), float(graph.weights.min())
    choice = best_of(tile_qualities(tiles.graph, owners, exchange, cost, wanted, unit))
    choice = replace(choice, reason=f"{choice.reason}; by {tiles.tile.size:,} tiles of {tiles.side}^3 voxels")
    if choice.method == "tiles":
        return tiles.owner_of_voxels(owners["tiles"], graph.voxel), choice
    return METHODS[choice.method](graph, n_parts, shares), choice


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


AUTO = "auto"


def partition(graph: VoxelGraph, n_parts: int, method: str = AUTO, shares=None) -> np.ndarray:
    """Partition a graph into parts of nearly equal weight, or of weights in proportion to ``shares``.

    Args:
        n_parts: number of parts (ranks).
        method: one of ``METHODS``, or "auto": the one with the shortest predicted step on the default machine;
            :func:`partition_with_reason` accepts other machines and reports the reason.
        shares: relative speeds of the ranks, one positive number for each; equal by default.

    Returns:
        (n,) int32 part of each node, 0 to n_parts - 1; no part is empty. Deterministic.

    Raises PartitionError: unknown method, n_parts below 1 or above the number of nodes, invalid shares.
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
    """Partition a graph as :func:`partition` does, and give the method with the reason for it.

    Args:
        graph, n_parts, method, shares: as of :func:`partition`.
        exchange, cost: data exchanged between parts, and cost model of the machine, by which "auto" chooses.

    Raises PartitionError: as :func:`partition`.
    """
    check_parts(graph, n_parts, method)
    if method == AUTO:
        return choose(graph, n_parts, exchange, cost, shares)
    return METHODS[method](graph, n_parts, shares), Choice(method, MappingProxyType({}), "")


def check_parts(graph: VoxelGraph, n_parts: int, method: str) -> None:
    """Check the method and the number of parts. Raises PartitionError: as :func:`partition`."""
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


@dataclass(frozen=True)
class MethodComparison:
    """Comparison of all methods for a number of parts."""

    qualities: dict[str, Quality]  #: the quality of each method
    chosen: str  #: the automatically chosen method
    reason: str  #: the reason for the choice, in one sentence

    def as_dict(self) -> dict:
        """Plain values for a JSON file."""
        rows = {name: asdict(found) for name, found in self.qualities.items()}
        return {"auto": self.chosen, "reason": self.reason, "methods": rows}


def compare(graph: VoxelGraph, n_parts: int, exchange: Exchange, cost: StepCost, shares=None) -> MethodComparison:
    """Partition a graph by every method and evaluate all; beyond ``NODE_GRAPH_LIMIT`` nodes, all but METIS.

    Args:
        exchange: the data exchanged between parts.
        shares: relative speeds of the ranks; equal by default.

    Raises PartitionError: n_parts below 1 or above the number of nodes.
    """
    is_large = graph.n_nodes > NODE_GRAPH_LIMIT
    methods = [method for method in METHODS if not (is_large and method == "metis")]
    owners = {method: partition(graph, n_parts, method, shares) for method in methods}
    found = qualities(graph, owners, n_parts, exchange, cost, shares)
    _, choice = choose(graph, n_parts, exchange, cost, shares)
    return MethodComparison(found, choice.method, choice.reason)


def comparison_table(comparisons: Sequence[MethodComparison]) -> str:
    """One line per method and number of parts, the automatic choice marked."""
    return quality_table(
        [(name, found, mark(name, c.chosen)) for c in comparisons for name, found in c.qualities.items()]
    )


NOBODY = -1
AXES = "xyz"
BYTES_OF_POPULATION = {"fp64": 8, "fp32": 4, "fp16": 2}


@dataclass(frozen=True, eq=False)
class Sharing:
    """The ranks that own the fluid of a box."""

    owner: np.ndarray  #: (nz, ny, nx) int32 rank of each voxel, ``NOBODY`` where there is no fluid
    method: str  #: the method, also where it was chosen automatically
    quality: Quality  #: load balance, halo, and predicted time of a step
    reason: str = ""  #: of an automatic choice, with the table of what was tried; else empty

    def __repr__(self):
        return self.reason or quality_table([(self.method, self.quality, "")])


def share(
    fluid: np.ndarray,
    ranks: int | Sequence[float],
    method: str = AUTO,
    *,
    periodic: Sequence[str] = (),
    precision: str = "fp32",
    backend: str = "cuda",
) -> Sharing:
    """Share the fluid voxels of an image among ranks.

    Args:
        fluid: (nz, ny, nx) truth values, as ``muphy_lb.geometry.read(...).fluid``.
        ranks: their number; or, of ranks that are not equally fast, the relative speed of each.
        method: "auto", the one with the shortest predicted step; or "metis", "curve", "tiles", "X" to "XYZ".
        periodic: axes along which the box repeats, as in a case: ("x", "y").
        precision: "fp64", "fp32" or "fp16": bytes of a population that crosses.
        backend: "cuda", "cpu" or "numpy": whose costs predict the time of a step.

    Raises PartitionError: no image of truth values, no fluid, more ranks than fluid voxels, a speed that is not
    positive, or an unknown name.
    """
    fluid = np.asarray(fluid)
    if fluid.dtype != np.bool_ or fluid.ndim != 3:
        raise PartitionError(
            f"the fluid is an array of shape {fluid.shape} and type {fluid.dtype}; allowed: (nz, ny, nx) truth values,"
            " such as geometry.read(...).fluid"
        )
    for what, name, allowed in (("precision", precision, BYTES_OF_POPULATION), ("backend", backend, STEP_COSTS)):
        if name not in allowed:
            raise PartitionError(f"{what} is {name!r}; allowed: {', '.join(allowed)}")
    if set(periodic) - set(AXES):
        raise PartitionError(f"periodic is {periodic!r}; allowed: some of {', '.join(AXES)}, as in ['x', 'y']")
    voxel = np.flatnonzero(fluid)
    graph = graph_from_voxels(voxel, fluid.shape, [axis in periodic for axis in AXES])
    exchange, cost = Exchange(bytes_per_population=BYTES_OF_POPULATION[precision]), STEP_COSTS[backend]
    speeds = None if isinstance(ranks, int | Integral) else ranks
    n_parts = int(ranks) if isinstance(ranks, int | Integral) else len(ranks)
    part, choice = partition_with_reason(graph, n_parts, method, exchange, cost, speeds)
    owner = np.full(fluid.shape, NOBODY, dtype=np.int32)
    owner.flat[voxel] = part
    return Sharing(owner, choice.method, quality(graph, part, n_parts, exchange, cost, speeds), str(choice))
