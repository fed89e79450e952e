"""Cubic lid-driven cavity at Re 1000: velocities on two lines through the centre.

The box is [-1/2, 1/2]^3; the lid at x = -1/2 moves with velocity 1 along y. v is given on the x-axis, u on the y-axis.

Source: tables 5 and 6 of Albensoeder and Kuhlmann, J. Comput. Phys. 206, 536 (2005), from two public transcriptions.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

REYNOLDS = 1000

_V = (
    (-0.4766, 0.58964),
    (-0.4688, 0.48443),
    (-0.4609, 0.39821),
    (-0.4531, 0.33171),
    (-0.3516, 0.12183),
    (-0.2344, 0.07334),
    (-0.1172, 0.03905),
    (0.0, 0.00802),
    (0.0469, -0.00612),
    (0.2187, -0.10999),
    (0.3281, -0.25160),
    (0.3984, -0.27293),
    (0.4297, -0.23696),
    (0.4375, -0.22283),
    (0.4453, -0.20623),
)
_U = (
    (-0.4375, -0.21738),
    (-0.4297, -0.22746),
    (-0.4219, -0.23503),
    (-0.4062, -0.24407),
    (-0.3437, -0.22924),
    (-0.2734, -0.17580),
    (-0.2656, -0.16987),
    (0.0, -0.03674),
    (0.3047, 0.15223),
    (0.3594, 0.31117),
    (0.4063, 0.43423),
    (0.4453, 0.33511),
    (0.4531, 0.29032),
    (0.4609, 0.24095),
    (0.4688, 0.18864),
)


@dataclass(frozen=True)
class LatticeSolution:
    """How far another D3Q19 program was off: TRT with Lambda = 1/4, lid velocity 0.1, resting edge links."""

    largest_v: float  # largest_v, largest_u: largest differences from the tables
    largest_u: float
    v_min: float  # smallest velocity along the lid's motion on the x-axis
    u_min: float  # u_min, u_max: extreme velocities normal to the lid on the y-axis, towards the lid positive
    u_max: float


LATTICE_SOLUTIONS = MappingProxyType(
    {
        48: LatticeSolution(0.0308, 0.0502, -0.2508, -0.3967, 0.2246),
        64: LatticeSolution(0.0165, 0.0291, -0.2641, -0.4147, 0.2341),
    }
)


def velocity_along_lid() -> tuple[np.ndarray, np.ndarray]:
    """(x, v): velocity along the lid's motion on the line normal to the lid, without the walls."""
    x, v = np.array(_V).T
    return x, v


def velocity_normal_to_lid() -> tuple[np.ndarray, np.ndarray]:
    """(y, u): velocity normal to the lid on the line along its motion, without the walls."""
    y, u = np.array(_U).T
    return y, u
