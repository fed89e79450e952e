"""What is left of a run counts its steps and every look at the flow, each as often as it will come."""

import pytest

from muphy_lb.run import progress
from muphy_lb.run.loop import Run
from muphy_lb.run.progress import Clock
from tests.channel import open_channel, simulate


def test_rare_looks_that_take_long_count_as_often_as_they_will_come(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    clock = Clock()
    for step in range(10, 160, 10):
        now[0] += 0.1
        clock.stepping_s, clock.steps = clock.stepping_s + 0.1, step
        for who, every, seconds in (("often", 10, 0.05), ("rare", 100, 3.0)):
            if step % every == 0:
                with clock.look(who, every):
                    now[0] += seconds
    assert clock.remaining_s(150, 1500) == pytest.approx(13.5 + 135 * 0.05 + 14 * 3.0)


@pytest.mark.parametrize(("tolerance", "most"), [(None, ""), (1e-9, "at most ")])
def test_a_run_tells_once_how_long_it_takes_from_steps_of_its_own(tmp_path, monkeypatch, caplog, tolerance, most):
    monkeypatch.setattr(progress, "WORTH_TELLING_S", -1.0)
    case = open_channel(run={"steps": 60, "steady_tolerance": tolerance, "steady_interval_steps": 20})
    with caplog.at_level("INFO", logger="muphy_lb"):
        Run(simulate(case), tmp_path, shows_progress=False).execute()
    (line,) = [line for line in caplog.messages if line.startswith("estimated time: ")]
    n_steps = 20 if most else 10
    assert line.startswith(f"estimated time: {most}") and f"for the {60 - n_steps} steps that are left" in line
    assert f"measured on {n_steps} steps of this flow with all looks at it" in line
