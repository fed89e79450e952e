"""Oscillating flow between plates and in a round pipe, driven by the acceleration A cos(omega t).

Source: Womersley, J. Physiol. 127, 553 (1955); Landau and Lifshitz, Fluid Mechanics, section 24. Both flows are
u = Re{ A / (i omega) [1 - shape] exp(i omega t) }, with shape = 1 at the wall.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError

LARGEST_ARGUMENT = 30.0
N_ANGLES = 128  # aliases as J_n+128, which is below 1e-60 for arguments up to 30


def bessel_j(order: int, z) -> np.ndarray:
    """Bessel function J of order 0 or 1 for complex ``z``.

    Bessel's integral by the trapezoidal rule, which converges faster than any power for a periodic integrand; its terms
    are no larger than exp(abs(Im z)), as J itself is, so that nothing cancels. Raises InputError: abs(z) above 30.
    """
    z = np.asarray(z, dtype=np.complex128)
    largest = float(np.abs(z).max(initial=0.0))
    if not largest <= LARGEST_ARGUMENT:
        raise InputError(f"bessel_j: |z| is {largest:g}; allowed: up to {LARGEST_ARGUMENT:g}; use a smaller argument")
    angles = 2.0 * np.pi * np.arange(N_ANGLES) / N_ANGLES
    return np.exp(1j * (z[..., None] * np.sin(angles) - order * angles)).mean(axis=-1)


@dataclass(frozen=True)
class Womersley:
    """What both flows share."""

    half_width: float  # half the gap between the plates, or the radius of the pipe
    viscosity: float  # kinematic
    acceleration: float  # amplitude A
    frequency: float  # omega, angular

    def __post_init__(self):
        """Positive sizes; omega = 0 is Poiseuille flow, which has its own formulas."""
        for name in ("half_width", "viscosity", "frequency"):
            value = getattr(self, name)
            if not value > 0.0:
                raise InputError(f"Womersley flow: {name} is {value!r}; allowed: above 0")

    @property
    def number(self) -> float:
        """Womersley number alpha = h sqrt(omega / nu)."""
        return self.half_width * float(np.sqrt(self.frequency / self.viscosity))

    def velocity(self, position, time: float) -> np.ndarray:
        """Velocity at the distances ``position`` from the middle."""
        inside = 1.0 - self._shape(np.asarray(position, dtype=np.float64) / self.half_width)
        return self._at(inside, time)

    def mean_velocity(self, time: float) -> float:
        """Mean velocity over the cross section."""
        return float(self._at(1.0 - self._mean_shape(), time))

    def _at(self, factor, time: float):
        rotation = np.exp(1j * self.frequency * time)
        return np.real(self.acceleration / (1j * self.frequency) * factor * rotation)

    def _shape(self, position):
        raise NotImplementedError

    def _mean_shape(self):
        raise NotImplementedError


@dataclass(frozen=True)
class PlaneWomersley(Womersley):
    """Between plates: shape = cosh(lambda y / h) / cosh(lambda), lambda = sqrt(i) alpha."""

    @property
    def _argument(self) -> complex:
        return self.number * np.exp(0.25j * np.pi)

    def _shape(self, position):
        p, q = self._argument * np.abs(position), self._argument
        return np.exp(p - q) * (1.0 + np.exp(-2.0 * p)) / (1.0 + np.exp(-2.0 * q))

    def _mean_shape(self):
        return np.tanh(self._argument) / self._argument


@dataclass(frozen=True)
class PipeWomersley(Womersley):
    """In a round pipe: shape = J0(z r / R) / J0(z), z = i^(3/2) alpha; alpha up to 30."""

    @property
    def _argument(self) -> complex:
        return self.number * np.exp(0.75j * np.pi)

    def _shape(self, position):
        return bessel_j(0, self._argument * position) / bessel_j(0, self._argument)

    def stress_factor(self) -> complex:
        """Complex amplitude of the wall shear stress over that of a flow so slow that it is always steady, in which it
        balances the force: what accelerates the fluid is missing at the wall."""
        return complex(self._mean_shape())

    def _mean_shape(self):
        return 2.0 * bessel_j(1, self._argument) / (self._argument * bessel_j(0, self._argument))
