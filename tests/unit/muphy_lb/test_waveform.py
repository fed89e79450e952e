"""Laws of factors of time: a series is its sum, a spline meets its points, and both repeat."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muphy_lb.boundaries.waveform import FourierSeries, PeriodicSpline

PERIOD_S = 0.8
TIMES_S = np.linspace(-2.0, 3.0, 101)
EXACT = 1e-13


def smooth(time_s):
    """A periodic function that is no polynomial."""
    return np.exp(np.sin(2 * np.pi * time_s / PERIOD_S))


def spline_through(n_points, function=smooth, start_s=0.0):
    """Spline through n points and the first of the next period, unevenly spaced."""
    place = np.linspace(0.0, 1.0, n_points + 1)
    time_s = start_s + PERIOD_S * (place + 0.05 * np.sin(2 * np.pi * place))
    value = function(time_s)
    value[-1] = value[0]
    return PeriodicSpline(time_s, value), time_s, value


def test_a_series_without_amplitudes_is_its_mean():
    assert FourierSeries(PERIOD_S, 0.7)(TIMES_S).tolist() == [0.7] * TIMES_S.size


def test_a_series_is_the_sum_of_its_terms():
    phase = 2 * np.pi * TIMES_S / PERIOD_S
    expected = 1.5 + 0.3 * np.cos(phase) - 0.2 * np.cos(2 * phase) + 0.5 * np.sin(phase) + 0.1 * np.sin(3 * phase)
    found = FourierSeries(PERIOD_S, 1.5, (0.3, -0.2), (0.5, 0.0, 0.1))(TIMES_S)
    assert np.abs(found - expected).max() < EXACT


def test_a_single_time_gives_a_single_factor():
    assert FourierSeries(PERIOD_S, 1.0, (2.0,))(PERIOD_S) == pytest.approx(3.0, abs=EXACT)


@pytest.mark.parametrize("factor", [FourierSeries(PERIOD_S, 1.0, (0.3,), (0.5, 0.1)), spline_through(9)[0]])
def test_a_factor_repeats_after_its_period(factor):
    assert factor.period_s == pytest.approx(PERIOD_S) and np.ptp(factor(TIMES_S)) > 0.5
    assert np.abs(factor(TIMES_S) - factor(TIMES_S + 3 * PERIOD_S)).max() < EXACT


@pytest.mark.parametrize("start_s", [0.0, -0.3, 5.0])
def test_a_spline_meets_its_points(start_s):
    spline, time_s, value = spline_through(7, start_s=start_s)
    assert np.abs(spline(time_s) - value).max() < EXACT


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-10.0, 10.0), min_size=2, max_size=12))
def test_a_spline_through_any_points_meets_them(values):
    time_s, value = np.arange(len(values) + 1.0), np.append(values, values[0])
    assert np.abs(PeriodicSpline(time_s, value)(time_s) - value).max() < 1e-10


def test_a_spline_through_equal_points_is_constant():
    spline, *_ = spline_through(5, lambda time_s: np.full_like(time_s, 2.5))
    assert np.abs(spline(TIMES_S) - 2.5).max() < EXACT


def test_a_spline_reproduces_a_smooth_periodic_function_to_fourth_order():
    errors = [np.abs(spline_through(n)[0](TIMES_S) - smooth(TIMES_S)).max() for n in (32, 64, 128)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders.min() > 3.7 and errors[-1] < 1e-6


@pytest.mark.parametrize("order", [1, 2])
def test_a_spline_has_no_kink_at_its_points(order):
    """One-sided differences of a smooth piece of a cubic differ by its third derivative times their distance."""
    spline, time_s, _ = spline_through(8)
    gap = 1e-4 * PERIOD_S
    left, right = (
        np.diff(spline(time_s[:, None] + side * gap * np.arange(order + 1)), order) / (side * gap) ** order
        for side in (-1, 1)
    )
    scale = (2 * np.pi / PERIOD_S) ** order
    assert np.abs(left - right).max() < 0.05 * scale
