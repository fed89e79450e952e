"""Closures give the viscosity that their law asks for at the shear that the node itself has."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from muphy_lb.backends.cpu.skeletons import sweep_jit
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.lattice import LATTICES
from muphy_lb.operators import BGK, CARREAU_YASUDA, CASSON, CLOSURES, EQUILIBRIA, POWER_LAW, SMAGORINSKY
from muphy_lb.operators.closures import SMALLEST_TAU, carreau_yasuda, casson, power_law, tau_bounds
from muphy_lb.operators.operator import named, positions, rest_populations
from tests.laws.collisions import (
    CLOSING,
    OMEGA,
    Case,
    by_node,
    by_reference,
    cases,
    moving_state,
    non_equilibrium_stress,
)

pytestmark = pytest.mark.pairs

LAWS = {POWER_LAW: power_law, CARREAU_YASUDA: carreau_yasuda, CASSON: casson}
INDICES = (0.3, 0.6, 1.0, 1.4, 1.7)
SHEAR_RATES = np.concatenate(([0.0], np.logspace(-8, -1, 57)))
# The largest tau is large enough here that the laws are hardly ever cut off.
NU_MAX = 30.0
# Fluids (closure, parameters) of every index, with nu = 0.02 at a rate of shear of 1e-4.
FLUIDS = [
    *((POWER_LAW, (0.02 * 1e-4 ** (1 - index), index, 0.0, NU_MAX)) for index in INDICES),
    *((CARREAU_YASUDA, (0.9, 0.02, 1e4, 0.64, index, 0.0, NU_MAX)) for index in INDICES if index <= 1),
    *((CARREAU_YASUDA, (0.01, 0.3, 1e4, 2.0, index, 0.0, NU_MAX)) for index in INDICES if index <= 1),
    *((CASSON, (k_0, 0.1, 0.0, NU_MAX)) for k_0 in (0.0, 1e-4, 1e-2)),
]
ALL_FLUIDS = pytest.mark.parametrize(
    ("closure", "closing"), FLUIDS, ids=[f"{closure.name}{closing}" for closure, closing in FLUIDS]
)
# Relative error of tau: of Newton's method and of the cancellation in nu at a rate of shear of 1e-8.
BOUND = {FP64: 1e-10, FP32: 2e-5}
FLOWING = [closure for closure in CLOSURES.values() if closure.needs_stress]
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)


def invariant(shear_rate, tau):
    """|Pi| / rho of a rate of shear: g = (3 / sqrt(2)) |Pi| / (rho tau)."""
    return 2**0.5 / 3 * shear_rate * tau


def tau_of_law(closure, closing, shear_rate):
    """3 nu + 1/2 of a law at a rate of shear, within the bounds of tau."""
    *shape, nu_min, nu_max = closing
    with np.errstate(divide="ignore"):
        return np.clip(3 * LAWS[closure](shear_rate, *shape) + 0.5, *tau_bounds(nu_min, nu_max))


def by_name(closure, closing) -> dict[str, float]:
    """Parameters of a closure as its specification reads them."""
    return {parameter.name: value for parameter, value in zip(closure.parameters, closing, strict=True)}


@cache
def compiled_rate(closure, precision):
    """The compiled node function, the same for all values of its parameters."""
    return closure.node(precision, sweep_jit, positions((*named("omega"), *closure.parameters)))


def solved(closure, closing, stress, precision=FP64):
    """(n,) tau that the compiled node function finds for (n,) values |Pi| / rho."""
    rate, real = compiled_rate(closure, precision), precision.real
    parameters = tuple(real(value) for value in (OMEGA, *closing))
    return np.array([1 / float(rate(real(OMEGA), real(value), 0, parameters)) for value in stress])


@ALL_FLUIDS
@pytest.mark.parametrize("precision", BOUND, ids=lambda precision: precision.name)
def test_tau_solves_its_own_equation(closure, closing, precision):
    """From every rate of shear the law gives tau, tau and rate give the stress, and the stress gives back tau."""
    expected = tau_of_law(closure, closing, SHEAR_RATES[1:])
    found = solved(closure, closing, invariant(SHEAR_RATES[1:], expected), precision)
    assert np.abs(found / expected - 1).max() < BOUND[precision]


@ALL_FLUIDS
def test_the_specification_solves_the_same_equation(closure, closing):
    expected = tau_of_law(closure, closing, SHEAR_RATES[1:])
    found = 1 / closure.reference(OMEGA, invariant(SHEAR_RATES[1:], expected), None, by_name(closure, closing))
    assert np.abs(found / expected - 1).max() < BOUND[FP64]


@pytest.mark.parametrize(
    ("closure", "closing"),
    [
        (POWER_LAW, (0.04, 1.0, 0.0, 1.0)),
        (CARREAU_YASUDA, (0.04, 0.04, 100.0, 0.64, 0.3, 0.0, 1.0)),
        (CARREAU_YASUDA, (0.04, 0.01, 100.0, 2.0, 1.0, 0.0, 1.0)),
        (CASSON, (0.0, 0.2, 0.0, 1.0)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_newtonian_limit_is_a_constant_viscosity(closure, closing):
    tau = solved(closure, closing, invariant(SHEAR_RATES, 1.0))
    assert np.abs(tau - (3 * 0.04 + 0.5)).max() < 1e-14


@pytest.mark.parametrize(
    ("closure", "closing", "nu"),
    [
        (POWER_LAW, (1e-3, 0.5, 1e-3, 0.4), 0.4),
        (POWER_LAW, (1.0, 1.5, 0.03, 0.4), 0.03),
        (CARREAU_YASUDA, (0.3, 0.01, 100.0, 0.64, 0.3, 0.0, 1.0), 0.3),
        (CARREAU_YASUDA, (0.3, 0.01, 100.0, 0.64, 0.3, 0.0, 0.2), 0.2),
        (CASSON, (1e-2, 0.1, 1e-3, 0.4), 0.4),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_fluid_at_rest_has_the_viscosity_of_vanishing_shear(closure, closing, nu):
    at_rest = np.zeros(1)
    specified = 1 / closure.reference(OMEGA, at_rest, None, by_name(closure, closing))
    for tau in (solved(closure, closing, at_rest), specified):
        assert abs(tau[0] - (3 * nu + 0.5)) < 1e-12


def test_a_casson_fluid_below_its_yield_stress_has_the_largest_viscosity():
    """rho k_0^2 is the yield stress: |sigma| = nu g, and nu g = (3 / sqrt(2)) Q / 3 where tau is large."""
    k_0, nu_max = 0.01, 1e6
    below, above = (solved(CASSON, (k_0, 0.1, 0.0, nu_max), [part * 2**0.5 * k_0**2])[0] for part in (0.9, 1.1))
    assert below > 0.99 * 3 * nu_max and above < 1e3


@pytest.mark.parametrize(("index", "sign"), [(0.4, -1), (1.6, 1)])
def test_stress_thins_or_thickens_by_the_index(index, sign):
    tau = solved(POWER_LAW, (0.02 * 1e-4 ** (1 - index), index, 0.0, NU_MAX), invariant(SHEAR_RATES[1:], 1.0))
    moving = (tau > SMALLEST_TAU) & (tau < 3 * NU_MAX + 0.5)
    assert moving.sum() > 20 and (sign * np.diff(tau[moving]) > 0).all()


@ALL_FLUIDS
@pytest.mark.parametrize("precision", BOUND, ids=lambda precision: precision.name)
def test_tau_stays_within_its_bounds_whatever_the_stress(closure, closing, precision):
    closing = (*closing[:-2], 0.01, 0.4)
    tau = solved(closure, closing, [0.0, 1e-38, 1e-20, 1e-9, 1e-3, 1.0, 1e3, 1e9], precision)
    low, high = tau_bounds(0.01, 0.4)
    assert tau.min() > low * (1 - 1e-6) and tau.max() < high * (1 + 1e-6)


def half_source(case: Case, u: np.ndarray) -> np.ndarray:
    """(Q, n) half the source of the force at (3, n) velocities."""
    return case.equilibrium.source(u, np.broadcast_to(case.force[:, None], u.shape), case.lattice) / 2


def sheared(case: Case):
    """State under a known stress: stored populations, density, velocity, and |Pi| / rho with half the source in Pi."""
    rho, u = moving_state(case.lattice)
    c, n_axes = case.lattice.c, case.lattice.dimension
    pi = np.zeros((3, 3, len(rho)))
    pi[:n_axes, :n_axes] = np.random.default_rng(4).uniform(-1e-3, 1e-3, (n_axes, n_axes, len(rho)))
    pi = pi + pi.transpose(1, 0, 2)
    unit = np.diag(np.arange(3) < n_axes) / 3
    second = c[:, :, None] * c[:, None, :] - unit
    f_neq = 4.5 * case.lattice.w[:, None] * np.einsum("qab,abn->qn", second, pi)
    f = case.equilibrium.populations(rho, u, case.lattice) + f_neq - half_source(case, u)
    inertia = rho if case.equilibrium.is_compressible else 1.0
    return f - rest_populations(case.lattice), rho, u, np.sqrt((pi**2).sum(axis=(0, 1))) / inertia


@pytest.mark.parametrize("case", cases(FLOWING), ids=str)
def test_the_shear_stress_relaxes_with_the_rate_of_the_closure(case):
    """f - f^eq + S/2 carries the stress before collision, and f~ - f^eq - S/2 what is left of it."""
    stored, rho, u, stress = sheared(case)
    before = non_equilibrium_stress(case, stored + half_source(case, u), rho, u)[0, 1]
    after = non_equilibrium_stress(case, by_reference(case, stored) - half_source(case, u), rho, u)[0, 1]
    omega = case.closure.reference(case.omega, stress, None, case.parameters)
    assert np.abs(omega - case.omega).max() > 1e-4
    assert np.abs(after - (1 - omega) * before).max() < 1e-15


@EVERY_LATTICE
@pytest.mark.parametrize("equilibrium", EQUILIBRIA.values(), ids=EQUILIBRIA)
def test_a_fluid_that_is_only_accelerated_feels_no_shear(lattice, equilibrium):
    case = Case(lattice, BGK, (), equilibrium, SMAGORINSKY)
    rho, u = moving_state(lattice)
    stored = equilibrium.populations(rho, u, lattice) - half_source(case, u) - rest_populations(lattice)
    constant = replace(case, closure=CLOSURES["constant"])
    for collide in (by_reference, by_node):
        assert np.abs(collide(case, stored) - collide(constant, stored)).max() < 1e-15


@pytest.mark.parametrize("smagorinsky_constant", [0.0, 0.1, 0.17])
def test_smagorinskys_tau_holds_the_eddy_viscosity_of_its_own_shear(smagorinsky_constant):
    """tau_e = 3 (nu + C^2 g) + 1/2 with g = (3 / sqrt(2)) Q / tau_e."""
    stress = np.logspace(-8, 0, 17)
    for tau_e in (
        1 / SMAGORINSKY.reference(OMEGA, stress, None, by_name(SMAGORINSKY, (smagorinsky_constant,))),
        solved(SMAGORINSKY, (smagorinsky_constant,), stress),
    ):
        shear_rate = 3 / 2**0.5 * stress / tau_e
        assert np.abs(tau_e - (1 / OMEGA + 3 * smagorinsky_constant**2 * shear_rate)).max() < 1e-14


@pytest.mark.parametrize("closure", FLOWING, ids=lambda closure: closure.name)
def test_a_closure_names_its_parameters_one_by_one(closure):
    names = [parameter.name for parameter in closure.parameters]
    assert len(names) == len(set(names)) == len(CLOSING[closure.name])
