"""The response surface of an answer: a polynomial chaos expansion, fitted by least squares, with its cross-validated
error.

Polynomials that are orthonormal for the distribution of each coordinate (Legendre's in uniform coordinates, Hermite's
in normal scores) are multiplied up to a total degree. The squares of the coefficients are shares of the variance, so
indices follow without sampling (Sudret, Reliab. Eng. Syst. Saf. 93, 964 (2008)). The error at each member of the
surface without that member follows from the residual and the leverage, r / (1 - h) (Allen's PRESS); the degree is that
of the least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, sqrt

import numpy as np
from numpy.polynomial import hermite_e, legendre

MOST_DEGREE = 12
TERMS_PER_MEMBER, MOST_TERMS = 0.5, 500
MOST_MISSED = 0.05
"""Share of the variance that a surface which is used may miss: its error is then below a seventeenth of a band of four
standard deviations."""


@dataclass(frozen=True)
class Expansion:
    """A response surface."""

    powers: np.ndarray  #: (terms, d) degrees in each coordinate, the constant first
    coefficients: np.ndarray  #: (terms,) of the orthonormal products
    hermite: tuple[bool, ...]  #: whether each coordinate is taken by its normal score
    error: float  #: cross-validated root mean square error
    missed: float  #: the same, squared, over the variance of the answer

    def __call__(self, coordinates: np.ndarray) -> np.ndarray:
        """(n,) values at coordinates (n, d) between 0 and 1."""
        return _products(coordinates, self.powers, self.hermite) @ self.coefficients

    @property
    def is_usable(self) -> bool:
        """Whether it may stand for the members."""
        return self.missed <= MOST_MISSED

    @property
    def variance(self) -> float:
        """Variance of its values."""
        return float((self.coefficients[1:] ** 2).sum())

    @property
    def told(self) -> str:
        """Degree and error in words."""
        degree, missed = self.powers.sum(axis=1).max(), 100.0 * self.missed
        return f"degree {degree}, cross-validated error {self.error:.3g}, {missed:.2g} % of the variance"

    def shares(self, columns: Sequence[int]) -> tuple[float, float]:
        """First and total share of the variance of some coordinates together."""
        squares = self.coefficients[1:] ** 2
        inside, outside = np.zeros(len(self.hermite), dtype=bool), np.ones(len(self.hermite), dtype=bool)
        inside[list(columns)], outside[list(columns)] = True, False
        has, has_others = (self.powers[1:][:, chosen].any(axis=1) for chosen in (inside, outside))
        return float(squares[has & ~has_others].sum() / squares.sum()), float(squares[has].sum() / squares.sum())


def expansion_of(coordinates: np.ndarray, values: np.ndarray, hermite: tuple[bool, ...]) -> Expansion | None:
    """The response surface of values (n,) at coordinates (n, d), nan left out; None for less than four values.

    Products are sorted by their total degree, so one QR decomposition serves all degrees. The degree in a coordinate is
    below the number of values that it takes: beyond that a polynomial is one of those before.
    """
    known = np.isfinite(values) & np.isfinite(coordinates).all(axis=1)
    coordinates, values = coordinates[known], values[known]
    most = min(MOST_TERMS, int(TERMS_PER_MEMBER * len(values)))
    counts = [comb(coordinates.shape[1] + degree, degree) for degree in range(1, MOST_DEGREE + 1)]
    counts = [count for count in counts if count <= most]
    if not counts or not values.var() > 0.0:
        return None
    levels = np.array([np.unique(column).size for column in coordinates.T])
    powers = _powers(coordinates.shape[1], len(counts))
    powers = powers[(powers < levels).all(axis=1)]
    counts = [int((powers.sum(axis=1) <= degree).sum()) for degree in range(1, len(counts) + 1)]
    orthonormal, triangle = np.linalg.qr(_products(coordinates, powers, hermite))
    projected, errors = orthonormal.T @ values, []
    for count in counts:
        basis = orthonormal[:, :count]
        leverage = np.minimum((basis**2).sum(axis=1), 1.0 - 1e-9)
        residual = (values - basis @ projected[:count]) / (1.0 - leverage)
        errors.append(float((residual**2).mean()))
    best = int(np.argmin(errors))
    chosen = slice(counts[best])
    coefficients = np.linalg.solve(triangle[chosen, chosen], projected[chosen])
    return Expansion(powers[chosen], coefficients, hermite, sqrt(errors[best]), errors[best] / float(values.var()))


def _powers(d: int, degree: int) -> np.ndarray:
    """(terms, d) degrees of all products up to a total degree, the constant first."""
    chosen = (each for total in range(degree + 1) for each in combinations_with_replacement(range(d), total))
    return np.array([np.bincount(np.array(each, dtype=np.int64), minlength=d) for each in chosen])


def _products(coordinates: np.ndarray, powers: np.ndarray, hermite: tuple[bool, ...]) -> np.ndarray:
    """(n, terms) values of the products of orthonormal polynomials."""
    from scipy.special import ndtri

    found = np.ones((len(coordinates), len(powers)))
    for column, is_hermite in enumerate(hermite):
        values: np.ndarray
        degrees, x = np.arange(powers[:, column].max() + 1), coordinates[:, column]
        if is_hermite:
            values = hermite_e.hermevander(ndtri(x), degrees[-1]) / [sqrt(factorial(k)) for k in degrees]
        else:
            values = legendre.legvander(2.0 * x - 1.0, degrees[-1]) * np.sqrt(2.0 * degrees + 1.0)
        found = found * values[:, powers[:, column]]
    return found
