"""Beads in thermal equilibrium: m <v_x^2> = kT along every axis; and the momentum of fluid and beads together.

A sample of N independent Gaussian numbers gives their variance to sqrt(2 / N) of itself; velocities of beads are
forgotten at the rate friction / mass, which is what the numbers of samples follow from. Beads are few for the volume:
each takes the velocity of the fluid without what others near it do in the same step, so that beads that share nodes are
a little too hot, by about friction times the square of the shared weights (shown for a dense box).

Forces are summed as integers, so all that is left is the rounding of the fluid's collisions. It is measured against the
sum of the absolute values of all momenta. The control: without the beads' force on the fluid nothing is conserved.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from muphy_lb.physics.particles.beads.motion import OFFSET, TRAVELLED, VELOCITY, VOXEL
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, at_least, case, relative
from muphy_lb.validation.flows import memory, share_of_sigma
from muphy_lb.validation.particles import beads_boxes
from muphy_lb.validation.plot import Plot, Series

TOLERANCE = 0.02
HEATING = 0.005  # of beads that happen to share nodes
KINDS = tuple(product((0.05, 0.5, 2.0), (0.25, 1.0, 5.0)))  # frictions and masses
QUICK_KINDS = ((0.2, 0.25), (2.0, 5.0))


@dataclass(frozen=True)
class Bath:
    """A box with beads."""

    edge: int  # of the box, voxels
    count: int  # beads of each friction and mass
    n_samples: int  # n_samples, interval: samples, and steps between two
    interval: int


BATH, QUICK_BATH = Bath(64, 500, 1500, 20), Bath(9, 6, 50, 4)
ALONE, QUICK_ALONE = Bath(5, 2000, 400, 20), Bath(5, 200, 10, 20)
SETTLING, QUICK_SETTLING = 600, 100  # steps: several decay times of the longest wave and of the slowest bead


@case(
    "bead-temperature",
    "equipartition: exact; friction in the middle of the step: Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999)",
)
def bead_temperature(settings: Settings) -> Iterator:
    """kT of beads per axis in a fluctuating fluid, and of Langevin's equation alone."""
    beads_boxes.refuse(settings)
    bath, alone = (QUICK_BATH, QUICK_ALONE) if settings.quick else (BATH, ALONE)
    curves = []
    for what, one, keys in (
        ("linear kernel", bath, {"kernel": "linear"}),
        ("point kernel", bath, {"kernel": "point"}),
        ("fluid taken to rest", alone, {"coupling": "at-rest"}),
    ):
        found = _temperatures(one, settings, **keys)
        yield from _rows(what, one, found, settings)
        curves.append(Series(what, range(len(found)), [float(each.mean()) for each in found.values()], "points"))
    ticks = tuple(f"{friction:g}, {mass:g}" for friction, mass in found)
    yield Plot("Temperature of beads", "friction, mass", "m <v^2> / 3 kT", tuple(curves), ticks=ticks)


def _temperatures(bath: Bath, settings: Settings, **keys) -> dict[tuple[float, float], np.ndarray]:
    """(3,) m <v^2> / kT per axis, by friction and mass."""
    kinds = {f"kind{number}": kind for number, kind in enumerate(QUICK_KINDS if settings.quick else KINDS)}
    tables = [
        {"name": name, "count": bath.count, "friction_kg_s": friction, "mass_kg": mass, "seed": number + 1, **keys}
        for number, (name, (friction, mass)) in enumerate(kinds.items())
    ]
    fluctuates = "coupling" not in keys
    simulation = beads_boxes.bead_flow(beads_boxes.box((bath.edge,) * 3), tables, settings, fluctuates=fluctuates)
    simulation.step(QUICK_SETTLING if settings.quick else SETTLING)
    total = dict.fromkeys(kinds, np.zeros(3))
    for found in beads_boxes.samples(simulation, bath.n_samples, bath.interval):
        for name in kinds:
            total[name] = total[name] + (found[name][0] ** 2).mean(axis=0)
    return {kinds[name]: kinds[name][1] * each / (beads_boxes.KT * bath.n_samples) for name, each in total.items()}


