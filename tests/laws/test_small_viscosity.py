"""What the collisions for small viscosity are for: one viscosity in all frames, and no wave that grows."""

from itertools import product

import numpy as np
import pytest

from muphy_lb.base.precision import FP32, FP64
from muphy_lb.lattice import D2Q9, D3Q19, D3Q27
from muphy_lb.operators import (
    BEFORE_COLLISION,
    CUMULANT,
    RECURSIVE_REGULARISED,
    RECURSIVE_REGULARISED_NEAR_WALLS,
    REGULARISED,
    TRT,
)
from muphy_lb.operators.operator import rest_populations
from tests.laws.collisions import (
    Case,
    before,
    by_node,
    by_reference,
    density_and_velocity,
    gaussian,
    moments,
    non_equilibrium_stress,
)

NEAR_WALLS = Case(D3Q19, RECURSIVE_REGULARISED_NEAR_WALLS)
CENTRAL = (
    Case(D2Q9, RECURSIVE_REGULARISED),
    Case(D3Q19, RECURSIVE_REGULARISED),
    Case(D2Q9, CUMULANT),
    NEAR_WALLS,
    Case(D3Q27, CUMULANT),
)
EVERY = pytest.mark.parametrize("case", CENTRAL, ids=str)
SMALL = pytest.mark.parametrize("omega", [1.2, 1.3, 1.9, 1.999])
DISTURBANCE = 1e-6
AXIS, DIAGONAL, SPACE_DIAGONAL = (1, 0, 0), (1, 1, 0), (1, 1, 1)


def with_omega(case: Case, omega: float) -> Case:
    """The collision at another viscosity, without force."""
    return Case(case.lattice, case.relaxation, case.rates, omega=omega).undriven


def propagator(case: Case, wave_vector, u, disturbance=DISTURBANCE) -> np.ndarray:
    """(Q, Q) matrix of a step for a small wave on a uniform flow."""
    lattice = case.lattice
    f = gaussian(np.ones(1), np.array(u, float)[:, None], lattice) - rest_populations(lattice)
    if case.relaxation.is_linear:
        f = case.equilibrium.populations(np.ones(1), np.array(u, float)[:, None], lattice) - rest_populations(lattice)
    up, down = (by_reference(case, f + sign * disturbance * np.eye(lattice.q)) for sign in (1, -1))
    return np.exp(-1j * lattice.c @ wave_vector)[:, None] * (up - down) / (2 * disturbance)


def viscosity_error(case: Case, direction, length: float, u=(0.0, 0.0, 0.0), disturbance=DISTURBANCE) -> float:
    """Relative error of the viscosity with which shear waves decay that a uniform flow carries; the larger of two."""
    k = 2 * np.pi / length * np.array(direction) / np.linalg.norm(direction)
    viscosity = (1 / case.omega - 0.5) / 3
    exact = np.exp(-viscosity * k @ k - 1j * k @ np.array(u))
    found = np.linalg.eigvals(propagator(case, k, u, disturbance))
    shear = found[np.argsort(np.abs(found - exact))[: case.lattice.dimension - 1]]
    errors = -np.log(np.abs(shear)) / (viscosity * k @ k) - 1
    return float(errors[np.argmax(np.abs(errors))])


@EVERY
@SMALL
@pytest.mark.parametrize("precision", [FP64, FP32], ids=lambda precision: precision.name)
def test_the_node_function_is_the_specification_at_small_viscosity(case, omega, precision):
    case = Case(case.lattice, case.relaxation, omega=omega)
    stored = 3 * before(case, precision.real)
    found, expected = by_node(case, stored, precision), by_reference(case, stored)
    assert np.abs(found - expected).max() < {FP64: 1e-14, FP32: 1e-6}[precision]
    gained = moments(found, case.lattice) - moments(stored, case.lattice)
    assert np.abs(gained - np.append(0.0, case.force)[:, None]).max() < {FP64: 1e-15, FP32: 1e-7}[precision]


@EVERY
@SMALL
def test_without_velocity_the_deviatoric_stress_relaxes_by_omega(case, omega):
    """With it, the normal stress is corrected besides: the viscosity of shear waves in a moving frame tests that."""
    case, lattice = with_omega(case, omega), case.lattice
    stored = before(case) - 3 * lattice.w[:, None] * (lattice.c @ (lattice.c.T @ before(case)))
    state = density_and_velocity(case, stored, BEFORE_COLLISION)
    stress, stress_after = (non_equilibrium_stress(case, f, *state) for f in (stored, by_reference(case, stored)))
    assert np.abs(stress).max() > 1e-3 and np.abs(stress_after - (1 - omega) * stress).max() < 1e-15


@EVERY
def test_a_uniform_force_accelerates_a_uniform_fluid_and_makes_no_stress(case):
    case = Case(case.lattice, case.relaxation, omega=1.9, drive=(1e-7, -2e-7, 3e-7))
    stored = -1.5 * case.lattice.w[:, None] * (case.lattice.c @ case.force)[:, None]
    for _ in range(20):
        stored = by_reference(case, stored)
    momentum = moments(stored, case.lattice)[1:, 0]
    assert np.abs(momentum - 19.5 * case.force).max() < 1e-15
    rho, u = density_and_velocity(case, stored, -BEFORE_COLLISION)
    half_gained = case.lattice.w[:, None] * (1.5 * case.lattice.c @ case.force)[:, None]
    assert np.abs(stored - half_gained + rest_populations(case.lattice) - gaussian(rho, u, case.lattice)).max() < 1e-11


