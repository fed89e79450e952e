"""Diffusion of beads: the same coefficient from displacements, from velocities, and from the mobility.

Einstein: <dx^2> / 2t; Green, Kubo: the integral of the autocorrelation of the velocity; and kT times the mobility, of a
bead that is pulled through a fluid without fluctuations, averaged over places between nodes. All three depend on the
edge of the periodic box alike. Beads do not feel each other but through the fluid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import pi, sqrt

import numpy as np

from muphy_lb.physics.particles.measures import green_kubo, velocity_autocorrelation
from muphy_lb.validation.case import Row, Settings, case, relative
from muphy_lb.validation.particles.beads_boxes import (
    KT,
    N_SIGMA,
    VISCOSITY,
    bead_flow,
    box,
    place_beads,
    refuse,
    samples,
)
from muphy_lb.validation.particles.beads_mobility import HASIMOTO, PulledBead
from muphy_lb.validation.plot import Plot, Series

TOLERANCE = 0.03
MEAN_INVERSE_G, G_TOLERANCE = 1 / 14.3, 0.02
"""An independent program, mean of 48 random places, nu = 1/6."""

FRICTION, MASS = 1.0, 10.0
PLACES = 0.25 + 0.25 / sqrt(3.0) * np.array([-1.0, 1.0])
"""Gauss' points between a node and half way to the next, along every axis: exact for weights squared."""

INTERVAL = 2  # steps between samples, a seventh of the time in which a bead forgets its velocity


@dataclass(frozen=True)
class Walk:
    """Edge of the box, number of beads, steps, and the time after which displacements are independent."""

    edge: int
    count: int
    n_steps: int
    lag: int


WALKS = (Walk(16, 128, 60_000, 200), Walk(24, 432, 30_000, 400), Walk(32, 1024, 24_000, 640))
QUICK_WALKS = (Walk(8, 16, 600, 60),)


@case(
    "bead-diffusion",
    "Einstein, Ann. Phys. 322, 549 (1905); Green, J. Chem. Phys. 22, 398 (1954); Kubo, J. Phys. Soc. Jpn. 12, 570"
    " (1957); box: Hasimoto, J. Fluid Mech. 5, 317 (1959)",
)
def bead_diffusion(settings: Settings) -> Iterator:
    """Diffusion coefficients of beads in periodic boxes, over kT times the mobility."""
    refuse(settings)
    walks, curves, inverse_g = QUICK_WALKS if settings.quick else WALKS, [], []
    for walk in walks:
        expected = KT * _mobility(walk.edge, settings)
        velocity, place = _course(walk, settings)
        yield from _rows(walk, expected, velocity, place, settings)
        times = INTERVAL * np.arange(1, 2 * walk.lag // INTERVAL, max(1, walk.lag // 20))
        msd = [_mean_square(place, int(time) // INTERVAL) / (2.0 * time * expected) for time in times]
        curves.append(Series(f"L = {walk.edge}", times, msd, "points"))
        inverse_g.append(VISCOSITY * (expected / KT - 1.0 / FRICTION) + HASIMOTO / (6.0 * pi * walk.edge))
    for walk, found in zip(walks, inverse_g, strict=True):
        yield relative(f"L = {walk.edge}: mean 1/g over places", MEAN_INVERSE_G, found, G_TOLERANCE)
    yield Plot("Displacements", "steps", "<dx^2> / (2 t kT mobility)", tuple(curves))


def _mobility(edge: int, settings: Settings) -> float:
    """Mean mobility over places between nodes, total momentum none."""
    pulled = PulledBead(edge, settings, friction_kg_s=FRICTION, mass_kg=MASS)
    return float(np.mean([pulled(np.array(place), in_rest_frame=False) for place in product(PLACES, repeat=3)]))


def _course(walk: Walk, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """(n_samples, n, 3) velocities and displacements of beads, without total momentum."""
    table = {"name": "beads", "count": walk.count, "mass_kg": MASS, "friction_kg_s": FRICTION}
    simulation = bead_flow(box((walk.edge,) * 3), [table], settings)
    place_beads(simulation, "beads", np.random.default_rng(1).uniform(-0.5, walk.edge - 0.5, (walk.count, 3)))
    simulation.step(2 * walk.lag)
    found = np.array([each["beads"] for each in samples(simulation, walk.n_steps // INTERVAL, INTERVAL)])
    return found[:, 0], found[:, 1]


def _rows(walk: Walk, expected: float, velocity, place, settings: Settings) -> list[Row]:
    lags = walk.lag // INTERVAL
    by_place = (_mean_square(place, 2 * lags) - _mean_square(place, lags)) / (2.0 * walk.lag)
    by_velocity = green_kubo(velocity_autocorrelation(velocity, lags + 1), float(INTERVAL))[-1]
    # Displacements over twice the lag count as independent, and their squares twice as much as over the lag.
    error = sqrt(8.0 * walk.lag / (3.0 * walk.count * walk.n_steps))
    tolerance = N_SIGMA * error if settings.quick else TOLERANCE
    return [
        relative(f"L = {walk.edge}: from displacements, over kT mobility", 1.0, by_place / expected, tolerance),
        relative(f"L = {walk.edge}: from velocities, over kT mobility", 1.0, by_velocity / expected, tolerance),
    ]


def _mean_square(place: np.ndarray, lag: int) -> float:
    """Mean square displacement along an axis over a number of samples."""
    return float(((place[lag:] - place[: len(place) - lag]) ** 2).mean())
