"""Moment bases m_k = sum_q M_kq f_q, one immutable table per lattice; derived quantities are computed and checked.

Rows are polynomials of the lattice vectors, orthogonal under an inner product sum_q p_q M_kq M_lq with p_q = 1 or the
weights w_q (up to a factor), so that f_q = p_q sum_k M_kq m_k / N_k. Rows that by symmetry have a common relaxation
rate form a family.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from muphy_lb.lattice.lattice import Lattice
from muphy_lb.lattice.sets import D2Q9, D3Q15, D3Q19, D3Q27

# All families, by order of their polynomials; the first two are conserved.
FAMILIES = ("density", "momentum", "bulk", "shear", "energy_flux", "third", "energy_square", "fourth", "fifth", "sixth")
CONSERVED = FAMILIES[:2]


@dataclass(frozen=True)
class MomentBasis:
    """A basis of Q orthogonal moments. Raises ValueError: the rows are not orthogonal, mix parities, or do not begin
    with density and momentum."""

    name: str  #: name in messages
    lattice: Lattice  #: the velocity set
    rows: tuple[tuple[int, ...], ...]  #: Q rows M_k of Q integers
    families: tuple[str, ...]  #: family of each row, one of FAMILIES
    inner: tuple[int, ...]  #: Q integers p_q, the weights of the inner product

    def __post_init__(self):
        if len(self.rows) != self.lattice.q or len(self.families) != self.lattice.q:
            raise ValueError(f"{self.name}: {len(self.rows)} rows, {len(self.families)} families; allowed: Q of each")
        products = self.matrix * np.array(self.inner) @ self.matrix.T
        if np.count_nonzero(products - np.diag(np.diag(products))) or not np.diag(products).all():
            raise ValueError(f"{self.name}: rows are not orthogonal, or vanish")
        conserved = np.vstack((np.ones(self.lattice.q, int), self.lattice.c.T[: self.lattice.dimension]))
        if not np.array_equal(self.matrix[self.rows_of(*CONSERVED)], conserved):
            raise ValueError(f"{self.name}: conserved rows are not 1 and the lattice vectors")
        for family in set(self.families):
            self.is_even(family)

    def __hash__(self):
        return hash(self.name)

    @cached_property
    def matrix(self) -> np.ndarray:
        """(Q, Q) int64 matrix M."""
        return np.array(self.rows)

    @cached_property
    def norms(self) -> tuple[int, ...]:
        """N_k = sum_q p_q M_kq^2 of each row."""
        return tuple(int(norm) for norm in self.matrix**2 @ np.array(self.inner))

    @cached_property
    def inverse(self) -> tuple[tuple[Fraction, ...], ...]:
        """Q exact rows of M^-1: entry [q][k] is p_q M_kq / N_k."""
        return tuple(
            tuple(Fraction(p * row[q], norm) for row, norm in zip(self.rows, self.norms, strict=True))
            for q, p in enumerate(self.inner)
        )

    def rows_of(self, *families: str) -> list[int]:
        """Ascending row numbers of the given families."""
        return [k for k, family in enumerate(self.families) if family in families]

    def is_even(self, family: str) -> bool:
        """Whether the rows of a family are even in the lattice vectors; else they are odd. Raises ValueError: rows of
        the family are neither all even nor all odd."""
        rows = self.matrix[self.rows_of(family)]
        reversed_rows = rows[:, self.lattice.opposite]
        if not (np.array_equal(reversed_rows, rows) or np.array_equal(reversed_rows, -rows)):
            raise ValueError(f"{self.name}: rows of family {family!r} are not all even, nor all odd")
        return np.array_equal(reversed_rows, rows)

    @property
    def adjustable(self) -> tuple[str, ...]:
        """Families with a free relaxation rate, those that are not conserved, in order of rows."""
        return tuple(dict.fromkeys(family for family in self.families if family not in CONSERVED))


def _basis(name: str, lattice: Lattice, polynomials: dict, weighted: bool) -> MomentBasis:
    """Evaluate polynomials, ``{family: function(x, y, z) -> values of its rows}``, at the lattice vectors."""
    values = [[polynomial(*vector) for vector in lattice.vectors] for polynomial in polynomials.values()]
    rows = tuple(row for columns in values for row in zip(*columns, strict=True))
    families = tuple(
        family for family, columns in zip(polynomials, values, strict=True) for _ in range(len(columns[0]))
    )
    common = lcm(*(weight.denominator for weight in lattice.weights))
    inner = tuple(int(weight * common) for weight in lattice.weights) if weighted else (1,) * lattice.q
    return MomentBasis(name, lattice, rows, families, inner)


def _square(x, y, z) -> int:
    return x * x + y * y + z * z


def _hermite(x) -> int:
    """Three times the second Hermite polynomial for variance 1/3."""
    return 3 * x * x - 1


def _deviator(x, y, z) -> tuple[int, ...]:
    """Five traceless quadratic polynomials: 3 p_xx, p_ww, p_xy, p_yz, p_zx."""
    return 3 * x * x - _square(x, y, z), y * y - z * z, x * y, y * z, z * x


def _antisymmetric(x, y, z) -> tuple[int, ...]:
    return (y * y - z * z) * x, (z * z - x * x) * y, (x * x - y * y) * z


def _times(factor: int, *rows: int) -> tuple[int, ...]:
    return tuple(factor * row for row in rows)


# Toelke, Comput. Visual. Sci. 13, 29 (2010, online 2008), Eqs. (17)-(26), with the bracket of Q_7 corrected.
TOELKE_D2Q9 = _basis(
    "Toelke D2Q9",
    D2Q9,
    {
        "density": lambda x, y, z: (1,),
        "momentum": lambda x, y, z: (x, y),
        "bulk": lambda x, y, z: (3 * _square(x, y, z) - 2,),
        "shear": lambda x, y, z: (x * x - y * y, x * y),
        "energy_flux": lambda x, y, z: _times(3 * _square(x, y, z) - 4, x, y),
        "energy_square": lambda x, y, z: ((9 * _square(x, y, z) ** 2 - 15 * _square(x, y, z) + 2) // 2,),
    },
    weighted=True,
)

# d'Humieres, Ginzburg, Krafczyk, Lallemand, Luo, Phil. Trans. R. Soc. A 360, 437 (2002), appendix A.
DHUMIERES_D3Q15 = _basis(
    "d'Humieres D3Q15",
    D3Q15,
    {
        "density": lambda x, y, z: (1,),
        "momentum": lambda x, y, z: (x, y, z),
        "bulk": lambda x, y, z: (_square(x, y, z) - 2,),
        "energy_square": lambda x, y, z: ((15 * _square(x, y, z) ** 2 - 55 * _square(x, y, z) + 32) // 2,),
        "energy_flux": lambda x, y, z: tuple((5 * _square(x, y, z) - 13) * row // 2 for row in (x, y, z)),
        "shear": _deviator,
        "third": lambda x, y, z: (x * y * z,),
    },
    weighted=False,
)

# The same paper, appendix B.
DHUMIERES_D3Q19 = _basis(
    "d'Humieres D3Q19",
    D3Q19,
    {
        "density": lambda x, y, z: (1,),
        "momentum": lambda x, y, z: (x, y, z),
        "bulk": lambda x, y, z: (19 * _square(x, y, z) - 30,),
        "energy_square": lambda x, y, z: ((21 * _square(x, y, z) ** 2 - 53 * _square(x, y, z) + 24) // 2,),
        "energy_flux": lambda x, y, z: _times(5 * _square(x, y, z) - 9, x, y, z),
        "shear": _deviator,
        "fourth": lambda x, y, z: _times(3 * _square(x, y, z) - 5, *_deviator(x, y, z)[:2]),
        "third": _antisymmetric,
    },
    weighted=False,
)


def _fourth_of_products(x, y, z) -> tuple[int, ...]:
    """Fourth-order products without their symmetric sum h_y h_z + h_z h_x + h_x h_y."""
    hx, hy, hz = _hermite(x), _hermite(y), _hermite(z)
    return 2 * hy * hz - hz * hx - hx * hy, hz * hx - hx * hy, hx * y * z, hy * z * x, hz * x * y


# Products of the Hermite polynomials 1, x, 3 x^2 - 1, by order; those of different symmetry are separated.
HERMITE_D3Q27 = _basis(
    "Hermite D3Q27",
    D3Q27,
    {
        "density": lambda x, y, z: (1,),
        "momentum": lambda x, y, z: (x, y, z),
        "bulk": lambda x, y, z: (_square(x, y, z) - 1,),
        "shear": _deviator,
        "energy_flux": lambda x, y, z: tuple(c * (3 * (_square(x, y, z) - c * c) - 2) for c in (x, y, z)),
        "third": lambda x, y, z: (*_antisymmetric(x, y, z), x * y * z),
        "energy_square": lambda x, y, z: (
            _hermite(y) * _hermite(z) + _hermite(z) * _hermite(x) + _hermite(x) * _hermite(y),
        ),
        "fourth": _fourth_of_products,
        "fifth": lambda x, y, z: (
            x * _hermite(y) * _hermite(z),
            y * _hermite(z) * _hermite(x),
            z * _hermite(x) * _hermite(y),
        ),
        "sixth": lambda x, y, z: (_hermite(x) * _hermite(y) * _hermite(z),),
    },
    weighted=True,
)

BASES = {basis.lattice.name: basis for basis in (TOELKE_D2Q9, DHUMIERES_D3Q15, DHUMIERES_D3Q19, HERMITE_D3Q27)}
