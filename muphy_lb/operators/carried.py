"""Collision of the populations of a scalar T that the flow carries, with two relaxation times:

    g^eq = w T (1 + c.u / cs2),  kappa = cs2 (tau_odd - 1/2),  (tau_even - 1/2) (tau_odd - 1/2) = 1/4

Ginzburg, Adv. Water Resour. 28, 1171 (2005). With the product 1/4 the steady solution does not depend on tau. On the
lattices of :func:`muphy_lb.lattice.scalar_lattice`.

T is known only behind the collision of the flow, so that it lifts one step late. Seen by what alternates from step to
step the lift would have the wrong sign, and drive it; the mean with the step before does not see it.

Parameters: ``(rate_even, rate_odd, T, mean, ux, uy, uz)``, the last five fields; T and its mean with the T before are
written. Values are the populations that arrive at the node.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import Lattice
from muphy_lb.operators.operator import Operator, constants
from muphy_lb.operators.unroll import unroll

PRODUCT = 0.25


def carried_rates(lattice: Lattice, diffusivity: float) -> tuple[float, float]:
    """Relaxation rates (even, odd) of a diffusivity in lattice units."""
    odd = diffusivity / float(lattice.cs2)
    return 1.0 / (0.5 + PRODUCT / odd), 1.0 / (0.5 + odd)


def carried_at_rest(lattice: Lattice, scalar: np.ndarray) -> np.ndarray:
    """(Q, n) populations of a scalar (n,) where nothing moves and nothing is conducted."""
    return lattice.w[:, None] * scalar


@cache
def carried(scalar_lattice: Lattice) -> Operator:
    """The collision of the populations on a lattice."""

    def reference(values, n, lattice, parameters):
        even_rate, odd_rate, scalar, mean, *velocity = parameters
        w, opposed = scalar_lattice.w[:, None], values[scalar_lattice.opposite]
        arrived = values.sum(axis=0)
        mean[n], scalar[n] = 0.5 * (scalar[n] + arrived), arrived
        along = scalar_lattice.c @ np.stack([component[n] for component in velocity])
        even = 0.5 * (values + opposed) - w * scalar[n]
        odd = 0.5 * (values - opposed) - w * scalar[n] * along / float(scalar_lattice.cs2)
        return values - even_rate * even - odd_rate * odd

    def node(lattice, precision, jit):
        real, pair_count = precision.real, scalar_lattice.q // 2
        w, cx, cy, cz = constants(scalar_lattice, precision)
        rest, half, per_speed = w[0], real(0.5), real(1.0 / float(scalar_lattice.cs2))

        def collide(values, n, parameters):
            scalar = values[0]
            for p in range(pair_count):
                scalar += values[2 * p + 1] + values[2 * p + 2]
            ux, uy, uz = parameters[4][n], parameters[5][n], parameters[6][n]
            for p in range(pair_count):
                part = w[2 * p + 1] * scalar
                along = per_speed * part * (cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz)
                even = parameters[0] * (half * (values[2 * p + 1] + values[2 * p + 2]) - part)
                odd = parameters[1] * (half * (values[2 * p + 1] - values[2 * p + 2]) - along)
                values[2 * p + 1] -= even + odd
                values[2 * p + 2] -= even - odd
            values[0] -= parameters[0] * (values[0] - rest * scalar)
            parameters[3][n] = half * (parameters[2][n] + scalar)
            parameters[2][n] = scalar

        return jit(unroll(collide))

    return Operator(f"carried-{scalar_lattice.name}", reference, node)
