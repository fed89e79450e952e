"""Openings and waveforms that are hardly meant are told before the first step."""

from types import MappingProxyType, SimpleNamespace

import pytest

from muphy_lb.geometry.voxels import Opening
from muphy_lb.setup.advice.plausibility import plausibility
from muphy_lb.setup.numerics import resolve
from tests.vessel import TABLE, vessel

INLET = TABLE["openings"][0] | {"velocity_m_s": 0.05}


def told(inlet, **run):
    """The text on the vessel with this inlet and these keys of [run]."""
    case = vessel(openings=[INLET | inlet, *TABLE["openings"][1:]], run=run)
    kinds = {"inlet": "inlet", "outlet_1": "outlet", "outlet_2": "outlet"}
    openings = [Opening(name, kind, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)) for name, kind in kinds.items()]
    return "\n".join(plausible(case, openings))


def plausible(case, openings, areas_m2=MappingProxyType({})):
    """The lines on a case in a box of 50 voxels with these openings."""
    header = SimpleNamespace(openings=openings, shape=(50, 50, 50), spacing_m=1e-3, origin_m=(0.0, 0.0, 0.0))
    return plausibility(case, header, (), resolve(case, 1e-3, areas_m2, 1.0 / 3.0))


def test_nothing_is_said_of_what_is_usual():
    assert told({}) == ""


@pytest.mark.parametrize("inlet", [{"velocity_m_s": -0.05}, {"velocity_m_s": None, "flow_rate_m3_s": -1e-6}])
def test_an_inlet_through_which_fluid_leaves_is_told(inlet):
    inlet = {key: value for key, value in (INLET | inlet).items() if value is not None}
    case = vessel(openings=[inlet, *TABLE["openings"][1:]], lattice={"reference_velocity_m_s": 0.05})
    opening = Opening("inlet", "inlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    (text,) = plausible(case, [opening], {"inlet": 1e-4})
    assert "warning: openings.inlet: fluid leaves by this inlet" in text
    assert "= -" in text and "make it positive" in text and "set kind" not in text


def test_an_outlet_through_which_fluid_enters_is_told():
    place = {"kind": "outlet", "centre_m": [0.0, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]}
    case = vessel(openings=[INLET | place, *TABLE["openings"][1:]])
    opening = Opening("inlet", "outlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    (text,) = plausible(case, [opening])
    assert "fluid enters by this outlet" in text and "make it negative" in text and "kind = 'inlet'" in text


def test_a_waveform_of_a_negative_mean_is_told():
    text = told({"waveform": {"period_s": 0.1, "mean": -0.5}}, steps=None, time_s=1.0)
    assert "fluid leaves by this inlet, as velocity_m_s = 0.05 times -0.5, the mean of its waveform" in text


def test_a_waveform_is_described_and_a_run_of_less_than_a_period_is_told():
    wave = {"waveform": {"period_s": 0.5, "cosine": [0.5]}}
    text = told(wave, steps=None, time_s=1.0)
    assert "openings.inlet.waveform: period 0.5 s, factors 0.5 to 1.5, mean 1; the run of" in text
    assert "covers 2 periods" in text
    assert "warning" not in text
    text = told(wave | {"waveform": {"period_s": 800.0}}, steps=None, time_s=1.0)
    assert "ends before one period of 800 s; give run.time_s = 1600 or more" in text and "in seconds" in text


def test_a_run_of_one_period_that_is_to_become_periodic_is_told():
    wave = {"waveform": {"period_s": 0.5, "cosine": [0.5]}}
    assert "give run.time_s = 2 or more" in told(wave, steps=None, time_s=0.9, periodic_tolerance=0.01)
    assert "warning" not in told(wave, steps=None, time_s=1.0, periodic_tolerance=0.01)


@pytest.mark.parametrize(("period_s", "is_told"), [(0.07, True), (0.05, False), (0.1, False)])
def test_a_wave_that_does_not_end_with_the_last_period_is_told(period_s, is_told):
    """Means over the last 0.1 s of a flow with a force of 0.07 s depended on when it ended."""
    flow = {"acceleration_m_s2": [0.1, 0.0, 0.0], "waveform": {"period_s": period_s}}
    inlet = INLET | {"waveform": {"period_s": 0.1}}
    text = "\n".join(plausible(vessel(openings=[inlet, *TABLE["openings"][1:]], flow=flow), ()))
    assert (f"flow.waveform has a period of {period_s:g} s and openings.inlet.waveform one of 0.1 s" in text) == is_told
    assert ("means over the last period are not those" in text) == is_told


def test_velocities_in_place_of_factors_are_told():
    text = told({"waveform": {"period_s": 0.1, "mean": 0.002}}, steps=None, time_s=1.0)
    assert "its largest factor is 0.002, usually 0.1 to 10" in text and "divide them by their mean" in text


def test_a_period_of_few_steps_is_told():
    text = told({"waveform": {"period_s": 1e-3}}, steps=None, time_s=1.0)
    assert "time steps, fewer than 20" in text and "lattice.time_step_s = 1e-06 or less" in text
