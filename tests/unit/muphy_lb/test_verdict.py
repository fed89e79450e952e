"""What the end of a run is worth: each objection has a cause, and a flow that merely changes has none."""

import json
from dataclasses import replace
from math import inf, nan

import pytest

from muphy_lb.measure.observer import PeriodMean, Steadiness
from muphy_lb.output.series import read_series
from muphy_lb.physics.fluctuating.package import Fluctuating
from muphy_lb.physics.free_surface.package import FreeSurface
from muphy_lb.run.criteria import SteadyWatch
from muphy_lb.run.loop import CHECKPOINTS, Run
from muphy_lb.run.verdict import Balance, Findings, Verdict, _not_judged, _objections, statements
from tests.channel import BOTTOM, OPEN, TOP, open_channel, periodic_channel, simulate

REACHED, MISSED = Steadiness(1e-3, 7.9e-4, True), Steadiness(1e-3, 1.8e-2, False)
GO_ON = "muphy-lb resume out --set run.steps=200"
SOUND = Findings(Balance(1e-6, 0.999e-6), mass_drift=0.0, density_change=0.01, steadiness=REACHED)
LEAKING = replace(SOUND, balance=Balance(1e-6, 0.95e-6))
CLOSED = replace(SOUND, balance=None)
DEVELOPING = replace(LEAKING, steadiness=None)
PERIOD = PeriodMean(0.8, 3.0, {})
STEADINESS, REPETITION = (
    "steadiness: nothing was watched; with run.steady_tolerance",
    "repetition: no period was compared",
)


def objections(findings):
    return list(_objections(findings, GO_ON))


@pytest.mark.parametrize(
    "findings",
    [
        SOUND,
        CLOSED,
        DEVELOPING,
        replace(LEAKING, steadiness=MISSED, period=PERIOD, is_driven=True),
        replace(LEAKING, balance=Balance(1e-6, 0.1e-6), steadiness=None, keeps_balance=False),
        replace(LEAKING, balance=Balance(1e-6, 0.1e-6), steadiness=None, becomes_steady=False),
        replace(LEAKING, balance=Balance(1e-6, 0.1e-6), steadiness=None, is_driven=True),
        replace(LEAKING, keeps_balance=False),
        replace(LEAKING, is_crossed=False),
        replace(SOUND, balance=Balance(0.0, 0.0)),
        replace(SOUND, density_change=9.0, allowed_density_change=inf),
    ],
)
def test_nothing_speaks_against_a_flow_that_is_steady_closed_developing_or_pulsatile(findings):
    assert objections(findings) == []


def test_a_flow_that_did_not_become_steady_is_told_how_to_go_on():
    (text,) = objections(replace(SOUND, steadiness=MISSED))
    assert "NOT steady: last change 1.80e-02, asked for 0.001" in text and text.endswith(GO_ON)


def test_a_steady_flow_that_loses_mass_is_told_of():
    (text,) = objections(replace(LEAKING, walls_rule="bouzidi"))
    assert "5 % less leaves than enters" in text and "half-way walls lose less" in text
    (text,) = objections(replace(SOUND, balance=Balance(1e-6, 1.1e-6)))
    assert "9.09 % more leaves than enters" in text and "run.steady_tolerance = 0.0001" in text


@pytest.mark.parametrize(("out_m3_s", "word"), [(0.1e-6, "less"), (3e-6, "more")])
def test_a_flow_that_nobody_watches_and_that_is_still_starting_is_told_of(out_m3_s, word):
    (text,) = objections(replace(DEVELOPING, balance=Balance(1e-6, out_m3_s)))
    assert f"{word} leaves than enters" in text and "the flow is still starting" in text


@pytest.mark.parametrize("change", [0.2, 9.1, nan])
def test_a_flow_that_is_not_incompressible_is_told_of(change):
    (text,) = objections(replace(SOUND, density_change=change))
    assert f"changes by up to {100 * change:.3g} %" in text and "up to 10 %" in text


@pytest.mark.parametrize("drift", [0.02, -0.02, nan])
def test_a_closed_flow_whose_mass_changes_is_told_of(drift):
    (text,) = objections(replace(CLOSED, mass_drift=drift))
    assert f"mass of a closed flow changed by {100 * drift:.3g} %" in text


@pytest.mark.parametrize(
    ("findings", "sentences"),
    [
        (
            SOUND,
            (
                "balance: 1e-06 m3/s in, 9.99e-07 m3/s out, imbalance 0.1 %",
                "steadiness: steady, last change 7.90e-04, asked for 0.001",
                "density: largest relative change 0.01",
            ),
        ),
        (
            replace(CLOSED, steadiness=None, mass_drift=1e-7),
            (
                "balance: closed, relative change of mass +1.00e-07",
                "steadiness: not asked for (run.steady_tolerance)",
                "density: largest relative change 0.01",
            ),
        ),
    ],
)
def test_balance_steadiness_and_density_are_always_stated(findings, sentences):
    assert tuple(statements(findings)) == sentences


