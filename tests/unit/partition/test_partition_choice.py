"""partition.partition: the method with the shortest predicted step, and the model behind the prediction."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.partition import tiles
from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.halo import Exchange, PartLoads
from muphy_lb.partition.methods import METHODS, ON_TILES
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


@pytest.fixture
def pack(monkeypatch):
    """Voxels outside of spheres, cut on tiles of 2^3."""
    monkeypatch.setattr(tiles, "TARGET_TILES", 5000)
    x = np.stack(np.meshgrid(*[np.arange(44) % 22 - 10.5] * 3, indexing="ij"))
    return graph_from_voxels(np.flatnonzero(np.einsum("ixyz,ixyz->xyz", x, x) > 121.0), (44, 44, 44), (False,) * 3)


@pytest.mark.parametrize("n_parts", [2, 5])
def test_faces_of_tiles_foretell_the_quality_of_the_nodes(pack, n_parts):
    owner, found = choose(pack, n_parts)
    told, exact = found.candidates[found.method], quality(pack, owner, n_parts)
    assert "tiles of 2^3 voxels" in found.reason and set(found.candidates) == set(ON_TILES)
    assert told.imbalance == pytest.approx(exact.imbalance, abs=0.005)
    assert told.edge_cut == pytest.approx(exact.edge_cut, rel=0.1)
    assert told.max_halo_bytes == pytest.approx(exact.max_halo_bytes, rel=0.2)
    assert told.step_us == pytest.approx(exact.step_us, rel=0.02)
    assert np.array_equal(owner, METHODS[found.method](pack, n_parts))


def test_tiles_cost_a_step_next_to_nothing(pack):
    of_nodes, (owner, _) = quality(pack, METHODS["metis"](pack, 4), 4), choose(pack, 4)
    assert quality(pack, owner, 4).step_us < 1.02 * of_nodes.step_us


def test_nodes_at_openings_weigh_as_much_on_tiles(pack):
    weighted = pack.with_weights(np.where(pack.voxel < 44 * 44 * 8, 3, 1))
    owner, found = choose(weighted, 2)
    assert found.candidates[found.method].imbalance == pytest.approx(quality(weighted, owner, 2).imbalance, abs=0.005)
    assert found.candidates[found.method].imbalance < 1.01
