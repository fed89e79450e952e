"""The first bifurcation of the heated cube: below its Rayleigh number all disturbances die out, above it one grows.

The flow is symmetric: a mirror, y to -y, and a reflection through the centre that also swaps hot and cold leave it as
it is. Small disturbances that break a symmetry evolve by themselves, each sort apart from the others and from what the
flow, still coming to rest, does symmetrically. So a kick is given to the symmetric flow, the sorts are told apart by
comparing four points that the symmetries make one, and the rate at which the leading oscillation of each sort grows
is fitted. Where it vanishes, between two Rayleigh numbers, is the threshold.

Near the threshold the leading oscillations, which break the mirror, take 120 and 180 free falls and change by some
thousandths a free fall; what dies out sooner must be gone first. So the kick is given on the second last grid, and what
is left of each sort goes on to the last as large as the kick was. What breaks the centre alone soon is only what those
two make of each other, at second order: it is told, not judged.
"""

from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from muphy_lb.physics.thermal.model import NAME as TEMPERATURE
from muphy_lb.physics.thermal.studies.heated_cavity import Cavity, cavity_of, free_fall, heated_simulation
from muphy_lb.physics.thermal.studies.reference_values import BIFURCATION
from muphy_lb.studies.validation.growth import Growth, growth_of
from muphy_lb.studies.validation.plot import Plot, Series
from muphy_lb.studies.validation.record import Row, Validation, absolute, at_least, at_most, shown
from muphy_lb.studies.validation.settings import DEFAULT, Settings

CITATION = "Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): first bifurcation of the cube on 256^3"
RAYLEIGHS, GRIDS = (3.19e7, 3.26e7), (64, 128, 256)
QUICK_RAYLEIGHS, QUICK_GRIDS = (1e5,), (6, 8, 12)
INTERVAL = 0.4  # of samples, in times of a free fall along the edge
KICK, KICK_WAVES = 1e-3, (10, 6, 9)  # part of the difference of the walls; highest waves along x, y, z
PLACES = ((0.5, 0.75, 0.9, 0.97), (0.06, 0.2, 0.4), (0.015, 0.04, 0.1, 0.3))  # along z, y, x, parts of the edge
SYMMETRIC = (1, -1)
# How the temperature changes under the mirror and under the reflection in what breaks ...
SORTS = {"the mirror": (-1, -1), "the mirror and the centre": (-1, 1), "the centre": (1, 1)}
LEADING = 2  # of them, the first


@dataclass(frozen=True)
class Course:
    """How long, in times of a free fall: coming to rest on each grid but the last two, kicked on the second last, and
    on the last; from when on growth is fitted there."""

    rested: int
    kicked: int
    last: int
    fitted_from: int


LONG, QUICK = Course(200, 250, 400, 150), Course(50, 20, 40, 10)


@dataclass(frozen=True)
class Kicked:
    """What became of a kick.

    Attributes:
        rayleigh, size: of the cube.
        falls: (n,) when, in times of a free fall along the edge.
        signals: (3, n, m) what breaks the symmetries of ``SORTS``, at m places.
        growths: of the three, per free fall.
    """

    rayleigh: float
    size: int
    falls: np.ndarray
    signals: np.ndarray
    growths: tuple[Growth, ...]

    @property
    def fastest(self) -> Growth:
        """Of what breaks the mirror and grows fastest, or dies out slowest."""
        return max(self.growths[:LEADING], key=lambda growth: growth.rate)


def heated_bifurcation(settings: Settings = DEFAULT) -> Validation:
    """Growth just below and just above the threshold: an hour and more on one card, less on several."""
    if settings.precision != "fp64":
        return Validation("heated-bifurcation", CITATION, skipped="needs fp64: others round small disturbances away")
    rayleighs, grids = (QUICK_RAYLEIGHS, QUICK_GRIDS) if settings.quick else (RAYLEIGHS, GRIDS)
    course = QUICK if settings.quick else LONG
    runs = [kicked(rayleigh, grids, settings, course) for rayleigh in rayleighs]
    rows = [row for run in runs for row in _rows(run)]
    if len(runs) == 2:
        rows.append(shown("Rayleigh number of no growth, in between", BIFURCATION, threshold(*runs)))
    return Validation("heated-bifurcation", CITATION, tuple(rows), plots=tuple(map(_plot, runs)))


def threshold(below: Kicked, above: Kicked) -> float:
    """Rayleigh number at which the growth of what leads above would vanish if it changed evenly between two."""
    leads = above.growths.index(above.fastest)
    rates = [run.growths[leads].rate for run in (below, above)]
    return float(np.interp(0.0, rates, (below.rayleigh, above.rayleigh)))


