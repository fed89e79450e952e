"""A prepared CASE.h5: what the two other packages stored is what the solver uses."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.store import write_geometry
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.store import write_partition
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.setup.sharing import share_nodes
from tests.vessel import changed, vessel


@pytest.fixture
def prepared(tmp_path):
    """A function: the vessel's case on its prepared geometry, with changed keys."""
    nodes, _ = load_nodes(vessel())
    write_geometry(tmp_path / "vessel.h5", nodes)
    write_partition(tmp_path / "vessel.h5", "mine", np.arange(nodes.n_nodes) % 3, "by hand")
    write_partition(tmp_path / "vessel.h5", "curve-2", np.arange(nodes.n_nodes) % 2, "curve")

    def case(partition="metis", **geometry):
        table = changed(compute={"partition": partition})
        return case_from_dict(table | {"geometry": {"file": "vessel.h5"} | geometry}, tmp_path)

    return case


def test_the_prepared_nodes_are_those_of_the_source(prepared):
    assert np.array_equal(load_nodes(prepared())[0].voxel, load_nodes(vessel())[0].voxel)


@pytest.mark.parametrize(
    ("key", "value"), [("spacing_m", 1e-4), ("keep", "largest"), ("periodic", ["y"]), ("options", {"margin": 3})]
)
def test_keys_that_could_have_no_effect_are_refused(prepared, key, value):
    with pytest.raises(InputError, match=f"geometry.{key}: vessel.h5 is prepared"):
        load_nodes(prepared(**{key: value}))


@pytest.mark.parametrize(("name", "n_ranks"), [("mine", 3), ("curve", 2), ("curve-2", 2)])
def test_a_stored_partitioning_is_used(prepared, name, n_ranks):
    case = prepared(name)
    owner = share_nodes(load_nodes(case)[0], case, n_ranks)
    assert np.array_equal(owner, np.arange(owner.size) % n_ranks)


@pytest.mark.parametrize(
    ("name", "told"), [("mine", "'mine' .* is for 3 ranks, this run has 2"), ("metsi", "did you mean 'metis'")]
)
def test_a_partitioning_for_other_ranks_or_unknown_is_refused(prepared, name, told):
    case = prepared(name)
    with pytest.raises(PartitionError, match=told):
        share_nodes(load_nodes(case)[0], case, 2)


def test_an_image_without_spacing_asks_for_it(tmp_path):
    np.save(tmp_path / "rock.npy", np.ones((4, 4, 4), np.uint8))
    case = case_from_dict(
        changed(geometry=None) | {"geometry": {"file": "rock.npy"}, "openings": []} | NO_OPENINGS, tmp_path
    )
    with pytest.raises(
        InputError,
        match="geometry.spacing_m is missing: .*rock.npy: it does not contain its voxel edge .*spacing_m = 5e-06",
    ):
        load_nodes(case)


NO_OPENINGS = {"lattice": {"relaxation_time": 0.8}}
