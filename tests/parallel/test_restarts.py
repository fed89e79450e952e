"""Two ranks continue what one began, and one what two began, bit by bit: bubbles, contact angles of a free surface and
of two fluids, and beads beside openings, with the shear of walls and the velocity of nodes that they push."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.sealed import seal
from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.checkpoint import KIND, VERSION, checkpoint_path
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.parallel.test_rebalancing import DRAGGED

MIDDLE, LAST = 29, 44
LIQUID = (
    {"box_m": [[-1.0, -1.0, -1.0], [1.0, 3.5e-3, 1.0]]},
    {"box_m": [[-1.0, 6.5e-3, -1.0], [0.02, 12.5e-3, 1.0]], "velocity_m_s": [0.0, -0.4, 0.0]},
)
UNTIL_LAST = {"steps": LAST, "check_interval_steps": 10}
OUTPUT = {"checkpoint_every_steps": MIDDLE, "series_every_steps": 10, "picture": False, "report": False}
BUBBLES = {
    "title": "gas under a falling layer",
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 20, "height": 18}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 5e-5},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": LIQUID, "bubbles": {"pressure_pa": 2e4, "gamma": 1.4, "regions_every_steps": 8}},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": UNTIL_LAST,
    "output": OUTPUT,
}
BEADS = {
    **DRAGGED,
    "probes": [{"name": "middle", "point_m": [6e-3, 4e-3, 4e-3]}],
    "run": UNTIL_LAST,
    "output": OUTPUT | {"wall_shear": True},
}
POOL = ({"box_m": [[-1.0, -1.0, -1.0], [8.3e-3, 11.2e-3, 1.0]]}, {"centre_m": [14e-3, 3e-3, 0.0], "radius_m": 3.2e-3})
WETTING = BUBBLES | {
    "title": "a dam and a drop on the floor with a contact angle",
    "free_surface": {"liquid": POOL, "surface_tension_n_m": 0.05, "contact_angle_deg": 40.0},
}
DROP = {"centre_m": [9e-3, 2e-3, 0.0], "radius_m": 6e-3}
OIL = {key: table for key, table in BUBBLES.items() if key != "free_surface"} | {
    "title": "a drop of oil on the floor with a contact angle",
    "flow": {"acceleration_m_s2": [0.5, 0.0, 0.0]},
    "two_fluid": {
        "interfacial_tension_n_m": 1.0,
        "kinematic_viscosity_m2_s": 5e-5,
        "contact_angle_deg": 40.0,
        "second": [DROP],
    },
}
CASES = {"bubbles": BUBBLES, "beads": BEADS, "wetting": WETTING, "oil": OIL}
REMEMBERED = {
    "bubbles": "actions/bubbles/content",
    "beads": "sums/bead_push/value",
    "wetting": "fields",
    "oil": "fields",
}
BEGUN = ("beads", "wetting", "oil")
NODE, VALUE = "sums/bead_push/node", "sums/bead_push/value"


def run(name, folder, communicator, resume=False) -> Solver:
    """The run of a case, or what is left of it."""
    simulation = Solver(case_from_dict(CASES[name]), communicator)
    Run(simulation, Path(folder), resume=resume).execute()
    return simulation


def go_on(communicator, folder: Path) -> None:
    """Continue every case in its folder, and run those of ``BEGUN`` into that folder."""
    for name in CASES:
        run(name, folder / name, communicator, resume=True)
    for name in BEGUN:
        run(name, folder / "begun" / name, communicator)


def datasets(folder) -> dict:
    """The arrays of the last checkpoint."""
    found = {}
    with h5py.File(checkpoint_path(folder / "checkpoints", LAST)) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def interrupted(folder, target) -> Path:
    """A copy of an output folder without its last checkpoint."""
    shutil.copytree(folder, target)
    checkpoint_path(target / "checkpoints", LAST).unlink()
    return target


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """Output folders of one rank, by name of the case."""
    folder = tmp_path_factory.mktemp("serial")
    for name in CASES:
        run(name, folder / name, SerialCommunicator())
    return folder


@pytest.fixture(scope="module")
def parallel(serial, tmp_path_factory, on_ranks):
    """Output folders of two ranks: of what one rank began, by name of the case, and of those that they began."""
    folder = tmp_path_factory.mktemp("parallel")
    for name in CASES:
        interrupted(serial / name, folder / name)
    on_ranks(2, go_on, folder)
    return folder


def assert_same_end(name, expected, found) -> None:
    """Whether two runs have the same last checkpoint and series."""
    arrays, others = datasets(expected), datasets(found)
    assert arrays.keys() == others.keys() and arrays[REMEMBERED[name]].size
    for key in arrays.keys() - {"case"}:
        assert arrays[key].tobytes() == others[key].tobytes(), key
    for path in expected.glob("*.csv"):
        assert path.read_text() == (found / path.name).read_text(), path.name


@pytest.mark.parametrize("name", CASES)
def test_two_ranks_continue_what_one_began(name, serial, parallel):
    assert_same_end(name, serial / name, parallel / name)


@pytest.mark.parametrize("name", BEGUN)
def test_one_rank_continues_what_two_began(name, serial, parallel, tmp_path):
    out = interrupted(parallel / "begun" / name, tmp_path / "out")
    run(name, out, SerialCommunicator(), resume=True)
    assert_same_end(name, serial / name, out)


def replaced(place, change):
    """A change of a file that replaces a dataset by what it becomes."""

    def damage(file) -> None:
        values = change(file[place][...])
        del file[place]
        file[place] = values

    return damage


DAMAGES = {
    "without": (lambda file: file.__delitem__("sums"), "it has no dataset 'sums/bead_push/node'"),
    "shorter": (replaced(NODE, lambda node: node[:-1]), "have different lengths"),
    "another type": (replaced(VALUE, lambda value: value.astype(float)), "has shape"),
    "flat": (replaced(VALUE, lambda value: value[:, 0]), "has shape"),
    "descending": (replaced(NODE, lambda node: node[::-1]), "does not hold ascending numbers from 0 to"),
    "twice": (replaced(NODE, lambda node: np.append(node[0], node[:-1])), "does not hold ascending numbers"),
    "negative": (replaced(NODE, lambda node: np.append(-1, node[1:])), "does not hold ascending numbers"),
    "beyond": (replaced(NODE, lambda node: np.append(node[:-1], 10**9)), "does not hold ascending numbers"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_checkpoint_that_tells_no_pushes_of_nodes_is_passed_over(serial, tmp_path, name):
    out = interrupted(serial / "beads", tmp_path / "out")
    path, (damage, message) = checkpoint_path(out / "checkpoints", MIDDLE), DAMAGES[name]
    with h5py.File(path, "r+") as file:
        damage(file)
    seal(path, KIND, VERSION)
    with pytest.raises(InputError, match=f"holds no valid checkpoint.*{message}"):
        run("beads", out, SerialCommunicator(), resume=True)