def _rows(what: str, bath: Bath, found, settings: Settings) -> Iterator[Row]:
    total = 0.0
    for (friction, mass), of_axes in found.items():
        rate = friction / mass / (1.0 + friction * (0.5 / mass + 0.2))  # a lower bound: beads drag the fluid along
        n_independent = bath.count * bath.n_samples / memory(rate, bath.interval)
        tolerance = beads_boxes.N_SIGMA * share_of_sigma(n_independent) if settings.quick else TOLERANCE
        for axis, value in zip(VELOCITY, of_axes, strict=True):
            name = f"{what}, friction {friction:g}, mass {mass:g}: kT along {axis[-1]}"
            yield relative(name, 1.0, float(value), tolerance)
        total += n_independent
    mean, tolerance = np.mean(list(found.values())), beads_boxes.N_SIGMA * share_of_sigma(3 * total) + HEATING
    yield relative(f"{what}: kT, all beads", 1.0, float(mean), tolerance)


TOLERANCES = {"fp64": 1e-11, "fp32": 1e-6}
NOT_CONSERVED, SHAPE, QUICK_SHAPE = 1e-4, (14, 16, 18), (5, 6, 7)
MASSES = {"light": 0.5, "heavy": 3.0}
FRICTION, DENSITY = 0.5, 1 / 32
STEPS, QUICK_STEPS, N_VIEWS, CONTROL_STEPS = 100_000, 1000, 10, 100
FEWEST_CROSSINGS = 1


@case("bead-momentum", "conservation of momentum: exact, up to rounding")
def bead_momentum(settings: Settings) -> Iterator:
    """Change of the momentum of fluid and beads over a long thermal run."""
    beads_boxes.refuse(settings)
    shape, n_steps = (QUICK_SHAPE, QUICK_STEPS) if settings.quick else (SHAPE, STEPS)
    curves = []
    for kernel in ("linear",) if settings.quick else ("linear", "point"):
        simulation = _flow(shape, settings, kernel=kernel)
        steps, change = momentum_changes(simulation, n_steps // N_VIEWS, N_VIEWS)
        what = f"{kernel} kernel, {n_steps} steps: change of momentum over its sum"
        yield absolute(what, 0.0, max(change), TOLERANCES[settings.precision])
        curves.append(Series(f"{kernel} kernel", steps, change, "points"))
    yield at_least("beads that crossed a periodic face", FEWEST_CROSSINGS, crossed(simulation), 0.0)
    _, change = momentum_changes(_flow(shape, settings, coupling="one-way"), CONTROL_STEPS, 1)
    yield at_least("without force on the fluid: change of momentum", NOT_CONSERVED, max(change), 0.0)
    yield Plot("Momentum of fluid and beads", "step", "change over the sum of all momenta", tuple(curves), log_y=True)


def _flow(shape, settings: Settings, **keys) -> Solver:
    count = round(DENSITY * np.prod(shape))
    tables = [
        {"name": name, "count": count, "mass_kg": mass, "friction_kg_s": FRICTION, "seed": seed, **keys}
        for seed, (name, mass) in enumerate(MASSES.items(), start=1)
    ]
    return beads_boxes.bead_flow(beads_boxes.box(shape), tables, settings)


def momentum_changes(simulation: Solver, interval: int, n_views: int) -> tuple[list[int], list[float]]:
    """Steps, and the largest component of the change of momentum by then over the sum of all momenta."""
    before, _ = _momentum(simulation)
    steps, change = [], []
    for _ in range(n_views):
        simulation.step(interval)
        now, scale = _momentum(simulation)
        steps.append(simulation.step_number)
        change.append(float(np.abs(now - before).max() / scale))
    return steps, change


def crossed(simulation: Solver) -> int:
    """Number of beads that are not in the image of the box in which they started."""
    size, count = np.array(simulation.header.shape[::-1]), 0
    for name in MASSES:
        voxel, offset, travelled = (
            beads_boxes.columns_of(simulation, name, names) for names in (VOXEL, OFFSET, TRAVELLED)
        )
        start = voxel + offset - travelled
        count += int((np.floor((start + 0.5) / size) != np.floor((voxel + offset + 0.5) / size)).any(axis=1).sum())
    return count


def _momentum(simulation: Solver) -> tuple[np.ndarray, float]:
    """(3,) total momentum, and the sum of the absolute values of that of every node and bead."""
    populations = simulation.engine.populations().astype(np.float64)
    parts = [(simulation.lattice.c.T @ populations).T]
    parts += [mass * beads_boxes.columns_of(simulation, name) for name, mass in MASSES.items()]
    everything = np.concatenate(parts)
    return everything.sum(axis=0), float(np.linalg.norm(everything, axis=1).sum())
