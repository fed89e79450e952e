"""Advection and diffusion of a scalar T by populations of its own, with two relaxation times:

    g^eq = w T (1 + c.u / cs2),  kappa = cs2 (tau_odd - 1/2),  (tau_even - 1/2) (tau_odd - 1/2) = 1/4

Ginzburg, Adv. Water Resour. 28, 1171 (2005). With the product 1/4 the steady solution does not depend on tau. On the
lattices of :func:`muphy_lb.lattice.scalar_lattice`. Along a flow the diffusivity is lower by the relative amount 4 u^2.

The node function gives the rest population what the others lose: these differences are exact, so a node keeps its
scalar but for the rounding of this one number.
"""

import numpy as np

from muphy_lb.lattice import Lattice, combined
from muphy_lb.operators.operator import constants
from muphy_lb.operators.unroll import unroll

Rate = float | np.ndarray

PRODUCT = 0.25
RATES = ("rate_even", "rate_odd")


def scalar_rates(lattice: Lattice, diffusivity: Rate) -> tuple[Rate, Rate]:
    """Relaxation rates (even, odd) of a diffusivity in lattice units, one or (n,)."""
    odd = diffusivity / float(lattice.cs2)
    return 1.0 / (0.5 + PRODUCT / odd), 1.0 / (0.5 + odd)


def scalar_at_rest(lattice: Lattice, scalar: np.ndarray) -> np.ndarray:
    """(Q, n) populations of a scalar (n,) where nothing moves and nothing is conducted."""
    return lattice.w[:, None] * scalar


def relaxed_scalar(values: np.ndarray, scalar, velocity, rates: tuple[Rate, Rate], lattice: Lattice) -> np.ndarray:
    """(Q, n) collided populations of (Q, n) ``values`` with the scalar (n,) and three components of the velocity (n,);
    the specification of :func:`relax_scalar_node`."""
    even_rate, odd_rate = rates
    w, opposed = lattice.w[:, None], values[lattice.opposite]
    along = combined(lattice.c, velocity)
    even = 0.5 * (values + opposed) - w * scalar
    odd = 0.5 * (values - opposed) - w * scalar * along / float(lattice.cs2)
    return values - even_rate * even - odd_rate * odd


def relax_scalar_node(lattice: Lattice, precision, jit):
    """Node function ``(values, scalar, velocity, even_rate, odd_rate)``: the collision, in place."""
    real, pair_count = precision.real, lattice.q // 2
    w, cx, cy, cz = constants(lattice, precision)
    zero, half, per_speed = real(0), real(0.5), real(1.0 / float(lattice.cs2))

    def relax(values, scalar, velocity, even_rate, odd_rate):
        ux, uy, uz = velocity
        given = zero
        for p in range(pair_count):
            part = w[2 * p + 1] * scalar
            along = per_speed * part * (cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz)
            even = even_rate * (half * (values[2 * p + 1] + values[2 * p + 2]) - part)
            odd = odd_rate * (half * (values[2 * p + 1] - values[2 * p + 2]) - along)
            first, second = values[2 * p + 1] - (even + odd), values[2 * p + 2] - (even - odd)
            given += (values[2 * p + 1] - first) + (values[2 * p + 2] - second)
            values[2 * p + 1] = first
            values[2 * p + 2] = second
        values[0] += given

    return jit(unroll(relax))
