"""Moments at a node: series carry theirs; those of equilibrium, source and stress are the specified ones."""

import numpy as np
import pytest

from muphy_lb.base.precision import FP64
from muphy_lb.lattice import LATTICES
from muphy_lb.operators import BEFORE_COLLISION, BGK, EQUILIBRIA, hermite
from muphy_lb.operators.moments import stress_node
from muphy_lb.operators.operator import rest_populations
from tests.laws.collisions import Case, before, density_and_velocity, plain

# Of sums of some twenty terms of order one, and of populations, which are about 1e-2.
SERIES, ROUND_OFF = 1e-14, 1e-15
OF_EQUILIBRIUM, OF_SOURCE = 0.7, -0.4
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
EVERY_EQUILIBRIUM = pytest.mark.parametrize("equilibrium", EQUILIBRIA.values(), ids=EQUILIBRIA)


def tensor(numbers) -> np.ndarray:
    """(3, 3) symmetric tensor of the six numbers xx, yy, zz, xy + yx, yz + zy, zx + xz."""
    xx, yy, zz, xy, yz, zx = numbers
    return np.array([[xx, xy / 2, zx / 2], [xy / 2, yy, yz / 2], [zx / 2, yz / 2, zz]])


def whole(even, odd) -> np.ndarray:
    """(Q,) populations of their parts for pairs of opposites."""
    pairs = [even[p] + sign * odd[p] for p in range(1, len(even)) for sign in (1, -1)]
    return np.array([even[0] + odd[0], *pairs])


def second_moment(f: np.ndarray, lattice) -> np.ndarray:
    """(3, 3) sum c c f."""
    return np.einsum("qa,qb,q->ab", lattice.c, lattice.c, f)


def random_series(lattice, is_linear: bool = False):
    """Populations (Q,) of a random series, and its moments: m, j (3,), P (3, 3), along the axes of the lattice."""
    rng, axes = np.random.default_rng(8), np.arange(3) < lattice.dimension
    mass, momentum, numbers = rng.normal(), rng.normal(size=3) * axes, rng.normal(size=6)
    numbers = numbers * np.array([axes[a] and axes[b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))])
    even = hermite.even_part(lattice, FP64, plain, is_linear)(mass, tuple(numbers))
    f = whole(even, hermite.odd_part(lattice, FP64, plain)(tuple(momentum)))
    return f, mass, momentum, tensor(numbers)


@pytest.fixture(
    params=[(x, e) for x in LATTICES.values() for e in EQUILIBRIA.values()], ids=lambda p: f"{p[0].name}-{p[1].name}"
)
def state(request):
    """Case; populations, equilibrium and source of one node, (Q,) each; its state and force."""
    case = Case(request.param[0], BGK, (), request.param[1])
    stored = before(case)[:, :1]
    rho, u = density_and_velocity(case, stored, BEFORE_COLLISION)
    f_eq = case.equilibrium.populations(rho, u, case.lattice) - rest_populations(case.lattice)
    source = case.equilibrium.source(u, case.force[:, None], case.lattice)
    momentum = u[:, 0] * (rho[0] if case.equilibrium.is_compressible else 1.0)
    return case, stored[:, 0], f_eq[:, 0], source[:, 0], (rho[0] - 1, *u[:, 0], *momentum), tuple(case.force)


@EVERY_LATTICE
def test_a_series_has_its_density_and_its_momentum(lattice):
    f, mass, momentum, _ = random_series(lattice)
    assert abs(f.sum() - mass) < SERIES and np.abs(lattice.c.T @ f - momentum).max() < SERIES


@EVERY_LATTICE
@pytest.mark.parametrize("is_linear", [False, True])
def test_a_series_has_its_second_moment_beside_the_pressure(lattice, is_linear):
    f, mass, _, second = random_series(lattice, is_linear)
    expected = mass * np.diag(np.arange(3) < lattice.dimension) / 3 + (0 if is_linear else second)
    assert np.abs(second_moment(f, lattice) - expected).max() < SERIES and np.abs(second).max() > 0.1


def test_parts_and_first_moment_of_an_equilibrium_and_its_source_are_the_specified_ones(state):
    case, _, f_eq, source, *moments = state
    even, odd = case.equilibrium.parts(case.lattice, FP64, plain)
    found = whole(*(part(*moments, OF_EQUILIBRIUM, OF_SOURCE) for part in (even, odd)))
    assert np.abs(found - (OF_EQUILIBRIUM * f_eq + OF_SOURCE * source)).max() < ROUND_OFF
    found = case.equilibrium.moments(FP64, plain).first(*moments, OF_EQUILIBRIUM, OF_SOURCE)
    assert np.abs(found - case.lattice.c.T @ (OF_EQUILIBRIUM * f_eq + OF_SOURCE * source)).max() < ROUND_OFF


def test_the_stress_of_a_node_is_the_specified_one(state):
    case, f, f_eq, source, *moments = state
    found = tensor(stress_node(case.lattice, FP64, plain, case.equilibrium)(f, *moments))
    assert np.abs(found - second_moment(f - f_eq + source / 2, case.lattice)).max() < ROUND_OFF
    assert np.abs(found).max() > 1e-3
