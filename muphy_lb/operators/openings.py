"""Link-wise openings of any orientation, at the midpoint of every link that leaves the fluid.

With c_q pointing out of the fluid and f~_q the population that leaves:
velocity (Ladd, J. Fluid Mech. 271, 285 (1994)):  f_q' = f~_q - 2 w_q rho_0 (c_q.u)/cs2,  q' = opposite(q), rho_0 = 1;
pressure (anti-bounce-back, Ginzburg, Verhaeghe, d'Humieres, Commun. Comput. Phys. 3, 427 (2008)):
f_q' = -f~_q + 2 w_q rho_out [1 + (c_q.u)^2/(2 cs2^2) - u.u/(2 cs2)],  u = velocity of the node.
"""

import numpy as np

from muphy_lb.operators.operator import Operator, constants

VELOCITY = 0
PRESSURE = 1


def link_momentum(lattice, q: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(L,) mass that enters through links q per unit velocity along ``direction`` ((L, 3)): -2 w_q c_q.d / cs2.

    Summed over the links of an opening with its inward normal it is the area of the opening in lattice units,
    since sum over outgoing q of 2 w_q (c_q.n)^2 / cs2 = 1 and |c_q.n| links of direction q cross a unit area.
    """
    return -2.0 * lattice.w[q] * np.einsum("li,li->l", lattice.c[q], direction) / float(lattice.cs2)


def _reference(outgoing, q, condition, momentum, velocity, lattice):
    """Vectorised over links; ``condition`` is (kind, value), the value a velocity scale or rho_out - 1; ``momentum``
    comes from :func:`link_momentum`."""
    kind, value = condition
    cs2 = float(lattice.cs2)
    cu = np.einsum("li,il->l", lattice.c[q], velocity)
    bracket = 1 + cu**2 / (2 * cs2**2) - (velocity**2).sum(axis=0) / (2 * cs2)
    full = outgoing + lattice.w[q]
    by_pressure = -full + 2 * lattice.w[q] * (1 + value) * bracket
    by_velocity = full + momentum * value
    return np.where(kind == PRESSURE, by_pressure, by_velocity) - lattice.w[q]


def _node(lattice, real, jit):
    w, cx, cy, cz = constants(lattice, real)
    one, two, three_halves, nine_halves = real(1), real(2), real(1.5), real(4.5)

    @jit
    def incoming(outgoing, q, kind, value, momentum, ux, uy, uz):
        if kind == VELOCITY:
            return outgoing + momentum * value
        cu = cx[q] * ux + cy[q] * uy + cz[q] * uz
        dynamic = nine_halves * cu * cu - three_halves * (ux * ux + uy * uy + uz * uz)
        return two * w[q] * (value + (one + value) * dynamic) - outgoing

    return incoming


OPENINGS = Operator("openings", _reference, _node)
