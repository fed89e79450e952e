"""Turbulent flow between plates at Re_tau = 178.12: mean velocity and Reynolds stress of a spectral computation.

Re_tau = u_tau delta / nu, with half the height delta and the friction velocity u_tau, whose square is the wall shear
stress over the density. In wall units lengths are over nu / u_tau and velocities over u_tau.

Moser, Kim, Mansour, Phys. Fluids 11, 943 (1999): Chebyshev and Fourier modes, 128 x 129 x 128 in a box of
4 pi x 2 x 4/3 pi delta. The figures are those of the authors' files chan180.means and chan180.reystress (Dec 15, 1998),
from a public copy of their data base; columns that are 0 by symmetry are left out. Another computation, in a box of
12 pi x 2 x 4 pi delta at Re_tau = 186 (del Alamo, Jimenez, Phys. Fluids 15, L41 (2003)), has 18.28 on the centre line
where this one has 18.30.
"""

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

RE_TAU = 178.12
_TABLE = np.loadtxt(Path(__file__).with_suffix(".csv"), delimiter=",", unpack=True)
"""y, U, u'u', v'v', w'w', u'v' in wall units, from the wall to the centre line."""

CENTRE_VELOCITY = float(_TABLE[1, -1])


def mean_velocity(y) -> np.ndarray:
    """Mean velocity at distances from the wall, all in wall units."""
    return CubicSpline(_TABLE[0], _TABLE[1])(y)


def bulk_velocity() -> float:
    """Mean velocity over the height, wall units."""
    return float(CubicSpline(_TABLE[0], _TABLE[1]).integrate(0.0, RE_TAU)) / RE_TAU


def reynolds_stress(y) -> np.ndarray:
    """(4, n) averages u'u', v'v', w'w', u'v' of products of deviations from the mean at distances from the wall, wall
    units."""
    return CubicSpline(_TABLE[0], _TABLE[2:], axis=1)(y)
