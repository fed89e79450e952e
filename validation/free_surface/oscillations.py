"""Oscillations of a liquid: standing waves by gravity and surface tension, a tilted tank, a column on a cushion of gas.

For waves of small amplitude a = a_0 cos(k x) on a liquid of great depth, initially at rest, the linearised equations of
Navier and Stokes give the Laplace transform of the amplitude

    a(s) = (a_0 / s) E / (E + omega_0^2),   E = (s + 2 nu k^2)^2 - 4 nu^2 k^3 (k^2 + s / nu)^(1/2),

which is the solution of Prosperetti, Phys. Fluids 19, 195 (1976). It is derived here again from the kinematic condition
and the two of vanishing stress, and stands for a depth h with omega_0^2 = (g k + sigma k^3 / rho) tanh(k h).

On less depth the layer of liquid that sticks to the floor damps a wave as well, and slows it by as much: by
b = k (nu omega_0 / 2)^(1/2) / sinh(2 k h), the friction of Stokes' layer below the velocity of the wave at the floor
(own derivation, to the first order in the thickness of the layer).

A standing wave of the amplitude a on a deep liquid swings slower by a share of (k a)^2 of its frequency: 1/8 by gravity
and 17/64 by surface tension, computed with potential flow expanded to fifth order in the elevation: 0.119 and 0.265 at
k a = 0.1, the latter 0.262 at 0.2. There a^2 is taken as its mean over the time of the fit.

The liquid of a tank that is tilted a little, at once, swings about the new level with the natural frequency. The
gravest of the antisymmetric modes of a rectangular tank of length L and depth h has the shape cos(k x), k = pi / L, and
omega^2 = g k tanh(k h). The gravity of the tilted tank is turned by the key ``flow.turn`` of the case.

A column of length L and density rho that moves as a whole on gas of the absolute pressure p_0, enclosed at height H,
oscillates with

    omega^2 = gamma p_0 / (rho H L),

if the gas keeps p V^gamma and the pressure on the other side stays; with gas of height H' enclosed there, too, 1 / H is
replaced by 1 / H + 1 / H'. The liquid of the lattice is compressible: with its speed of sound c_s the frequency is that
of an elastic bar on a spring, rho omega c_s tan(omega L / c_s) = gamma p_0 / H.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, inf, pi, sinh, sqrt, tan, tanh
from typing import NamedTuple

import numpy as np

from muphy_lb.physics.free_surface.bubbles import VOXEL
from muphy_lb.physics.free_surface.start import Region
from muphy_lb.validation.case import Settings, absolute, at_least, at_most, case, relative, shown
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.plot import Plot, Series


class Wave(NamedTuple):
    """A standing wave in a box of its length."""

    length: int  # wavelength
    amplitude: float  # at the start
    viscosity: float  # kinematic
    gravity: float = 0.0  # downwards
    tension: float = 0.0  # of the surface
    depth_number: float = pi  # wave number times depth: half of the length

    @property
    def depth(self) -> float:
        """Depth of the liquid at rest."""
        return self.depth_number / self.number

    @property
    def number(self) -> float:
        """Wave number k."""
        return 2.0 * pi / self.length

    @property
    def frequency(self) -> float:
        """Angular frequency without viscosity."""
        k = self.number
        return sqrt((self.gravity * k + self.tension * k**3) * tanh(k * self.depth))

    @property
    def damping(self) -> float:
        """Rate of decay of a wave of small viscosity."""
        return 2.0 * self.viscosity * self.number**2

    @property
    def floor(self) -> float:
        """Rate b by which the layer at the floor damps and slows the wave."""
        return self.number * sqrt(0.5 * self.viscosity * self.frequency) / sinh(2.0 * self.depth_number)

    def amplitudes(self, time: np.ndarray) -> np.ndarray:
        """(n,) amplitude over that of the start at times (n,) > 0, by Prosperetti's solution."""
        return liquids.from_laplace(self.transform, time)

    def transform(self, s: np.ndarray) -> np.ndarray:
        """Laplace transform of the amplitude over that of the start."""
        nu, k = self.viscosity, self.number
        of_stress = (s + 2.0 * nu * k**2) ** 2 - 4.0 * nu**2 * k**3 * np.sqrt(k**2 + s / nu)
        return of_stress / (s * (of_stress + self.frequency**2))


