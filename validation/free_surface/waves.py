"""Standing waves on a liquid: their frequency and their damping, by gravity and by surface tension.

For waves of small amplitude a = a_0 cos(k x) on a liquid of great depth, initially at rest, the linearised equations of
Navier and Stokes give the Laplace transform of the amplitude

    a(s) = (a_0 / s) E / (E + omega_0^2),   E = (s + 2 nu k^2)^2 - 4 nu^2 k^3 (k^2 + s / nu)^(1/2),

which is the solution of Prosperetti, Phys. Fluids 19, 195 (1976). It is derived here anew from the kinematic condition
and the two of vanishing stress, and stands for a depth h with omega_0^2 = (g k + sigma k^3 / rho) tanh(k h).
"""

from dataclasses import dataclass
from math import pi, sqrt, tanh

import numpy as np

from muphy_lb.physics.free_surface.regions import Region
from muphy_lb.validation.free_surface.liquids import columns, damped_oscillation, fill_with, liquid_flow, skipped
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Row, Validation, absolute, at_least, at_most, relative, shown
from muphy_lb.validation.settings import DEFAULT, Settings

TALBOT_TERMS = 48


@dataclass(frozen=True)
class Wave:
    """A standing wave in a box of its length, over a depth of half of it."""

    length: int  # wavelength
    amplitude: float  # at the start
    viscosity: float  # kinematic
    gravity: float = 0.0  # downwards
    tension: float = 0.0  # of the surface

    @property
    def depth(self) -> float:
        """Of the liquid at rest."""
        return 0.5 * self.length

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

    def amplitudes(self, time: np.ndarray) -> np.ndarray:
        """(n,) amplitude over that of the start at times (n,) > 0, by Prosperetti's solution.

        The transform is inverted on Talbot's contour: Abate, Valko, Int. J. Numer. Meth. Eng. 60, 979 (2004).
        """
        theta = np.arange(1, TALBOT_TERMS) * pi / TALBOT_TERMS
        cotangent = 1.0 / np.tan(theta)
        base = 0.4 * TALBOT_TERMS / time
        bend = 1.0 + 1j * (theta + (theta * cotangent - 1.0) * cotangent)
        s = base[:, None] * theta * (cotangent + 1j)
        terms = (np.exp(time[:, None] * s) * self.transform(s) * bend).real.sum(axis=1)
        return base / TALBOT_TERMS * (0.5 * np.exp(base * time) * self.transform(base + 0j).real + terms)

    def transform(self, s: np.ndarray) -> np.ndarray:
        """Laplace transform of the amplitude over that of the start."""
        nu, k = self.viscosity, self.number
        of_stress = (s + 2.0 * nu * k**2) ** 2 - 4.0 * nu**2 * k**3 * np.sqrt(k**2 + s / nu)
        return of_stress / (s * (of_stress + self.frequency**2))


@dataclass(frozen=True)
class WaveRegion(Region):
    """All below a cosine along x."""

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
    simulation = liquid_flow(settings, geometry, wave.viscosity, (0.0, -wave.gravity, 0.0), tension=wave.tension)
    level = wave.depth + 0.5  # the channel's lower plate is a layer of voxels
    region = WaveRegion(np.zeros(3), level, wave)
    fill_with(simulation, region, lambda place: 3.0 * wave.gravity * np.maximum(level - place[:, 1], 0.0))
    shape = 2.0 / wave.length * np.cos(wave.number * (np.arange(wave.length) + 0.5))
    found = []
    for _ in range(n_samples):
        simulation.step(interval)
        found.append(shape @ columns(simulation))
    return np.array(found) / wave.amplitude


