"""A tank that is tilted a little, at once: its liquid swings about the new level with the natural frequency.

The gravest of the antisymmetric modes of a rectangular tank of length L and depth h has the shape cos(k x), k = pi / L,
and omega^2 = g k tanh(k h). The gravity of the tilted tank is turned by the key ``flow.turn`` of the case.
"""

from dataclasses import dataclass
from math import cos, pi, sqrt, tan, tanh

import numpy as np

from muphy_lb.validation.free_surface.liquids import (
    TANK,
    columns,
    damped_oscillation,
    liquid_flow,
    mass,
    middle_of_oscillation,
    natural_frequency,
    skipped,
)
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Row, Validation, absolute, relative
from muphy_lb.validation.settings import DEFAULT, Settings

NAME = "surface-sloshing"
CITATION = "omega^2 = g k tanh(k h), k = pi / L: Lamb, Hydrodynamics, sections 228 and 257"
VISCOSITY, ANGLE_RAD = 0.005, 0.1
TOLERANCE, TOLERANCE_OF_LEVEL = 0.03, 0.02
COARSE = 0.1, 0.05
"""The same of a tank of 24 voxels."""
MASS = {"fp64": 1e-12, "fp32": 1e-6}
PERIODS, QUICK_PERIODS, SAMPLES_PER_PERIOD = 3.0, 1.5, 40


@dataclass(frozen=True)
class TiltedTank:
    """A tank of some ``length``, filled to some ``depth``, and its ``gravity``."""

    length: int
    depth: int
    gravity: float

    @property
    def frequency(self) -> float:
        """Angular frequency of the gravest mode without viscosity."""
        k = pi / self.length
        return sqrt(self.gravity * cos(ANGLE_RAD) * k * tanh(k * self.depth))

    @property
    def mode(self) -> np.ndarray:
        """(length,) shape of the mode, by which columns are projected on it."""
        return 2.0 / self.length * np.cos(pi / self.length * (np.arange(self.length) + 0.5))


TANKS = TiltedTank(128, 64, 5e-5), TiltedTank(128, 32, 5e-5)
QUICK_TANKS = (TiltedTank(24, 12, 4e-4),)


def surface_sloshing(settings: Settings = DEFAULT) -> Validation:
    """Natural frequency of the liquid in a tank that is tilted, and the level about which it swings."""
    refused = skipped(NAME, CITATION, settings)
    if refused:
        return refused
    rows, plots = [], []
    for tank in QUICK_TANKS if settings.quick else TANKS:
        found, plot = _swung(tank, settings)
        rows += found
        plots.append(plot)
    left_out = ("quick: a coarse tank, one depth, and half of the periods",) if settings.quick else ()
    return Validation(NAME, CITATION, tuple(rows), plots=tuple(plots), left_out=left_out)


def _swung(tank: TiltedTank, settings: Settings) -> tuple[list[Row], Plot]:
    geometry = {"shape": TANK, "options": {"length": tank.length, "height": round(1.3 * tank.depth + 8.0)}}
    more = {"liquid": ({"level_m": tank.depth - 0.5},), "flow": {"turn": {"angle_rad": ANGLE_RAD}}}
    simulation = liquid_flow(settings, geometry, VISCOSITY, (0.0, -tank.gravity, 0.0), **more)
    before = mass(simulation).sum()
    interval = round(2.0 * pi / tank.frequency / SAMPLES_PER_PERIOD)
    swings = []
    for _ in range(round(SAMPLES_PER_PERIOD * (QUICK_PERIODS if settings.quick else PERIODS))):
        simulation.step(interval)
        swings.append(tank.mode @ columns(simulation))
    values, time = np.array(swings), interval * np.arange(1.0, len(swings) + 1.0)
    omega, damping = damped_oscillation(time, values, tank.frequency, 0.01 * tank.frequency)
    inclined = tan(ANGLE_RAD) * float(tank.mode @ np.arange(tank.length))
    what = f"L = {tank.length}, h = {tank.depth}: "
    found = natural_frequency(omega, damping) / tank.frequency
    middle = middle_of_oscillation(time, values, omega, damping)
    change = mass(simulation).sum() / before - 1.0
    of_frequency, of_level = COARSE if settings.quick else (TOLERANCE, TOLERANCE_OF_LEVEL)
    rows = [
        relative(f"{what}omega / sqrt(g k tanh k h)", 1.0, found, of_frequency),
        relative(f"{what}middle of the swings over the tilted level", 1.0, middle / inclined, of_level),
        absolute(f"{what}relative change of mass", 0.0, change, MASS[settings.precision]),
    ]
    periods = time * tank.frequency / (2.0 * pi)
    undamped = Series("without viscosity", periods, inclined * (1.0 - np.cos(tank.frequency * time)))
    lines = undamped, Series("computed", periods, values, "points")
    return rows, Plot(f"Tilted tank, depth {tank.depth}", "periods", "amplitude of the mode [voxels]", lines)
