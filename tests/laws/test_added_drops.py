"""A drop that is added while a liquid flows has its volume, keeps its mass, and is the same on any ranks."""

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.monitor import Monitor, Request
from muphy_lb.output.vtkhdf import find_snapshot
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.free_surface.cells import CELL, GAS, is_liquid
from muphy_lb.run.changes import changed, refuse_while_writing, try_change
from muphy_lb.run.loop import COMPLETED, Run
from muphy_lb.run.solver import Solver
from muphy_lb.view.gathering import changeable
from tests.parallel.test_rebalancing import DAM

MM = 1e-3
CENTRE_M, RADIUS_M = (12.3 * MM, 7.2 * MM, 0.0), 2.6 * MM
DROP = (("add_drop", [*CENTRE_M, RADIUS_M]),)
# With a tension that moves nothing, for the kernels of the smallest case: compilation takes longest.
TENSE = DAM["free_surface"] | {"surface_tension_n_m": 1e-3}
CASE = {**DAM, "free_surface": TENSE, "compute": {"backend": "cpu", "precision": "fp64"}}


def dam(n_steps: int = 10, **tables) -> Solver:
    simulation = Solver(case_from_dict({**CASE, **tables}), SerialCommunicator())
    simulation.advance(n_steps)
    return simulation


@pytest.mark.parametrize("streaming", ["pull", "aa"])
def test_a_drop_adds_its_volume_and_the_mass_stays(streaming):
    simulation = dam(compute=CASE["compute"] | {"streaming": streaming})
    before = simulation.field("fill").sum()
    added_m3 = simulation.add_drop(np.float32(CENTRE_M), np.float32(RADIUS_M))
    assert added_m3 == pytest.approx(np.pi * RADIUS_M**2 * MM, rel=0.02)
    assert (simulation.field("fill").sum() - before) * MM**3 == pytest.approx(added_m3, rel=0.02)
    assert simulation.step_number == 10
    simulation.step(40)
    assert abs(simulation.health().mass_drift) < 1e-12
    kind, nodes = simulation.model_field(CELL), simulation.nodes
    place = nodes.coordinates()[is_liquid(kind)]
    gas = {tuple(each) for each in nodes.coordinates()[kind == GAS].tolist()}
    assert not any((x + a, y + b, 0) in gas for x, y, _ in place.tolist() for a in (-1, 0, 1) for b in (-1, 0, 1))


def test_a_block_adds_its_volume_where_there_was_gas():
    simulation = dam()
    added_m3 = simulation.add_block((9.5 * MM, 4.5 * MM, -1.0), (13.5 * MM, 8.5 * MM, 1.0))
    assert added_m3 == pytest.approx(16.0 * MM**3, rel=1e-3)
    simulation.step(40)
    assert abs(simulation.health().mass_drift) < 1e-12
    for low, high in (((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)), (0.0, 1.0)):
        with pytest.raises(InputError, match="add_block: .* are not a lowest and a highest corner"):
            simulation.add_block(low, high)


def test_gravity_that_turns_has_the_bits_of_a_new_engine_and_is_taken_by_a_run():
    """As the mouse drags it on the page; a stronger one needs the checks of a new case."""
    before = DAM["flow"]["acceleration_m_s2"]
    turned = list(np.linalg.norm(before) * np.array([0.6, -0.8, 0.0]))
    one, other = dam(), dam()
    refuse_while_writing(one, {"flow.acceleration_m_s2": turned})
    assert changed(one, {"flow.acceleration_m_s2": turned}) is one
    new = Solver(one.case, SerialCommunicator(), other.nodes)
    new.state.go_on_from(other.state.record())
    for each in (one, new):
        each.advance(30)
    assert all(map(np.array_equal, one.populations(), new.populations()))
    assert one.field("velocity")[:, 0].mean() > 0.0
    with pytest.raises(InputError, match="cannot change during a run into a folder"):
        refuse_while_writing(one, {"flow.acceleration_m_s2": [3.0 * each for each in turned]})


def test_a_drop_moves_as_it_is_told_to():
    simulation = dam(0, flow={"acceleration_m_s2": [0.0, -1e-6, 0.0]})
    simulation.add_drop(CENTRE_M, RADIUS_M, (0.05, 0.0, 0.0))
    middle = []
    for _ in range(2):
        fill, x = simulation.field("fill"), simulation.nodes.positions_m()[:, 0]
        drop = x > 8.5 * MM
        middle.append((fill * x)[drop].sum() / fill[drop].sum())
        simulation.advance(100)
    assert middle[1] - middle[0] == pytest.approx(0.05 * 100 * 1e-4, rel=0.05)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (((2e-3, 2e-3, 0.0), 1.1e-3), "no gas is at"),
        ((CENTRE_M, 1e-4), "the radius is 0.0001 m; allowed: from a voxel"),
        ((CENTRE_M, float("nan")), "are not a position"),
        (((*CENTRE_M, 0.0), RADIUS_M, (0.0, 0.0)), "are not a position"),
        ((1e-2, RADIUS_M), "are not a position"),
        ((CENTRE_M, RADIUS_M, (1e3, 0.0, 0.0)), "is too fast"),
    ],
)
def test_drops_that_cannot_be_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        dam(0).add_drop(*given)