def kicked(rayleigh: float, grids, settings: Settings, course: Course) -> Kicked:
    """Come to rest on the coarser grids, kick on the second last, and watch on the last; collective.

    Only what is symmetric goes on from the coarser grids: 64^3 nodes are unsteady by themselves at these Rayleigh
    numbers.

    Raises:
        DivergedError: a grid is too coarse.
    """
    *coarser, size = grids
    cavity = None
    for grid in coarser[:-1]:
        cavity = part(_after(rayleigh, grid, settings, cavity, course.rested), SYMMETRIC)
    start = replace(cavity, temperature=cavity.temperature + disturbance(cavity.temperature.shape[0]))
    start = raised(_after(rayleigh, coarser[-1], settings, start, course.kicked))
    simulation, diffusivity = heated_simulation(rayleigh, size, settings, start=start)
    fall = free_fall(rayleigh, size, diffusivity)
    every = max(1, round(INTERVAL * fall))
    signals = _watch(simulation, size, every, round(course.last / INTERVAL))
    falls = np.arange(1, signals.shape[1] + 1) * every / fall
    late = falls > course.fitted_from
    return Kicked(rayleigh, size, falls, signals, tuple(growth_of(of[late], every / fall) for of in signals))


def _after(rayleigh: float, size: int, settings: Settings, start: Cavity | None, n_falls: int) -> Cavity:
    """What a flow has come to after so many free falls."""
    simulation, diffusivity = heated_simulation(rayleigh, size, settings, start=start)
    simulation.step(round(n_falls * free_fall(rayleigh, size, diffusivity)))
    simulation.health()
    return cavity_of(simulation, diffusivity)


def part(cavity: Cavity, signs: tuple[int, int]) -> Cavity:
    """Of all fields the part that the mirror and the reflection multiply by these signs, as to the temperature."""
    mirror, centre = signs

    def of(values, centre, components=1.0):
        values = 0.5 * (values + mirror * values[:, ::-1] * components)
        return 0.5 * (values + centre * values[::-1, ::-1, ::-1])

    return replace(
        cavity,
        temperature=of(cavity.temperature, centre),
        velocity=of(cavity.velocity, centre, np.array([1.0, -1.0, 1.0])),
        pressure=of(cavity.pressure, -centre),
    )


def raised(cavity: Cavity) -> Cavity:
    """The symmetric part, and each sort of disturbance with a temperature of at most ``KICK``."""
    parts, factors = [part(cavity, SYMMETRIC)], [1.0]
    for signs in SORTS.values():
        parts.append(part(cavity, signs))
        factors.append(KICK / np.abs(parts[-1].temperature).max())

    def summed(name):
        return sum(factor * getattr(of, name) for factor, of in zip(factors, parts, strict=True))

    return replace(cavity, **{name: summed(name) for name in ("temperature", "velocity", "pressure")})


def disturbance(size: int) -> np.ndarray:
    """(size, size, size) temperature of at most ``KICK``: waves of every symmetry that vanish at the hot and the cold
    wall."""
    x = np.pi * (np.arange(size) + 0.5) / size
    n_x, n_y, n_z = KICK_WAVES
    waves = [np.array([np.sin(k * x) / np.sqrt(k) for k in range(1, n_x + 1)])]
    waves += [np.array([np.cos(k * x) for k in range(n)]) for n in (n_y, n_z)]
    amplitudes = np.random.default_rng(7).standard_normal(KICK_WAVES)
    values = np.einsum("kmn,kx,my,nz->zyx", amplitudes, *waves, optimize=True)
    return KICK * values / np.abs(values).max()


def _watch(simulation, size: int, every: int, n_samples: int) -> np.ndarray:
    """(3, n, m) what breaks the symmetries, every so many steps; collective."""
    points = np.array([[int(part * size) for part in place] for place in product(*PLACES)])
    mirrored = np.where([False, True, False], size - 1 - points, points)
    orbit = np.array([points, mirrored, size - 1 - points, size - 1 - mirrored])
    z, y, x = np.moveaxis(orbit, -1, 0)
    voxel = np.ravel_multi_index((z, y, x + 1), simulation.outline.shape)  # walls are voxels at both ends of x
    wanted, place = np.unique(voxel, return_inverse=True)
    probe, told = simulation.node_probe(wanted), []
    for _ in range(n_samples):
        simulation.step(every)
        state = probe.stored()
        if state is not None:
            told.append(state.fields[TEMPERATURE][place.reshape(voxel.shape)])
    told = simulation.communicator.broadcast(np.array(told))
    weights = np.array([(1, mirror, centre, mirror * centre) for mirror, centre in SORTS.values()])
    return np.einsum("sp,npm->snm", weights, told) / 4.0


def _rows(run: Kicked) -> list[Row]:
    what = f"Ra {run.rayleigh:.3g}, {run.size}^3, per free fall"
    judged = at_most if run.rayleigh < BIFURCATION else at_least
    told = [(f"growth, breaks {name}", growth.rate) for name, growth in zip(SORTS, run.growths, strict=True)]
    told += [("spread of the fits", run.fastest.spread), ("oscillations", run.fastest.frequency)]
    rows = [judged(f"{what}: fastest growth", 0.0, run.fastest.rate, 0.0)]
    return rows + [absolute(f"{what}: {name}", 0.0, value, inf) for name, value in told]


def _plot(run: Kicked) -> Plot:
    title = f"Kicked cube, Ra = {run.rayleigh:.2e}"
    series = tuple(
        Series(f"breaks {name}", run.falls, np.sqrt((of**2).mean(axis=1)))
        for name, of in zip(SORTS, run.signals, strict=True)
    )
    return Plot(title, "time / free fall", "root mean square of the temperature", series, log_y=True)
