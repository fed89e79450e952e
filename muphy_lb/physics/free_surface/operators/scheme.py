"""What surface tension, and a contact angle with it, change of the exchange of mass between cells."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.physics.free_surface.capillarity import NO_TENSION
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE

HYSTERESIS = 1e-2
"""How far a cell must be overfilled, or overdrawn, to turn (Schreiber et al. 2011)."""
HYSTERESIS_OF_TENSION = 1e-3
"""The same with surface tension: with more, an advancing surface seems more curved than a receding one."""
SOFT = 1e-2
"""Added to the liquid of the emptier and to the room of the fuller of two cells, for the share of their face that is
wet: between a full and an empty one it is a half."""
NEAREST = 0.2
"""Distance of the surface from the centre of its cell that is taken for smaller ones, and for surfaces on the other
side: at 0 an extrapolation would turn a disturbance into its opposite without damping."""
NEAREST_OF_TENSION = 0.1
"""The same with surface tension, whose filling is smoother."""
ALMOST_FULL = 0.9
"""Filling from which on an interface cell counts as liquid for those beside it, with a contact angle: whenever the last
full cell at the wall turned from liquid to interface and back, the next one would else lose what it had got, and the
line where surface and wall meet would never get beyond a full cell."""


class Scheme(NamedTuple):
    """What differs with and without surface tension.

    Attributes:
        wet_share: the share of the face between two interface cells that is wet, of their fills.
        wet_share_node: ``(precision, jit)`` -> node function of it.
        hysteresis: how far a cell must be overfilled, or overdrawn, to turn.
        nearest: smallest distance of the surface from the centre of its cell.
        almost_full: filling above which an interface cell counts as liquid for those beside it.
    """

    wet_share: Callable
    wet_share_node: Callable
    hysteresis: float
    nearest: float
    almost_full: float


def scheme_of(capillarity: Operator) -> Scheme:
    """The scheme that goes with an operator of surface tension."""
    if capillarity is NO_TENSION:
        return Scheme(_mean, _mean_node, HYSTERESIS, NEAREST, inf)
    almost_full = ALMOST_FULL if capillarity is CONTACT_ANGLE else inf
    return Scheme(_steep, _steep_node, HYSTERESIS_OF_TENSION, NEAREST_OF_TENSION, almost_full)


def _mean(own, other):
    return 0.5 * (own + other)


def _mean_node(precision, jit):
    """Node function of the mean of two fills."""
    half = precision.real(0.5)

    def mean(own, other):
        return half * (own + other)

    return jit(mean)


def _steep(own, other):
    """Wet share of a face if the surface is a plane along or across it."""
    liquid, room = np.minimum(own, other) + SOFT, 1.0 - np.maximum(own, other) + SOFT
    return liquid / (liquid + room)


def _steep_node(precision, jit):
    """Node function of :func:`_steep`."""
    one, soft = precision.real(1), precision.real(SOFT)

    def share(own, other):
        liquid, room = min(own, other) + soft, one - max(own, other) + soft
        return liquid / (liquid + room)

    return jit(share)
