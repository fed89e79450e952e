"""partition.partition: the method with the shortest predicted step, and the model behind the prediction."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.partition import partition
from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.halo import Exchange, PartLoads
from muphy_lb.partition.partition import CANDIDATES, TOLERANCE, best_of, choose
from muphy_lb.partition.quality import quality
from muphy_lb.partition.voxels import graph_from_voxels

BAR = graph_from_voxels(np.arange(8 * 8 * 64), (64, 8, 8), (False,) * 3)
LOAD = PartLoads(np.array([100.0, 100.0]), np.array([10.0, 20.0]), np.array([38, 76]), np.array([1, 2]), 30, 10)
EQUAL = np.array([0.5, 0.5])


def test_messages_are_hidden_behind_a_longer_interior():
    cost = StepCost(node_s=1.0, latency_s=1.0, bytes_per_s=1e30, exchange_s=0.0)
    assert cost.seconds(LOAD, Exchange(), EQUAL).tolist() == [90 + 10 + 4, 80 + 20 + 8]


def test_messages_longer_than_the_interior_are_waited_for():
    cost = StepCost(node_s=1.0, latency_s=100.0, bytes_per_s=4.0, exchange_s=0.0)
    assert cost.seconds(LOAD, Exchange(), EQUAL).tolist() == [100 + 38 + 10 + 4, 200 + 76 + 20 + 8]


def test_an_exchange_takes_a_time_of_its_own_where_there_are_neighbours():
    cost = StepCost(node_s=1.0, latency_s=0.0, bytes_per_s=1e30, exchange_s=1000.0)
    assert cost.seconds(LOAD, Exchange(), EQUAL).tolist() == [1000 + 10 + 4, 1000 + 20 + 8]
    alone = replace(LOAD, neighbours=np.array([0, 0]))
    assert cost.seconds(alone, Exchange(), EQUAL).tolist() == [104, 108]


def test_a_slow_rank_takes_longer_for_its_nodes():
    cost = StepCost(node_s=1.0, latency_s=0.0, bytes_per_s=1e30, exchange_s=0.0)
    assert cost.seconds(LOAD, Exchange(), np.array([1.0, 0.5])).tolist() == [104, 2 * 108]


@pytest.mark.parametrize("cost", [StepCost(), StepCost(1e-8, 1e-9, 1e9), StepCost(1e-9, 1e-3, 1e9)])
def test_choice_is_within_the_tolerance_of_the_best_candidate(cost):
    owner, found = choose(BAR, 6, cost=cost)
    best = min(candidate.step_us for candidate in found.candidates.values())
    assert set(found.candidates) == set(CANDIDATES)
    assert quality(BAR, owner, 6, cost=cost).step_us <= (1 + TOLERANCE) * best


def test_owners_are_those_of_the_method_that_the_choice_names():
    owner, found = choose(BAR, 6)
    assert quality(BAR, owner, 6) == found.candidates[found.method]


def test_slow_messages_make_it_cut_a_bar_across():
    _, found = choose(BAR, 8, cost=StepCost(1e-9, 1e-3, 1e9))
    assert found.candidates[found.method].max_neighbours == 2


def test_among_equals_the_least_halo_wins():
    one = quality(BAR, np.arange(BAR.n_nodes) // 2048, 2)
    other = replace(one, max_halo_bytes=one.max_halo_bytes - 1, step_us=one.step_us * (1 + TOLERANCE / 2))
    assert best_of({"first": one, "second": other}).method == "second"


def test_reason_names_the_method_and_the_next_best():
    _, found = choose(BAR, 4)
    assert found.reason.startswith(f"partition: {found.method}, predicted step ") and "next best" in found.reason
    assert str(found).count("<- auto") == 1


def test_shares_reach_the_candidates():
    owner, _ = choose(BAR, 2, shares=[3.0, 1.0])
    assert np.bincount(owner)[0] / BAR.n_nodes == pytest.approx(0.75, abs=0.01)


def test_very_large_graphs_are_cut_in_tiles(monkeypatch):
    monkeypatch.setattr(partition, "NODE_GRAPH_LIMIT", 1000)
    owner, found = choose(BAR, 4)
    assert found.method == "tiles" and np.bincount(owner).min() > 0 and "4,096 nodes" in str(found)
