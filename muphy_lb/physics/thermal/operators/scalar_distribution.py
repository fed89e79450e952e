"""Collision of the populations of a scalar T that the flow advects, with two relaxation times:

    g^eq = w T (1 + c.u / cs2),  kappa = cs2 (tau_odd - 1/2),  (tau_even - 1/2) (tau_odd - 1/2) = 1/4

Ginzburg, Adv. Water Resour. 28, 1171 (2005). With the product 1/4 the steady solution does not depend on tau. On the
lattices of :func:`muphy_lb.lattice.scalar_lattice`.

T is known only after the collision of the flow, so buoyancy acts one step late. For an oscillation of period two this
delay reverses the sign of the force and amplifies it; the mean with the step before does not contain the oscillation.

Two fields are written: the new T, and its mean with the T before, plus the offset (the buoyant temperature). Values are
the populations that arrive at the node. In solids both rates are arrays of nodes, and ``is_fluid``, 0 in solids and 1
elsewhere, excludes flow and buoyancy there.
Populations are unchanged on links between nodes of different rates: temperature and flux are continuous half-way, for
media of equal heat capacity per volume. The node function gives the rest population what the others lose: these
differences are exact, so a node keeps its heat but for the rounding of this one number. Along a flow the diffusivity is
lower by the relative amount 4 u^2.
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
FIELDS = ("scalar", "new_scalar", "new_mean")
PARAMETERS = named(*RATES, "offset", *FIELDS, *VELOCITY_FIELDS)
IN_SOLIDS = named("is_fluid")


def scalar_rates(lattice: Lattice, diffusivity: Rate) -> tuple[Rate, Rate]:
    """Relaxation rates (even, odd) of a diffusivity in lattice units, one or (n,)."""
    odd = diffusivity / float(lattice.cs2)
    return 1.0 / (0.5 + PRODUCT / odd), 1.0 / (0.5 + odd)


def scalar_at_rest(lattice: Lattice, scalar: np.ndarray) -> np.ndarray:
    """(Q, n) populations of a scalar (n,) where nothing moves and nothing is conducted."""
    return lattice.w[:, None] * scalar


@cache
def scalar_collision(scalar_lattice: Lattice, in_solids: bool = False) -> Operator:
    """The collision of the populations on a lattice, which may go on in solids."""

    def reference(values, n, lattice, parameters):
        even_rate, odd_rate = (parameters[name] for name in RATES)
        old, scalar, mean = (parameters[name] for name in FIELDS)
        velocity, flows = [parameters[name] for name in VELOCITY_FIELDS], 1.0
        if in_solids:
            even_rate, odd_rate, flows = even_rate[n], odd_rate[n], parameters["is_fluid"][n]
        w, opposed = scalar_lattice.w[:, None], values[scalar_lattice.opposite]
        arrived = added(values)
        mean[n], scalar[n] = flows * (0.5 * (old[n] + arrived) + parameters["offset"]), arrived
        along = combined(scalar_lattice.c, [flows * component[n] for component in velocity])
        even = 0.5 * (values + opposed) - w * scalar[n]
        odd = 0.5 * (values - opposed) - w * scalar[n] * along / float(scalar_lattice.cs2)
        return values - even_rate * even - odd_rate * odd

    def node(lattice, precision, jit, at):
        real, pair_count = precision.real, scalar_lattice.q // 2
        w, cx, cy, cz = constants(scalar_lattice, precision)
        zero, half, one, per_speed = real(0), real(0.5), real(1), real(1.0 / float(scalar_lattice.cs2))

        medium = jit(_medium(at, one, in_solids))
        offset = at["offset"]
        old, new, mean = (at[name] for name in FIELDS)
        x, y, z = (at[name] for name in VELOCITY_FIELDS)

        def collide(values, n, parameters):
            scalar, given = values[0], zero
            for p in range(pair_count):
                scalar += values[2 * p + 1] + values[2 * p + 2]
            even_rate, odd_rate, flows = medium(n, parameters)
            ux, uy, uz = flows * parameters[x][n], flows * parameters[y][n], flows * parameters[z][n]
            for p in range(pair_count):
                part = w[2 * p + 1] * scalar
                along = per_speed * part * (cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz)
                even = even_rate * (half * (values[2 * p + 1] + values[2 * p + 2]) - part)
                odd = odd_rate * (half * (values[2 * p + 1] - values[2 * p + 2]) - along)
                first, second = values[2 * p + 1] - (even + odd), values[2 * p + 2] - (even - odd)
                given += (values[2 * p + 1] - first) + (values[2 * p + 2] - second)
                values[2 * p + 1], values[2 * p + 2] = first, second
            values[0] += given
            parameters[mean][n] = flows * (half * (parameters[old][n] + scalar) + parameters[offset])
            parameters[new][n] = scalar

        return jit(unroll(collide))

    parameters = PARAMETERS + IN_SOLIDS * in_solids
    return Operator(f"scalar-{scalar_lattice.name}{'-solids' * in_solids}", reference, node, parameters)


def _medium(at, one, in_solids: bool):
    """Node function ``(n, parameters)`` -> rates (even, odd) of a node, and 1 in the fluid, 0 in solids."""
    even, odd = (at[name] for name in RATES)
    if not in_solids:
        return lambda n, parameters: (parameters[even], parameters[odd], one)
    fluid = at["is_fluid"]
    return lambda n, parameters: (parameters[even][n], parameters[odd][n], parameters[fluid][n])