NAME = "surface-waves"
CITATION = (
    "omega^2 = (g k + sigma k^3 / rho) tanh(k h) and damping 2 nu k^2: Lamb, Hydrodynamics, sections 228, 266, 348;"
    " amplitude over time: Prosperetti, Phys. Fluids 19, 195 (1976), derived anew for the small amplitudes of a deep"
    " liquid"
)
GRAVITY_WAVES = (Wave(64, 2.0, 0.01, gravity=1e-4), Wave(128, 4.0, 0.01, gravity=5e-5))
CAPILLARY_WAVES = (Wave(64, 2.0, 0.01, tension=1e-2), Wave(128, 4.0, 0.01, tension=1e-2))
PERIODS, SAMPLES_PER_PERIOD = 3, 40
OMEGA, DAMPING, FROM_THEORY = (0.94, 1.01), (0.85, 1.2), 0.01
CAPILLARY_TOLERANCE = 0.05
NO_TENSION = "quick: waves by surface tension, and a second wavelength, take minutes"


def surface_waves(settings: Settings = DEFAULT) -> Validation:
    """Frequency and damping of standing waves by gravity, and by surface tension."""
    refused = skipped(NAME, CITATION, settings)
    if refused:
        return refused
    rows, plots = [], []
    for wave in GRAVITY_WAVES[: 1 if settings.quick else None]:
        found, plot = _measured(wave, settings)
        what = f"gravity, wavelength {wave.length}: "
        rows += within(f"{what}omega / sqrt(g k tanh k h)", OMEGA, found.omega)
        rows += within(f"{what}damping / 2 nu k^2", DAMPING, found.damping)
        rows.append(absolute(f"{what}omega less Prosperetti's", 0.0, found.omega - found.theory[0], FROM_THEORY))
        rows += _beside_theory(what, found)
        plots.append(plot)
    for wave in () if settings.quick else CAPILLARY_WAVES:
        found, plot = _measured(wave, settings)
        what = f"tension, wavelength {wave.length}: "
        rows.append(relative(f"{what}omega^2 rho / sigma k^3 tanh k h", 1.0, found.omega**2, CAPILLARY_TOLERANCE))
        rows += _beside_theory(what, found)
        plots.append(plot)
    left_out = (NO_TENSION,) if settings.quick else ()
    return Validation(NAME, CITATION, tuple(rows), plots=tuple(plots), left_out=left_out)


@dataclass(frozen=True)
class Found:
    """What was fitted to the amplitude of a wave, and to Prosperetti's solution at the same times."""

    omega: float  # frequency over that without viscosity
    damping: float  # over 2 nu k^2
    theory: tuple[float, float]  # (omega, damping) of Prosperetti's solution
    far: float  # root mean square of the difference of both amplitudes over that of the start


def _measured(wave: Wave, settings: Settings) -> tuple[Found, Plot]:
    """A wave over some periods."""
    interval = round(2.0 * pi / wave.frequency / SAMPLES_PER_PERIOD)
    periods = 1 if settings.quick else PERIODS
    computed = amplitudes(wave, settings, periods * SAMPLES_PER_PERIOD, interval)
    time = interval * np.arange(1.0, computed.size + 1.0)
    exact = wave.amplitudes(time)
    fits = [np.array(damped_oscillation(time, each, wave.frequency, wave.damping)) for each in (computed, exact)]
    (omega, damping), theory = (each / (wave.frequency, wave.damping) for each in fits)
    far = sqrt(((computed - exact) ** 2).mean())
    periods_of_time = time * wave.frequency / (2.0 * pi)
    lines = Series("Prosperetti", periods_of_time, exact), Series("computed", periods_of_time, computed, "points")
    by = "gravity" if wave.gravity else "surface tension"
    title = f"Standing wave by {by}, wavelength {wave.length}"
    return Found(omega, damping, tuple(theory), far), Plot(title, "periods", "amplitude over that of the start", lines)


def within(quantity: str, bounds: tuple[float, float], found: float) -> list[Row]:
    """Rows for a number that must be between two."""
    low, high = bounds
    return [at_least(f"{quantity}, least", low, found, 0.0), at_most(f"{quantity}, most", high, found)]


def _beside_theory(what: str, found: Found) -> list[Row]:
    """What is shown beside Prosperetti's solution."""
    omega, damping = found.theory
    return [
        shown(f"{what}omega, beside Prosperetti", omega, found.omega),
        shown(f"{what}damping, beside Prosperetti", damping, found.damping),
        shown(f"{what}rms difference from Prosperetti's amplitude, of 0.1", 0.1, found.far),
    ]
