"""Two ranks continue what one began, bubbles among it, bit by bit."""

import shutil
from pathlib import Path

import h5py
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.communicator import MpiCommunicator
from muphy_lb.run.checkpoint import checkpoint_path
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

MIDDLE, LAST = 45, 70
LIQUID = (
    {"box_m": [[-1.0, -1.0, -1.0], [1.0, 3.5e-3, 1.0]]},
    {"box_m": [[-1.0, 6.5e-3, -1.0], [0.02, 12.5e-3, 1.0]], "velocity_m_s": [0.0, -0.4, 0.0]},
)
CASE = {
    "title": "gas under a falling layer",
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 20, "height": 18}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 5e-5},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": LIQUID, "bubbles": {"pressure_pa": 2e4, "gamma": 1.4, "regions_every_steps": 8}},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": LAST, "check_interval_steps": 10},
    "output": {"checkpoint_every_steps": MIDDLE, "series_every_steps": 10, "picture": False, "report": False},
}


def run(folder, communicator, resume=False) -> None:
    """The run, or what is left of it."""
    Run(Solver(case_from_dict(CASE), communicator), Path(folder), resume=resume).execute()


def resume_on_all_ranks(folder) -> None:
    """What is left of the run, on all ranks of this launcher."""
    from mpi4py import MPI

    run(folder, MpiCommunicator(MPI), resume=True)


def datasets(folder) -> dict:
    """The arrays of the last checkpoint."""
    found = {}
    with h5py.File(checkpoint_path(folder / "checkpoints", LAST)) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """Output folder of one rank."""
    folder = tmp_path_factory.mktemp("serial") / "out"
    run(folder, SerialCommunicator())
    return folder


def test_two_ranks_continue_what_one_began(serial, tmp_path, mpirun):
    shutil.copytree(serial, tmp_path / "out")
    checkpoint_path(tmp_path / "out" / "checkpoints", LAST).unlink()
    name = "resume_on_all_ranks"
    call = f"from tests.parallel.test_bubble_restart import {name}; {name}({str(tmp_path / 'out')!r})"
    done = mpirun(2, ["-c", call])
    assert done.returncode == 0, done.stderr
    expected, found = datasets(serial), datasets(tmp_path / "out")
    assert expected.keys() == found.keys() and "actions/bubbles/content" in found
    for name in expected.keys() - {"case"}:
        assert expected[name].tobytes() == found[name].tobytes(), name
    assert (serial / "bubbles.csv").read_text() == (tmp_path / "out" / "bubbles.csv").read_text()
