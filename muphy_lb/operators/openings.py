"""Link-wise openings of any orientation, at the midpoint of every link that leaves the fluid.

With c_q pointing out of the fluid and f~_q the population that leaves:
velocity (Ladd, J. Fluid Mech. 271, 285 (1994)):  f_q' = f~_q - 2 w_q rho_0 (c_q.u)/cs2,  q' = opposite(q), rho_0 = 1;
pressure (anti-bounce-back, Ginzburg, Verhaeghe, d'Humieres, Commun. Comput. Phys. 3, 427 (2008)):
f_q' = -f~_q + 2 f_q^eq+(rho_out, u),  f^eq+ = part of the equilibrium even in c_q, u = velocity of the node.

Anti-bounce-back sets the whole non-equilibrium part that is even in c_q to zero, so that the plane of the opening bears
no shear stress, and a tube between two pressures seems shorter than it is. A plane normal to an axis can do better. The
flow beyond it is taken for the mirror image of the flow before it, in which rho - rho_out and the velocity along the
plane change their sign and the velocity across it, u_n n, does not; a developed flow is its own image. What enters is
then the image of what leaves through the link m that crosses the plane at the same point, c_m = 2 (c_q.n) n - c_q:
f_q' = -f~_m + 2 f_q^eq+(rho_out, u_n n).
"""

from functools import cache

import numpy as np

from muphy_lb.operators.equilibrium import Equilibrium
from muphy_lb.operators.operator import Operator, constants

VELOCITY = 0
PRESSURE = 1
PRESSURE_ON_PLANE = 2
"""Kind of a pressure on a plane normal to x; 3 and 4 of those normal to y and z."""


def link_momentum(lattice, q: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(L,) mass that enters through links q per unit velocity along ``direction`` ((L, 3)): -2 w_q c_q.d / cs2.

    Summed over the links of an opening with its inward normal it is the area of the opening in lattice units,
    since sum over outgoing q of 2 w_q (c_q.n)^2 / cs2 = 1 and |c_q.n| links of direction q cross a unit area.
    """
    return -2.0 * lattice.w[q] * np.einsum("li,li->l", lattice.c[q], direction) / float(lattice.cs2)


@cache
def openings(equilibrium: Equilibrium) -> Operator:
    """The opening conditions; the pressure's bracket has the terms of second order that the equilibrium has.

    Reference: ``reference(outgoing, q, condition, momentum, velocity, lattice)``, vectorised over links; ``condition``
    is (kind, value), the value a velocity scale or rho_out - 1; ``outgoing`` is f~_m on a plane normal to an axis; ``momentum`` comes from :func:`link_momentum`.

    The node function ``incoming(outgoing, q, kind, value, momentum, ux, uy, uz)`` takes and returns populations in
    stored units, and ``value`` times their unit; ``momentum`` is a pure number.
    """

    def reference(outgoing, q, condition, momentum, velocity, lattice):
        kind, value = condition
        weight = lattice.w[q]
        is_along = (kind >= PRESSURE_ON_PLANE) & (kind - PRESSURE_ON_PLANE != np.arange(3)[:, None])
        velocity = np.where(is_along, 0.0, velocity)
        both_ways = [equilibrium.populations(1 + value, sign * velocity, lattice) for sign in (1, -1)]
        even = 0.5 * (both_ways[0] + both_ways[1])[q, np.arange(q.size)]
        by_pressure = -(outgoing + weight) + 2 * even
        by_velocity = outgoing + weight + momentum * value
        return np.where(kind == VELOCITY, by_velocity, by_pressure) - weight

    def node(lattice, precision, jit, at):
        w, cx, cy, cz = constants(lattice, precision)
        _, second, inertia, _ = equilibrium.moments(precision, jit)
        real = precision.real
        zero, one, two, third, nine_halves = (real(x) for x in (0, 1, 2, 1 / 3, 4.5))
        no_force = (zero, zero, zero)

        @jit
        def incoming(outgoing, q, kind, value, momentum, ux, uy, uz):
            if kind == VELOCITY:
                return outgoing + momentum * value
            if kind >= PRESSURE_ON_PLANE:
                ux = ux if kind == PRESSURE_ON_PLANE else zero
                uy = uy if kind == PRESSURE_ON_PLANE + 1 else zero
                uz = uz if kind == PRESSURE_ON_PLANE + 2 else zero
            r = inertia(value)
            xx, yy, zz, xy, yz, zx = second((value, ux, uy, uz, r * ux, r * uy, r * uz), no_force, one, zero)
            x, y, z = cx[q], cy[q], cz[q]
            along = x * (x * xx + y * xy) + y * (y * yy + z * yz) + z * (z * zz + x * zx)
            return two * w[q] * (value + nine_halves * (along - third * (xx + yy + zz))) - outgoing

        return incoming

    return Operator(f"openings-{equilibrium.name}", reference, node)
