"""Twice the standard errors of means hold the true mean of series whose mean is known."""

import numpy as np
import pytest

from muphy_lb.measure.series_mean import STUDENT, WAVES, mean_and_error

N, SERIES, WITHIN = 512, 1000, 1.96  # values in a series; standard errors of a normal distribution that hold 95 %
LEAST, MOST = 0.90, 0.97


def autoregressive(memory, n=N):
    """(n, series) values of unit variance, x_k = r x_{k-1} + normal noise with r = exp(-1 / memory), mean 0."""
    found = np.random.default_rng(int(memory)).normal(size=(n, SERIES))
    r = np.exp(-1.0 / memory) if memory else 0.0
    for k in range(1, n):
        found[k] = r * found[k - 1] + np.sqrt(1.0 - r**2) * found[k]
    return found


def cycle(n_periods, amplitude):
    """(n, series) waves of a number of periods in the series, each of its own phase, in noise of unit variance with a
    memory of 5 values."""
    phase = np.random.default_rng(7).uniform(0.0, 2.0 * np.pi, SERIES)
    return amplitude * np.cos(2.0 * np.pi * n_periods * np.arange(N)[:, None] / N + phase) + autoregressive(5)


def coverage(values):
    """Share of the series whose error holds the mean 0."""
    mean, error = mean_and_error(values)
    return np.mean(np.abs(mean) < WITHIN * error)


@pytest.mark.parametrize("memory", [0, 2, 20, 40, 80, 160])
def test_errors_hold_the_mean_of_a_series_of_3_to_any_number_of_memories(memory):
    assert LEAST <= coverage(autoregressive(memory)) <= MOST


@pytest.mark.parametrize(("n_periods", "amplitude"), [(25.6, 1.4), (25.6, 4.2), (8.0, 1.4), (5.7, 1.4)])
def test_errors_hold_the_mean_of_cycles_in_noise(n_periods, amplitude):
    """Eight batches of 5.7 cycles are shorter than each of them."""
    assert LEAST <= coverage(cycle(n_periods, amplitude)) <= MOST


@pytest.mark.parametrize(("n_periods", "amplitude"), [(4.0, 4.2), (2.0, 1.4), (1.3, 4.2), (0.7, 1.4)])
def test_few_cycles_have_large_errors_rather_than_small_ones(n_periods, amplitude):
    assert coverage(cycle(n_periods, amplitude)) > MOST


def test_a_series_shorter_than_its_memory_has_the_error_of_one_value():
    """A ramp; the errors of eight batches and of their halves were 0.10 and 0.25 of its range for 0.29."""
    ramp = np.linspace(0.0, 1.0, N)
    mean, error = mean_and_error(ramp)
    assert mean == pytest.approx(0.5) and error == pytest.approx(STUDENT / np.sqrt(12.0), rel=0.01)
    wave = np.cos(4.0 * np.pi * (np.arange(N) + 0.5) / N)
    assert mean_and_error(wave)[1] == pytest.approx(STUDENT / np.sqrt(2.0))


def test_the_error_of_noise_is_that_of_independent_values():
    noise = autoregressive(0, 4096)
    square = (mean_and_error(noise)[1] / STUDENT) ** 2
    assert square.mean() == pytest.approx(1.0 / 4096, rel=5.0 * np.sqrt(2.0 / WAVES / SERIES))


def test_a_constant_has_no_error():
    mean, error = mean_and_error(np.full((9, 2), 2.0))
    assert mean.tolist() == [2.0, 2.0] and error == pytest.approx([0.0, 0.0], abs=1e-15)
