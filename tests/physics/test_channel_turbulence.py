"""Parts of the study of turbulence between plates; its averages take hours on a CPU, and minutes on a GPU."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.validation.case import Settings
from muphy_lb.validation.flow.channel_turbulence import (
    CENTRE_VELOCITY,
    QUICK,
    RE_TAU,
    SCHEMES,
    averaged,
    bulk_velocity,
    flow_across,
    folded,
    initial_velocity,
    mean_velocity,
    moments,
    reynolds_stress,
)

NUMPY = Settings(quick=True, backend="numpy")
STEP = 1e-4
HALF_HEIGHT = 12
DISTANCE = (np.arange(HALF_HEIGHT) + 0.5) * RE_TAU / HALF_HEIGHT


def laminar(gain: float, viscosity: float = 1.0) -> np.ndarray:
    """(h,) velocity whose viscous stress carries the force on what is above less a uniform gain."""
    return (1.0 - gain) * DISTANCE * (1.0 - 0.5 * DISTANCE / RE_TAU) / viscosity


def profiles(velocity, gain):
    """Of a flow without fluctuations, from its lower half."""
    means, gains = np.zeros((2 * HALF_HEIGHT, 3)), np.zeros((2 * HALF_HEIGHT, 3))
    means[:, 0], gains[:, 0] = np.append(velocity, velocity[::-1]), gain
    return folded(means, means[:, :, None] * means[:, None, :], gains)


def test_the_published_stresses_balance_the_force():
    y = np.linspace(1.0, RE_TAU - 1.0, 50)
    viscous = (mean_velocity(y + STEP) - mean_velocity(y - STEP)) / (2 * STEP)
    assert np.abs(viscous - reynolds_stress(y)[3] - (1.0 - y / RE_TAU)).max() < 0.006
    assert mean_velocity(RE_TAU) == pytest.approx(CENTRE_VELOCITY) and 15.5 < bulk_velocity() < 15.8


def test_waves_of_the_start_are_free_of_divergence_and_zero_at_the_plates():
    random = np.random.default_rng(2)
    inside = random.uniform((0, 1, 0), (QUICK.length, 2 * QUICK.half_height, QUICK.width), (20, 3))
    shifted = [inside + sign * STEP * axis for axis in np.eye(3) for sign in (1, -1)]
    at_plates = inside * (1, 0, 1) + [(0, 0.5 + 2 * QUICK.half_height * (k % 2), 0) for k in range(20)]
    found = initial_velocity(QUICK, np.concatenate([*shifted, at_plates])).reshape(7, 20, 3)
    divergence = sum(found[2 * a, :, a] - found[2 * a + 1, :, a] for a in range(3)) / (2 * STEP)
    slope = np.abs(found[0] - found[1]).max() / (2 * STEP)
    assert np.abs(divergence).max() < 1e-6 * slope and np.abs(found[6]).max() < 1e-9


def test_averages_of_a_wave_are_those_of_its_products_in_both_halves():
    y = np.append(DISTANCE, -DISTANCE[::-1])  # odd: v and u'v' change their sign in the mirror
    phase = 2 * np.pi * np.arange(16) / 16
    velocity = np.zeros((3, y.size, 16, 3))
    velocity[..., 0] = np.abs(y)[:, None] + 2.0 * np.sin(phase)
    velocity[..., 1] = -0.5 * np.sign(y)[:, None] * np.sin(phase)
    velocity[..., 2] = 3.0 * np.cos(phase)
    found = folded(*moments(velocity), np.zeros((y.size, 3)))
    expected = np.array([[2.0, -0.5, 0.0], [-0.5, 0.125, 0.0], [0.0, 0.0, 4.5]])
    assert np.abs(found.stress - expected).max() < 1e-9 and np.abs(found.velocity - DISTANCE).max() < 1e-9
    assert np.array_equal(found.y, DISTANCE) and found.asymmetry < 1e-9


@pytest.mark.parametrize("gain", [0.0, 0.3])
def test_momentum_balances_where_the_viscosity_is_right(gain):
    assert np.abs(profiles(laminar(gain), gain).imbalance).max() < 1e-9
    assert np.abs(profiles(laminar(gain, viscosity=1.1), gain).imbalance).max() > 0.05
    assert np.abs(profiles(laminar(gain), gain + 0.1).imbalance).max() > 0.05


def test_a_flow_that_has_just_started_keeps_its_momentum():
    channel = replace(QUICK, half_height=8, length=12, width=8, development=0.05, averaging=0.125)
    found = averaged(channel, SCHEMES["recursive-regularised"], NUMPY)
    assert np.abs(found.imbalance).max() < 0.1 and np.abs(found.velocity / mean_velocity(found.y) - 1).max() < 0.5


def test_streaks_drive_a_flow_across_on_19_vectors_and_none_on_27():
    assert flow_across(10, SCHEMES["mrt"], NUMPY) > 0.1
    assert flow_across(10, SCHEMES["mrt"] | {"name": "D3Q27"}, NUMPY) < 1e-9
