"""The theory that oscillating drops are compared with."""

import numpy as np
import pytest

from muphy_lb.validation.free_surface.drops import Oscillation
from muphy_lb.validation.free_surface.liquids import damped_oscillation


def decay(drop: Oscillation) -> float:
    """Damping of three periods over that of a potential flow."""
    time = np.linspace(0.01, 3.0, 90) * 2.0 * np.pi / drop.frequency
    return damped_oscillation(time, drop.amplitudes(time), drop.frequency, drop.damping)[1] / drop.damping


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_drop_of_hardly_any_viscosity_swings_as_potential_flow_does(dimension):
    drop = Oscillation(12.0, dimension, viscosity=1e-5)
    time = np.linspace(0.05, 2.0, 30) * 2.0 * np.pi / drop.frequency
    expected = np.exp(-drop.damping * time) * np.cos(drop.frequency * time)
    assert drop.amplitudes(time) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("dimension", [2, 3])
def test_vorticity_damps_less_by_the_power_three_halves_of_the_viscosity(dimension):
    less = [1.0 - decay(Oscillation(12.0, dimension, viscosity=viscosity)) for viscosity in (1e-4, 4e-4)]
    assert 0.0 < less[0] < less[1] < 0.05
    assert less[1] / less[0] == pytest.approx(2.0, rel=0.2)