@dataclass(frozen=True)
class WaveRegion(Region):
    """The liquid below a cosine along x."""

    height: float
    wave: Wave

    def distance(self, place):
        """Distance from the surface, to first order in it."""
        phase, steepness = self.wave.number * (place[:, 0] + 0.5), self.wave.number * self.wave.amplitude
        above = place[:, 1] - self.height - self.wave.amplitude * np.cos(phase)
        return above / np.sqrt(1.0 + (steepness * np.sin(phase)) ** 2)


def amplitudes(wave: Wave, settings: Settings, n_samples: int, interval: int) -> np.ndarray:
    """(n_samples,) amplitude of a wave, over that of the start, every ``interval`` steps from the first interval on."""
    height = round(wave.depth + 2.0 * wave.amplitude + 4.0)
    geometry = {"shape": "channel", "options": {"length": wave.length, "height": height}}
    simulation = liquids.liquid_flow(
        settings, geometry, wave.viscosity, (0.0, -wave.gravity, 0.0), tension=wave.tension
    )
    level = wave.depth + 0.5  # the channel's lower plate is a layer of voxels
    region = WaveRegion(np.zeros(3), level, wave)
    liquids.fill_with(simulation, region, lambda place: 3.0 * wave.gravity * np.maximum(level - place[:, 1], 0.0))
    shape = 2.0 / wave.length * np.cos(wave.number * (np.arange(wave.length) + 0.5))
    found = []
    for _ in range(n_samples):
        simulation.step(interval)
        found.append(shape @ liquids.columns(simulation))
    return np.array(found) / wave.amplitude


GRAVITY_WAVES = (Wave(64, 2.0, 0.01, gravity=1e-4), Wave(128, 4.0, 0.01, gravity=5e-5))
CAPILLARY_WAVES = (Wave(64, 2.0, 0.01, tension=1e-2), Wave(128, 4.0, 0.01, tension=1e-2))
SHALLOW_WAVES = (
    *(Wave(64, 1.0, nu, gravity=1e-4, depth_number=1.6) for nu in (1e-3, 4e-3)),
    *(Wave(64, 0.5, nu, gravity=1e-4, depth_number=0.8) for nu in (1e-3, 4e-3)),
    Wave(128, 2.0, 1e-3, gravity=5e-5, depth_number=1.6),
    Wave(128, 1.0, 4e-3, gravity=5e-5, depth_number=0.8),
)
PERIODS, SAMPLES_PER_PERIOD = 3, 40
OMEGA, DAMPING, FROM_THEORY, CAPILLARY_TOLERANCE = (0.94, 1.01), 0.15, 0.01, 0.03
OF_GRAVITY, OF_TENSION = 1 / 8, 17 / 64  # share of the frequency by which waves swing slower, over (k a)^2


@case(
    "surface-waves",
    "omega^2 = (g k + sigma k^3 / rho) tanh(k h) and damping 2 nu k^2: Lamb, Hydrodynamics, sections 228, 266, 348;"
    " amplitude over time: Prosperetti, Phys. Fluids 19, 195 (1976), derived again for the small amplitudes of a deep"
    " liquid",
)
def surface_waves(settings: Settings) -> Iterator:
    """Frequency and damping of standing waves by gravity, and by surface tension."""
    liquids.refuse(settings)
    for wave in GRAVITY_WAVES[: 1 if settings.quick else None] + (() if settings.quick else CAPILLARY_WAVES):
        omega, damping, theory, far, plot = _measured(wave, settings)
        what = f"{'gravity' if wave.gravity else 'tension'}, wavelength {wave.length}: "
        if wave.gravity:
            low, high = OMEGA
            yield at_least(f"{what}omega / sqrt(g k tanh k h), least", low, omega, 0.0)
            yield at_most(f"{what}omega / sqrt(g k tanh k h), most", high, omega)
            yield relative(f"{what}damping / 2 nu k^2, beside Prosperetti", theory[1], damping, DAMPING)
            yield absolute(f"{what}omega less Prosperetti's", 0.0, omega - theory[0], FROM_THEORY)
        else:
            yield relative(f"{what}omega^2 over Prosperetti's", 1.0, (omega / theory[0]) ** 2, CAPILLARY_TOLERANCE)
            yield shown(f"{what}omega^2 rho / sigma k^3 tanh k h", 1.0, omega**2)
        yield shown(f"{what}omega, beside Prosperetti", theory[0], omega)
        if wave.tension:
            yield shown(f"{what}damping, beside Prosperetti", theory[1], damping)
        yield shown(f"{what}rms difference from Prosperetti's amplitude, of 0.1", 0.1, far)
        yield plot
    if settings.quick:
        yield "quick: waves by surface tension, on less depth, and a second wavelength, take minutes"
        return
    for wave in SHALLOW_WAVES:
        interval = round(2.0 * pi / wave.frequency / SAMPLES_PER_PERIOD)
        computed = amplitudes(wave, settings, PERIODS * SAMPLES_PER_PERIOD, interval)
        time, slowed = interval * np.arange(1.0, computed.size + 1.0), wave.frequency - wave.floor
        decay = wave.damping + wave.floor
        omega, damping = liquids.damped_oscillation(time, computed, wave.frequency, decay)
        what = f"gravity, wavelength {wave.length}, k h = {wave.depth_number:g}, viscosity {wave.viscosity:g}: "
        yield relative(f"{what}omega / (omega_0 - b)", 1.0, omega / slowed, FROM_THEORY)
        yield relative(f"{what}damping / (2 nu k^2 + b)", 1.0, damping / decay, DAMPING)