def behind_a_drop(communicator) -> np.ndarray | None:
    """Populations and fillings behind a drop, on rank 0."""
    simulation = Solver(case_from_dict(CASE), communicator)
    simulation.advance(6)
    simulation.add_drop(CENTRE_M, RADIUS_M)
    simulation.advance(15)
    rows, fill = list(simulation.populations()), simulation.field("fill")
    return None if communicator.rank else np.array([*rows, fill])


@pytest.mark.mpi
@pytest.mark.parametrize("n_ranks", [2, pytest.param(3, marks=pytest.mark.night)])
def test_the_bits_behind_a_drop_do_not_depend_on_the_ranks(n_ranks, on_ranks):
    assert behind_a_drop(SerialCommunicator()).tobytes() == on_ranks(n_ranks, behind_a_drop).tobytes()


class Asking(Monitor):
    """Asks once, at a step."""

    def __init__(self, step: int, request: Request):
        self.next_step, self._request = step, request

    def look(self, status):
        self.next_step = float("inf")
        return self._request


def test_a_viewer_adds_a_drop_and_the_run_goes_on(tmp_path, caplog):
    caplog.set_level("INFO")
    simulation = dam(0)
    simulation.monitor = monitor = Asking(5, Request(changes=DROP))
    assert changeable(simulation)["add_drop"][3] == pytest.approx(5.0 * MM)
    ended, summary = Run(simulation, tmp_path).execute()
    assert ended == COMPLETED and monitor.told.startswith("set: add_drop")
    assert "step 5: a viewer has set add_drop" in caplog.text
    drop = simulation.nodes.positions_m()[:, 0] > 8.5 * MM
    assert simulation.field("fill")[drop].sum() * MM**3 == pytest.approx(np.pi * RADIUS_M**2 * MM, rel=0.05)
    assert abs(simulation.health().mass_drift) < 1e-12


def test_a_drop_of_a_step_that_is_written_already_is_in_its_files_and_survives_a_restart(tmp_path):
    output = DAM["output"] | {"checkpoint_every_steps": 8, "fields_every_steps": 8, "vtk": True}
    free_surface = TENSE | {"surface_every_steps": 8}
    case = {"output": output, "free_surface": free_surface}
    simulation = dam(0, **case)
    simulation.monitor = Asking(8, Request(stop=True, changes=DROP))
    Run(simulation, tmp_path).execute()
    assert simulation.step_number == 8
    for name in ("fields", "surface"):
        with h5py.File(tmp_path / f"{name}.vtkhdf") as file:
            assert file["muphy_lb/step"][:].tolist() == [8, 8]
    last = find_snapshot(tmp_path / "fields.vtkhdf").values("fill")
    np.testing.assert_allclose(last, simulation.field("fill"), atol=1e-6)
    resumed = dam(0, **case)
    Run(resumed, tmp_path, resume=True).execute()
    simulation.monitor = Monitor()
    simulation.advance(DAM["run"]["steps"] - 8)
    assert np.array_equal(resumed.field("fill"), simulation.field("fill"))
    assert np.array_equal(resumed.engine.populations(), simulation.engine.populations())


def test_each_of_several_changes_is_done_and_told():
    simulation, acceleration = dam(0), "flow.acceleration_m_s2"

    def refuse(changes):
        raise InputError(f"no {changes}")

    before = simulation.field("fill").sum()
    told = try_change(simulation, refuse, (*DROP, (acceleration, 1.0), ("add_drop", [14e-3, 3e-3, 0.0, 1.5e-3])))
    assert told.startswith("set: add_drop = [0.0123") and "; set: add_drop = [0.014, 0.003, 0.0, 0.0015]; no {" in told
    area = np.pi * (RADIUS_M**2 + 1.5e-3**2) / MM**2
    assert simulation.field("fill").sum() - before == pytest.approx(area, rel=0.03)


def test_a_drop_in_a_vessel_with_an_inlet_is_where_it_is_told_to_be():
    options = {"length": 18, "height": 12, "ends": "open"}
    openings = [{"name": "inlet", "velocity_m_s": 0.0}, {"name": "outlet", "pressure_pa": 0.0}]
    channel = {"shape": "channel", "spacing_m": MM, "options": options}
    simulation = dam(20, geometry=channel, openings=openings, probes=[])
    with pytest.raises(InputError, match="no gas is at"):
        simulation.add_drop((3e-3, 1e-3, 0.0), 1.1e-3)
    before = simulation.field("fill").sum()
    added_m3 = simulation.add_drop(CENTRE_M, RADIUS_M)
    assert added_m3 == pytest.approx(np.pi * RADIUS_M**2 * MM, rel=0.02)
    assert (simulation.field("fill").sum() - before) * MM**3 == pytest.approx(added_m3, rel=0.02)
