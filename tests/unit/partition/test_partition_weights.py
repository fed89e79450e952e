"""partition.costs: integer weights in proportion to costs, and cuts into equal work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muphy_lb.partition.costs import RESOLUTION, part_shares, weight_bounds, weights_from_groups, weights_from_loads
from muphy_lb.partition.errors import PartitionError

GROUP = np.array([0, 0, 1, 2], dtype=np.uint8)


def test_weights_are_in_proportion_to_costs():
    weights = weights_from_groups(GROUP, [2.0, 5.0, 3.0])
    assert (weights * 2.0).tolist() == (weights[0] * np.array([2.0, 2.0, 5.0, 3.0])).tolist()
    assert weights_from_groups(GROUP, {}).tolist() == [1, 1, 1, 1]
    assert weights_from_groups(GROUP, {1: 3.0}).tolist() == [1, 1, 3, 1]
    assert weights_from_groups(GROUP, [1.0, 2.0, 3.0]).dtype == np.uint8


def test_pieces_follow_their_shares():
    assert weight_bounds(np.ones(60, dtype=int), np.array([3.0, 1.0, 2.0])).tolist() == [0, 30, 40, 60]
    assert np.ptp(np.diff(weight_bounds(np.ones(100, dtype=int), np.ones(7)))) == 1
    assert weight_bounds(np.full(1000, 255, dtype=np.uint8), np.ones(2)).tolist() == [0, 500, 1000]


def test_rounding_is_below_half_a_part_of_the_resolution():
    cost = np.array([1.0, np.pi, np.e])
    weights = weights_from_groups(GROUP, cost)
    assert np.all(abs(weights / weights[0] - cost[GROUP]) <= 0.5 / RESOLUTION)


def test_sequence_without_the_last_group_is_an_error():
    with pytest.raises(PartitionError, match="group 2 has no cost, only 2 are given"):
        weights_from_groups(GROUP, [1.0, 2.0])


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_cost_that_is_not_positive_and_finite_is_an_error(wrong):
    with pytest.raises(PartitionError, match="group 1 costs"):
        weights_from_groups(GROUP, {1: wrong})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.data())
def test_every_piece_has_its_least_number_of_nodes(weights, data):
    n_pieces = data.draw(st.integers(1, len(weights)))
    least = data.draw(st.integers(1, len(weights) // n_pieces))
    bounds = weight_bounds(np.array(weights), part_shares(None, n_pieces), least)
    assert bounds[0] == 0 and bounds[-1] == len(weights) and np.diff(bounds).min() >= least


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=100, max_size=200), st.integers(1, 6))
def test_piece_weight_is_within_one_node_of_the_mean(weights, n_pieces):
    weights = np.array(weights)
    bounds = weight_bounds(weights, part_shares(None, n_pieces))
    pieces = np.add.reduceat(weights, bounds[:-1])
    assert abs(pieces - weights.sum() / n_pieces).max() <= weights.max() + 1


@pytest.mark.parametrize("heavy", [0, 11])
def test_heavy_end_leaves_every_piece_its_least_number_of_nodes(heavy):
    weights = np.ones(12, dtype=int)
    weights[heavy] = 1000
    assert np.diff(weight_bounds(weights, np.ones(3), least=4)).tolist() == [4, 4, 4]


def test_parts_of_equal_weight_bound_the_load_and_the_nodes_of_a_rank():
    load = np.zeros(1000)
    load[:90], load[90:100] = 1.0, 4.0
    weights = weights_from_loads(load)
    assert weights.min() == 1 and weights.sum() == pytest.approx(5 * load.size, rel=0.01)
    one_of_four = weights.sum() / 4
    assert one_of_four <= 1.26 * weights[:100].sum() / 4 and one_of_four / weights.min() <= 5.05 * load.size / 4
    assert weights[90] / weights[0] == pytest.approx(4.0, rel=0.1)


def test_without_any_load_nodes_weigh_the_same():
    assert np.array_equal(weights_from_loads(np.zeros(3)), np.ones(3))