def _measured(wave: Wave, settings: Settings) -> tuple[float, float, tuple[float, float], float, Plot]:
    """(frequency over that without viscosity, damping over 2 nu k^2, both of Prosperetti's solution fitted at the same
    times, the former for the amplitude of the wave, root mean square of the difference of both amplitudes over that of
    the start, plot) of some periods."""
    interval = round(2.0 * pi / wave.frequency / SAMPLES_PER_PERIOD)
    periods = 1 if settings.quick else PERIODS
    computed = amplitudes(wave, settings, periods * SAMPLES_PER_PERIOD, interval)
    time = interval * np.arange(1.0, computed.size + 1.0)
    exact = wave.amplitudes(time)
    fits = [
        np.array(liquids.damped_oscillation(time, each, wave.frequency, wave.damping)) for each in (computed, exact)
    ]
    (omega, damping), (linear, decay) = (each / (wave.frequency, wave.damping) for each in fits)
    slower = (OF_GRAVITY if wave.gravity else OF_TENSION) * (wave.number * wave.amplitude) ** 2
    theory = linear * (1.0 - 2.0 * slower * float((exact**2).mean())), decay
    far = sqrt(((computed - exact) ** 2).mean())
    periods_of_time = time * wave.frequency / (2.0 * pi)
    lines = Series("Prosperetti", periods_of_time, exact), Series("computed", periods_of_time, computed, "points")
    by = "gravity" if wave.gravity else "surface tension"
    plot = Plot(
        f"Standing wave by {by}, wavelength {wave.length}", "periods", "amplitude over that of the start", lines
    )
    return omega, damping, theory, far, plot


TANK_VISCOSITY, ANGLE_RAD, TANK_TOLERANCE, TOLERANCE_OF_LEVEL = 0.005, 0.1, 0.03, 0.02
COARSE = 0.1, 0.05  # the same of a tank of 24 voxels
MASS = {"fp64": 1e-12, "fp32": 1e-6}
TANK_PERIODS, QUICK_TANK_PERIODS, TANK_SAMPLES = 3.0, 1.5, 40


class TiltedTank(NamedTuple):
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


