"""A pulsating run ends when one beat is like the one before; whether it was interrupted makes no difference."""

import json

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.criteria import PERIODIC, SAMPLES, Beats, change_between
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

PERIOD, TAU = 252.5, 300.0
WAVE = {"period_s": PERIOD, "mean": 1.0, "sine": [0.5]}
RESISTANCE = 0.5


def pulsating(n_steps=6000, **more) -> dict:
    """A plane channel before a Windkessel, in lattice units; a beat is no whole number of steps."""
    windkessel = {"resistance_pa_s_m3": RESISTANCE, "compliance_m3_pa": TAU / RESISTANCE, "every_steps": 1}
    run = {"steps": n_steps, "ramp_steps": 0, "check_interval_steps": 50, "periodic_tolerance": 1e-3}
    case = {
        "geometry": {"shape": "channel", "spacing_m": 1.0, "options": dict(length=16, height=6, ends="open")},
        "openings": [
            {"name": "inlet", "flow_rate_m3_s": 6e-3, "profile": "womersley", "waveform": WAVE},
            {"name": "outlet", "windkessel": windkessel},
        ],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.13},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, "equilibrium": "stokes"},
        "compute": {"backend": "cpu", "precision": "fp64"},
        "run": run,
        "output": {"series_every_steps": 500, "picture": False, "vtk": False, "report": False},
    }
    return {key: value | more.get(key, {}) if isinstance(value, dict) else value for key, value in case.items()}


def execute(folder, case: dict, resume=False) -> tuple[str, dict]:
    """Why the run ended, and its summary."""
    run = Run(Solver(case_from_dict(case), SerialCommunicator()), folder, resume)
    return run.execute()


def test_a_run_ends_when_two_beats_are_alike_and_reports_the_last_one(tmp_path):
    reason, summary = execute(tmp_path, pulsating())
    found, series = summary["periodicity"], read_series(tmp_path / "periodic.csv")
    assert reason == PERIODIC == summary["ended"] and summary["verdict"] == "sound"
    assert series["change"][-1] <= 1e-3 < series["change"][-2] and series["beats"].tolist() == [
        *range(2, found["beats"] + 1)
    ]
    # what is left of the start shrinks by exp(-T / tau) from beat to beat; the fluid stores some as well, 1 / c_s^2
    tau = TAU + RESISTANCE * 16 * 6 * 3.0
    shrinks = np.exp(-PERIOD / tau)
    assert series["change"][-1] / series["change"][-2] == pytest.approx(shrinks, rel=0.02)
    assert found["to_come"] == pytest.approx(found["change"] * shrinks / (1.0 - shrinks), rel=0.05)
    outlet = found["last_beat"]["outlet"]
    assert outlet["flow_rate_m3_s"] == pytest.approx(6e-3, rel=2e-3)
    assert outlet["pressure_pa"] == pytest.approx(RESISTANCE * 6e-3, rel=1e-2)
    assert outlet["lowest_pressure_pa"] < outlet["pressure_pa"] < outlet["highest_pressure_pa"]
    asked = {"tolerance": 1e-3, "change": found["change"], "is_reached": True, "word": PERIODIC, "to_come": None}
    assert summary["steadiness"] == asked | {"rises_until": 0}


@pytest.mark.parametrize("reference_pa", [0.0, 1e5])
def test_a_flow_is_not_steady_while_its_windkessel_is_being_filled(reference_pa, tmp_path):
    """The inlet imposes the flow, so that flow rates stand still long before the pressure."""
    table = pulsating(60000)
    inlet, outlet = ({**opening} for opening in table["openings"])
    del inlet["waveform"], table["run"]["periodic_tolerance"]
    outlet["windkessel"] = outlet["windkessel"] | {"compliance_m3_pa": 20.0 * TAU / RESISTANCE}
    outlet["windkessel"]["distal_pressure_pa"] = reference_pa
    table["flow"] = {"reference_pressure_pa": reference_pa}
    table |= {"openings": [inlet, outlet], "run": table["run"] | {"steady_tolerance": 1e-3}}
    reason, summary = execute(tmp_path, table)
    assert reason == "steady" and summary["verdict"] == "sound"
    pressure_pa = summary["openings"]["outlet"]["mean_pressure_pa"] - reference_pa
    assert pressure_pa == pytest.approx(RESISTANCE * 6e-3, rel=2e-3)