@EVERY
def test_the_viscosity_is_the_same_in_a_moving_frame(case):
    """Regularisation at rest errs by 1.5 % and 6 % in these; D3Q19 has no moment xyz for one wave along a diagonal."""
    plane = case.lattice is D2Q9
    for direction, u in product((AXIS, DIAGONAL), ((0.1, 0, 0), (0.1, 0.1 * plane, 0))):
        assert abs(viscosity_error(with_omega(case, 1.9), direction, 64, u)) < 2e-3


def test_without_central_moments_the_viscosity_depends_on_the_frame():
    case = Case(D3Q19, REGULARISED, omega=1.9).undriven
    assert viscosity_error(case, AXIS, 64, (0.1, 0, 0)) < -0.02
    assert viscosity_error(case, DIAGONAL, 64, (0.1, 0.1, 0)) < -0.05


@pytest.mark.parametrize("omega", [1.8, 1.9])
@pytest.mark.parametrize("direction", [AXIS, DIAGONAL, SPACE_DIAGONAL, (2, 1, 0)])
def test_cumulants_diffuse_to_fourth_order_in_every_direction(omega, direction):
    """Geier, Pasquali, Schoenherr (2017); 3 nu k^2 of the viscosity is left, the memory of the stress."""
    case, viscosity = with_omega(Case(D3Q27, CUMULANT), omega), (1 / omega - 0.5) / 3
    errors = [viscosity_error(case, direction, n) - 3 * (viscosity * 2 * np.pi / n) ** 2 for n in (16, 32)]
    assert abs(errors[0]) < 2e-3 and abs(errors[1]) < max(2.0**-3.4 * abs(errors[0]), 2e-5)


@pytest.mark.parametrize("omega", [1.5, 1.9])
@pytest.mark.parametrize("angle", np.linspace(0, np.pi / 4, 4))
def test_in_two_dimensions_cumulants_diffuse_to_fourth_order_in_the_mean_over_directions(omega, angle):
    """What is left of the viscosity, besides 3 nu k^2, is k^2 / 60 cos(4 angle), to the fourth power of k."""
    case, viscosity, n = with_omega(Case(D2Q9, CUMULANT), omega), (1 / omega - 0.5) / 3, 32
    too_small_for_the_limiter = 1e-7
    direction = (np.cos(angle), np.sin(angle), 0.0)
    error = viscosity_error(case, direction, n, disturbance=too_small_for_the_limiter)
    squared = (2 * np.pi / n) ** 2
    assert abs(error / squared - 3 * viscosity**2 - np.cos(4 * angle) / 60) < 0.05 * squared


@EVERY
def test_no_wave_grows_at_the_smallest_viscosities(case):
    """In a flow along x, at rest or at Mach 0.17, over wave vectors up to the shortest."""
    steps = np.linspace(0, np.pi, 4)
    waves = [k for k in product(steps, repeat=case.lattice.dimension) if list(k[1:]) == sorted(k[1:])]
    for u, k in product(((0, 0, 0), (0.1, 0, 0)), waves):
        wave = np.pad(k, (0, 3 - len(k)))
        found = np.abs(np.linalg.eigvals(propagator(with_omega(case, 1.998), wave, u)))
        assert found.max() < 1 + 1e-6, (u, k, found.max())


@EVERY
def test_no_wave_grows_at_any_viscosity(case):
    """Cumulants with rates for diffusion of fourth order did between omega = 5/4 and 7/4, thrice a step at 1.6."""
    waves = [k for k in product((0.0, 0.5 * np.pi, np.pi), repeat=3) if case.lattice.dimension == 3 or not k[2]]
    for omega, u in product((0.3, 1.0, 1.26, 1.5, 1.6, 1.7, 1.751, 1.8, 1.9), ((0, 0, 0), (0.1, 0, 0))):
        at_rest = propagator(with_omega(case, omega), np.zeros(3), u, disturbance=1e-9)
        for wave in waves:
            found = np.abs(np.linalg.eigvals(np.exp(-1j * case.lattice.c @ wave)[:, None] * at_rest))
            assert found.max() < 1 + 1e-6, (omega, u, wave, found.max())


def test_near_walls_no_wave_grows_at_rest_and_the_viscosity_is_more_isotropic():
    """Waves along the planes of the lattice alone do not show it."""
    wave = np.pi * np.array((-0.13, 0.12, -0.36))
    growth, errors = {}, {}
    for case in (CENTRAL[1], NEAR_WALLS):
        matrix = propagator(with_omega(case, 1 / 0.5001), wave, (0.0, 0.0, 0.0))
        growth[case], errors[case] = (
            np.abs(np.linalg.eigvals(matrix)).max() - 1,
            abs(viscosity_error(with_omega(case, 1.9), SPACE_DIAGONAL, 16)),
        )
    assert growth[CENTRAL[1]] > 1e-4 and growth[NEAR_WALLS] < 1e-8
    assert errors[CENTRAL[1]] > 0.03 and errors[NEAR_WALLS] < 0.013


def test_at_two_relaxation_times_the_odd_part_of_the_shortest_waves_hardly_decays():
    """At Lambda = 3/16, where the viscosity is small: the reason to have other collisions."""
    decay = {}
    for case in (Case(D3Q19, TRT, (3 / 16,), omega=1.998).undriven, with_omega(CENTRAL[1], 1.998)):
        matrix = propagator(case, np.array([np.pi, np.pi, 0.0]), (0.05, 0.0, 0.0))
        found = np.sort(np.abs(np.linalg.eigvals(matrix)))
        decay[case.relaxation.name] = int((found > 0.9).sum())
    assert decay["trt"] == 19 > decay["recursive-regularised"], decay
