"""Cubic lid-driven cavity at Re 1000: velocities on two lines through the centre.

The box is [-1/2, 1/2]^3; the lid at x = -1/2 moves with velocity 1 along y. v is given on the x-axis, u on the y-axis.

Source: tables 5 and 6 of Albensoeder and Kuhlmann, J. Comput. Phys. 206, 536 (2005), from two public transcriptions.
"""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

REYNOLDS = 1000


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
    return tuple(np.loadtxt(Path(__file__).with_name("cubic_cavity_v.csv"), delimiter=",", unpack=True))


def velocity_normal_to_lid() -> tuple[np.ndarray, np.ndarray]:
    """(y, u): velocity normal to the lid on the line along its motion, without the walls."""
    return tuple(np.loadtxt(Path(__file__).with_name("cubic_cavity_u.csv"), delimiter=",", unpack=True))
