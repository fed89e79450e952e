"""Noise numbers, and the noise that a collision needs, against published and independent figures."""

import numpy as np
import pytest

from muphy_lb.lattice import BASES, D2Q9, D3Q19, LATTICES
from muphy_lb.operators import BGK, MRT, REGULARISED, TRT, mrt_for
from muphy_lb.operators.trt import odd_rate
from muphy_lb.physics.fluctuating.operators import linear_collision, noise_amplitudes, noise_modes, random_numbers
from tests.laws.collisions import relaxations

pytestmark = pytest.mark.pairs

OMEGAS = (0.3, 1.0, 1.79)
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
EVERY_COLLISION = pytest.mark.parametrize(
    ("lattice", "relaxation", "rates"),
    [
        pytest.param(lattice, *each, id=f"{lattice.name}-{each[0].name}-{len(each[1])}")
        for lattice in LATTICES.values()
        for each in relaxations(lattice)
        if each[0].is_linear
    ],
)


def named_rates(relaxation, omega, rates=()):
    """Values of the parameters of a relaxation, by name."""
    return {each.name: value for each, value in zip(relaxation.parameters, (omega, *rates), strict=True)}


def noise_covariance(relaxation, rates, lattice) -> np.ndarray:
    """(Q, Q) covariance of the noise for mu = 1."""
    noise = noise_modes(lattice).T @ noise_amplitudes(relaxation, rates, lattice)
    return noise @ noise.T


def test_noise_numbers_are_independent_with_variance_one():
    n = 20_000
    numbers = random_numbers(15, np.arange(n) + (1 << 33), step=3 + (1 << 32), seed=(1 << 40) + 7)
    assert np.abs(numbers.mean(axis=1)).max() < 4.5 / np.sqrt(n)
    covariance = numbers @ numbers.T / n
    assert np.abs(covariance - np.eye(15)).max() < 4.5 / np.sqrt(n)
    assert np.abs((numbers**4).mean() - 1.8) < 0.02  # of a uniform number


@pytest.mark.parametrize(
    "other", [{"step": 4}, {"step": 3 + (1 << 32)}, {"seed": 6}, {"seed": 5 + (1 << 32)}, {"voxel": 1 << 32}]
)
def test_every_bit_of_step_seed_and_voxel_counts(other):
    """Steps, seeds and voxels that agree in their last 32 bits give other numbers."""
    voxel, n = np.arange(2000), 15 * 2000
    given = {"step": 3, "seed": 5, "voxel": 0}
    first, second = (
        random_numbers(15, voxel + each["voxel"], each["step"], each["seed"]) for each in (given, given | other)
    )
    assert abs((first * second).mean()) < 4.5 / np.sqrt(n)


@EVERY_LATTICE
def test_modes_are_orthonormal_and_free_of_mass_and_momentum(lattice):
    modes = noise_modes(lattice)
    assert modes.shape == (lattice.q - 1 - lattice.dimension, lattice.q)
    assert np.allclose(modes / lattice.w @ modes.T, np.eye(len(modes)), atol=1e-13)
    assert np.abs(modes.sum(axis=1)).max() < 1e-14 and np.abs(modes @ lattice.c).max() < 1e-14


@EVERY_COLLISION
@pytest.mark.parametrize("omega", OMEGAS)
def test_noise_restores_what_the_collision_takes(lattice, relaxation, rates, omega):
    """C + L W L^T = W: populations in equilibrium stay there."""
    given = named_rates(relaxation, omega, rates)
    weights, matrix = np.diag(lattice.w), linear_collision(relaxation, given, lattice)
    covariance = noise_covariance(relaxation, given, lattice)
    assert np.abs(covariance + matrix @ weights @ matrix.T - weights).max() < 1e-14


@EVERY_LATTICE
@pytest.mark.parametrize("omega", OMEGAS)
@pytest.mark.parametrize("relaxation", [BGK, TRT, MRT, REGULARISED], ids=lambda relaxation: relaxation.name)
def test_amplitudes_are_those_of_orthogonal_modes(lattice, relaxation, omega):
    """mu b_k [1 - (1 - s_k)^2] (Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007)).

    Stress and even modes relax with omega, odd ones with the rate of Lambda, those that are regularised with 1.
    """
    rates = (0.1,) if relaxation in (TRT, MRT) else ()
    found = noise_amplitudes(relaxation, named_rates(relaxation, omega, rates), lattice)
    n_modes = len(found)
    is_odd = np.array([np.allclose(mode[lattice.opposite], -mode) for mode in noise_modes(lattice)])
    is_stress = np.arange(n_modes) < lattice.dimension * (lattice.dimension + 1) // 2
    s = np.full(n_modes, omega)
    if rates:
        s[is_odd] = odd_rate(omega, 0.1)
    if relaxation is REGULARISED:
        s[~is_stress] = 1.0
    assert np.allclose(found, np.diag(np.sqrt(1.0 - (1.0 - s) ** 2)), atol=1e-6)


def test_noise_in_a_weighted_orthogonal_basis_is_one_number_a_moment():
    """Toelke's D2Q9 with different rates of all families."""
    relaxation, rates = mrt_for(D2Q9, {"bulk": 1.1, "energy_square": 0.7, "energy_flux": 1.9})
    basis, omega = BASES["D2Q9"], 1.4
    covariance = (
        basis.matrix @ noise_covariance(relaxation, named_rates(relaxation, omega, rates), D2Q9) @ basis.matrix.T
    )
    s = {"density": 0.0, "momentum": 0.0, "bulk": 1.1, "shear": omega, "energy_flux": 1.9, "energy_square": 0.7}
    b = basis.matrix**2 @ D2Q9.w
    expected = [norm * (1.0 - (1.0 - s[family]) ** 2) for norm, family in zip(b, basis.families, strict=True)]
    assert np.allclose(covariance, np.diag(expected), atol=1e-13)


def test_noise_in_the_basis_of_dhumieres_is_correlated():
    """It is not orthogonal with weights: energy and energy square share noise."""
    relaxation, rates = mrt_for(D3Q19)
    found = noise_amplitudes(relaxation, named_rates(relaxation, 1.4, rates), D3Q19)
    assert np.abs(found - np.diag(np.diag(found))).max() > 0.01


def test_rates_that_no_noise_balances_are_refused():
    relaxation, rates = mrt_for(D3Q19, {"bulk": 0.02, "energy_square": 1.98})
    with pytest.raises(ValueError, match="no noise balances a collision with these rates"):
        noise_amplitudes(relaxation, named_rates(relaxation, 1.4, rates), D3Q19)
