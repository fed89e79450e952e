"""The flow rates over the last period: means, split, course, and what reverses."""

import numpy as np
import pytest

from muphy_lb.measure.period import PeriodFlowRates
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import open_channel
from tests.vessel import vessel

PERIOD_S = 0.4
OUTPUT = {"report": True, "picture": False, "vtk": False}


def run(case, folder):
    """The summary of a run."""
    return Run(Solver(case, SerialCommunicator()), folder).execute()[1]


def beating(mean, **output):
    """A channel of 40 steps a period whose inflow is a mean and a sine."""
    wave = {"period_s": PERIOD_S, "mean": mean, "sine": [1.0]}
    inlet = {"velocity_m_s": 2e-3, "waveform": wave}
    return open_channel(inlet=inlet, run={"steps": 210}, lattice={"collision": "trt"}, output=OUTPUT | output)


def test_the_course_of_the_last_period_has_its_mean(tmp_path):
    record = run(beating(1.5), tmp_path)["period_flow_rates"]
    course = read_series(tmp_path / "last_period.csv")
    assert course["step"][-1] == 210 and np.ptp(course["time_s"]) == pytest.approx(PERIOD_S)
    mean = np.trapezoid(course["inlet_flow_rate_m3_s"], course["time_s"]) / PERIOD_S
    assert record["mean_m3_s"]["inlet"] == pytest.approx(mean, rel=1e-12)
    assert mean == pytest.approx(1.5 * 2e-3 * 6e-3 * 1e-3, rel=1e-3) and record["reverses"] == []


def test_openings_whose_flow_reverses_are_named(tmp_path):
    assert "inlet" in run(beating(0.4), tmp_path)["period_flow_rates"]["reverses"]


def test_less_than_a_period_has_no_record(tmp_path):
    case = open_channel(inlet={"velocity_m_s": 2e-3, "waveform": {"period_s": 10.0, "sine": [1.0]}}, output=OUTPUT)
    assert "period_flow_rates" not in run(case, tmp_path) and not (tmp_path / "last_period.csv").exists()


def test_rank_0_alone_writes_the_course_after_a_resume(tmp_path):
    """All ranks get the samples of a checkpoint, and the later ones on rank 0 alone."""
    simulation = Solver(beating(1.5), SerialCommunicator())
    (observer,) = PeriodFlowRates.create(simulation, tmp_path, None)
    observer.restore({"samples": [[step, [1e-8, 1e-8]] for step in range(50)]})
    simulation.communicator.rank, simulation.openings = 1, lambda: None
    assert observer.finish() is None and not (tmp_path / "last_period.csv").exists()


def test_the_shares_of_two_outlets_add_up(tmp_path):
    inlet = {"name": "inlet", "velocity_m_s": 0.02, "waveform": {"period_s": 0.02, "mean": 1.0, "sine": [0.3]}}
    openings = [inlet, *({"name": f"outlet_{k}", "pressure_pa": 0.0} for k in (1, 2))]
    record = run(vessel(openings=openings, compute={"backend": "numpy"}), tmp_path)["period_flow_rates"]
    assert sum(record["flow_split"].values()) == pytest.approx(1.0) and set(record["flow_split"]) == {
        "outlet_1",
        "outlet_2",
    }
