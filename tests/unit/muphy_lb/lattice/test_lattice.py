"""The velocity sets: exact moments, opposites, and refusal of sets that are none."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.lattice import LATTICES, lattice_named

ALL = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)


def delta(*axes) -> int:
    """1 if all axes are equal."""
    return int(len(set(axes)) == 1)


@ALL
def test_weights_are_positive_and_sum_to_one_exactly(lattice):
    assert min(lattice.weights) > 0 and sum(lattice.weights) == 1


@ALL
@pytest.mark.parametrize("order", [1, 3, 5])
def test_odd_weight_moments_vanish_exactly(lattice, order):
    assert all(lattice.moment(axes) == 0 for axes in product(range(3), repeat=order))


@ALL
def test_second_weight_moment_is_the_sound_speed_squared(lattice):
    axes = range(lattice.dimension)
    assert all(lattice.moment((i, j)) == Fraction(1, 3) * delta(i, j) for i, j in product(axes, repeat=2))


@ALL
def test_fourth_weight_moment_is_isotropic(lattice):
    for i, j, k, m in product(range(lattice.dimension), repeat=4):
        pairings = delta(i, j) * delta(k, m) + delta(i, k) * delta(j, m) + delta(i, m) * delta(j, k)
        assert lattice.moment((i, j, k, m)) == Fraction(1, 9) * pairings


@ALL
def test_the_moments_that_the_set_computes_are_those_of_its_arrays(lattice):
    arrays = np.einsum("q,qi,qj->ij", lattice.w, lattice.c, lattice.c)
    exact = [[float(lattice.moment((i, j))) for j in range(3)] for i in range(3)]
    assert np.allclose(arrays, exact, rtol=0, atol=1e-15)


@ALL
def test_the_rest_vector_comes_first_and_every_other_beside_its_opposite_of_the_same_weight(lattice):
    assert not lattice.c[0].any() and np.array_equal(lattice.c[1::2], -lattice.c[2::2])
    assert np.array_equal(lattice.c[lattice.opposite], -lattice.c)
    assert np.array_equal(lattice.w[lattice.opposite], lattice.w)


@ALL
def test_the_name_counts_dimensions_and_vectors_and_finds_the_lattice(lattice):
    used = np.count_nonzero(np.abs(lattice.c).sum(axis=0))
    assert lattice.name == f"D{used}Q{len(lattice.c)}" and lattice.dimension == used
    assert lattice_named(lattice.name) is lattice


@ALL
def test_a_wrong_weight_is_refused(lattice):
    weights = (lattice.weights[0] + Fraction(1, 36), *lattice.weights[1:])
    with pytest.raises(ValueError, match=f"{lattice.name}: weight moment"):
        replace(lattice, weights=weights)


@ALL
def test_a_set_without_the_rest_vector_in_front_is_refused(lattice):
    with pytest.raises(ValueError, match="rest vector"):
        replace(lattice, vectors=lattice.vectors[::-1], weights=lattice.weights[::-1])


def test_an_unknown_lattice_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"'D3Q20'; allowed: D2Q9, D3Q15, D3Q19, D3Q27"):
        lattice_named("D3Q20")