def test_a_verdict_is_sound_only_where_all_was_judged_and_nothing_objects():
    assert Verdict(SOUND, ()).record()["verdict"] == "sound"
    unjudged = Verdict(SOUND, (), ("steadiness",)).record()
    assert (unjudged["verdict"], unjudged["not_judged"]) == ("not judged", ["steadiness"])
    doubtful = Verdict(SOUND, ("no",), ("steadiness",)).record()
    assert (doubtful["verdict"], doubtful["objections"]) == ("doubtful", ["no"])


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        (SOUND, ()),
        (replace(SOUND, steadiness=MISSED), ()),
        (replace(SOUND, steadiness=None), (STEADINESS,)),
        (replace(CLOSED, steadiness=None), (STEADINESS,)),
        (replace(CLOSED, steadiness=None, becomes_steady=False), ()),
        (replace(SOUND, keeps_balance=False, steadiness=None, becomes_steady=False), ("balance: in this flow",)),
        (replace(SOUND, is_driven=True), (REPETITION,)),
        (replace(SOUND, is_driven=True, steadiness=replace(REACHED, word="periodic")), ()),
        (replace(CLOSED, is_driven=True), ("repetition: periods are compared by flow rates",)),
    ],
)
def test_what_was_not_judged_is_named_with_the_key_that_asks_for_it(findings, words):
    found = tuple(_not_judged(findings))
    assert len(found) == len(words) and all(text.startswith(word) for text, word in zip(found, words, strict=True))


def test_a_flow_that_nobody_watched_and_that_misses_more_than_walls_lose_is_doubtful():
    (text,) = objections(replace(DEVELOPING, balance=Balance(1e-6, 0.93e-6)))
    assert text.startswith("7 % less leaves than enters") and "still starting" in text and GO_ON in text
    assert objections(DEVELOPING) == []


def test_a_run_that_was_stopped_is_doubtful():
    (text,) = objections(replace(SOUND, stopped_by="signal SIGTERM"))
    assert text == f"the run was stopped by signal SIGTERM before its end; continue with: {GO_ON}"


def test_physics_in_which_fluid_stays_or_noise_crosses_openings_are_not_asked_for_balance():
    assert not FreeSurface.keeps_balance and not Fluctuating.keeps_balance
    assert not FreeSurface.becomes_steady and not Fluctuating.becomes_steady
    assert Fluctuating.allowed_density_change == inf


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ((), "change not yet known (steady at 1e-03)"),
        ((0.5,), "change 5.00e-01 (steady at 1e-03)"),
        ((0.5, 5e-4), "change 5.00e-04 (steady at 1e-03, below it once, twice needed)"),
        ((5e-4, 5e-4), "change 5.00e-04 (steady at 1e-03)"),
    ],
)
def test_the_progress_of_a_criterion_says_what_is_still_needed(changes, text):
    watch, value = SteadyWatch(1e-3), 1.0
    watch.look({"group": {"x": value}})
    for change in changes:
        value /= 1.0 - change
        watch.look({"group": {"x": value}})
    assert str(watch) == text and str(SteadyWatch(None)) == ""


def summary_of(folder, case):
    run = Run(simulate(case), folder)
    run.execute()
    found = json.loads((folder / "summary.json").read_text())
    assert run.verdict == found["verdict"]
    return found


def test_a_starting_flow_is_doubtful_without_a_criterion_and_not_judged_once_it_is_balanced(tmp_path):
    found = summary_of(tmp_path / "starting", open_channel(run={"steps": 2}))
    assert found["verdict"] == "doubtful" and found["balance"]["imbalance"] > 0.05
    assert "the flow is still starting" in found["objections"][0]
    found = summary_of(tmp_path / "later", open_channel(run={"steps": 400}))
    assert found["verdict"] == "not judged" and found["objections"] == [] and abs(found["balance"]["imbalance"]) < 0.05
    assert found["not_judged"][0].startswith(STEADINESS) and not (tmp_path / "later" / CHECKPOINTS).exists()


def pulsatile(steps, period_s=0.4):
    """The open channel with a waveform at its inlet; a step is 0.01 s."""
    wave = {"period_s": period_s, "mean": 1.0, "sine": [0.5]}
    openings = [OPEN["openings"][0] | {"waveform": wave}, OPEN["openings"][1]]
    return open_channel(openings=openings, run={"steady_tolerance": 1e-9, "steps": steps})


def test_a_pulsatile_flow_is_not_doubtful_for_being_unsteady(tmp_path):
    found = summary_of(tmp_path, pulsatile(400))
    assert found["verdict"] == "not judged" and "a waveform drives the flow" in found["statements"][1]
    assert found["not_judged"][0].startswith(REPETITION)
    assert found["statements"][0].endswith("over the last period of 0.4 s")


