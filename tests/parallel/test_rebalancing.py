"""Nodes that move to other ranks while a run runs change no bit of it, and loads that are unequal make them move."""

import json
from pathlib import Path

import h5py
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.changes import Rebalancing, repartition
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.support import random_owner

RANKS, N_STEPS, EVERY = 3, 24, 8
OUTPUT = {"series_every_steps": 8, "checkpoint_every_steps": N_STEPS, "picture": False, "report": False, "vtk": False}
DAM = {
    "title": "dam",
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 18, "height": 12}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 5e-5},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {
        "liquid": [{"box_m": [[-1.0, -1.0, -1.0], [5.5e-3, 8.5e-3, 1.0]]}],
        "gauges": [{"name": "wall", "position_m": [2e-3, 2e-3, 0.0]}],
    },
    "probes": [{"name": "foot", "point_m": [2.5e-3, 1.5e-3, 0.0]}],
    "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": N_STEPS, "check_interval_steps": 8},
    "output": OUTPUT,
}
PIPE = {
    "title": "stirred pipe with dye",
    "geometry": {"shape": "stenosis", "spacing_m": 1e-3, "options": {"length": 12, "radius": 3.0, "extent": 4.0}},
    "openings": [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}],
    "walls": [{"name": "ring", "box_m": [[4e-3, -1.0, -1.0], [8e-3, 1.0, 1.0]], "rotation_rad_s": [1.0, 0.0, 0.0]}],
    "fluid": {"density_kg_m3": 1060.0, "kinematic_viscosity_m2_s": 4e-5},
    "particles": [{"name": "dye", "kind": "tracers", "count": 50, "diffusivity_m2_s": 1e-6}],
    "probes": [{"name": "middle", "point_m": [6e-3, 4e-3, 4e-3]}],
    "lattice": {"lattice_velocity": 0.015, "walls": "bouzidi"},
    "compute": {"backend": "numpy"},
    "run": {"steps": N_STEPS, "steady_tolerance": 1e-9, "steady_interval_steps": 8, "check_interval_steps": 8},
    "output": OUTPUT | {"wall_shear": True},
}
CHAINS = {
    "name": "chains",
    "kind": "beads",
    "chains": 12,
    "beads_per_chain": 4,
    "mass_kg": 3e-6,
    "radius_m": 3e-5,
    "bonds": {"stiffness_n_m": 1e-4, "length_m": 8e-4},
}
DRAGGED = {
    **{key: PIPE[key] for key in ("geometry", "openings", "fluid", "probes", "compute")},
    "title": "chains that push nodes beside openings",
    "particles": [CHAINS],
    "lattice": {"lattice_velocity": 0.015},
    "run": {"steps": N_STEPS, "check_interval_steps": 8},
    "output": OUTPUT,
}
CASES = {"dam": DAM, "pipe": PIPE, "dragged": DRAGGED}
CORNER = [[0.0, 0.0, 0.0], [2.5e-3, 3.5e-3, 3.5e-3]]
CROWD = {"name": "dye", "kind": "tracers", "count": 3000, "diffusivity_m2_s": 1e-6, "box_m": CORNER}
CROWDED = {
    **PIPE,
    "particles": [CROWD],
    "walls": [],
    "compute": {"backend": "cpu", "rebalance": 0.0, "rebalance_every_steps": EVERY},
}
WATCHFUL = {"rebalance": 1.1, "rebalance_every_steps": EVERY}


class Restless(Rebalancing):
    """Gives every node to a rank drawn by lot every few steps."""

    def __init__(self, simulation):
        super().__init__(simulation)
        self.every = EVERY

    def act(self, stepping_s):
        """Whatever the loads are."""
        simulation = self._simulation
        is_root = simulation.communicator.rank == 0
        nodes, step = simulation.nodes, simulation.step_number
        repartition(simulation, random_owner(nodes, RANKS, seed=step) if is_root else None)
        self._n_moves += 1


def compute(communicator, folder: Path) -> None:
    """Every case with nodes that stay and with nodes that move."""
    for name, tables in CASES.items():
        at_rest = {**tables, "compute": {**tables["compute"], "rebalance": 0.0}}
        for way in ("still", "restless"):
            run = Run(Solver(case_from_dict(at_rest), communicator), folder / f"{name}-{way}")
            if way == "restless":
                run.rebalancing = Restless(run.simulation)
            run.execute()
    Run(Solver(case_from_dict(CROWDED), communicator), folder / "crowded-still").execute()
    for name, tables in (("dam", DAM), ("crowded", CROWDED)):
        watched = {**tables, "compute": {**tables["compute"], **WATCHFUL}}
        Run(Solver(case_from_dict(watched), communicator), folder / f"{name}-watched").execute()


@pytest.fixture(scope="module")
def found(tmp_path_factory, on_ranks):
    """Output folders of three ranks."""
    folder = tmp_path_factory.mktemp("moving")
    on_ranks(RANKS, compute, folder)
    return folder


def state(folder):
    """All arrays of the last checkpoint, and what else it remembers, by name."""
    with h5py.File(folder / "checkpoints" / f"step_{N_STEPS:012d}.h5") as file:
        arrays = {name: file[name][()] for name in ("populations", "fields")}
        for kind in ("particles", "sums"):
            for name, group in file[kind].items() if kind in file else ():
                arrays |= {f"{name}.{key}": column[()] for key, column in group.items()}
        return arrays, dict(file.attrs)


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("dam", "restless"),
        ("dam", "watched"),
        ("pipe", "restless"),
        ("dragged", "restless"),
        ("crowded", "watched"),
    ],
)
def test_nodes_that_move_leave_the_flow_as_it_is(found, name, way):
    (still, remembered), (moved, also) = state(found / f"{name}-still"), state(found / f"{name}-{way}")
    assert still.keys() == moved.keys() and remembered == also
    for key, values in still.items():
        assert values.dtype == moved[key].dtype and values.tobytes() == moved[key].tobytes(), key
    files = sorted(path.name for path in (found / f"{name}-still").glob("*.csv"))
    assert files == sorted(path.name for path in (found / f"{name}-{way}").glob("*.csv")) and len(files) > 2
    for file in files:
        assert (found / f"{name}-still" / file).read_text() == (found / f"{name}-{way}" / file).read_text(), file


def test_the_summary_tells_the_imbalance_and_what_was_done(found):
    still, watched = summary(found / "dam-still"), summary(found / "dam-watched")
    assert still["imbalance"] > 1.5 and still["repartitions"] == 0
    assert watched["imbalance"] < 1.5 and watched["repartitions"] >= 1 and watched["repartition_s"] > 0.0
    still, watched = summary(found / "crowded-still"), summary(found / "crowded-watched")
    assert still["imbalance"] > 2.0 and still["repartitions"] == 0
    assert watched["imbalance"] < 1.4 and watched["repartitions"] >= 1
    assert all(summary(found / f"{name}-restless")["repartitions"] == N_STEPS // EVERY for name in CASES)


def test_the_speed_of_nodes_with_fluid_is_told(tmp_path):
    run = Run(Solver(case_from_dict(DAM), SerialCommunicator()), tmp_path)
    run.execute()
    record = summary(tmp_path)
    assert record["mflups_fluid"] / record["mflups"] == pytest.approx(63 / 216, rel=0.15)  # 6 x 9 voxels and surface
    assert "imbalance" not in record


@pytest.mark.parametrize("limit", [0.5, 1.0, -1.0])
def test_a_limit_that_equal_ranks_pass_is_refused(limit):
    with pytest.raises(InputError, match="rebalance"):
        case_from_dict({**DAM, "compute": {"rebalance": limit}})
