"""The bases of moments: exact inverses, parities, norms of their papers, and refusal of bases that are none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from muphy_lb.lattice import BASES, FAMILIES, LATTICES
from muphy_lb.operators import COMPRESSIBLE

ALL = pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
# d'Humieres et al. (2002) by family; Toelke (2008) times 36, the common denominator of the weights.
NORMS = {
    "D2Q9": {"density": 36, "momentum": 12, "bulk": 144, "energy_flux": 24, "energy_square": 144},
    "D3Q15": {"density": 15, "momentum": 10, "bulk": 18, "energy_square": 360, "energy_flux": 40, "third": 8},
    "D3Q19": {"density": 19, "momentum": 10, "bulk": 2394, "energy_square": 252, "energy_flux": 40, "third": 8},
    "D3Q27": {"density": 216, "momentum": 72, "bulk": 144, "sixth": 1728},
}


def test_every_lattice_has_a_basis():
    assert BASES.keys() == LATTICES.keys() and all(basis.lattice is LATTICES[name] for name, basis in BASES.items())


@ALL
def test_the_inverse_is_exact(basis):
    for q, row in enumerate(basis.inverse):
        products = [sum(x * m[r] for x, m in zip(row, basis.rows, strict=True)) for r in range(basis.lattice.q)]
        assert products == [Fraction(int(q == r)) for r in range(basis.lattice.q)]


@ALL
def test_the_first_moments_are_density_and_momentum(basis):
    assert not np.any(basis.matrix[0] - 1)
    assert np.array_equal(basis.matrix[basis.rows_of("momentum")], basis.lattice.c.T[: basis.lattice.dimension])


@ALL
def test_odd_families_are_those_of_odd_order(basis):
    odd = {family for family in basis.families if not basis.is_even(family)}
    assert odd == {"momentum", "energy_flux", "third", "fifth"} & set(basis.families)


@ALL
def test_families_are_known_and_those_that_are_not_conserved_are_adjustable(basis):
    assert set(basis.families) <= set(FAMILIES)
    assert set(basis.adjustable) == set(basis.families) - {"density", "momentum"}


@ALL
def test_norms_are_those_of_the_paper(basis):
    found = {family: {basis.norms[k] for k in basis.rows_of(family)} for family in NORMS[basis.lattice.name]}
    assert found == {family: {norm} for family, norm in NORMS[basis.lattice.name].items()}


@ALL
def test_bulk_and_shear_hold_the_stress(basis):
    """Every product c_a c_b is a sum of density, bulk, shear and, where rows are not weighted, energy square."""
    c, axes = basis.lattice.c, range(basis.lattice.dimension)
    rows = basis.matrix[basis.rows_of("density", "bulk", "shear")]
    products = [c[:, i] * c[:, j] for i in axes for j in axes]
    assert np.linalg.matrix_rank(np.vstack((rows, products))) == np.linalg.matrix_rank(rows)


@ALL
def test_the_equilibrium_of_a_weighted_basis_ends_with_the_stress(basis):
    """A polynomial of second order has no higher moment under the weights; unweighted rows see more."""
    rho, u = np.array([1.1]), np.array([[0.1], [0.05], [-0.1]]) * (np.arange(3) < basis.lattice.dimension)[:, None]
    moments = basis.matrix @ COMPRESSIBLE.populations(rho, u, basis.lattice)
    higher = moments[basis.rows_of(*FAMILIES[4:])]
    is_weighted = len(set(basis.inner)) > 1
    assert (np.abs(higher).max() < 1e-14) == is_weighted


@ALL
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda basis: {"rows": basis.rows[:-1]}, "allowed: Q of each"),
        (lambda basis: {"rows": (*basis.rows[:-1], basis.rows[-2])}, "not orthogonal"),
        (lambda basis: {"rows": (*basis.rows[:-1], (0,) * basis.lattice.q)}, "not orthogonal, or vanish"),
        (lambda basis: {"inner": (7, *basis.inner[1:])}, "not orthogonal"),
        (lambda basis: {"rows": (tuple(2 * x for x in basis.rows[0]), *basis.rows[1:])}, "conserved rows"),
        (lambda basis: {"families": (*basis.families[:2], "third", *basis.families[3:])}, "conserved rows"),
    ],
)
def test_what_is_no_basis_is_refused(basis, change, message):
    with pytest.raises(ValueError, match=message):
        replace(basis, **change(basis))


@ALL
def test_a_family_that_mixes_parities_is_refused(basis):
    families = ["third" if family == "energy_square" else family for family in basis.families]
    families[basis.rows_of("energy_flux")[0]] = "third"
    with pytest.raises(ValueError, match="'third' are not all even, nor all odd"):
        replace(basis, families=tuple(families))