def test_the_balance_of_a_pulsatile_flow_is_that_of_its_last_period(tmp_path):
    found = summary_of(tmp_path, pulsatile(410))  # a quarter of a period later the moment differs most from the mean
    rows = read_series(tmp_path / "openings.csv")
    now = found["openings"]["inlet"]["flow_rate_m3_s"]
    mean = rows["inlet_flow_rate_m3_s"][-4:].mean()
    assert found["balance"]["inflow_m3_s"] == pytest.approx(mean, rel=1e-6) and now > 1.2 * mean
    assert found["balance"]["period_s"] == 0.4 and found["balance"]["imbalance"] == pytest.approx(0.0, abs=1e-3)


def test_a_run_of_less_than_its_period_is_doubtful_and_goes_on_to_two(tmp_path):
    found = summary_of(tmp_path, pulsatile(30))
    assert "the run is shorter than the period of its waveform, 0.4 s" in found["objections"][0]
    assert found["objections"][0].endswith("--set run.steps=80")
    assert found["statements"][0].endswith("at this moment of the waveform")
    longer = Run(simulate(pulsatile(80)), tmp_path, resume=True)
    longer.execute()
    resumed = json.loads((tmp_path / "summary.json").read_text())["balance"]
    assert resumed == summary_of(tmp_path / "whole", pulsatile(80))["balance"]


def test_a_last_period_in_which_fluid_is_missing_is_told():
    driven = replace(SOUND, balance=Balance(1e-6, 0.95e-6, 0.8), steadiness=None, period=PERIOD, is_driven=True)
    (text,) = objections(driven)
    early = replace(driven, balance=Balance(1e-6, 0.9e-6, 0.8), period=replace(PERIOD, n_periods=1.2))
    assert objections(early) == []
    assert "over the last period of 0.8 s 5 % less leaves than enters" in text and text.endswith(GO_ON)


def test_a_closed_flow_states_its_mass(tmp_path):
    found = summary_of(tmp_path, periodic_channel(flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]}))
    assert found["verdict"] == "not judged" and found["balance"] is None and found["reynolds"] is None
    assert "closed, relative change of mass" in found["statements"][0]


def test_a_run_that_did_not_become_steady_leaves_a_checkpoint_and_goes_on_from_it(tmp_path):
    run = {"steps": 20, "steady_tolerance": 1e-9, "steady_interval_steps": 5}
    found = summary_of(tmp_path, open_channel(run=run))
    assert found["verdict"] == "doubtful" and found["ended"] == "completed"
    assert f"muphy-lb resume {tmp_path} --set run.steps=40" in found["objections"][0]
    assert found["steadiness"]["tolerance"] == 1e-9 and not found["steadiness"]["is_reached"]
    longer = Run(simulate(open_channel(run=run | {"steps": 40})), tmp_path, resume=True)
    assert longer.simulation.step_number == 20
    longer.execute()
    assert json.loads((tmp_path / "summary.json").read_text())["steps"] == 40
    again = Run(simulate(open_channel(run=run | {"steps": 40})), tmp_path, resume=True)
    assert again.execute() == ("completed", None) and again.verdict == "doubtful"


def test_a_run_for_a_time_that_is_not_steady_goes_on_for_a_longer_time(tmp_path):
    run = {"steps": None, "time_s": 0.2, "steady_tolerance": 1e-9}
    found = summary_of(tmp_path, open_channel(run=run))
    assert "--set run.time_s=0.4" in found["objections"][0]


@pytest.mark.parametrize("outflow_m3_s, is_told", [(2e-20, False), (1e-9, True)])
def test_openings_that_nothing_crosses_do_not_judge_a_flow(outflow_m3_s, is_told, tmp_path, monkeypatch):
    """Couette's flow between open ends let out 2e-20 m3/s, by rounding: 100 % more than entered."""
    monkeypatch.setattr("muphy_lb.run.verdict.balance_of", lambda view: Balance(0.0, outflow_m3_s))
    walls = [BOTTOM | {"velocity_m_s": [-1e-3, 0.0, 0.0]}, TOP | {"velocity_m_s": [1e-3, 0.0, 0.0]}]
    openings = [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "pressure_pa": 0.0}]
    _, summary = Run(simulate(open_channel(walls=walls, openings=openings)), tmp_path).execute()
    assert any("100 % more leaves than enters" in text for text in summary["objections"]) == is_told


def test_heat_that_nobody_watched_in_a_flow_that_is_steady_is_not_judged():
    """A channel with walls of two temperatures was sound after a twentieth of the time of diffusion."""
    (text,) = _not_judged(replace(SOUND, unwatched=("heat",)))
    assert "steadiness of the heat" in text and "run.steady_watch" in text
    assert not tuple(_not_judged(SOUND))
