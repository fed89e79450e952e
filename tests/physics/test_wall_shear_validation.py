"""The cases of wall shear stress, and the aorta, fail if the solver is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, relative
from muphy_lb.validation.flow.pipes import (
    HALF_WAY,
    STRAIGHT,
    TILTED,
    TOLERANCE,
    shear_rows,
    shear_spread,
    spread_of,
)
from muphy_lb.validation.flow.vessels import FOLDER, FULL, QUICK, aorta, aorta_case, flow_rows

NUMPY = Settings(backend="numpy")
PUBLISHED_DIAMETER_M = 2.0 * 0.0112342
EXACT = spread_of(np.ones(4))


def openings(outflow=(0.4, 0.6), inlet_pressure_pa=2.0):
    """The record of a vessel with inflow 1 and two outlets at pressure 0 and 1 Pa."""
    inlet = {"kind": "inlet", "area_m2": 2.0, "flow_rate_m3_s": 1.0, "mean_pressure_pa": inlet_pressure_pa}
    outlets = {
        f"outlet_{k}": {"kind": "outlet", "area_m2": 1.0, "flow_rate_m3_s": rate, "mean_pressure_pa": float(k)}
        for k, rate in enumerate(outflow)
    }
    return {"inlet": inlet, **outlets}


def verdicts(record):
    """Whether each judged row of a vessel passes."""
    return [row.passed for row in flow_rows(record, FULL.tolerance) if row.is_judged]


def test_the_check_of_the_mean_shear_sees_half_way_walls():
    spread = shear_spread(STRAIGHT, 5.0, HALF_WAY, NUMPY)
    assert not relative("mean", 1.0, spread.mean, TOLERANCE).passed
    assert not absolute("scatter", 0.0, spread.scatter, TOLERANCE).passed


def test_the_tilted_pipe_has_the_shear_of_hagen_and_poiseuille_with_interpolated_walls():
    spread = shear_spread(TILTED, 4.3, "central-linear", NUMPY)
    assert spread.mean == pytest.approx(1.0, abs=TOLERANCE)


def test_spread_tells_a_shift_from_scatter():
    shifted, scattered = spread_of(np.full(4, 1.5)), spread_of(np.array([0.5, 1.5]))
    assert (shifted.mean, shifted.scatter, shifted.rms, shifted.largest) == (1.5, 0.0, 0.5, 0.5)
    assert (scattered.mean, scattered.scatter, scattered.rms) == (1.0, 0.5, 0.5)


@pytest.mark.parametrize(("rule", "precision"), [(HALF_WAY, "fp64"), ("bouzidi", "fp16")])
def test_what_is_known_not_to_converge_is_shown_without_a_verdict(rule, precision):
    rows = shear_rows(STRAIGHT, 20.0, rule, EXACT, Settings(precision=precision))
    assert not any(row.is_judged for row in rows)


def test_fine_pipes_with_interpolated_walls_are_judged():
    assert any(row.is_judged for row in shear_rows(STRAIGHT, 10.0, "bouzidi", EXACT))


def test_a_vessel_that_keeps_mass_and_loses_pressure_passes():
    assert verdicts(openings()) == [True, True, True]


def test_a_vessel_that_loses_a_hundredth_of_its_flow_fails():
    assert verdicts(openings(outflow=(0.4, 0.59))) == [False, True, True]


def test_a_vessel_whose_pressure_rises_towards_an_outlet_fails():
    assert verdicts(openings(inlet_pressure_pa=0.5)) == [True, True, False]


@pytest.mark.parametrize(
    ("changed", "reason"), [({"precision": "fp16"}, "fp16"), ({"streaming": "push"}, "bouzidi walls: need pull")]
)
def test_an_aorta_that_cannot_be_computed_is_skipped_with_a_reason(data_dir, monkeypatch, changed, reason):
    monkeypatch.setenv("MUPHY_DATA", str(data_dir))
    assert reason in aorta(replace(Settings(quick=True), **changed)).skipped


def test_an_aorta_without_data_is_skipped_with_a_reason(monkeypatch):
    monkeypatch.delenv("MUPHY_DATA", raising=False)
    outcome = aorta(Settings(quick=True))
    assert not outcome.rows and "$MUPHY_DATA" in outcome.skipped


def test_the_inflow_of_the_aorta_has_its_reynolds_number_and_the_check_sees_that_it_has_not_arrived(data_dir):
    size = replace(QUICK, spacing_m=2e-3, ramp_steps=0)
    simulation = Solver(aorta_case(data_dir / FOLDER, size, NUMPY), SerialCommunicator())
    simulation.step(20)
    states = simulation.openings()
    inlet, outflow = states["inlet"], states["left"].flow_rate_m3_s + states["right"].flow_rate_m3_s
    viscosity_m2_s = simulation.case.fluid.viscosity_m2_s
    reynolds = inlet.flow_rate_m3_s / inlet.area_m2 * PUBLISHED_DIAMETER_M / viscosity_m2_s
    assert reynolds == pytest.approx(size.reynolds, rel=1e-3)
    assert not relative("outflow", inlet.flow_rate_m3_s, outflow, size.tolerance).passed


@pytest.mark.night
def test_the_aorta_passes(data_dir, monkeypatch):
    monkeypatch.setenv("MUPHY_DATA", str(data_dir))
    outcome = aorta(Settings(quick=True))
    assert outcome.rows and outcome.passed, str(outcome)
