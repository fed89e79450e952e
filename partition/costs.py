"""Costs of nodes by kind (bulk, wall, opening) and of messages, predicted step times, and weights that follow from
costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange, PartLoads
from muphy_lb.partition.voxels import VoxelGraph

RESOLUTION = 100  # integer weight of the cheapest group, before a common factor is removed
LOAD_PER_NODE = 4  # mean load of the nodes over what a node weighs for its memory


def weights_from_groups(group: np.ndarray, cost: Mapping[int, float] | Sequence[float]) -> np.ndarray:
    """Integer node weights in proportion to the cost of each node's group.

    Costs are scaled so that the cheapest group present has the weight ``RESOLUTION``, rounded, and divided by their
    greatest common divisor, so that equal costs give ones.

    Args:
        group: (n,) uint8 group number of each node.
        cost: cost per node of each group, in arbitrary units; a group missing in a mapping costs 1.

    Returns:
        (n,) unsigned integer weights of at least 1, of the smallest type that holds them.

    Raises PartitionError: a cost that is not positive and finite, or a sequence that is too short.
    """
    present = np.unique(group)
    costs = np.array([_cost_of(int(g), cost) for g in present])
    if not np.all(np.isfinite(costs) & (costs > 0)):
        wrong = np.flatnonzero(~(np.isfinite(costs) & (costs > 0)))[0]
        raise PartitionError(
            f"group {present[wrong]} costs {costs[wrong]}; a cost is a finite number above 0: correct it"
        )
    by_group = np.zeros(256, dtype=np.int64)
    by_group[present] = np.rint(RESOLUTION * costs / costs.min(initial=np.inf)).astype(np.int64)
    by_group //= max(1, np.gcd.reduce(by_group))
    return by_group.astype(np.min_scalar_type(by_group.max()))[group]


def weights_from_loads(load: np.ndarray) -> np.ndarray:
    """Integer node weights in proportion to loads that differ from node to node, many of which may be 0.

    Every node weighs ``1 / LOAD_PER_NODE`` of the mean load in addition to its own. So parts of equal weight differ
    from their share of the load by a quarter at most, and none has more than five times its share of the nodes.

    Args:
        load: (n,) what each node costs, not negative, in arbitrary units.

    Returns:
        (n,) int64 weights of at least 1; ones without any load.
    """
    mean = load.mean(dtype=np.float64) if load.size else 0.0
    return 1 + np.rint(load * (LOAD_PER_NODE / mean if mean > 0.0 else 0.0)).astype(np.int64)


def _cost_of(group: int, cost) -> float:
    if isinstance(cost, Mapping):
        return float(cost.get(group, 1.0))
    if group >= len(cost):
        raise PartitionError(f"group {group} has no cost, only {len(cost)} are given; give one cost for each group")
    return float(cost[group])


def part_shares(shares: Sequence[float] | None, n_parts: int) -> np.ndarray:
    """(n_parts,) float64 fraction of the work of each part, in proportion to ``shares``; equal if None. Raises
    PartitionError: not one positive finite number for each part."""
    if shares is None:
        return np.full(n_parts, 1.0 / n_parts)
    given = np.asarray(shares, dtype=np.float64)
    if given.shape != (n_parts,):
        raise PartitionError(f"{given.size} shares for {n_parts} parts; give one positive number for each part")
    wrong = np.flatnonzero(~(np.isfinite(given) & (given > 0)))
    if wrong.size:
        raise PartitionError(
            f"part {wrong[0]} has share {given[wrong[0]]}; a share is a finite number above 0: correct it"
        )
    return given / given.sum()


def weight_bounds(weights: np.ndarray, shares: np.ndarray, least: int = 1) -> np.ndarray:
    """Bounds that cut an ordered sequence of nodes into segments of given shares of the total weight.

    Each cut lies between the two nodes nearest to its ideal position, so a segment's weight is within one node's weight
    of its share unless ``least`` is active.

    Args:
        weights: (n,) integer weights in order, n >= n_segments * least.
        shares: (n_segments,) positive; segments get weight in proportion to them.
        least: smallest number of nodes of a segment.

    Returns:
        (n_segments + 1,) int64 bounds; segment k is ``bounds[k]:bounds[k + 1]``.
    """
    before = np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))
    cumulative = np.concatenate(([0.0], np.cumsum(shares)))
    ideal = np.rint(before[-1] * (cumulative / cumulative[-1])).astype(np.int64)
    bounds = np.searchsorted(before, ideal)
    bounds -= (bounds > 0) & (ideal - before[bounds - 1] < before[bounds] - ideal)
    k = np.arange(ideal.size)
    bounds = np.maximum.accumulate(bounds - least * k)
    return np.minimum(bounds, weights.size - least * k[-1]) + least * k


@dataclass(frozen=True)
class NodeCost:
    """Cost of a node by kind, in arbitrary units."""

    bulk: float = 1.0  #: a node with fluid on all sides
    wall: float = 1.0  #: a node with at least one link to solid
    opening: float = 3.0  #: a node that touches an opening


# Assumed, not measured: a half-way wall is an entry of the address table and costs nothing; an opening's links are
# filled by a kernel of their own.
NODE_COSTS: Mapping[str, NodeCost] = MappingProxyType({"numpy": NodeCost(), "cpu": NodeCost(), "cuda": NodeCost()})


def step_seconds(interior, halo, after, overlaps: bool = True):
    """Time [s] of a step of a part: the interior overlaps with the halo exchange; the rest follows when both are done.

    Args:
        interior: time [s] of the nodes that need no message, a number or (P,).
        halo: time [s] of the messages, including their packing if it overlaps with the interior.
        after: time [s] of the work that waits for both.
        overlaps: whether the halo is exchanged while the interior is computed.
    """
    return (np.maximum(interior, halo) if overlaps else interior + halo) + after


@dataclass(frozen=True)
class StepCost:
    """Parameters of the model of the time of a step.

    The defaults are those of an H200 in single precision.

    Raises PartitionError: a negative or non-finite cost, or a time per node or bandwidth of zero.
    """

    node_s: float = 4.0e-11  #: seconds per node of the cheapest kind; measured: 25 000 million node updates per second
    #: additional seconds per message; assumed for GPUs with peer access, where one kernel sends to all neighbours at
    #: once
    latency_s: float = 1.0e-6
    bytes_per_s: float = 2.8e11  #: send bandwidth of a part; measured between two H200 with 0.13 to 4.5 MB
    exchange_s: float = 8.0e-6  #: fixed overhead of an exchange [s]; measured between two H200

    def __post_init__(self):
        waits = min(self.latency_s, self.exchange_s), max(self.latency_s, self.exchange_s)
        if not (0 < self.node_s < np.inf and 0 <= waits[0] <= waits[1] < np.inf and 0 < self.bytes_per_s):
            raise PartitionError(
                f"costs of a step are {self.node_s} s a node, {self.latency_s} s a message, {self.bytes_per_s} bytes/s;"
                " they must be finite and positive (the latency may be 0)"
            )

    def seconds(self, load: PartLoads, exchange: Exchange, shares: np.ndarray) -> np.ndarray:
        """(P,) predicted time [s] of a step of each part.

        The edge nodes are updated after the messages. Packing or unpacking a population moves as much memory as the
        update does for one direction.

        Args:
            load: the work and the communication of the parts.
            exchange: the data exchanged between parts.
            shares: (P,) positive relative speeds of the ranks; the fastest needs ``node_s``.
        """
        node_s = self.node_s * shares.max() / shares
        interior = (load.work - load.edge_work) * node_s
        messages = (load.neighbours > 0) * self.exchange_s + load.neighbours * self.latency_s
        messages = messages + load.populations * exchange.bytes_per_population / self.bytes_per_s
        packing = 2 * load.populations / (len(exchange.vectors) + 1) * node_s
        return step_seconds(interior, messages, load.edge_work * node_s) + packing


# The CPU's: 100 million updates a second on a core (measured), messages through shared memory (assumed).
CPU_STEP = StepCost(node_s=1.0e-8, latency_s=2.0e-6, bytes_per_s=5.0e9, exchange_s=0.0)
STEP_COSTS: Mapping[str, StepCost] = MappingProxyType({"numpy": CPU_STEP, "cpu": CPU_STEP, "cuda": StepCost()})


BULK, WALL, OPENING = 0, 1, 2


def node_kinds(graph: VoxelGraph, group: np.ndarray, exchange: Exchange) -> np.ndarray:
    """(n,) uint8 kind of each node: ``OPENING`` if its group is not 0, else ``WALL`` if a link leads to no node.

    Args:
        group: (n,) group numbers; 0 for nodes that touch no opening.
        exchange: defines the links of a node.
    """
    kind = np.full(graph.n_nodes, BULK, dtype=np.uint8)
    for vector in exchange.vectors:
        kind[graph.neighbours(vector) < 0] = WALL
    kind[group > 0] = OPENING
    return kind


def weights_from_kinds(kind: np.ndarray, cost: NodeCost) -> np.ndarray:
    """(n,) integer weights in proportion to the cost of each node's kind. Raises PartitionError: a cost that is not
    positive and finite."""
    return weights_from_groups(kind, (cost.bulk, cost.wall, cost.opening))


def weighted_by_kind(graph: VoxelGraph, group: np.ndarray, cost: NodeCost, exchange: Exchange) -> VoxelGraph:
    """The graph weighted by node kind; links are looked up only if wall and bulk nodes differ in cost."""
    if cost.wall == cost.bulk:
        kind = np.where(group > 0, np.uint8(OPENING), np.uint8(BULK))
    else:
        kind = node_kinds(graph, group, exchange)
    return graph.with_weights(weights_from_kinds(kind, cost))
