"""Equilibria: three that differ in the terms they keep; all of second order in the lattice vectors.

compressible    f_q^eq = w_q rho [1 + 3 c.u + 9/2 (c.u)^2 - 3/2 u.u],              u = j / rho
incompressible  f_q^eq = w_q { rho + rho_0 [3 c.u + 9/2 (c.u)^2 - 3/2 u.u] },      u = j / rho_0
stokes          f_q^eq = w_q { rho + rho_0 3 c.u },                                u = j / rho_0

with cs2 = 1/3, and rho_0 = 1 in the specification, ``precision.unit`` in the node functions. Qian, d'Humieres,
Lallemand, Europhys. Lett. 17, 479 (1992); He, Luo, J. Stat. Phys. 88, 927 (1997); the linear form: Toelke, Comput.
Visual. Sci. 13, 29 (2010, online 2008), LBGKL and MRTL.

The source of a body force F follows the same choice (Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002)):
S_q = w_q [3 (c - u) + 9 (c.u) c].F, and w_q 3 c.F where terms of second order are dropped.

For the node functions both are Hermite series (:mod:`muphy_lb.operators.hermite`): with r = rho or rho_0, as the
velocity has it, f^eq - w rho_0 has the moments (rho - rho_0, r u, r u u), and S has (0, F, u F + F u).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators import hermite


class Moments(NamedTuple):
    """Node functions of an equilibrium and its source.

    ``first(state, force, a, b)`` and ``second(state, force, a, b)`` are the first and second moment of a f^eq + b S;
    ``inertia(deviation)`` is r, what velocity is multiplied with to give momentum, and ``inverse_inertia`` its inverse.
    state = (deviation, ux, uy, uz, jx, jy, jz) with deviation = rho - rho_0 and j = r u, force = (fx, fy, fz). All but
    velocities, a and b are in stored units.
    """

    first: Callable
    second: Callable
    inertia: Callable
    inverse_inertia: Callable


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium distribution."""

    name: str  #: in case files
    is_compressible: bool  #: u = j / rho and all terms scale with rho; else u = j / rho_0
    is_linear: bool  #: the terms of second order in u are dropped

    def populations(self, rho: np.ndarray, u: np.ndarray, lattice) -> np.ndarray:
        """(Q, n) full populations of (n,) density and (3, n) velocity."""
        cu = combined(lattice.c, u)
        moving = 3 * cu if self.is_linear else 3 * cu + 4.5 * cu**2 - 1.5 * added(u * u)
        return lattice.w[:, None] * (rho + (rho if self.is_compressible else 1.0) * moving)

    def source(self, u: np.ndarray, force: np.ndarray, lattice) -> np.ndarray:
        """(Q, n) source of a (3, n) force, without the factor 1 - s/2 of the relaxation."""
        cu, cf = combined(lattice.c, u), combined(lattice.c, force)
        drive = 3 * cf if self.is_linear else 3 * (cf - added(u * force)) + 9 * cu * cf
        return lattice.w[:, None] * drive

    def velocity(self, momentum: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """(3, n) velocity of a momentum."""
        return momentum / rho if self.is_compressible else momentum

    def moments(self, precision, jit) -> Moments:
        """The node functions; see :class:`Moments`."""
        density, inverse = (_own, _inverse) if self.is_compressible else (_reference, _inverse_reference)
        first = jit(_first)
        second = jit(_none(precision) if self.is_linear else _second(first))
        return Moments(first, second, jit(density(precision)), jit(inverse(precision)))

    def parts(self, lattice, precision, jit) -> tuple:
        """Node functions ``(state, force, a, b)`` -> even, and odd, part of a f^eq + b S for pairs of opposites."""
        first, second, _, _ = self.moments(precision, jit)
        even_part = hermite.even_part(lattice, precision, jit, self.is_linear)
        odd_part = hermite.odd_part(lattice, precision, jit)

        def even(state, force, a, b):
            return even_part(a * state[0], second(state, force, a, b))

        return jit(even), jit(lambda state, force, a, b: odd_part(first(state, force, a, b)))


COMPRESSIBLE = Equilibrium("compressible", is_compressible=True, is_linear=False)
INCOMPRESSIBLE = Equilibrium("incompressible", is_compressible=False, is_linear=False)
STOKES = Equilibrium("stokes", is_compressible=False, is_linear=True)
EQUILIBRIA = {equilibrium.name: equilibrium for equilibrium in (COMPRESSIBLE, INCOMPRESSIBLE, STOKES)}


def _own(precision):
    rho_0 = precision.real(precision.unit)
    return lambda deviation: rho_0 + deviation


def _reference(precision):
    rho_0 = precision.real(precision.unit)
    return lambda deviation: rho_0


def _inverse(precision):
    one, rho_0 = precision.real(1), precision.real(precision.unit)
    return lambda deviation: one / (rho_0 + deviation)


def _inverse_reference(precision):
    inverse = precision.real(1 / precision.unit)
    return lambda deviation: inverse


def _first(state, force, a, b):
    """a j + b F."""
    _, _, _, _, jx, jy, jz = state
    fx, fy, fz = force
    return a * jx + b * fx, a * jy + b * fy, a * jz + b * fz


def _second(first):
    """a r u u + b (u F + F u) = (u g + g u) / 2 with g = a r u + 2 b F."""

    def second(state, force, a, b):
        _, ux, uy, uz, _, _, _ = state
        fx, fy, fz = force
        jx, jy, jz = first(state, force, a, b)
        gx, gy, gz = jx + b * fx, jy + b * fy, jz + b * fz
        return ux * gx, uy * gy, uz * gz, ux * gy + uy * gx, uy * gz + uz * gy, uz * gx + ux * gz

    return second


def _none(precision):
    zero = precision.real(0)
    return lambda state, force, a, b: (zero, zero, zero, zero, zero, zero)
