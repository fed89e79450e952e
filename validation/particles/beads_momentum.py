"""Momentum of fluid and beads together is constant: what a bead receives the nodes around it lose, to the last digit.

Forces are summed as integers, so all that is left is the rounding of the fluid's collisions. It is measured against the
sum of the absolute values of all momenta. The control: without the beads' force on the fluid nothing is conserved.
"""

from collections.abc import Iterator

import numpy as np

from muphy_lb.physics.particles.beads.names import OFFSET, TRAVELLED, VOXEL
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Settings, absolute, at_least, case
from muphy_lb.validation.particles.beads_boxes import bead_flow, box, columns_of, refuse
from muphy_lb.validation.plot import Plot, Series

TOLERANCES = {"fp64": 1e-11, "fp32": 1e-6}
NOT_CONSERVED = 1e-4
SHAPE, QUICK_SHAPE = (14, 16, 18), (5, 6, 7)
MASSES = {"light": 0.5, "heavy": 3.0}
FRICTION, DENSITY = 0.5, 1 / 32
STEPS, QUICK_STEPS, N_VIEWS = 100_000, 1000, 10
CONTROL_STEPS = 100
FEWEST_CROSSINGS = 1


@case(
    "bead-momentum",
    "conservation of momentum: exact, up to rounding",
)
def bead_momentum(settings: Settings) -> Iterator:
    """Change of the momentum of fluid and beads over a long thermal run."""
    refuse(settings)
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


def _flow(shape, settings: Settings, **keys) -> Simulation:
    count = round(DENSITY * np.prod(shape))
    tables = [
        {"name": name, "count": count, "mass_kg": mass, "friction_kg_s": FRICTION, "seed": seed, **keys}
        for seed, (name, mass) in enumerate(MASSES.items(), start=1)
    ]
    return bead_flow(box(shape), tables, settings)


def momentum_changes(simulation: Simulation, interval: int, n_views: int) -> tuple[list[int], list[float]]:
    """Steps, and the largest component of the change of momentum by then over the sum of all momenta."""
    before, _ = _momentum(simulation)
    steps, change = [], []
    for _ in range(n_views):
        simulation.step(interval)
        now, scale = _momentum(simulation)
        steps.append(simulation.step_number)
        change.append(float(np.abs(now - before).max() / scale))
    return steps, change


def crossed(simulation: Simulation) -> int:
    """Number of beads that are not in the image of the box in which they started."""
    size, count = np.array(simulation.header.shape[::-1]), 0
    for name in MASSES:
        voxel, offset, travelled = (columns_of(simulation, name, names) for names in (VOXEL, OFFSET, TRAVELLED))
        start = voxel + offset - travelled
        count += int((np.floor((start + 0.5) / size) != np.floor((voxel + offset + 0.5) / size)).any(axis=1).sum())
    return count


def _momentum(simulation: Simulation) -> tuple[np.ndarray, float]:
    """(3,) total momentum, and the sum of the absolute values of that of every node and bead."""
    populations = simulation.engine.populations().astype(np.float64)
    parts = [(simulation.lattice.c.T @ populations).T]
    parts += [mass * columns_of(simulation, name) for name, mass in MASSES.items()]
    everything = np.concatenate(parts)
    return everything.sum(axis=0), float(np.linalg.norm(everything, axis=1).sum())
