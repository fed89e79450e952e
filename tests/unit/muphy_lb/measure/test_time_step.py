"""apps.rock.time_step: a shorter time step gives the same permeability in fewer steps, where that is certain."""

import signal

import numpy as np
import pytest

from muphy_lb.apps.rock import time_step
from muphy_lb.apps.rock.settled_flow import Desk
from muphy_lb.apps.rock.time_step import longest_wave, pore_width, quick_case, quick_flow
from muphy_lb.base.errors import DivergedError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.folder import CHECKPOINTS, SUMMARY_FILE
from muphy_lb.run.loop import Clock
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.distribute import distributed

ROCK = {
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [0.01, 0.0, 0.0]},
    "lattice": {"relaxation_time": 1.0, "collision": "trt"},
    "compute": {"backend": "cpu", "precision": "fp64"},
    "run": {"steps": 20_000, "ramp_steps": 0, "steady_interval_steps": 20},
}
ALONE = SerialCommunicator()


@pytest.fixture
def nodes():
    """A duct of 4 x 4 voxels, periodic along x, half of it with plates every six voxels that leave a throat of one."""
    fluid = np.ones((4, 4, 72), dtype=bool)
    plates = np.arange(0, 36, 6)
    fluid[:, :, plates] = False
    fluid[1, 1, plates] = True
    flags = np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE)
    return build_nodes(Voxels(flags, 1e-5, periodic=(True, False, False)))


def flow(nodes, tmp_path, which="short", said=None, signal_number=0, **change):
    """The flow through chambers in a folder, and what is said."""
    signals = StopSignals()
    signals.received = signal_number
    desk = Desk([].append if said is None else said.append, signals, Clock(), which)
    return quick_flow(case_from_dict(rock(nodes) | change), ALONE, nodes, tmp_path / which, desk)


def rock(nodes):
    """The case of the chambers, whose geometry is handed over."""
    return ROCK | {"geometry": {"shape": "square_duct", "spacing_m": nodes.spacing_m, "options": {"side": 4}}}


def test_the_width_of_pores_and_the_longest_wave_of_pressure(nodes):
    assert longest_wave(nodes.header) == 72
    faces = 16 * 66 + 6 * 2 * 15 + 6 * 4
    assert pore_width(nodes) == pytest.approx(4 * nodes.n_nodes / faces)


def test_k_settles_to_the_same_in_fewer_steps(nodes, tmp_path):
    quick, slow = flow(nodes, tmp_path), flow(nodes, tmp_path, "case")
    assert quick.settled and slow.settled and 3 * quick.steps < slow.steps
    bar = quick.unsettled_m2 + slow.unsettled_m2
    assert abs(quick.limit_m2 - slow.limit_m2) <= bar < 0.01 * slow.limit_m2
    assert quick.time_step_s < 0.5 * slow.time_step_s
    assert quick.record()["time_step_s"] == quick.time_step_s


@pytest.mark.parametrize("which", ["short", "case"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_the_tolerance_is_the_error_of_k(nodes, tmp_path, which, tolerance):
    """With the time step of the case pressure evens out in far longer than a pore comes to speed, by which the flow was
    judged: k was off by 6.6 times the tolerance."""
    run = ROCK["run"] | {"steps": 200_000}
    exact = flow(nodes, tmp_path / "exact", run=run | {"steady_tolerance": 1e-8}).limit_m2
    found = flow(nodes, tmp_path, which, run=run | {"steady_tolerance": tolerance})
    assert found.settled and abs(found.permeability.permeability_m2 / exact - 1.0) < tolerance


def test_a_stopped_flow_goes_on_with_its_own_time_step(nodes, tmp_path):
    stopped, whole = flow(nodes, tmp_path / "a", signal_number=signal.SIGINT), flow(nodes, tmp_path / "b")
    assert stopped.is_stopped
    assert flow(nodes, tmp_path / "a").record() == whole.record()


def test_a_flow_that_becomes_unstable_begins_anew_with_the_time_step_of_the_case(nodes, tmp_path, monkeypatch):
    real, folder = time_step.settled_flow, tmp_path / "short"

    def unstable(case, *arguments):
        found = real(case, *arguments)
        if case.lattice.time_step_s is None:
            return found
        (folder / SUMMARY_FILE).unlink()
        assert any((folder / CHECKPOINTS).iterdir())
        raise DivergedError("the flow is unstable")

    monkeypatch.setattr(time_step, "settled_flow", unstable)
    said, steps = [], {"run": ROCK["run"] | {"steps": 40}, "output": {"checkpoint_every_steps": 20}}
    found = flow(nodes, tmp_path, said=said, **steps)
    assert found.time_step_s == pytest.approx((1.0 / 6.0) * 1e-5**2 / 1e-6) and "started again" in said[2]
    assert found.steps == 40


@pytest.mark.parametrize(
    "change",
    [
        {"lattice": ROCK["lattice"] | {"collision": "bgk"}},
        {"lattice": ROCK["lattice"] | {"collision": "mrt"}},
        {"lattice": ROCK["lattice"] | {"walls": "bouzidi"}},
        {"lattice": ROCK["lattice"] | {"relaxation_time": 0.52}},
        {"compute": {"backend": "numpy", "precision": "fp16"}},
    ],
)
def test_the_time_step_stays_where_k_may_depend_on_it_or_little_is_saved(nodes, change):
    case = case_from_dict(rock(nodes) | change)
    assert quick_case(case, distributed(case, ALONE, nodes)) is None


def test_the_time_step_stays_where_memory_does_not_hold_the_box(nodes, monkeypatch, caplog):
    """A sparse flow in a large box ended here, although it has room."""
    case = case_from_dict(rock(nodes))
    assert quick_case(case, distributed(case, ALONE, nodes)) is not None
    monkeypatch.setattr("muphy_lb.geometry.limits.SMALL", 0)
    monkeypatch.setattr("muphy_lb.geometry.limits.free_bytes", lambda: 1000)
    assert quick_case(case, distributed(case, ALONE, nodes)) is None
    assert "no shorter time step is searched for: the width of the pores, 72 x 4 x 4 voxels" in caplog.text


def test_wide_pores_keep_their_time_step(nodes):
    case = case_from_dict(rock(nodes))
    box = Voxels(np.full((20, 20, 8), FLUID, FLAG_DTYPE), 1e-5, periodic=(True, False, False))
    assert quick_case(case, distributed(case, ALONE, build_nodes(box))) is None
    assert quick_case(case, distributed(case, ALONE, nodes)) is not None
