"""Beads in thermal equilibrium: m <v_x^2> = kT along every axis, whatever friction and mass.

A sample of N independent Gaussian numbers gives their variance to sqrt(2 / N) of itself; velocities of beads are
forgotten at the rate friction / mass, which is what the numbers of samples follow from. Beads are few for the volume:
each takes the velocity of the fluid without what others near it do in the same step, so that beads that share nodes are
a little too hot, by about friction times the square of the shared weights (shown for a dense box).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from muphy_lb.physics.particles.beads.names import VELOCITY
from muphy_lb.validation.case import Row, Settings, case, relative
from muphy_lb.validation.particles.beads_boxes import (
    KT,
    N_SIGMA,
    bead_flow,
    box,
    memory,
    refuse,
    samples,
    share_of_sigma,
)
from muphy_lb.validation.plot import Plot, Series

TOLERANCE = 0.02
HEATING = 0.005  # of beads that happen to share nodes
KINDS = tuple(product((0.05, 0.5, 2.0), (0.25, 1.0, 5.0)))
"""Frictions and masses."""
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
    refuse(settings)
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
    simulation = bead_flow(box((bath.edge,) * 3), tables, settings, fluctuates=fluctuates)
    simulation.step(QUICK_SETTLING if settings.quick else SETTLING)
    total = dict.fromkeys(kinds, np.zeros(3))
    for found in samples(simulation, bath.n_samples, bath.interval):
        for name in kinds:
            total[name] = total[name] + (found[name][0] ** 2).mean(axis=0)
    return {kinds[name]: kinds[name][1] * each / (KT * bath.n_samples) for name, each in total.items()}


def _rows(what: str, bath: Bath, found, settings: Settings) -> Iterator[Row]:
    total = 0.0
    for (friction, mass), of_axes in found.items():
        rate = friction / mass / (1.0 + friction * (0.5 / mass + 0.2))  # a lower bound: beads drag the fluid along
        n_independent = bath.count * bath.n_samples / memory(rate, bath.interval)
        tolerance = N_SIGMA * share_of_sigma(n_independent) if settings.quick else TOLERANCE
        for axis, value in zip(VELOCITY, of_axes, strict=True):
            name = f"{what}, friction {friction:g}, mass {mass:g}: kT along {axis[-1]}"
            yield relative(name, 1.0, float(value), tolerance)
        total += n_independent
    mean, tolerance = np.mean(list(found.values())), N_SIGMA * share_of_sigma(3 * total) + HEATING
    yield relative(f"{what}: kT, all beads", 1.0, float(mean), tolerance)
