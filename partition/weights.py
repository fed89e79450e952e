"""Node weights from costs, and cuts of an ordered sequence of nodes into segments of given weight."""

from collections.abc import Mapping, Sequence

import numpy as np

from muphy_lb.partition.errors import PartitionError

RESOLUTION = 100
"""Integer weight of the cheapest group, before a common factor is removed."""

LOAD_PER_NODE = 4
"""Mean load of the nodes over what a node weighs for its memory."""


def weights_from_groups(group: np.ndarray, cost: Mapping[int, float] | Sequence[float]) -> np.ndarray:
    """Integer node weights in proportion to the cost of each node's group.

    Costs are scaled so that the cheapest group present has the weight ``RESOLUTION``, rounded, and divided by their
    greatest common divisor, so that equal costs give ones.

    Args:
        group: (n,) uint8 group number of each node.
        cost: cost per node of each group, in arbitrary units; a group missing in a mapping costs 1.

    Returns:
        (n,) unsigned integer weights of at least 1, of the smallest type that holds them.

    Raises:
        PartitionError: a cost that is not positive and finite, or a sequence that is too short.
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
    """(n_parts,) float64 fraction of the work of each part, in proportion to ``shares``; equal if None.

    Raises:
        PartitionError: not one positive finite number for each part.
    """
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
