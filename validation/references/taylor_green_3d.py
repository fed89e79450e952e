"""Vortices of Taylor and Green in three dimensions: the start, and the peak of their dissipation.

u = U sin(x/L) cos(y/L) cos(z/L), v = -U cos(x/L) sin(y/L) cos(z/L), w = 0 in a periodic box of 2 pi L; Re = U L / nu.
Taylor, Green, Proc. R. Soc. A 158, 499 (1937); Brachet, Meiron, Orszag, Nickel, Morf, Frisch, J. Fluid Mech. 130, 411
(1983).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Peak(NamedTuple):
    """Largest dissipation [U^3 / L] and its time [L / U]."""

    dissipation: float
    time: float


PEAKS: Mapping[int, Peak] = MappingProxyType(
    {100: Peak(0.012975, 4.89), 400: Peak(0.01102, 8.7), 800: Peak(0.011726, 9.0), 1600: Peak(0.0128575, 8.97)}
)
"""By Reynolds number. 1600: pseudo-spectral with 512^3 modes, van Rees, Leonard, Pullin, Koumoutsakos, J. Comput. Phys.
230, 2794 (2011), as tabulated for case C3.5 of the International Workshops on High-Order CFD Methods and quoted by
others; not read in the paper itself. The others: an independent pseudo-spectral computation (rotational form, 2/3 rule,
fourth-order Runge-Kutta) with 48^3 and 96^3 modes, of which 32^3 and 64^3 gave 0.2 % less and 0.6 % more, and at 800
another of the same kind with 256^3. At 400 the dissipation is flat from 6.9 to 8.7."""


class TaylorGreen3D(NamedTuple):
    """The start."""

    wave_number: float  # 1 / L
    speed: float  # U

    def velocity(self, x, y, z) -> np.ndarray:
        """(n, 3) velocity at points."""
        (sx, sy, _), (cx, cy, cz) = self._waves(x, y, z)
        return self.speed * np.stack((sx * cy * cz, -cx * sy * cz, 0.0 * x), axis=1)

    def pressure(self, x, y, z) -> np.ndarray:
        """(n,) pressure less its mean, density 1."""
        _, (cx, cy, cz) = self._waves(2.0 * x, 2.0 * y, 2.0 * z)
        return self.speed**2 / 16.0 * (cx + cy) * (cz + 2.0)

    def strain_rate(self, x, y, z) -> np.ndarray:
        """(n, 3, 3) rate of strain."""
        (sx, sy, sz), (cx, cy, cz) = self._waves(x, y, z)
        strain = np.zeros((x.size, 3, 3))
        strain[:, 0, 0] = cx * cy * cz
        strain[:, 1, 1] = -strain[:, 0, 0]
        strain[:, 0, 2] = strain[:, 2, 0] = -0.5 * sx * cy * sz
        strain[:, 1, 2] = strain[:, 2, 1] = 0.5 * cx * sy * sz
        return self.speed * self.wave_number * strain

    def _waves(self, *coordinates):
        phases = [self.wave_number * coordinate for coordinate in coordinates]
        return [np.sin(phase) for phase in phases], [np.cos(phase) for phase in phases]