def test_a_run_that_is_stopped_and_resumed_ends_at_the_same_step(tmp_path):
    execute(tmp_path / "whole", pulsating())
    first = pulsating(n_steps=700, output={"checkpoint_every_steps": 350})
    assert execute(tmp_path / "parts", first)[0] == "completed"
    execute(tmp_path / "parts", pulsating(output={"checkpoint_every_steps": 350}), resume=True)
    files = [(tmp_path / name / "periodic.csv").read_text() for name in ("whole", "parts")]
    summaries = [json.loads((tmp_path / name / "summary.json").read_text()) for name in ("whole", "parts")]
    assert files[0] == files[1] and summaries[0]["steps"] == summaries[1]["steps"] < 6000
    assert summaries[0]["periodicity"] == summaries[1]["periodicity"]


def test_a_run_that_ends_before_is_doubtful_and_says_how_to_go_on(tmp_path):
    reason, summary = execute(tmp_path, pulsating(n_steps=800))
    assert reason == "completed" and summary["verdict"] == "doubtful"
    (objection,) = summary["objections"]
    assert objection.startswith("the flow is NOT periodic: last change") and "muphy-lb resume" in objection


@pytest.mark.parametrize("period", [100.0, 257.3])
def test_beats_are_compared_at_equal_phases(period):
    """Waves that repeat themselves differ by nothing but interpolation, a wave that grows by what it grows."""
    every = max(1, round(period / SAMPLES))
    same, grown = Beats(period, every), Beats(period, every)
    for step in range(0, int(4 * period) + 2 * every, every):
        wave = np.sin(2.0 * np.pi * step / period) + 0.2 * np.cos(10.0 * np.pi * step / period)
        same.add(step, [wave, 3.0 + wave])
        grown.add(step, [wave, 3.0 + wave + 0.01 * step / period])
    assert same.count == grown.count == 4 and same.change < 2e-5
    assert grown.change == pytest.approx(0.01 / np.ptp(same.waves(0)[1]), rel=0.01)


def test_a_beat_whose_begin_was_not_seen_is_not_compared():
    beats, compared = Beats(100.0, 1), []
    for step in range(1037, 1500):
        if beats.add(step, [np.sin(2.0 * np.pi * step / 100.0)] * 2):
            compared.append(step)
    assert compared == [1300, 1400] and beats.change < 1e-9
    other = Beats(100.3, 1)
    other.restore(beats.record())
    assert other.count == 0 and other.change == np.inf


def test_what_is_to_come_is_known_from_changes_that_shrink():
    """They add up as a geometric series: 0.5 + 0.25 + ... of the last change."""
    beats = Beats(100.0, 1)
    assert beats.to_come is None
    beats.change_before, beats.change = 0.4, 0.2
    assert beats.to_come == pytest.approx(0.2)
    beats.change_before, beats.change = 0.2, 0.3
    assert beats.to_come is None


def test_a_quantity_that_stays_is_compared_with_a_thousandth_of_itself():
    before, last = np.full((2, 1, 4), 5.0), np.full((2, 1, 4), 5.0 + 1e-5)
    assert change_between(before, last) == pytest.approx(2e-3, rel=1e-4)
    assert change_between(np.zeros((2, 1, 4)), np.zeros((2, 1, 4))) == 0.0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"run": {"steady_tolerance": 1e-3}}, "steady_tolerance and periodic_tolerance"),
        ({"run": {"periodic_tolerance": 0.5}}, "periodic_tolerance"),
    ],
)
def test_criteria_that_make_no_sense_are_refused(change, expected):
    with pytest.raises(InputError, match=expected):
        case_from_dict(pulsating(**change))


def refused(change) -> str:
    """The message for a case whose tables have been changed."""
    case = pulsating()
    change(case)
    with pytest.raises(InputError) as caught:
        Solver(case_from_dict(case), SerialCommunicator())
    return str(caught.value)


def test_a_run_without_waveforms_cannot_become_periodic():
    assert "no opening, wall or force of the case has a waveform" in refused(lambda c: c["openings"][0].pop("waveform"))


def test_waveforms_of_periods_without_a_common_multiple_are_refused():
    def other(case):
        case["flow"] = {"acceleration_m_s2": [1e-9, 0.0, 0.0], "waveform": {"period_s": 200.0, "sine": [1.0]}}

    text = refused(other)
    assert "flow.waveform has a period of 200 s and openings.inlet.waveform one of 252.5 s" in text


def test_a_heart_muscle_that_beats_beside_the_flow_is_refused():
    def other(case):
        names = ("arterial", "microcirculatory", "venous")
        bed = {f"{name}_resistance_pa_s_m3": 1.0 for name in names}
        bed |= {"arterial_compliance_m3_pa": 100.0, "myocardial_compliance_m3_pa": 100.0}
        bed["muscle_pressure"] = {"period_s": 250.0, "sine_pa": [0.001]}
        case["openings"][1] = {"name": "outlet", "coronary": bed}
        del case["run"]["periodic_tolerance"]

    assert "coronary.muscle_pressure has a period of 250 s" in refused(other)
