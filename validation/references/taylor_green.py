"""The decaying array of vortices in two dimensions, an exact solution of the Navier-Stokes equations.

Source: Taylor and Green, Proc. R. Soc. A 158, 499 (1937); in this form Krueger et al., The Lattice Boltzmann Method
(2017), appendix A.3.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TaylorGreen:
    """u = -U sqrt(ky/kx) cos(kx x) sin(ky y) d, v = U sqrt(kx/ky) sin(kx x) cos(ky y) d, d = exp(-nu (kx^2 + ky^2)
    t)."""

    wave_numbers: tuple[float, float]  # (kx, ky), 2 pi over the wave lengths
    speed: float  # U
    viscosity: float  # kinematic

    @property
    def decay_rate(self) -> float:
        """nu (kx^2 + ky^2): rate at which the velocity decays."""
        return self.viscosity * (self.wave_numbers[0] ** 2 + self.wave_numbers[1] ** 2)

    def velocity(self, x, y, time: float = 0.0) -> np.ndarray:
        """Velocity (u, v) at points: an array of shape (2, *shape of x)."""
        kx, ky = self.wave_numbers
        u = -np.sqrt(ky / kx) * np.cos(kx * x) * np.sin(ky * y)
        v = np.sqrt(kx / ky) * np.sin(kx * x) * np.cos(ky * y)
        return self._amplitude(time) * np.stack((u, v))

    def pressure(self, x, y, time: float = 0.0, density: float = 1.0) -> np.ndarray:
        """Pressure less its mean at points."""
        kx, ky = self.wave_numbers
        waves = ky / kx * np.cos(2.0 * kx * x) + kx / ky * np.cos(2.0 * ky * y)
        return -0.25 * density * self._amplitude(time) ** 2 * waves

    def strain_rate(self, x, y, time: float = 0.0) -> np.ndarray:
        """Rate of strain (s_xx, s_yy, s_xy), s_ab = (d_a u_b + d_b u_a) / 2: an array of shape (3, *shape of x)."""
        kx, ky = self.wave_numbers
        s_xx = np.sqrt(kx * ky) * np.sin(kx * x) * np.sin(ky * y)
        s_xy = 0.5 * (kx**2 - ky**2) / np.sqrt(kx * ky) * np.cos(kx * x) * np.cos(ky * y)
        return self._amplitude(time) * np.stack((s_xx, -s_xx, s_xy))

    def stress(self, x, y, time: float = 0.0, density: float = 1.0) -> np.ndarray:
        """Viscous stress (xx, yy, xy), 2 rho nu s_ab: an array of shape (3, *shape of x)."""
        return 2.0 * density * self.viscosity * self.strain_rate(x, y, time)

    def _amplitude(self, time: float) -> float:
        return self.speed * float(np.exp(-self.decay_rate * time))
