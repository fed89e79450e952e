"""Faraday waves: a standing wave that grows in a channel shaken upright with twice its frequency.

Under the gravity g (1 + e sin(2 omega t)) a wave of the wave number k grows if e exceeds a threshold, about four times
its rate of decay over omega; beyond it the rate of growth rises by omega / 4 times e. Both follow from the linearised
equations of Navier and Stokes over a floor at rest, derived again from Kumar, Tuckerman, J. Fluid Mech. 279, 49 (1994):
with the elevation exp(mu t) sum_n zeta_n exp(i (2 n + 1) omega t), s_n = mu + i (2 n + 1) omega, and the vertical
velocity w_n(z) of exponentials of k z and of (k^2 + s_n / nu)^(1/2) z, which is s_n at the surface, 0 with its slope at
the floor, and without shear at the surface,

    [(s_n + 3 nu k^2) w_n' - nu w_n^(3) + k^2 g] zeta_n = k^2 g e i / 2 (zeta_(n-1) - zeta_(n+1)),

of which e is found for a given mu. The layer at the floor is part of it; there are no ends.

The liquid of the lattice is compressible: where the body force changes with the frequency 2 omega, a column of the
depth h swings as a whole, and at its surface the force less the acceleration is larger by 1 / cos(2 omega h / c_s).
"""

from collections.abc import Iterator
from math import cos, pi
from typing import NamedTuple

import numpy as np

from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.free_surface.oscillations import SOUND, Wave, WaveRegion
from muphy_lb.validation.plot import Plot, Series

WAVE = Wave(128, 2.0, 0.005, gravity=5e-5)
STRENGTHS, QUICK_STRENGTHS, PERIODS, QUICK_PERIODS, SAMPLES = (0.05, 0.07, 0.1), (0.1,), 6.0, 3.0, 40
THRESHOLD, SLOPE, GROWTH = 0.05, 0.1, 1.5e-3  # relative; of the rate of growth over omega, a tenth of the damping
N_HARMONICS = 5


class Shaking(NamedTuple):
    """The linear theory of a channel that is shaken upright."""

    wave: Wave

    @property
    def by_sound(self) -> float:
        """The factor by which the force at the surface is larger."""
        return 1.0 / cos(2.0 * self.wave.frequency * self.wave.depth / SOUND)

    def strength(self, growth: float) -> float:
        """The least e with which the wave grows by a rate, over its frequency."""
        wave, orders = self.wave, np.arange(-N_HARMONICS, N_HARMONICS)
        own = wave.number**2 * wave.gravity
        rates = wave.frequency * (growth + 1j * (2.0 * orders + 1.0))
        inverse = 1.0 / (np.array([self._stress(rate) for rate in rates]) + own)
        coupling = 0.5j * own * (np.eye(orders.size, k=-1) - np.eye(orders.size, k=1))
        found = 1.0 / np.linalg.eigvals(inverse[:, None] * coupling)
        is_real = (np.abs(found.imag) < 1e-6 * np.abs(found)) & (found.real > 0.0)
        return float(found[is_real].real.min()) / self.by_sound

    def _stress(self, s: complex) -> complex:
        """(s + 3 nu k^2) w' less nu times the third derivative, at a surface of unit elevation."""
        k, nu, depth = self.wave.number, self.wave.viscosity, self.wave.depth
        rate = np.array([k, np.sqrt(k**2 + s / nu)])
        slope, far = np.concatenate((rate, -rate)), np.exp(-rate * depth)
        # Those that grow upwards are 1 at the surface, the others at the floor.
        surface, floor = np.concatenate(([1.0, 1.0], far)), np.concatenate((far, [1.0, 1.0]))
        conditions = np.array([surface, (slope**2 + k**2) * surface, floor, slope * floor])
        parts = np.linalg.solve(conditions, np.array([s, 0.0, 0.0, 0.0])) * surface
        return (s + 3.0 * nu * k**2) * (parts @ slope) - nu * (parts @ slope**3)


@case(
    "surface-faraday",
    "threshold and growth of waves in a channel shaken upright: linear viscous theory after Kumar, Tuckerman, J. Fluid"
    " Mech. 279, 49 (1994), with the layer of the floor and the sound of the lattice, derived again",
)
def surface_faraday(settings: Settings) -> Iterator:
    """Growth of a standing wave under a gravity that swings with twice its frequency."""
    liquids.refuse(settings)
    theory, strengths = Shaking(WAVE), QUICK_STRENGTHS if settings.quick else STRENGTHS
    rates = [_growth(each, QUICK_PERIODS if settings.quick else PERIODS, settings) for each in strengths]
    grid = np.linspace(-0.01, 0.02, 31)
    exact = np.interp(strengths, [theory.strength(rate) for rate in grid], grid)
    for strength, rate, expected in zip(strengths, rates, exact, strict=True):
        yield absolute(f"e = {strength:g}: rate of growth over omega", float(expected), rate, GROWTH)
    if settings.quick:
        yield "quick: one strength of shaking, half of the periods, and no threshold"
        return
    slope, offset = np.polyfit(strengths, rates, 1)
    yield relative("threshold of e", theory.strength(0.0), -offset / slope, THRESHOLD)
    of_theory = float(np.polyfit(strengths, exact, 1)[0])
    yield relative("slope of the growth over e", of_theory, slope, SLOPE)
    line = Series("linear theory", np.array(strengths), exact)
    computed = Series("computed", np.array(strengths), np.array(rates), "points")
    yield Plot("Faraday waves", "e", "rate of growth over omega", (line, computed))


def _growth(strength: float, periods: float, settings: Settings) -> float:
    """Rate of growth over omega; the shaking has the phase that feeds a wave which starts at rest."""
    geometry = {"shape": "channel", "options": {"length": WAVE.length, "height": round(1.25 * WAVE.depth)}}
    wave = {"period_s": pi / WAVE.frequency, "mean": 0.0, "sine": [1.0]}
    shaking = {"acceleration_m_s2": [0.0, -WAVE.gravity * strength, 0.0], "waveform": wave}
    gravity, more = (0.0, -WAVE.gravity, 0.0), {"flow": {"accelerations": [shaking]}}
    simulation = liquids.liquid_flow(settings, geometry, WAVE.viscosity, gravity, **more)
    level = WAVE.depth + 0.5  # the channel's lower plate is a layer of voxels
    region = WaveRegion(np.zeros(3), level, WAVE)
    liquids.fill_with(simulation, region, lambda place: 3.0 * WAVE.gravity * np.maximum(level - place[:, 1], 0.0))
    shape = 2.0 / WAVE.length * np.cos(WAVE.number * (np.arange(WAVE.length) + 0.5))
    found, interval = [], round(2.0 * pi / WAVE.frequency / SAMPLES)
    for _ in range(round(SAMPLES * periods)):
        simulation.step(interval)
        found.append(shape @ liquids.columns(simulation))
    time = interval * np.arange(1.0, len(found) + 1.0)
    return -liquids.damped_oscillation(time, np.array(found), WAVE.frequency, 0.0)[1] / WAVE.frequency
