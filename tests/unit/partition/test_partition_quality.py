"""partition.quality: the numbers of partitionings that can be counted by hand."""

import numpy as np
import pytest

from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.quality import quality, quality_table
from muphy_lb.partition.voxels import graph_from_voxels

OPEN = (False, False, False)


def square():
    """4 x 4 nodes in a plane, four quarters as parts."""
    graph = graph_from_voxels(np.arange(16), (1, 4, 4), OPEN)
    x, y, _ = graph.coordinates.T
    return graph, (x // 2 + 2 * (y // 2)).astype(np.int32)


@pytest.fixture
def quarters():
    return quality(*square(), 4)


def test_imbalance_is_the_heaviest_part_over_the_mean():
    graph = graph_from_voxels(np.arange(3), (1, 1, 3), OPEN, np.array([1, 1, 4]))
    assert quality(graph, np.array([0, 0, 1]), 2).imbalance == pytest.approx(4 / 3)


def test_unequal_shares_that_are_met_have_imbalance_one():
    graph = graph_from_voxels(np.arange(4), (1, 1, 4), OPEN)
    assert quality(graph, np.array([0, 0, 0, 1]), 2, shares=[3.0, 1.0]).imbalance == pytest.approx(1.0)


def test_halo_is_in_proportion_to_bytes_and_directions():
    assert quality(*square(), 4, Exchange(bytes_per_population=8)).halo_bytes == 4 * 9 * 8
    faces = Exchange(np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)]))
    assert quality(*square(), 4, faces).halo_bytes == 4 * 4 * 4


def test_predicted_step_follows_the_costs():
    cost = StepCost(node_s=1.0, latency_s=0.0, bytes_per_s=1e30, exchange_s=0.0)
    # Interior 1, edge 3, packing and unpacking 9 of 19 populations each.
    assert quality(*square(), 4, cost=cost).step_us == pytest.approx(1e6 * (1 + 3 + 2 * 9 / 19))


def test_one_part_cuts_nothing():
    graph, owner = square()
    alone = quality(graph, np.zeros_like(owner), 1)
    assert (alone.edge_cut, alone.max_neighbours, alone.halo_bytes, alone.boundary_nodes) == (0, 0, 0, 0)


def test_text_names_every_number(quarters):
    # D3Q19 has diagonals, so the quarter across the corner is a neighbour. Each quarter sends 4 straight populations of
    # 4 bytes, 2 oblique ones to either side and 1 across the corner.
    assert str(quarters) == (
        "4 parts, imbalance 1.0000, edge cut 8, neighbours 3.0 (at most 3),"
        " halo bytes per step 144 (at most 36 per rank), boundary nodes 12"
    )


def test_table_marks_a_line_and_has_equal_widths(quarters):
    lines = quality_table([("a", quarters, ""), ("a longer name", quarters, "")]).splitlines()
    assert len(lines) == 3 and len(set(map(len, lines))) == 1
    lines = quality_table([("a", quarters, ""), ("b", quarters, "<- auto")]).splitlines()
    assert [line.endswith("<- auto") for line in lines] == [False, False, True]
