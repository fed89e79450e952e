"""Node functions know the unit of mass that populations are stored in: it is rho_0, and no other constant of theirs."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.base.precision import FP16, FP32, FP64
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import (
    AFTER_COLLISION,
    BEFORE_COLLISION,
    BGK,
    EQUILIBRIA,
    PRESSURE,
    VELOCITY,
    macroscopic,
    openings,
    reflected_shares,
    reflection,
)
from tests.laws.collisions import Case, N, before, by_node, cases, plain
from tests.laws.walled import after_walls, random_walls

# The unit is a power of two, with which every product, sum, quotient and root is scaled without another rounding: the
# two sides of each law agree bit by bit.
UNIT = FP16.unit
SCALED = replace(FP64, unit=UNIT)
pytestmark = pytest.mark.pairs
TWO_LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
EVERY_EQUILIBRIUM = pytest.mark.parametrize("equilibrium", EQUILIBRIA.values(), ids=EQUILIBRIA)


def on_two_lattices(some_cases) -> list[Case]:
    """Those on D2Q9 and D3Q19."""
    return [case for case in some_cases if case.lattice in (D2Q9, D3Q19)]


def both_sides(case: Case, scaled, one):
    """What a collision makes of a state, which it must change, in two precisions of one arithmetic."""
    stored = before(case, one.real)
    found, expected = by_node(case, stored, scaled), by_node(case, stored, one)
    assert found.dtype == one.real and not np.array_equal(expected, stored)
    return found, expected


@pytest.mark.parametrize("case", on_two_lattices(cases()), ids=str)
def test_a_collision_scales_with_the_unit_of_populations_and_force(case):
    assert np.array_equal(*both_sides(case, SCALED, FP64))


@pytest.mark.parametrize("case", on_two_lattices(cases()), ids=str)
def test_collisions_of_half_precision_have_the_rounding_of_single_precision(case):
    assert np.array_equal(*both_sides(case, FP16, FP32))


@TWO_LATTICES
@pytest.mark.parametrize("half_force", [BEFORE_COLLISION, AFTER_COLLISION])
@EVERY_EQUILIBRIUM
def test_density_deviation_scales_with_the_unit_and_velocity_does_not(lattice, half_force, equilibrium):
    case, operator = Case(lattice, BGK, (), equilibrium), macroscopic(half_force, equilibrium)
    found, expected = (
        np.array(
            [
                operator.compile(lattice, precision, plain)(f, n, case.stored_parameters(operator, precision))
                for n, f in enumerate(before(case).T * precision.unit)
            ]
        )
        for precision in (SCALED, FP64)
    )
    assert np.array_equal(found, expected * np.array([UNIT, 1, 1, 1])) and np.abs(expected).min(axis=0)[:3].all()


def links(lattice, n=40):
    """Random populations, vectors q, values and momenta (n,) and velocities (3, n) of opening links."""
    rng = np.random.default_rng(6)
    outgoing, value, momentum = rng.uniform(-0.1, 0.1, (3, n))
    return outgoing, rng.integers(1, lattice.q, n), value, momentum, rng.uniform(-0.1, 0.1, (3, n))


@TWO_LATTICES
@pytest.mark.parametrize("kind", [VELOCITY, PRESSURE])
@EVERY_EQUILIBRIUM
def test_what_comes_through_an_opening_scales_with_the_unit(lattice, kind, equilibrium):
    """A velocity opening has its momentum in stored units, a pressure opening its rho_out - 1."""
    outgoing, q, value, momentum, velocity = links(lattice)
    of_value, of_momentum = (UNIT, 1.0) if kind == PRESSURE else (1.0, UNIT)
    one, scaled = (openings(equilibrium).compile(lattice, precision, plain) for precision in (FP64, SCALED))
    for f, k, v, m, *u in zip(outgoing, q, value, momentum, *velocity, strict=True):
        for plane in ((0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.6, 0.8, 0.0, -0.7)):
            found = scaled(UNIT * f, k, kind, of_value * v, (of_momentum * m, v), plane, *u)
            assert found == UNIT * one(f, k, kind, v, (m, v), plane, *u)


@TWO_LATTICES
@EVERY_EQUILIBRIUM
def test_what_a_plane_reflects_scales_with_the_unit(lattice, equilibrium):
    outgoing, q, value, momentum, velocity = links(lattice)
    shares = tuple(reflected_shares(1.2).tolist())
    one, scaled = (reflection(equilibrium).compile(lattice, precision, plain) for precision in (FP64, SCALED))
    for f, k, v, m, u in zip(outgoing, q, value, momentum, velocity[0], strict=True):
        leaving = np.array([f, m, u, f * m])
        assert scaled(UNIT * leaving, shares, k, UNIT * v) == UNIT * one(leaving, shares, k, v)


def test_what_a_wall_returns_scales_with_the_unit():
    walls, met = random_walls(D2Q9, N), np.random.default_rng(7).normal(size=(2, 9, N))
    one, scaled = after_walls(walls, D2Q9, FP64, *met)[0], after_walls(walls, D2Q9, SCALED, *(UNIT * met))[0]
    assert np.array_equal(scaled, UNIT * one) and np.abs(one - met[0]).max() > 0.1
