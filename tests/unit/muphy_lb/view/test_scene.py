"""What is drawn of values: scales of colours, angles, curves."""

import numpy as np
import pytest

from muphy_lb.measure.monitor import RunStatus
from muphy_lb.measure.observer import Steadiness
from muphy_lb.view.curves import MOST_POINTS, History
from muphy_lb.view.messages import Update
from muphy_lb.view.scene import MOST_ELEVATION_DEG, Angle, Scale


def test_a_scale_has_a_unit_that_suits_its_values():
    scale = Scale.of(np.linspace(0.0, 0.002, 100), "m/s")
    assert (scale.low, scale.unit) == (0.0, "mm/s") and 1.5 < scale.high / scale.size < 2.0


def test_a_scale_of_values_far_from_zero_does_not_begin_there():
    scale = Scale.of(np.linspace(300.0, 301.0, 100), "K")
    assert 299.0 < scale.low < scale.high < 302.0 and scale.unit == "K"


def test_a_scale_is_kept_while_it_suits():
    first = Scale.of(np.linspace(0.0, 1.0, 100), "Pa")
    assert Scale.of(np.linspace(0.0, 0.9, 100), "Pa", first) is first
    assert Scale.of(np.linspace(0.0, 2.0, 100), "Pa", first).high > first.high
    assert Scale.of(np.linspace(0.0, 0.1, 100), "Pa", first).high < first.high


@pytest.mark.parametrize("values", [np.zeros(3), np.full(3, 7.0), np.full(3, np.nan), np.array([np.inf, 1.0])])
def test_a_scale_of_any_values_has_an_extent(values):
    scale = Scale.of(values, "Pa")
    assert np.isfinite([scale.low, scale.high]).all() and scale.low < scale.high


def test_the_body_is_never_turned_beyond_its_poles():
    angle = Angle(0.0, 20.0)
    for _ in range(100):
        angle = angle.turned(50.0, -50.0)
    assert angle.elevation_deg == MOST_ELEVATION_DEG and 0.0 <= angle.azimuth_deg < 360.0


def update(step, change=None):
    steadiness = () if change is None else (Steadiness(1e-3, change, False),)
    return Update(
        step, 0.1 * step, RunStatus(10**6, steadiness), 1.0, "running", {"in": (step, 2.0), "out": (-1.0, 3.0)}
    )


def test_curves_hold_what_was_told_in_order():
    history = History(["in", "out"])
    for step in (1, 2, 2, 5):
        history.add(update(step, 0.5 / step))
    times, flows, pressures = history.of_openings()
    assert times.tolist() == pytest.approx([0.1, 0.2, 0.5])
    assert flows.tolist() == [[1, 2, 5], [-1, -1, -1]] and pressures[1].tolist() == [3, 3, 3]
    assert history.of_changes()[1].tolist() == [0.5, 0.25, 0.1]


def test_long_curves_are_thinned_and_keep_their_ends():
    history = History(["in", "out"])
    for step in range(5000):
        history.add(update(step))
    times = history.of_openings()[0]
    assert MOST_POINTS // 2 <= times.size <= MOST_POINTS
    assert times[-1] == pytest.approx(499.9) and np.all(np.diff(times) > 0.0)
