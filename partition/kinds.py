"""Kinds of nodes (bulk, wall, opening) and their weights."""

import numpy as np

from muphy_lb.partition.costs import NodeCost
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.voxels import VoxelGraph
from muphy_lb.partition.weights import weights_from_groups

BULK, WALL, OPENING = 0, 1, 2


def node_kinds(graph: VoxelGraph, group: np.ndarray, exchange: Exchange) -> np.ndarray:
    """(n,) uint8 kind of each node: ``OPENING`` if its group is not 0, else ``WALL`` if a link leads to no node.

    Args:
        graph: the nodes.
        group: (n,) group numbers; 0 for nodes that touch no opening.
        exchange: defines the links of a node.
    """
    kind = np.full(graph.n_nodes, BULK, dtype=np.uint8)
    for vector in exchange.vectors:
        kind[graph.neighbours(vector) < 0] = WALL
    kind[group > 0] = OPENING
    return kind


def weights_from_kinds(kind: np.ndarray, cost: NodeCost) -> np.ndarray:
    """(n,) integer weights in proportion to the cost of each node's kind.

    Raises:
        PartitionError: a cost that is not positive and finite.
    """
    return weights_from_groups(kind, (cost.bulk, cost.wall, cost.opening))


def weighted_by_kind(graph: VoxelGraph, group: np.ndarray, cost: NodeCost, exchange: Exchange) -> VoxelGraph:
    """The graph weighted by node kind; links are looked up only if wall and bulk nodes differ in cost."""
    if cost.wall == cost.bulk:
        kind = np.where(group > 0, np.uint8(OPENING), np.uint8(BULK))
    else:
        kind = node_kinds(graph, group, exchange)
    return graph.with_weights(weights_from_kinds(kind, cost))
