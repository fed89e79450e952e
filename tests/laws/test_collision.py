"""What a collision must keep and what it must change, whoever computes it."""

from functools import cache, partial

import numba
import numpy as np
import pytest

from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import BGK, MACROSCOPIC
from muphy_lb.operators.equilibrium import equilibrium
from tests.support import random_populations

N = 50
OMEGA = 1.3
FORCE = {2: (1e-2, -2e-2, 0.0), 3: (1e-2, -2e-2, 3e-2)}
# Round-off of sums of some twenty terms of order one.
ROUND_OFF = {np.float64: 1e-14, np.float32: 1e-6}
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
REALS = pytest.mark.parametrize("real", [np.float64, np.float32], ids=lambda real: real.__name__)


def by_reference(stored, parameters, lattice, real):
    """The vectorised specification."""
    return BGK.reference(stored, np.arange(stored.shape[1]), lattice, parameters)


def by_node_function(jit, stored, parameters, lattice, real):
    """The node function, node by node."""
    collide = node_function(lattice, real, jit)
    result = stored.astype(real)
    for n in range(stored.shape[1]):
        f = result[:, n].copy()
        collide(f, n, tuple(real(value) for value in parameters))
        result[:, n] = f
    return result


def plain(function):
    """No compiler."""
    return function


@cache
def node_function(lattice, real, jit):
    """The node function, compiled once."""
    return BGK.node(lattice, real, jit)


WAYS = {
    "reference": by_reference,
    "python": partial(by_node_function, plain),
    "numba": partial(by_node_function, numba.njit(error_model="numpy")),
}


@pytest.fixture(params=WAYS)
def collide(request):
    """Function ``collide(stored, parameters, lattice, real)``."""
    return WAYS[request.param]


def moments(stored, lattice):
    """Density deviation and momentum (4, n) in double precision."""
    f = np.asarray(stored, np.float64)
    return np.concatenate((f.sum(axis=0)[None], lattice.c.T @ f))


def parameters(lattice, omega=OMEGA, force=True):
    """(omega, Fx, Fy, Fz)."""
    return omega, *(FORCE[lattice.dimension] if force else (0.0, 0.0, 0.0))


@LATTICES
@REALS
def test_collision_conserves_mass(collide, lattice, real):
    before = random_populations(lattice, N, real=real)
    after = collide(before, parameters(lattice), lattice, real)
    assert np.abs(moments(after, lattice) - moments(before, lattice))[0].max() < ROUND_OFF[real]


@LATTICES
@REALS
def test_collision_changes_momentum_by_exactly_the_force(collide, lattice, real):
    before = random_populations(lattice, N, real=real)
    after = collide(before, parameters(lattice), lattice, real)
    gained = (moments(after, lattice) - moments(before, lattice))[1:]
    assert np.abs(gained - np.array(FORCE[lattice.dimension])[:, None]).max() < ROUND_OFF[real]


@LATTICES
@REALS
def test_equilibrium_is_a_fixed_point(collide, lattice, real):
    state = equilibrium_state(lattice, real)
    after = collide(state, parameters(lattice, force=False), lattice, real)
    assert np.abs(after - state).max() < ROUND_OFF[real]


@LATTICES
@REALS
def test_rest_stays_rest(collide, lattice, real):
    rest = np.zeros((lattice.q, 3), real)
    after = collide(rest, parameters(lattice, force=False), lattice, real)
    specification = collide is by_reference  # it adds and subtracts w_q
    assert np.abs(after).max() <= (1e-15 if specification else 0.0)


@LATTICES
def test_omega_one_without_force_forgets_all_but_density_and_velocity(collide, lattice):
    before = random_populations(lattice, N)
    after = collide(before, parameters(lattice, 1.0, force=False), lattice, np.float64)
    deviation, *velocity = MACROSCOPIC["push"].reference(before, lattice, parameters(lattice, force=False))
    expected = equilibrium(1 + deviation, np.array(velocity), lattice) - lattice.w[:, None]
    assert np.abs(after - expected).max() < 1e-15


@LATTICES
def test_omega_two_without_force_is_its_own_inverse(collide, lattice):
    before = random_populations(lattice, N)
    once = collide(before, parameters(lattice, 2.0, force=False), lattice, np.float64)
    twice = collide(once, parameters(lattice, 2.0, force=False), lattice, np.float64)
    assert np.abs(once - before).max() > 1e-3 and np.abs(twice - before).max() < 1e-15


@LATTICES
def test_collision_relaxes_the_shear_stress_by_omega(collide, lattice):
    before = random_populations(lattice, N)
    after = collide(before, parameters(lattice, force=False), lattice, np.float64)
    deviation, *velocity = MACROSCOPIC["push"].reference(before, lattice, parameters(lattice, force=False))
    at_equilibrium = (1 + deviation) * velocity[0] * velocity[1]
    stress = [np.einsum("q,qn->n", lattice.c[:, 0] * lattice.c[:, 1], f) - at_equilibrium for f in (before, after)]
    assert np.abs(stress[1] - (1 - OMEGA) * stress[0]).max() < 1e-15


