"""A column of liquid on a cushion of gas: the frequency of its oscillation.

A column of length L and density rho that moves as a whole on gas of the absolute pressure p_0, enclosed at height H,
oscillates with

    omega^2 = gamma p_0 / (rho H L),

if the gas keeps p V^gamma and the pressure on the other side stays; with gas of height H' enclosed there, too, 1 / H is
replaced by 1 / H + 1 / H'. The liquid of the lattice is compressible: with its speed of sound c_s the frequency is that
of an elastic bar on a spring, rho omega c_s tan(omega L / c_s) = gamma p_0 / H. Without a body force the pressure of
gas acts half a link beyond the cells of a surface, so that the column is up to a voxel longer than it is.
"""

from dataclasses import dataclass
from math import inf, pi, sqrt, tan

import numpy as np

from muphy_lb.physics.free_surface.bubbles import VOXEL
from muphy_lb.validation.free_surface.liquids import damped_oscillation, liquid_flow, natural_frequency, skipped
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Row, Validation, absolute, relative
from muphy_lb.validation.settings import DEFAULT, Settings

NAME = "surface-gas-spring"
CITATION = "omega^2 = gamma p_0 / (rho H L), a mass on the spring of an enclosed gas: derived in the module"
WIDTH, VISCOSITY, SPEED = 8, 0.02, 4e-3
PRESSURE = 0.01
SOUND = 1.0 / sqrt(3.0)
PERIODS, SAMPLES_PER_PERIOD = 2.5, 60
AS_A_WHOLE, AS_A_BAR, GROWTH = 0.05, 0.01, 5e-4


@dataclass(frozen=True)
class Spring:
    """A column between two rooms of gas."""

    below: float  # below, length: heights of the cushion and of the column
    length: float
    gamma: float  # exponent of the gas
    above: float = inf  # height of the gas above, if it is enclosed; its pressure stays if infinite

    @property
    def stiffness(self) -> float:
        """Pressure for a unit of displacement."""
        return self.gamma * PRESSURE * (1.0 / self.below + 1.0 / self.above)

    @property
    def frequency(self) -> float:
        """Of a column that moves as a whole."""
        return sqrt(self.stiffness / self.length)

    @property
    def frequency_of_bar(self) -> float:
        """Of a compressible column, a voxel longer, with a constant pressure above it."""
        length, omega = self.length + 1.0, self.frequency
        for _ in range(60):
            ratio = omega * length / SOUND
            omega = sqrt(self.stiffness / length * ratio / tan(ratio))
        return omega


SPRINGS = (Spring(20.0, 20.0, 1.0), Spring(20.0, 20.0, 1.4), Spring(20.0, 20.0, 1.0, above=20.0))


def volumes(spring: Spring, settings: Settings, interval: int, n_samples: int) -> np.ndarray:
    """(n_samples,) height of the cushion every ``interval`` steps, of a column that starts downwards."""
    above = 20.0 if spring.above == inf else spring.above
    height = round(spring.below + spring.length + above) + 2
    geometry = {"shape": "channel", "options": {"length": WIDTH, "height": height}}
    low = spring.below + 0.5  # the channel's lower plate is a layer of voxels
    column = {"box_m": [[-1.0, low, -1.0], [99.0, low + spring.length, 1.0]], "velocity_m_s": [0.0, -SPEED, 0.0]}
    sky = {"atmosphere_m": [[-1.0, height - 4.0, -1.0], [99.0, 999.0, 1.0]]} if spring.above == inf else {}
    bubbles = {"pressure_pa": PRESSURE, "gamma": spring.gamma, **sky}
    simulation = liquid_flow(settings, geometry, VISCOSITY, liquid=[column], surface={"bubbles": bubbles})
    (bubbles,) = simulation.engine.model.actions
    found = []
    for _ in range(n_samples):
        simulation.step(interval)
        found.append(bubbles.regions.volume[0] / VOXEL / WIDTH)
    return np.array(found)


def surface_gas_spring(settings: Settings = DEFAULT) -> Validation:
    """Frequency of a column of liquid on enclosed gas."""
    refused = skipped(NAME, CITATION, settings)
    if refused:
        return refused
    rows, plots = [], []
    for spring in SPRINGS[: 1 if settings.quick else None]:
        more, plot = _measured(spring, settings)
        rows += more
        plots.append(plot)
    left_out = ("quick: another exponent, and gas on both sides",) if settings.quick else ()
    return Validation(NAME, CITATION, tuple(rows), plots=tuple(plots), left_out=left_out)


def _measured(spring: Spring, settings: Settings) -> tuple[list[Row], Plot]:
    """Frequency beside both theories."""
    interval = round(2.0 * pi / spring.frequency / SAMPLES_PER_PERIOD)
    height = volumes(spring, settings, interval, round(PERIODS * SAMPLES_PER_PERIOD))
    time = interval * np.arange(1.0, height.size + 1.0)
    found, damping = damped_oscillation(time, height, spring.frequency, 1e-2 * spring.frequency)
    omega = natural_frequency(found, damping)
    where = "on one side" if spring.above == inf else "on both sides"
    what = f"gamma {spring.gamma:g}, gas {where}: "
    rows = [relative(f"{what}omega / that of a rigid column", 1.0, omega / spring.frequency, AS_A_WHOLE)]
    if spring.above == inf:
        bar = spring.frequency_of_bar
        rows.append(
            relative(f"{what}omega / that of a compressible column, a voxel longer", 1.0, omega / bar, AS_A_BAR)
        )
    rows.append(absolute(f"{what}rate of decay / omega", 0.0, damping / omega, GROWTH))
    line = Series("computed", time * spring.frequency / (2.0 * pi), height / spring.below, "points")
    axes = "periods of a rigid column", "height of the cushion over that of the start"
    return rows, Plot(f"Column on a gas, gamma {spring.gamma:g}, {where}", *axes, (line,))