@case("surface-sloshing", "omega^2 = g k tanh(k h), k = pi / L: Lamb, Hydrodynamics, sections 228 and 257")
def surface_sloshing(settings: Settings) -> Iterator:
    """Natural frequency of the liquid in a tank that is tilted, and the level about which it swings."""
    liquids.refuse(settings)
    for tank in QUICK_TANKS if settings.quick else TANKS:
        geometry = {"shape": liquids.TANK, "options": {"length": tank.length, "height": round(1.3 * tank.depth + 8.0)}}
        more = {"liquid": ({"level_m": tank.depth - 0.5},), "flow": {"turn": {"angle_rad": ANGLE_RAD}}}
        simulation = liquids.liquid_flow(settings, geometry, TANK_VISCOSITY, (0.0, -tank.gravity, 0.0), **more)
        before, swings = liquids.mass(simulation).sum(), []
        interval = round(2.0 * pi / tank.frequency / TANK_SAMPLES)
        for _ in range(round(TANK_SAMPLES * (QUICK_TANK_PERIODS if settings.quick else TANK_PERIODS))):
            simulation.step(interval)
            swings.append(tank.mode @ liquids.columns(simulation))
        values, time = np.array(swings), interval * np.arange(1.0, len(swings) + 1.0)
        omega, damping = liquids.damped_oscillation(time, values, tank.frequency, 0.01 * tank.frequency)
        inclined = tan(ANGLE_RAD) * float(tank.mode @ np.arange(tank.length))
        what = f"L = {tank.length}, h = {tank.depth}: "
        found = liquids.natural_frequency(omega, damping) / tank.frequency
        middle = liquids.middle_of_oscillation(time, values, omega, damping)
        change = liquids.mass(simulation).sum() / before - 1.0
        of_frequency, of_level = COARSE if settings.quick else (TANK_TOLERANCE, TOLERANCE_OF_LEVEL)
        yield relative(f"{what}omega / sqrt(g k tanh k h)", 1.0, found, of_frequency)
        yield relative(f"{what}middle of the swings over the tilted level", 1.0, middle / inclined, of_level)
        yield absolute(f"{what}relative change of mass", 0.0, change, MASS[settings.precision])
        periods = time * tank.frequency / (2.0 * pi)
        undamped = Series("without viscosity", periods, inclined * (1.0 - np.cos(tank.frequency * time)))
        lines = undamped, Series("computed", periods, values, "points")
        yield Plot(f"Tilted tank, depth {tank.depth}", "periods", "amplitude of the mode [voxels]", lines)
    if settings.quick:
        yield "quick: a coarse tank, one depth, and half of the periods"


WIDTH, SPRING_VISCOSITY, SPEED, PRESSURE = 8, 0.02, 4e-3, 0.01
SOUND = 1.0 / sqrt(3.0)
SPRING_PERIODS, SPRING_SAMPLES = 2.5, 60
AS_A_WHOLE, AS_A_BAR, GROWTH = 0.05, 0.01, 5e-4


class Spring(NamedTuple):
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
        """Frequency of a column that moves as a whole."""
        return sqrt(self.stiffness / self.length)

    @property
    def frequency_of_bar(self) -> float:
        """Frequency of a compressible column with a constant pressure above it."""
        length, omega = self.length, self.frequency
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
    simulation = liquids.liquid_flow(
        settings, geometry, SPRING_VISCOSITY, liquid=[column], surface={"bubbles": bubbles}
    )
    (bubbles,) = simulation.engine.model.actions
    found = []
    for _ in range(n_samples):
        simulation.step(interval)
        found.append(bubbles.regions.volume[0] / VOXEL / WIDTH)
    return np.array(found)


@case(
    "surface-gas-spring",
    "omega^2 = gamma p_0 / (rho H L), a mass on the spring of an enclosed gas: derived in the module",
)
def surface_gas_spring(settings: Settings) -> Iterator:
    """Frequency of a column of liquid on enclosed gas."""
    liquids.refuse(settings)
    for spring in SPRINGS[: 1 if settings.quick else None]:
        interval = round(2.0 * pi / spring.frequency / SPRING_SAMPLES)
        height = volumes(spring, settings, interval, round(SPRING_PERIODS * SPRING_SAMPLES))
        time = interval * np.arange(1.0, height.size + 1.0)
        found, damping = liquids.damped_oscillation(time, height, spring.frequency, 1e-2 * spring.frequency)
        omega = liquids.natural_frequency(found, damping)
        where = "on one side" if spring.above == inf else "on both sides"
        what = f"gamma {spring.gamma:g}, gas {where}: "
        yield relative(f"{what}omega / that of a rigid column", 1.0, omega / spring.frequency, AS_A_WHOLE)
        if spring.above == inf:
            what_bar, bar = "that of a compressible column", spring.frequency_of_bar
            yield relative(f"{what}omega / {what_bar}", 1.0, omega / bar, AS_A_BAR)
        yield absolute(f"{what}rate of decay / omega", 0.0, damping / omega, GROWTH)
        line = Series("computed", time * spring.frequency / (2.0 * pi), height / spring.below, "points")
        axes = "periods of a rigid column", "height of the cushion over that of the start"
        yield Plot(f"Column on a gas, gamma {spring.gamma:g}, {where}", *axes, (line,))
    if settings.quick:
        yield "quick: another exponent, and gas on both sides"
