"""Advection and diffusion of a scalar T by populations of its own, with two relaxation times:

    g^eq = w T (1 + c.u / cs2),  kappa = cs2 (tau_odd - 1/2),  (tau_even - 1/2) (tau_odd - 1/2) = 1/4

Ginzburg, Adv. Water Resour. 28, 1171 (2005). With the product 1/4 the steady solution does not depend on tau. On the
lattices of :func:`muphy_lb.lattice.scalar_lattice`. Along a flow the diffusivity is lower by the relative amount 4 u^2.

The node function gives the rest population what the others lose: these differences are exact, so a node keeps its
scalar but for the rounding of this one number.

Half of a source S = production - decay T is added before the collision and half behind it, with the shape of the
equilibrium, so that

    T = sum_q g_q + S/2 = (sum_q g_q + production/2) / (1 + decay/2),   sum_q g~_q = sum_q g_q + S

(Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), for a source instead of a force): the populations of a node gain
exactly S in a step.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.operators.observers import VELOCITY_FIELDS
from muphy_lb.operators.operator import Operator, constants, named
from muphy_lb.operators.unroll import unroll

Rate = float | np.ndarray

PRODUCT = 0.25
RATES = ("rate_even", "rate_odd")
#: Names of the parameters production/2, decay/2 and 1 / (1 + decay/2).
GAIN, LOSS, SHARE = "half_production", "half_decay", "share_kept"
SCALAR = "scalar_of_node"  # name of the parameter that is the field


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


@cache
def carried_collision(scalar_lattice: Lattice, varies: bool = False) -> Operator:
    """The collision of populations with a source that is linear in the scalar, which it stores. ``varies``: whether the
    production is a field."""

    def reference(values, n, lattice, parameters):
        gain = parameters[GAIN][n] if varies else parameters[GAIN]
        velocity = [parameters[name][n] for name in VELOCITY_FIELDS]
        along = combined(scalar_lattice.c, velocity) / float(scalar_lattice.cs2)
        parameters[SCALAR][n] = scalar = (added(values) + gain) * parameters[SHARE]
        source = gain - parameters[LOSS] * scalar
        half = source * scalar_lattice.w[:, None] * (1.0 + along)
        rates = parameters[RATES[0]], parameters[RATES[1]]
        return relaxed_scalar(values + half, scalar, velocity, rates, scalar_lattice) + half

    def node(lattice, precision, jit, at):
        real, q_count = precision.real, scalar_lattice.q
        w, cx, cy, cz = constants(scalar_lattice, precision)
        one, per_speed = real(1), real(1.0 / float(scalar_lattice.cs2))
        relax, scalar_at = relax_scalar_node(scalar_lattice, precision, jit), at[SCALAR]
        even, odd, gain_at, loss, share = (at[name] for name in (*RATES, GAIN, LOSS, SHARE))
        gain_of = jit((lambda given, n: given[n]) if varies else (lambda given, n: given))
        x, y, z = (at[name] for name in VELOCITY_FIELDS)

        def collide(values, n, parameters):
            velocity = parameters[x][n], parameters[y][n], parameters[z][n]
            ux, uy, uz = velocity
            gain = gain_of(parameters[gain_at], n)
            scalar = gain
            for q in range(q_count):
                scalar += values[q]
            scalar *= parameters[share]
            half = gain - parameters[loss] * scalar
            for q in range(q_count):
                values[q] += half * w[q] * (one + per_speed * (cx[q] * ux + cy[q] * uy + cz[q] * uz))
            relax(values, scalar, velocity, parameters[even], parameters[odd])
            for q in range(q_count):
                values[q] += half * w[q] * (one + per_speed * (cx[q] * ux + cy[q] * uy + cz[q] * uz))
            parameters[scalar_at][n] = scalar

        return jit(unroll(collide))

    parameters = named(*RATES, GAIN, LOSS, SHARE, SCALAR, *VELOCITY_FIELDS)
    name = f"carried-{scalar_lattice.name}{'-varying' * varies}"
    return Operator(name, reference, node, parameters)
