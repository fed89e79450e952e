"""Lattice: the immutable record of a velocity set; isotropy is checked on construction."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import lcm, prod

import numpy as np


@dataclass(frozen=True)
class Lattice:
    """A discrete velocity set."""

    name: str  #: DdQq name
    dimension: int  #: number of space dimensions
    #: Q lattice vectors (x, y, z), the rest vector first; z = 0 in two dimensions
    vectors: tuple[tuple[int, int, int], ...]
    weights: tuple[Fraction, ...]  #: Q exact weights
    cs2: Fraction = Fraction(1, 3)  #: squared speed of sound in lattice units
    isotropy: int = 4  #: highest order of the weight moments that must be isotropic

    def __post_init__(self):
        for order in range(self.isotropy + 2):
            for axes in combinations_with_replacement(range(self.dimension), order):  # their order means nothing
                if self.moment(axes) != self.isotropic_moment(axes):
                    raise ValueError(f"{self.name}: weight moment over axes {axes} is {self.moment(axes)}")
        if len(set(self.vectors)) != self.q or any(self.vectors[0]):
            raise ValueError(f"{self.name}: vectors must differ, and the first must be the rest vector")

    def __hash__(self):
        return hash(self.name)

    @property
    def q(self) -> int:
        """Number of populations Q."""
        return len(self.vectors)

    @cached_property
    def c(self) -> np.ndarray:
        """(Q, 3) int64 lattice vectors."""
        return np.array(self.vectors)

    @cached_property
    def w(self) -> np.ndarray:
        """(Q,) float64 weights."""
        return np.array([float(weight) for weight in self.weights])

    @cached_property
    def opposite(self) -> np.ndarray:
        """(Q,) int64 index of the opposite vector of each lattice vector."""
        return np.array([self.vectors.index(tuple(-x for x in vector)) for vector in self.vectors])

    def moment(self, axes) -> Fraction:
        """Exact weight moment sum_q w_q c_q[axes[0]] c_q[axes[1]] ..."""
        shares, whole = self._shares
        return Fraction(sum(w * prod(c[i] for i in axes) for w, c in zip(shares, self.vectors, strict=True)), whole)

    @cached_property
    def _shares(self) -> tuple[list[int], int]:
        """The weights as whole numbers, and their sum: sums of these are faster than those of fractions."""
        whole = lcm(*(w.denominator for w in self.weights))
        return [int(w * whole) for w in self.weights], whole

    def isotropic_moment(self, axes) -> Fraction:
        """The isotropic value of a weight moment: cs2^(k/2) times the number of pairings of equal axes (Wick)."""
        if not axes:
            return Fraction(1)
        rest = axes[1:]
        paired = (rest[:j] + rest[j + 1 :] for j in range(len(rest)) if rest[j] == axes[0])
        return self.cs2 * sum((self.isotropic_moment(left) for left in paired), Fraction(0))
