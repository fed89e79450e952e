"""Square lid-driven cavity: velocities on the centre lines, and their extrema.

The box is the unit square, its lid at y = 1 moves with velocity 1 along x; u is given on x = 1/2, v on y = 1/2.

Sources: tables I and II of Ghia, Ghia, Shin, J. Comput. Phys. 48, 387 (1982), from two public transcriptions that agree
(column v of Re 1000: one partial transcription, the rest from memory; another program's solution on 128^2 stays within
0.012 of it). Ghia's velocities are 1 to 1.5 % low; extrema: Botella and Peyret, Comput. Fluids 27, 421 (1998),
spectral, from several public transcriptions.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError

REYNOLDS_NUMBERS = (100, 400, 1000)
MISPRINT = (400, 0.9063, -0.23827)  # Reynolds number, x, printed v; other solutions have -0.388 there

_U = (
    (0.9766, 0.84123, 0.75837, 0.65928),
    (0.9688, 0.78871, 0.68439, 0.57492),
    (0.9609, 0.73722, 0.61756, 0.51117),
    (0.9531, 0.68717, 0.55892, 0.46604),
    (0.8516, 0.23151, 0.29093, 0.33304),
    (0.7344, 0.00332, 0.16256, 0.18719),
    (0.6172, -0.13641, 0.02135, 0.05702),
    (0.5000, -0.20581, -0.11477, -0.06080),
    (0.4531, -0.21090, -0.17119, -0.10648),
    (0.2813, -0.15662, -0.32726, -0.27805),
    (0.1719, -0.10150, -0.24299, -0.38289),
    (0.1016, -0.06434, -0.14612, -0.29730),
    (0.0703, -0.04775, -0.10338, -0.22220),
    (0.0625, -0.04192, -0.09266, -0.20196),
    (0.0547, -0.03717, -0.08186, -0.18109),
)
_V = (
    (0.9688, -0.05906, -0.12146, -0.21388),
    (0.9609, -0.07391, -0.15663, -0.27669),
    (0.9531, -0.08864, -0.19254, -0.33714),
    (0.9453, -0.10313, -0.22847, -0.39188),
    (0.9063, -0.16914, -0.23827, -0.51550),
    (0.8594, -0.22445, -0.44993, -0.42665),
    (0.8047, -0.24533, -0.38598, -0.31966),
    (0.5000, 0.05454, 0.05186, 0.02526),
    (0.2344, 0.17527, 0.30174, 0.32235),
    (0.2266, 0.17507, 0.30203, 0.33075),
    (0.1563, 0.16077, 0.28124, 0.37095),
    (0.0938, 0.12317, 0.22965, 0.32627),
    (0.0781, 0.10890, 0.20920, 0.30353),
    (0.0703, 0.10091, 0.19713, 0.29012),
    (0.0625, 0.09233, 0.18360, 0.27485),
)


@dataclass(frozen=True)
class Extrema:
    """Extreme velocities on the centre lines, and where they are."""

    u_min: float
    y_of_u_min: float
    v_max: float
    x_of_v_max: float
    v_min: float
    x_of_v_min: float


SPECTRAL = MappingProxyType(
    {
        100: Extrema(-0.2140424, 0.4581, 0.1795728, 0.2370, -0.2538030, 0.8104),
        1000: Extrema(-0.3885698, 0.1717, 0.3769447, 0.1578, -0.5270771, 0.9092),
    }
)
# Where Ghia's own v is further from Botella and Peyret's (their table of v, from memory; a solution on 256^2 nodes
# stays within 0.002 of it) than 1.5 % of the lid's velocity: no converged solution can be near both.
SPECTRAL_V = MappingProxyType({1000: ((0.9609, -0.2936869), (0.9531, -0.3553213), (0.9453, -0.4103754))})


def centre_line_u(reynolds: int) -> tuple[np.ndarray, np.ndarray]:
    """(y, u) on the vertical centre line, downwards, without the walls. Raises InputError: Ghia gives no such Reynolds
    number here."""
    return _columns(_U, reynolds)


def centre_line_v(reynolds: int) -> tuple[np.ndarray, np.ndarray]:
    """(x, v) on the horizontal centre line, from right to left, without the walls; the misprint is left out. Raises
    InputError: Ghia gives no such Reynolds number here."""
    x, v = _columns(_V, reynolds)
    good = (x != MISPRINT[1]) | (reynolds != MISPRINT[0])
    return x[good], v[good]


def spectral_extrema(reynolds: int) -> Extrema:
    """Extrema of the spectral solution. Raises InputError: Botella and Peyret give none, as for Re 400."""
    if reynolds not in SPECTRAL:
        raise InputError(f"there are no spectral extrema at Reynolds number {reynolds}; allowed: {_listed(SPECTRAL)}")
    return SPECTRAL[reynolds]


def _columns(table, reynolds: int) -> tuple[np.ndarray, np.ndarray]:
    if reynolds not in REYNOLDS_NUMBERS:
        raise InputError(f"Ghia's tables lack Reynolds number {reynolds}; allowed: {_listed(REYNOLDS_NUMBERS)}")
    columns = np.array(table).T
    return columns[0], columns[1 + REYNOLDS_NUMBERS.index(reynolds)]


def _listed(values) -> str:
    return ", ".join(map(str, values))
