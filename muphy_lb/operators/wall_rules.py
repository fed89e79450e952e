"""Link-wise walls at any distance: f_q' = a f~_q(x) + b f~_q(x - c_q) + c f~_q'(x) + d, q' = opposite(q), c_q into the
wall.

With the wall at the fraction s of the link and W = 3 w_q c_q.u_w (u_w = velocity of the wall at the intersection):

half-way           a = 1                    d = -2 W    (s = 1/2)
bouzidi, s < 1/2   a = 2 s, b = 1 - 2 s     d = -2 W
bouzidi, s >= 1/2  a = 1 / (2 s), c = 1 - a d = -W / s
central-linear     a = 1, b = -c = k        d = -4 W / (1 + 2 s),  k = (1 - 2 s) / (1 + 2 s)

half-way: Ladd, J. Fluid Mech. 271, 285 (1994); bouzidi: Bouzidi, Firdaouss, Lallemand, Phys. Fluids 13, 3452 (2001);
central-linear: Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003), their "CLI". It is viscosity-independent with two
relaxation times and leaves an undamped oscillation of period two: average forces over an even number of steps.

Interpolation returns more or less than it receives; what a node exchanges besides, so that all nodes together lose
nothing, is of the form share (f_1 - f_2) + d (:mod:`muphy_lb.boundaries.wall_balance`).

a + b + c = 1, so the rules also hold for stored deviations f - w. For the node function a, b, c are pure
numbers; the populations, and d times the scheduled value of the wall, its last argument, are in stored units.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from muphy_lb.operators.operator import Operator


def _half_way(s, momentum):
    zero = np.zeros_like(s)
    return 1.0 + zero, zero, zero, momentum


def _bouzidi(s, momentum):
    near = s < 0.5
    return (
        np.where(near, 2 * s, 0.5 / s),
        np.where(near, 1 - 2 * s, 0.0),
        np.where(near, 0.0, 1 - 0.5 / s),
        momentum * np.where(near, 1.0, 0.5 / s),
    )


def _central_linear(s, momentum):
    k = (1 - 2 * s) / (1 + 2 * s)
    return np.ones_like(s), k, -k, 2 * momentum / (1 + 2 * s)


WALL_RULES: Mapping[str, Callable] = MappingProxyType(
    {"half-way": _half_way, "bouzidi": _bouzidi, "central-linear": _central_linear}
)


def wall_coefficients(rule: str, distance: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """(4, L) coefficients a, b, c, d.

    Args:
        rule: name in ``WALL_RULES``.
        distance: (L,) fraction s of the link at which it meets the wall, in (0, 1].
        momentum: (L,) ``link_momentum`` of the wall's velocity there, -2 W.
    """
    return np.stack(WALL_RULES[rule](distance, momentum))


def _reference(outgoing, arriving, opposed, coefficients, value):
    a, b, c, d = coefficients
    return a * outgoing + b * arriving + c * opposed + d * value


def _node(lattice, precision, jit, at):
    return jit(lambda outgoing, arriving, opposed, a, b, c, added: a * outgoing + b * arriving + c * opposed + added)


WALLS = Operator("walls", _reference, _node)


def _exchange(first, second, share, added):
    return share * (first - second) + added


def _exchange_node(lattice, precision, jit, at):
    return jit(lambda first, second, share, added: share * (first - second) + added)


WALL_EXCHANGE = Operator("wall-exchange", _exchange, _exchange_node)
