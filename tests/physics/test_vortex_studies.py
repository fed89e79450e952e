"""Parts of the studies of decaying vortices and of shear layers; the studies themselves take minutes."""

from math import inf, nan

import numpy as np
import pytest

from muphy_lb.validation.case import Settings
from muphy_lb.validation.flow.vortices import Breakup, TaylorGreen3D, breakup, layers

NUMPY = Settings(quick=True, backend="numpy")
FLOW, STEP = TaylorGreen3D(0.7, 0.05), 1e-4


def derivative(function, points, axis):
    """Of a function of three coordinates along one of them."""
    shift = STEP * np.eye(3)[axis][:, None]
    return (function(*(points + shift)) - function(*(points - shift))) / (2 * STEP)


def test_the_start_is_free_of_divergence_and_its_strain_and_pressure_belong_to_it():
    points = np.random.default_rng(1).uniform(0, 9, (3, 20))
    gradient = np.array([derivative(FLOW.velocity, points, axis) for axis in range(3)])
    strain = 0.5 * (gradient + gradient.transpose(2, 1, 0))
    assert np.abs(np.trace(gradient, axis1=0, axis2=2)).max() < 1e-9
    assert np.abs(strain.transpose(1, 0, 2) - FLOW.strain_rate(*points)).max() < 1e-9
    laplacian = sum(
        FLOW.pressure(*(points + 1e-2 * np.eye(3)[a][:, None]))
        + FLOW.pressure(*(points - 1e-2 * np.eye(3)[a][:, None]))
        for a in range(3)
    )
    laplacian = (laplacian - 6 * FLOW.pressure(*points)) / 1e-4
    assert np.abs(laplacian + np.einsum("anb,bna->n", gradient, gradient)).max() < 1e-6


def test_vortices_decay_as_viscosity_says_while_they_are_smooth():
    found = breakup(12, 100, "regularised", "D3Q19", NUMPY)
    assert found.spectrum.sum() < found.energy.max() < 0.125 and 0.005 < found.peak < 0.014 and found.noise < 1


def test_a_flow_that_diverged_has_an_infinite_peak():
    assert Breakup(np.arange(3), np.array([1.0, nan, 2.0]), np.ones(3), np.ones(11)).peak == inf


@pytest.mark.parametrize(("share", "noise"), [(1.0, 1.0), (2.0, 2.0)])
def test_noise_is_the_energy_of_the_shortest_waves_over_that_of_the_middle(share, noise):
    spectrum = np.where(np.arange(101) >= 90, share, 1.0)
    assert Breakup(np.arange(3), np.ones(3), np.ones(3), spectrum).noise == pytest.approx(noise)


def test_shear_layers_keep_most_of_their_energy_and_the_box_its_mean():
    found = layers(24, "recursive-regularised", NUMPY)
    assert 0.3 < found.energy < 0.49 and abs(found.vorticity.mean()) < 1e-9 and 5 < found.enstrophy < 60
