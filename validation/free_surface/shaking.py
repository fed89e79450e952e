"""A tank that is shaken: beating of the liquid between its natural frequency and that of a horizontal acceleration.

In the frame of the tank the acceleration a(t) is a body force with the potential -a x. With the elevation sum_n q_n
cos(k_n x), k_n = n pi / L, the linear conditions at the surface, and x = L / 2 - sum_(n odd) 4 L / (n pi)^2 cos(k_n x),

    q_1'' + 2 gamma q_1' + omega^2 q_1 = -omega^2 / g 4 L / pi^2 a(t),   omega^2 = g k tanh(k h),   k = pi / L,

derived here. At rest at the start, with a = A sin(0.9 omega t), the amplitude rises and falls within ten periods, and
rises to ten times that of a tank at rest under A, less what viscosity takes.

That is 2 nu k^2 in the bulk, and from the Stokes layers of thickness d = (2 nu / omega)^(1/2) at the floor and ends the
mean of nu / d times the square of the speed beside them over twice the energy g L q^2 / 4. The displacement by a layer
lowers the frequency by the same rate.
"""

from collections.abc import Iterator
from math import pi, sinh, sqrt, tanh
from typing import NamedTuple

import numpy as np

from muphy_lb.validation.case import Settings, absolute, case, relative, shown
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.plot import Plot, Series

VISCOSITY, RATIO, SAMPLES = 0.005, 0.9, 40
BEATING, MASS = 0.05, {"fp64": 1e-12, "fp32": 1e-6}


class ShakenTank(NamedTuple):
    """A tank of some ``length``, filled to half of it, its ``gravity``, and the ``amplitude`` without viscosity."""

    length: int
    gravity: float
    amplitude: float

    @property
    def number(self) -> float:
        """Wave number of the gravest mode."""
        return pi / self.length

    @property
    def frequency(self) -> float:
        """Its angular frequency without viscosity."""
        return sqrt(self.gravity * self.number * tanh(self.number * 0.5 * self.length))

    @property
    def acceleration(self) -> float:
        """Amplitude A of the body force."""
        return self.amplitude * self.gravity * pi**2 / (4.0 * self.length) * (1.0 - RATIO)

    @property
    def damping(self) -> tuple[float, float]:
        """Rates of decay by the layers at the walls, and by the bulk."""
        k, omega, depth = self.number, self.frequency, 0.5 * self.length
        of_ends = 0.5 * (sinh(2.0 * k * depth) / (2.0 * k) - depth)  # of sinh(k y)^2 over the depth
        squares = (omega / sinh(k * depth)) ** 2 * (0.5 * 2.0 * of_ends + 0.5 * 0.5 * self.length)
        layer = sqrt(2.0 * VISCOSITY / omega)
        return VISCOSITY / layer * squares / (0.5 * self.gravity * self.length), 2.0 * VISCOSITY * k**2

    def swings(self, time: np.ndarray) -> np.ndarray:
        """(n,) amplitude q_1 at times (n,), of the linear equation."""
        of_layers, of_bulk = self.damping
        natural, gamma, drive = self.frequency - of_layers, of_layers + of_bulk, RATIO * self.frequency
        strength = -(natural**2) / self.gravity * 4.0 * self.length / pi**2 * self.acceleration
        driven = strength / (natural**2 - drive**2 + 2j * gamma * drive)
        free = sqrt(natural**2 - gamma**2)
        cosine = -driven.imag
        sine = (gamma * cosine - drive * driven.real) / free
        own = np.exp(-gamma * time) * (cosine * np.cos(free * time) + sine * np.sin(free * time))
        return (driven * np.exp(1j * drive * time)).imag + own


TANKS = ShakenTank(64, 4e-4, 4.0), ShakenTank(128, 2e-4, 5.0)
PERIODS, QUICK_PERIODS = 10.0, 2.0


@case("surface-shaking", "beating of a tank that is shaken beside its natural frequency: linear modal theory, derived")
def surface_shaking(settings: Settings) -> Iterator:
    """Amplitude of the gravest mode in a tank that a horizontal acceleration shakes, over gravity."""
    liquids.refuse(settings)
    for tank in TANKS[: 1 if settings.quick else None]:
        time, found, change = _shaken(tank, QUICK_PERIODS if settings.quick else PERIODS, settings)
        exact, what = tank.swings(time), f"L = {tank.length}: "
        yield relative(
            f"{what}largest swing of the beat [voxels]", float(np.abs(exact).max()), float(np.abs(found).max()), BEATING
        )
        far = sqrt(((found - exact) ** 2).mean()) / tank.amplitude
        yield shown(f"{what}rms difference from theory over the amplitude, of 0.1", 0.1, far)
        yield absolute(f"{what}relative change of mass", 0.0, change, MASS[settings.precision])
        periods = time * tank.frequency / (2.0 * pi)
        lines = Series("linear theory", periods, exact), Series("computed", periods, found, "points")
        yield Plot(f"Shaken tank, length {tank.length}", "periods", "amplitude of the mode [voxels]", lines)
    if settings.quick:
        yield "quick: one tank, and a fifth of the beat"


def _shaken(tank: ShakenTank, periods: float, settings: Settings) -> tuple[np.ndarray, np.ndarray, float]:
    """(n,) times, (n,) amplitude of the mode in voxels, and the relative change of mass."""
    depth = 0.5 * tank.length
    geometry = {"shape": liquids.TANK, "options": {"length": tank.length, "height": round(1.3 * depth + 16.0)}}
    wave = {"period_s": 2.0 * pi / (RATIO * tank.frequency), "mean": 0.0, "sine": [1.0]}
    shaking = {"acceleration_m_s2": [tank.acceleration, 0.0, 0.0], "waveform": wave}
    more = {"liquid": ({"level_m": depth - 0.5},), "flow": {"accelerations": [shaking]}}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, (0.0, -tank.gravity, 0.0), **more)
    mode = 2.0 / tank.length * np.cos(tank.number * (np.arange(tank.length) + 0.5))
    before, found = liquids.mass(simulation).sum(), []
    interval = round(2.0 * pi / tank.frequency / SAMPLES)
    for _ in range(round(SAMPLES * periods)):
        simulation.step(interval)
        found.append(mode @ liquids.columns(simulation))
    time = interval * np.arange(1.0, len(found) + 1.0)
    return time, np.array(found), liquids.mass(simulation).sum() / before - 1.0
