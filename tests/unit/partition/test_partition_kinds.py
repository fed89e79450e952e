"""partition.costs: bulk, wall and opening nodes weigh what they cost."""

import numpy as np
import pytest

from muphy_lb.partition.costs import (
    BULK,
    NODE_COSTS,
    OPENING,
    STEP_COSTS,
    WALL,
    NodeCost,
    node_kinds,
    weighted_by_kind,
    weights_from_kinds,
)
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.voxels import graph_from_voxels


def slab():
    """3 x 3 x 4 nodes between walls at both ends of z, periodic along x and y; the last plane is group 1."""
    graph = graph_from_voxels(np.arange(36), (4, 3, 3), (True, True, False))
    return graph, (np.arange(36) >= 27).astype(np.uint8)


def test_kinds_are_found_from_the_links_and_the_groups():
    kind = node_kinds(*slab(), Exchange())
    assert kind.reshape(4, 9).tolist() == [[WALL] * 9, [BULK] * 9, [BULK] * 9, [OPENING] * 9]


def test_weights_are_in_proportion_to_the_cost_of_the_kind():
    kind = np.array([BULK, WALL, OPENING], dtype=np.uint8)
    assert weights_from_kinds(kind, NodeCost(2.0, 3.0, 5.0)).tolist() == [2, 3, 5]


@pytest.mark.parametrize("wall", [1.0, 2.0])
def test_graph_is_weighted_by_kind_whether_walls_are_looked_up_or_not(wall):
    graph, group = slab()
    weights = weighted_by_kind(graph, group, NodeCost(1.0, wall, 3.0), Exchange()).weights.reshape(4, 9)[:, 0]
    assert (weights / weights[1]).tolist() == [wall, 1.0, 1.0, 3.0]


def test_cost_that_is_not_positive_is_an_error():
    with pytest.raises(PartitionError, match="costs -1"):
        weights_from_kinds(np.array([BULK, WALL], dtype=np.uint8), NodeCost(1.0, -1.0))


def test_every_backend_has_costs_of_nodes_and_steps():
    assert NODE_COSTS.keys() == STEP_COSTS.keys() == {"numpy", "cpu", "cuda"}
