"""Sharing among ranks from a case: by their speeds, by the kinds of nodes, and by the automatic choice."""

import logging

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.bench.jobs import tile_nodes
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.store import write_geometry
from muphy_lb.partition.costs import NODE_COSTS
from muphy_lb.partition.store import write_partition
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.setup.sharing import share_nodes
from tests.vessel import changed, vessel


def share(n_ranks, **compute):
    """Nodes of the vessel, and their owners."""
    case = case_from_dict(changed(compute={"backend": "cpu"} | compute))
    nodes, _ = load_nodes(case)
    return nodes, share_nodes(nodes, case, n_ranks)


def work(nodes, owner):
    cost = NODE_COSTS["cpu"]
    return np.bincount(owner, np.where(nodes.group > 0, cost.opening, cost.bulk))


@pytest.mark.parametrize("method", ["auto", "metis", "tiles", "curve", "XYZ"])
def test_a_rank_of_half_the_speed_gets_half_the_work(method):
    fast, slow = work(*share(2, partition=method, rank_speeds=[1.0, 0.5]))
    assert fast / slow == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_speeds_for_another_number_of_ranks_are_an_error(n_ranks):
    with pytest.raises(InputError, match=f"compute.rank_speeds has 2 values for {n_ranks} ranks; give one for each"):
        share(n_ranks, rank_speeds=[1.0, 0.5])


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_a_speed_that_is_not_positive_is_an_error(speed):
    with pytest.raises(InputError, match="compute.rank_speeds"):
        case_from_dict(changed(compute={"rank_speeds": [1.0, speed]}))


def test_the_automatic_choice_is_the_default_and_says_why(caplog):
    with caplog.at_level(logging.INFO, "muphy_lb"):
        share(2)
    assert "predicted step" in caplog.text


@pytest.fixture
def prepared(tmp_path):
    """A function: the vessel's case on a geometry with a partitioning metis-2 that no method would make."""
    nodes, _ = load_nodes(vessel())
    write_geometry(tmp_path / "vessel.h5", nodes)
    write_partition(tmp_path / "vessel.h5", "metis-2", np.arange(nodes.n_nodes) % 2, "by hand")

    def owners(**compute):
        table = changed(compute={"backend": "cpu"} | compute) | {"geometry": {"file": "vessel.h5"}}
        return share_nodes(nodes, case_from_dict(table, tmp_path), 2)

    return owners


def test_the_automatic_choice_is_not_made_where_the_command_has_made_one(prepared):
    owner = prepared()
    assert np.array_equal(owner, np.arange(owner.size) % 2)


def test_a_partitioning_made_for_equal_ranks_is_not_used_for_unequal_ones(prepared):
    owner = prepared(rank_speeds=[1.0, 0.5])
    assert not np.array_equal(owner, np.arange(owner.size) % 2)


def test_owners_of_a_file_are_not_used_for_copies_of_its_nodes(tmp_path):
    spheres = {"shape": "sphere_pack", "spacing_m": 1.0, "options": {"size": 12, "radius": 3.0, "porosity": 0.6}}
    flow = {"openings": [], "flow": {"acceleration_m_s2": [1e-6, 0.0, 0.0]}, "lattice": {"relaxation_time": 0.8}}
    flow["lattice"] |= {"lattice_velocity": None}
    nodes, _ = load_nodes(case_from_dict(changed(geometry=spheres, **flow)))
    write_geometry(tmp_path / "spheres.h5", nodes)
    write_partition(tmp_path / "spheres.h5", "metis-2", np.arange(nodes.n_nodes) % 2, "metis")
    prepared = {"file": str(tmp_path / "spheres.h5"), "shape": None, "spacing_m": None, "options": None}
    case = case_from_dict(changed(geometry=prepared, **flow))
    assert share_nodes(nodes, case, 2).tolist() == (np.arange(nodes.n_nodes) % 2).tolist()
    copies = tile_nodes(nodes, (2, 1, 1))
    assert np.bincount(share_nodes(copies, case, 2)).tolist() == [nodes.n_nodes] * 2
