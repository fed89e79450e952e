"""Equilibria: three that differ in the terms they keep; all of second order in the lattice vectors.

compressible    f_q^eq = w_q rho [1 + 3 c.u + 9/2 (c.u)^2 - 3/2 u.u],              u = j / rho
incompressible  f_q^eq = w_q { rho + rho_0 [3 c.u + 9/2 (c.u)^2 - 3/2 u.u] },      u = j / rho_0
stokes          f_q^eq = w_q { rho + rho_0 3 c.u },                                u = j / rho_0

with rho_0 = 1 and cs2 = 1/3. Qian, d'Humieres, Lallemand, Europhys. Lett. 17, 479 (1992); He, Luo, J. Stat. Phys. 88,
927 (1997); the linear form: Toelke, Comput. Visual. Sci. 13, 29 (2010, online 2008), LBGKL and MRTL.

The source of a body force F follows the same choice (Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002)):
S_q = w_q [3 (c - u) + 9 (c.u) c].F, and w_q 3 c.F where terms of second order are dropped.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Terms(NamedTuple):
    """Node functions of an equilibrium and its source over w_q, split into parts even and odd in c_q.

    ``even(deviation, cu, uu)``, ``odd(deviation, cu)``, ``source_even(cu, cf, uf)``, ``source_odd(cf)``, and
    ``velocity_scale(deviation)``, what momentum is multiplied with; deviation = rho - 1, cu = c_q.u and so on.
    """

    even: object
    odd: object
    source_even: object
    source_odd: object
    velocity_scale: object


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium distribution.

    Attributes:
        name: in case files.
        is_compressible: u = j / rho and all terms scale with rho; else u = j / rho_0.
        is_linear: the terms of second order in u are dropped.
    """

    name: str
    is_compressible: bool
    is_linear: bool

    def populations(self, rho: np.ndarray, u: np.ndarray, lattice) -> np.ndarray:
        """(Q, n) full populations of (n,) density and (3, n) velocity."""
        cu = lattice.c @ u
        moving = 3 * cu if self.is_linear else 3 * cu + 4.5 * cu**2 - 1.5 * (u * u).sum(axis=0)
        return lattice.w[:, None] * (rho + (rho if self.is_compressible else 1.0) * moving)

    def source(self, u: np.ndarray, force: np.ndarray, lattice) -> np.ndarray:
        """(Q, n) source of a (3, n) force, without the factor 1 - s/2 of the relaxation."""
        cu, cf = lattice.c @ u, lattice.c @ force
        drive = 3 * cf if self.is_linear else 3 * (cf - (u * force).sum(axis=0)) + 9 * cu * cf
        return lattice.w[:, None] * drive

    def velocity(self, momentum: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """(3, n) velocity of a momentum."""
        return momentum / rho if self.is_compressible else momentum

    def terms(self, real, jit) -> Terms:
        """The node functions; see :class:`Terms`."""
        velocity_scale = _inverse_density if self.is_compressible else _one
        if self.is_linear:
            return Terms(*(jit(function(real)) for function in (_rest, _odd, _no_source, _source_odd, velocity_scale)))
        even, odd = (_even, _odd_by_density) if self.is_compressible else (_even_by_one, _odd)
        return Terms(*(jit(function(real)) for function in (even, odd, _source_even, _source_odd, velocity_scale)))


COMPRESSIBLE = Equilibrium("compressible", is_compressible=True, is_linear=False)
INCOMPRESSIBLE = Equilibrium("incompressible", is_compressible=False, is_linear=False)
STOKES = Equilibrium("stokes", is_compressible=False, is_linear=True)
EQUILIBRIA = {equilibrium.name: equilibrium for equilibrium in (COMPRESSIBLE, INCOMPRESSIBLE, STOKES)}


def _even(real):
    one, three_halves, nine_halves = real(1), real(1.5), real(4.5)
    return lambda deviation, cu, uu: deviation + (one + deviation) * (nine_halves * cu * cu - three_halves * uu)


def _even_by_one(real):
    three_halves, nine_halves = real(1.5), real(4.5)
    return lambda deviation, cu, uu: deviation + (nine_halves * cu * cu - three_halves * uu)


def _rest(real):
    return lambda deviation, cu, uu: deviation


def _odd_by_density(real):
    one, three = real(1), real(3)
    return lambda deviation, cu: (one + deviation) * (three * cu)


def _odd(real):
    three = real(3)
    return lambda deviation, cu: three * cu


def _source_even(real):
    three, nine = real(3), real(9)
    return lambda cu, cf, uf: nine * cu * cf - three * uf


def _no_source(real):
    zero = real(0)
    return lambda cu, cf, uf: zero


def _source_odd(real):
    three = real(3)
    return lambda cf: three * cf


def _inverse_density(real):
    one = real(1)
    return lambda deviation: one / (one + deviation)


def _one(real):
    one = real(1)
    return lambda deviation: one
