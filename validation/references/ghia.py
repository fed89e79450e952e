"""Square lid-driven cavity: velocities on the centre lines, and their extrema.

The box is the unit square, its lid at y = 1 moves with velocity 1 along x; u is given on x = 1/2, v on y = 1/2.

Sources: tables I and II of Ghia, Ghia, Shin, J. Comput. Phys. 48, 387 (1982), from two public transcriptions that agree
(column v of Re 1000: one partial transcription, the rest from memory; another program's solution on 128^2 stays within
0.012 of it). Ghia's velocities are 1 to 1.5 % low; extrema: Botella and Peyret, Comput. Fluids 27, 421 (1998),
spectral, from several public transcriptions.
"""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError

REYNOLDS_NUMBERS = (100, 400, 1000)
MISPRINT = (400, 0.9063, -0.23827)  # Reynolds number, x, printed v; other solutions have -0.388 there


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
    return _columns("u", reynolds)


def centre_line_v(reynolds: int) -> tuple[np.ndarray, np.ndarray]:
    """(x, v) on the horizontal centre line, from right to left, without the walls; the misprint is left out. Raises
    InputError: Ghia gives no such Reynolds number here."""
    x, v = _columns("v", reynolds)
    good = (x != MISPRINT[1]) | (reynolds != MISPRINT[0])
    return x[good], v[good]


def spectral_extrema(reynolds: int) -> Extrema:
    """Extrema of the spectral solution. Raises InputError: Botella and Peyret give none, as for Re 400."""
    if reynolds not in SPECTRAL:
        raise InputError(f"there are no spectral extrema at Reynolds number {reynolds}; allowed: {_listed(SPECTRAL)}")
    return SPECTRAL[reynolds]


def _columns(name: str, reynolds: int) -> tuple[np.ndarray, np.ndarray]:
    if reynolds not in REYNOLDS_NUMBERS:
        raise InputError(f"Ghia's tables lack Reynolds number {reynolds}; allowed: {_listed(REYNOLDS_NUMBERS)}")
    columns = np.loadtxt(Path(__file__).with_name(f"ghia_{name}.csv"), delimiter=",", unpack=True)
    return columns[0], columns[1 + REYNOLDS_NUMBERS.index(reynolds)]


def _listed(values) -> str:
    return ", ".join(map(str, values))
