"""Populations from their lowest moments: f_q = w_q [m + 3 c_q.j + 9/2 (c_q c_q - 1/3) : P].

With cs2 = 1/3 this is the Hermite series of second order of populations with sum f_q = m, sum c_q f_q = j and
sum (c_q c_q - 1/3) f_q = P. Every equilibrium, every source and the projection on the stress are such series.
Grad, Commun. Pure Appl. Math. 2, 331 (1949); Shan, Yuan, Chen, J. Fluid Mech. 550, 413 (2006).

Its parts even and odd in c_q are computed once for a pair of opposites. Moments are multiplied by the weights
before they are added: the compiler eliminates equal products, and there are only as many as different weights.

A symmetric tensor is six numbers: xx, yy, zz, xy + yx, yz + zy, zx + xz.
"""

from muphy_lb.operators.operator import constants
from muphy_lb.operators.unroll import unroll


def even_part(lattice, precision, jit, is_linear: bool = False):
    """Node function ``(m, P)`` -> the even part of f_q: at rest, and at one vector of every pair of opposites.

    Args:
        lattice: pairs are numbered (2 p + 1, 2 p + 2).
        jit: see :class:`~muphy_lb.operators.operator.Operator`.
        is_linear: leave P out.
    """
    w, x, y, z = _one_of_each_pair(lattice, precision)
    real = precision.real
    factor = 0 if is_linear else 4.5
    second = tuple(real(factor * weight) for weight in _one_of_each(lattice.w))
    count, zero, trace = len(w), real(0), (real(factor / 3),)

    def even_part(mass, tensor):
        xx, yy, zz, xy, yz, zx = tensor
        isotropic = mass - trace[0] * (xx + yy + zz)
        even = [zero] * count
        for p in range(count):
            even[p] = w[p] * isotropic + x[p] * (x[p] * (second[p] * xx)) + y[p] * (y[p] * (second[p] * yy))
            even[p] += z[p] * (z[p] * (second[p] * zz)) + x[p] * (y[p] * (second[p] * xy))
            even[p] += y[p] * (z[p] * (second[p] * yz)) + z[p] * (x[p] * (second[p] * zx))
        return even

    return jit(unroll(even_part))


def odd_part(lattice, precision, jit):
    """Node function ``j`` -> the odd part of f_q: at rest, where it is 0, and at one vector of every pair."""
    w, x, y, z = _one_of_each_pair(lattice, precision)
    first = tuple(precision.real(3 * weight) for weight in _one_of_each(lattice.w))
    count, zero = len(w), precision.real(0)

    def odd_part(momentum):
        jx, jy, jz = momentum
        odd = [zero] * count
        for p in range(count):
            odd[p] = x[p] * (first[p] * jx) + y[p] * (first[p] * jy) + z[p] * (first[p] * jz)
        return odd

    return jit(unroll(odd_part))


def _one_of_each(values) -> tuple:
    """Of values per population, the one at rest and the first of every pair of opposites."""
    return (values[0], *values[1::2])


def _one_of_each_pair(lattice, precision) -> tuple:
    """Weights and vector components of the rest vector and the first of every pair of opposites."""
    return tuple(_one_of_each(column) for column in constants(lattice, precision))
