"""Creeping flow through a long, narrow channel is called steady only when as much flows out as in.

Its pressure spreads by diffusion: here with a time of 1,300 steps, seven times the interval between two looks that
suits the time of sound. The change from look to look is small long before the flow is steady.
"""

from math import inf, nan

import pytest

from muphy_lb.run.criteria import EXTRAPOLATED, SteadyState, SteadyWatch, monitored
from tests.channel import open_channel, simulate

TOLERANCE, INTERVAL, MOST_LOOKS = 1e-3, 200, 80
NARROW = {"spacing_m": 1e-3, "options": {"length": 40, "height": 3, "width": 1, "ends": "open"}}


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    """The fraction of the inflow that is missing at the outlet when the flow is called steady: by the change alone, and
    by the criterion of a run."""
    run = {"steady_tolerance": TOLERANCE, "steady_interval_steps": INTERVAL, "steps": 10**6}
    lattice = {"time_step_s": None, "relaxation_time": 2.0, "collision": "trt"}
    case = open_channel(geometry=NARROW, lattice=lattice, walls=[], run=run)
    simulation = simulate(case)
    watches = {
        "change": SteadyWatch(TOLERANCE),
        "run": SteadyState(simulation, tmp_path_factory.mktemp("steady"), None).watch,
    }
    missing = {}
    for _ in range(MOST_LOOKS):
        simulation.step(INTERVAL)
        groups = monitored(simulation)
        rates = groups["flow_rates"]
        for name, watch in watches.items():
            if watch.look(groups):
                missing.setdefault(name, 1.0 - rates["outlet"] / rates["inlet"])
        if len(missing) == len(watches):
            break
    return missing


def test_the_change_alone_stops_too_early(endings):
    assert endings["change"] > 4.0 * TOLERANCE


def test_a_run_stops_when_the_flow_is_balanced_within_the_tolerance(endings):
    assert abs(endings["run"]) < 1.5 * TOLERANCE


def looks(watch, rates):
    return [watch.look({"flow_rates": {"outlet": rate}}) for rate in rates]


def test_what_is_to_come_of_an_exponential_approach_is_known_after_three_looks():
    watch = SteadyWatch(1e-3, extrapolated=EXTRAPOLATED)
    looks(watch, [1.0 - 0.9**n for n in range(6)])
    assert watch.to_come == pytest.approx(0.9**5 / (1.0 - 0.9**5), rel=1e-9)


def test_rounding_does_not_keep_a_flow_from_being_steady():
    watch = SteadyWatch(1e-3, extrapolated=EXTRAPOLATED)
    assert looks(watch, [1.0, 1.0 + 1e-6, 1.0 - 1e-6, 1.0])[-1]


def test_a_checkpoint_keeps_what_is_to_come():
    rates = [1.0 - 0.9**n for n in range(80)]
    whole, first, second = (SteadyWatch(1e-3, extrapolated=EXTRAPOLATED) for _ in range(3))
    expected = looks(whole, rates)
    looks(first, rates[:40])
    second.restore(first.record())
    assert looks(second, rates[40:]) == expected[40:] and expected.index(True) > 45


def test_a_flow_without_openings_is_steady_by_its_change_alone():
    watch = SteadyWatch(1e-3)
    assert [watch.look({"mean_speed": {"mean_speed": 1.0 + 9e-4 * n}}) for n in range(3)] == [False, False, True]


@pytest.mark.parametrize("extrapolated", ["", EXTRAPOLATED])
def test_a_quantity_that_is_no_number_is_not_steady(extrapolated):
    watch = SteadyWatch(1e-3, extrapolated=extrapolated)
    assert not any(watch.look({"flow_rates": {"inlet": 1.0, "outlet": nan}}) for _ in range(4))


def test_with_another_interval_a_continued_run_begins_to_compare_anew(tmp_path):
    """Changes over a tenth of the time look as if they had shrunk to a tenth."""
    kept, same, shorter = (
        SteadyState(simulate(open_channel(run={"steady_tolerance": 1e-3, "steady_interval_steps": steps})), tmp_path, 0)
        for steps in (100, 100, 10)
    )
    looks(kept.watch, [1.0 - 0.9**n for n in range(6)])
    same.restore(kept.state())
    shorter.restore(kept.state())
    assert same.watch.change == kept.watch.change < inf and shorter.watch.change == inf


def test_every_quantity_is_known_to_what_its_last_changes_leave():
    watch = SteadyWatch(1e-3)
    for k in range(6):
        watch.look({"forces": {"drag": 2.0 + 0.5**k, "lift": 1.0}, "flow_rates": {}})
    assert watch.to_come_of == {"forces": {"drag": pytest.approx(0.5**5 / (2.0 + 0.5**5)), "lift": 0.0}}


def test_the_closing_lines_tell_what_is_still_to_come(tmp_path):
    simulation = simulate(open_channel(run={"steady_tolerance": 1e-9, "steady_interval_steps": 10, "steps": 100}))
    observer = SteadyState(simulation, tmp_path, None)
    assert observer.finish() is None and observer.lines({}) == []
    for _ in range(3):
        simulation.step(10)
        observer.verdict()
    (line,) = observer.lines({"watch": observer.finish()})
    assert "still to come" in line and "flow_rates" in line
