"""The first bifurcation of the heated cube: below its Rayleigh number all disturbances decay, above it one grows.

The base flow is invariant under a mirror reflection, y to -y, and under a reflection through the centre that also
exchanges hot and cold. Infinitesimal disturbances that break a symmetry evolve independently, each symmetry class apart
from the others and from the symmetric transient of the base flow. So the symmetric flow is perturbed, the symmetry
classes are separated by combining four points that the symmetries map onto each other, and the growth rate of the
leading oscillation of each class is fitted. The threshold, where it vanishes, is searched
(:mod:`muphy_lb.validation.search`) and interpolated between the last two Rayleigh numbers.

Near the threshold the periods of the leading oscillations, which break the mirror symmetry, are 120 and 180 free-fall
times, and their amplitudes change by some thousandths per free-fall time; faster decaying modes must vanish first. So
the perturbation is applied on the second finest grid, and the remainder of each class is rescaled to the initial
amplitude on the finest. Disturbances that break the centre symmetry alone are soon only second-order interactions of
the other two classes: they are reported, not judged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf, pi

import numpy as np

from muphy_lb.physics.thermal.model import NAME as TEMPERATURE
from muphy_lb.validation.case import Row, Settings, Skipped, absolute, at_least, at_most, case, shown
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.search import searched
from muphy_lb.validation.thermal.heated_cavity import (
    AMPLITUDE,
    BIFURCATION,
    Cavity,
    cavity_of,
    disturbance,
    free_fall,
    heated_simulation,
)

RANKS = range(8, 21, 2)
DELAYS = 20
SHARE = 0.1  # of the largest at the end of the record: what is weaker does not lead


@dataclass(frozen=True)
class Growth:
    """Growth of the leading mode, exp(rate t) cos(2 pi frequency t): medians over ``RANKS``."""

    rate: float  # rate, frequency: per unit of time
    frequency: float
    spread: float  # half the distance between the lower and the upper quartile of the rates


def fit_growth(record: np.ndarray, interval: float) -> Growth:
    """The fastest growing mode among those with a significant amplitude at the end of a record.

    Each row with its ``DELAYS`` - 1 successors is a state; the linear map from one state to the next, restricted to the
    few directions that hold most of the record, has the modes as eigenvectors (Schmid, J. Fluid Mech. 656, 5 (2010);
    with delays Le Clainche, Vega, SIAM J. Appl. Dyn. Syst. 16, 882 (2017)). The number of directions is a free
    parameter; the median over several is returned. ``record``: (n, m) values of m signals at equal intervals, n >= 3
    ``DELAYS``; ``interval``: between rows. Raises ValueError: too few rows.
    """
    if len(record) < 3 * DELAYS:
        raise ValueError(f"a record of {len(record)} rows; give at least {3 * DELAYS}")
    states = np.concatenate([record[k : len(record) - DELAYS + 1 + k].T for k in range(DELAYS)])
    left, sizes, right = np.linalg.svd(states[:, :-1], full_matrices=False)
    known = int(np.count_nonzero(sizes > sizes[0] * np.finfo(float).eps))
    ranks = sorted({min(rank, known) for rank in RANKS})
    modes = [_leading(states, left[:, :rank], right[:rank].T / sizes[:rank]) for rank in ranks]
    exponents = np.array(modes) / interval
    low, high = np.quantile(exponents.real, (0.25, 0.75))
    medians = np.median(exponents.real), np.median(np.abs(exponents.imag)) / (2 * pi)
    return Growth(*map(float, (*medians, (high - low) / 2)))


def _leading(states, basis, weights) -> complex:
    """Logarithm of the eigenvalue of the leading mode within a basis."""
    values, vectors = np.linalg.eig(basis.T @ states[:, 1:] @ weights)
    at_end = np.abs(np.linalg.solve(vectors, basis.T @ states[:, -1])) * np.linalg.norm(vectors, axis=0)
    relevant = values[at_end > SHARE * at_end.max()]
    return np.log(complex(relevant[np.argmax(np.abs(relevant))]))


ENDS, HALF_WIDTH, GRIDS = (3.19e7, 3.26e7), 0.01e7, (64, 128, 256)
QUICK_ENDS, QUICK_GRIDS = (1e5, 1e5), (6, 8, 12)
INTERVAL = 0.4  # between samples, in free-fall times along the edge
PROBES = ((0.5, 0.75, 0.9, 0.97), (0.06, 0.2, 0.4), (0.015, 0.04, 0.1, 0.3))  # along z, y, x, in edge lengths
SYMMETRIC = (1, -1)
# Sign of the temperature under the mirror and under the reflection in classes that break ...
SYMMETRY_CLASSES = {"the mirror": (-1, -1), "the mirror and the centre": (-1, 1), "the centre": (1, 1)}
N_LEADING = 2  # the first classes, which contain the leading oscillations


@dataclass(frozen=True)
class PhaseDurations:
    """Durations of the phases of a run, in free-fall times."""

    settling: int  # on each grid but the last two
    perturbed: int  # after the perturbation on the second finest grid
    finest: int  # on the finest grid
    fitted_from: int  # start of the growth fit on the finest grid


LONG, QUICK = PhaseDurations(200, 250, 400, 150), PhaseDurations(50, 20, 40, 10)


@dataclass(frozen=True)
class PerturbedRun:
    """The evolution of a perturbed flow on the finest grid."""

    rayleigh: float  # rayleigh, size: Rayleigh number and nodes per edge of the cube
    size: int
    times: np.ndarray  # (n,) sample times, in free-fall times along the edge
    signals: np.ndarray  # (3, n, m) component of the temperature in each of ``SYMMETRY_CLASSES``, at m probes
    growths: tuple[Growth, ...]  # growth of each of the three classes, per free-fall time

    @property
    def fastest(self) -> Growth:
        """The fastest growing, or most slowly decaying, mode that breaks the mirror symmetry."""
        return max(self.growths[:N_LEADING], key=lambda growth: growth.rate)


@case(
    "heated-bifurcation",
    "Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): first bifurcation of the cube on 256^3",
)
def heated_bifurcation(settings: Settings) -> Iterator:
    """The threshold of growth, searched to 0.3 %: an hour and more on a GPU for each Rayleigh number."""
    if settings.precision != "fp64":
        raise Skipped("needs fp64: small disturbances are below the round-off of others")
    (low, high), grids = (QUICK_ENDS, QUICK_GRIDS) if settings.quick else (ENDS, GRIDS)
    durations = QUICK if settings.quick else LONG

    def run_at(rayleigh: float, settings: Settings) -> PerturbedRun:
        return perturbed_run(rayleigh, grids, settings, durations)

    runs = searched(run_at, lambda run: run.fastest.rate > 0.0, (low, high), HALF_WIDTH, settings)
    for run in runs.values():
        yield from _rows(run, is_judged=run.rayleigh in (low, high))
        series = tuple(
            Series(f"breaks {name}", run.times, np.sqrt((of**2).mean(axis=1)))
            for name, of in zip(SYMMETRY_CLASSES, run.signals, strict=True)
        )
        labels = "time / free fall", "root mean square of the temperature"
        yield Plot(f"Perturbed cube, Ra = {run.rayleigh:.4e}", *labels, series, log_y=True)
    if low < high:
        below, above = last_bracket(runs.values())
        middle, half = (below.rayleigh + above.rayleigh) / 2, (above.rayleigh - below.rayleigh) / 2
        yield shown("Rayleigh number of no growth, middle of the bracket", BIFURCATION, middle)
        yield at_most("half the width of the bracket", HALF_WIDTH, half)
        yield shown("Rayleigh number of no growth, in between", BIFURCATION, threshold(below, above))


def last_bracket(runs: Iterable[PerturbedRun]) -> tuple[PerturbedRun, PerturbedRun]:
    """The first run that grows, and the one before it; the first two or the last two if none or all grow."""
    ordered = list(runs)
    k = next((k for k, run in enumerate(ordered) if run.fastest.rate > 0.0), len(ordered) - 1)
    return ordered[max(k, 1) - 1], ordered[max(k, 1)]


def threshold(below: PerturbedRun, above: PerturbedRun) -> float:
    """Rayleigh number at which the growth rate of the leading class above vanishes, by linear interpolation."""
    leads = above.growths.index(above.fastest)
    rates = [run.growths[leads].rate for run in (below, above)]
    return float(np.interp(0.0, rates, (below.rayleigh, above.rayleigh)))


def perturbed_run(rayleigh: float, grids, settings: Settings, durations: PhaseDurations) -> PerturbedRun:
    """Settle on the coarser grids, perturb on the second finest, and record on the finest; collective.

    Only the symmetric component is continued from the coarser grids: at these Rayleigh numbers the flow on 64^3 nodes
    is unsteady. Raises DivergedError: a grid is too coarse.
    """
    *coarser, size = grids
    cavity = None
    for grid in coarser[:-1]:
        cavity = symmetry_component(_after(rayleigh, grid, settings, cavity, durations.settling), SYMMETRIC)
    if cavity is None:
        raise ValueError(f"perturbed_run has the grids {tuple(grids)}; it needs at least 3, from coarse to fine")
    start = replace(cavity, temperature=cavity.temperature + disturbance(cavity.temperature.shape[0]))
    start = rescaled(_after(rayleigh, coarser[-1], settings, start, durations.perturbed))
    simulation, diffusivity = heated_simulation(rayleigh, size, settings, start=start)
    fall = free_fall(rayleigh, size, diffusivity)
    every = max(1, round(INTERVAL * fall))
    # (3, n, m) symmetry-breaking components at the probes, every ``every`` steps; collective.
    n_samples = round(durations.finest / INTERVAL)
    points = np.array([[int(fraction * size) for fraction in probe] for probe in product(*PROBES)])
    mirrored = np.where([False, True, False], size - 1 - points, points)
    orbit = np.array([points, mirrored, size - 1 - points, size - 1 - mirrored])
    z, y, x = np.moveaxis(orbit, -1, 0)
    voxel = np.ravel_multi_index((z, y, x + 1), simulation.header.shape)  # walls are voxels at both ends of x
    wanted, index = np.unique(voxel, return_inverse=True)
    probe, samples = simulation.node_probe(wanted), []
    for _ in range(n_samples):
        simulation.step(every)
        state = probe.stored()
        if state is not None:
            samples.append(state.fields[TEMPERATURE][index.reshape(voxel.shape)])
    samples = simulation.communicator.broadcast(np.array(samples))
    weights = np.array([(1, mirror, centre, mirror * centre) for mirror, centre in SYMMETRY_CLASSES.values()])
    signals = np.einsum("sp,npm->snm", weights, samples) / 4.0
    times = np.arange(1, signals.shape[1] + 1) * every / fall
    late = times > durations.fitted_from
    return PerturbedRun(rayleigh, size, times, signals, tuple(fit_growth(of[late], every / fall) for of in signals))


def _after(rayleigh: float, size: int, settings: Settings, start: Cavity | None, duration: int) -> Cavity:
    """The flow after a duration in free-fall times, started from ``start``."""
    simulation, diffusivity = heated_simulation(rayleigh, size, settings, start=start)
    simulation.step(round(duration * free_fall(rayleigh, size, diffusivity)))
    simulation.health()
    return cavity_of(simulation, diffusivity)


def symmetry_component(cavity: Cavity, signs: tuple[int, int]) -> Cavity:
    """The component of all fields for which the mirror and the reflection multiply the temperature by these signs."""
    mirror, centre = signs

    def project(values, centre, components=1.0):
        values = 0.5 * (values + mirror * values[:, ::-1] * components)
        return 0.5 * (values + centre * values[::-1, ::-1, ::-1])

    return replace(
        cavity,
        temperature=project(cavity.temperature, centre),
        velocity=project(cavity.velocity, centre, np.array([1.0, -1.0, 1.0])),
        pressure=project(cavity.pressure, -centre),
    )


def rescaled(cavity: Cavity) -> Cavity:
    """The symmetric component plus each class of disturbance, rescaled to a temperature of at most ``AMPLITUDE``."""
    components, factors = [symmetry_component(cavity, SYMMETRIC)], [1.0]
    for signs in SYMMETRY_CLASSES.values():
        components.append(symmetry_component(cavity, signs))
        factors.append(AMPLITUDE / np.abs(components[-1].temperature).max())

    def summed(name):
        return sum(factor * getattr(component, name) for factor, component in zip(factors, components, strict=True))

    return replace(cavity, **{name: summed(name) for name in ("temperature", "velocity", "pressure")})


def _rows(run: PerturbedRun, is_judged: bool) -> Iterator[Row]:
    what = f"Ra {run.rayleigh:.4g}, {run.size}^3, per free fall"
    compared = at_most if run.rayleigh < BIFURCATION else at_least
    yield compared(f"{what}: fastest growth", 0.0, run.fastest.rate, 0.0 if is_judged else inf)
    for name, growth in zip(SYMMETRY_CLASSES, run.growths, strict=True):
        yield absolute(f"{what}: growth, breaks {name}", 0.0, growth.rate, inf)
    yield absolute(f"{what}: spread of the fits", 0.0, run.fastest.spread, inf)
    yield absolute(f"{what}: oscillations", 0.0, run.fastest.frequency, inf)