@LATTICES
def test_the_force_adds_its_power_to_the_stress(collide, lattice):
    """Guo's second moment: (1 - omega/2) (u F + F u), tensor product."""
    force = np.array(FORCE[lattice.dimension])
    velocity = np.full((3, 1), 0.05) * (np.arange(3) < lattice.dimension)[:, None]
    # Momentum before collision of a node whose velocity includes half the force.
    bare = equilibrium(np.ones(1), velocity, lattice)
    half = lattice.w[:, None] * 3 * (lattice.c @ force)[:, None] / 2
    after = collide(bare - half - lattice.w[:, None], parameters(lattice, 1.0), lattice, np.float64)
    second = np.einsum("qi,qj,qn->ij", lattice.c, lattice.c, after - bare + lattice.w[:, None])
    expected = 0.5 * (np.outer(velocity, force) + np.outer(force, velocity))
    used = np.ix_(range(lattice.dimension), range(lattice.dimension))
    assert np.abs((second - expected)[used]).max() < 1e-15


@LATTICES
def test_velocity_is_the_same_before_and_after_collision(lattice):
    before = random_populations(lattice, N)
    after = by_reference(before, parameters(lattice), lattice, np.float64)
    pre = MACROSCOPIC["push"].reference(before, lattice, parameters(lattice))
    post = MACROSCOPIC["pull"].reference(after, lattice, parameters(lattice))
    assert np.abs(pre - post).max() < 1e-15


@LATTICES
@pytest.mark.parametrize("streaming", MACROSCOPIC)
@pytest.mark.parametrize("jit", [plain, numba.njit], ids=["python", "numba"])
def test_compiled_moments_are_those_of_the_specification(lattice, streaming, jit):
    stored = random_populations(lattice, N)
    node = MACROSCOPIC[streaming].node(lattice, np.float64, jit)
    found = np.array([node(f.copy(), parameters(lattice)) for f in stored.T]).T
    assert np.abs(found - MACROSCOPIC[streaming].reference(stored, lattice, parameters(lattice))).max() < 1e-15


def equilibrium_state(lattice, real=np.float64):
    """(Q, n) deviations in equilibrium with random density and velocity."""
    rng = np.random.default_rng(1)
    velocity = rng.uniform(-0.1, 0.1, (3, N)) * (np.arange(3) < lattice.dimension)[:, None]
    return (equilibrium(rng.uniform(0.9, 1.1, N), velocity, lattice) - lattice.w[:, None]).astype(real)


@pytest.fixture(params=[D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def moving(request):
    """Lattice, density (n,), velocity (3, n) and their equilibrium (Q, n)."""
    lattice = request.param
    rng = np.random.default_rng(2)
    rho = rng.uniform(0.9, 1.1, N)
    velocity = rng.uniform(-0.1, 0.1, (3, N)) * (np.arange(3) < lattice.dimension)[:, None]
    return lattice, rho, velocity, equilibrium(rho, velocity, lattice)


def test_equilibrium_carries_its_density(moving):
    _, rho, _, f = moving
    assert np.abs(f.sum(axis=0) - rho).max() < 1e-15


def test_equilibrium_carries_its_momentum(moving):
    lattice, rho, velocity, f = moving
    assert np.abs(lattice.c.T @ f - rho * velocity).max() < 1e-15


def test_equilibrium_stress_is_pressure_and_advected_momentum(moving):
    lattice, rho, velocity, f = moving
    axes = slice(lattice.dimension)
    found = np.einsum("qi,qj,qn->ijn", lattice.c, lattice.c, f)[axes, axes]
    pressure = np.eye(3)[:, :, None] * rho / 3
    assert np.abs(found - (pressure + rho * velocity[:, None] * velocity[None])[axes, axes]).max() < 1e-15


def test_equilibrium_is_galilean_up_to_the_third_moment(moving):
    """Q_ijk = rho cs2 (u_i d_jk + u_j d_ik + u_k d_ij): exact to second order in u, as far as these sets reach."""
    lattice, rho, velocity, f = moving
    momentum, axes, unit = rho * velocity, slice(lattice.dimension), np.eye(3)
    found = np.einsum("qi,qj,qk,qn->ijkn", lattice.c, lattice.c, lattice.c, f)
    terms = [np.einsum(f"{a}n,{b}->ijkn", momentum, unit) for a, b in (("i", "jk"), ("j", "ik"), ("k", "ij"))]
    assert np.abs((found - sum(terms) / 3)[axes, axes, axes]).max() < 1e-15
