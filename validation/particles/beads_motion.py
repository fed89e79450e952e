"""Motion of beads: mobility in a periodic box, diffusion, and the tail of the velocity.

Periodic images slow a bead down: mobility = 1 / friction + 1 / (g eta) - 2.837297 / (6 pi eta L), L the edge of the box
(Hasimoto, J. Fluid Mech. 5, 317 (1959)). g depends on how the bead is coupled to nodes and on where it is between them;
on a node it is the same for both kernels and any L.

Einstein: <dx^2> / 2t; Green, Kubo: the integral of the autocorrelation of the velocity; and kT times the mobility, of a
bead that is pulled through a fluid without fluctuations, averaged over places between nodes. All three depend on the
edge of the periodic box alike. Beads do not feel each other but through the fluid.

A bead that was given a velocity v_0 in a quiet fluid has v(t) = m v_0 chi(t), and per axis

    chi(t) -> (2 / 3 rho) [4 pi (nu + D) t]^-3/2,        D << nu,

until sound has crossed the periodic box. In a fluctuating fluid the velocities of beads at rest on average are
correlated by kT chi(t) (fluctuation and dissipation). Both are averaged over places between nodes, and over two steps
in a row, of which a force on a node excites the difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from muphy_lb.physics.particles.beads.motion import TRAVELLED
from muphy_lb.physics.particles.measures import green_kubo, velocity_autocorrelation
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, at_most, case, relative
from muphy_lb.validation.particles import beads_boxes
from muphy_lb.validation.plot import Plot, Series

HASIMOTO = 2.837297
ON_NODE = 0.1422  # 1/g of a bead on a node, nu = 1/6, BGK

TOLERANCE, EDGES, QUICK_EDGES = 2e-3, (8, 16, 32, 64), (8, 12)
FRICTION, HIGH_FRICTION, MASS, FORCE = 0.1, 1.0, 1.0, 1e-8
TIMES = 20.0  # decay times of the longest wave


@case(
    "bead-mobility",
    "Hasimoto, J. Fluid Mech. 5, 317 (1959); Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999); 1/g: an independent"
    " program, on a node, nu = 1/6",
)
def bead_mobility(settings: Settings) -> Iterator:
    """1/g of beads on nodes, for edges of the box, kernels and frictions."""
    beads_boxes.refuse(settings)
    edges = QUICK_EDGES if settings.quick else EDGES
    found = [inverse_g(PulledBead(edge, settings)(np.zeros(3)), edge) for edge in edges]
    for edge, value in zip(edges, found, strict=True):
        yield relative(f"on a node, L = {edge}: 1/g", ON_NODE, value, TOLERANCE)
    yield absolute(f"spread of 1/g over L = {edges}", 0.0, np.ptp(found) / np.mean(found), TOLERANCE)
    edge = edges[0]
    beside = inverse_g(PulledBead(edge, settings, kernel="point")(np.array([0.3, -0.2, 0.1])), edge)
    yield relative(f"point kernel, beside a node, L = {edge}: 1/g", found[0], beside, TOLERANCE)
    strong = inverse_g(PulledBead(edge, settings, friction_kg_s=HIGH_FRICTION)(np.zeros(3)), edge, HIGH_FRICTION)
    yield relative(f"friction {HIGH_FRICTION:g}, L = {edge}: 1/g", found[0], strong, TOLERANCE)
    curves = (Series("1/g", edges, [ON_NODE] * len(edges)), Series("found", edges, found, "points"))
    yield Plot("Mobility without images", "edge of the box", "1/g", curves, log_x=True)


def inverse_g(mobility: float, edge: int, friction: float = FRICTION) -> float:
    """1/g of a mobility."""
    return beads_boxes.VISCOSITY * (mobility - 1.0 / friction) + HASIMOTO / (6.0 * pi * edge)


class PulledBead:
    """A bead pulled along x in a periodic box of a given edge, the fluid pushed back; further ``keys`` of its table.

    Called with a place relative to a node [voxels], it returns the mobility there.
    """

    def __init__(self, edge: int, settings: Settings, **keys):
        self._edge, self._mass = edge, keys.get("mass_kg", MASS)
        bead = {"name": "bead", "count": 1, "mass_kg": MASS, "friction_kg_s": FRICTION, **keys}
        bead["pull"] = {"force_n": [FORCE, 0.0, 0.0]}
        push = {"acceleration_m_s2": [-FORCE / edge**3, 0.0, 0.0]}
        self._simulation: Solver = beads_boxes.bead_flow(
            beads_boxes.box((edge,) * 3), [bead], settings, kt=0.0, flow=push
        )

    def __call__(self, place: np.ndarray, in_rest_frame: bool = True) -> float:
        """Mobility (velocity over force) of a bead that starts there, relative to the fluid's mean or to all mass."""
        simulation = self._simulation
        simulation.state.start()
        beads_boxes.place_beads(simulation, "bead", self._edge // 2 + place[None])
        simulation.step(round(TIMES / (beads_boxes.VISCOSITY * (2.0 * pi / self._edge) ** 2)))
        before = beads_boxes.columns_of(simulation, "bead", TRAVELLED)[0, 0]
        simulation.step()
        mobility = float(beads_boxes.columns_of(simulation, "bead", TRAVELLED)[0, 0] - before) / FORCE
        if not in_rest_frame:
            return mobility
        # The fluid moves against the bead: all momentum is none. In the middle of the step, half a force away from the
        # populations that arrive, its mean velocity is - (m v + F) / L^3.
        return mobility + (self._mass * mobility + 1.0) / self._edge**3


WALK_TOLERANCE = 0.03
MEAN_INVERSE_G, G_TOLERANCE = 1 / 14.3, 0.02  # an independent program, mean of 48 random places, nu = 1/6

WALK_FRICTION, WALK_MASS = 1.0, 10.0
#: Gauss' points between a node and half way to the next, along every axis: exact for weights squared.
PLACES = 0.25 + 0.25 / sqrt(3.0) * np.array([-1.0, 1.0])
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
    beads_boxes.refuse(settings)
    walks, curves, found = QUICK_WALKS if settings.quick else WALKS, [], []
    for walk in walks:
        expected = beads_boxes.KT * _mobility(walk.edge, settings)
        velocity, place = _course(walk, settings)
        yield from _rows(walk, expected, velocity, place, settings)
        times = INTERVAL * np.arange(1, 2 * walk.lag // INTERVAL, max(1, walk.lag // 20))
        msd = [_mean_square(place, int(time) // INTERVAL) / (2.0 * time * expected) for time in times]
        curves.append(Series(f"L = {walk.edge}", times, msd, "points"))
        found.append(inverse_g(expected / beads_boxes.KT, walk.edge, WALK_FRICTION))
    for walk, mean in zip(walks, found, strict=True):
        yield relative(f"L = {walk.edge}: mean 1/g over places", MEAN_INVERSE_G, mean, G_TOLERANCE)
    yield Plot("Displacements", "steps", "<dx^2> / (2 t kT mobility)", tuple(curves))


def _mobility(edge: int, settings: Settings) -> float:
    """Mean mobility over places between nodes, total momentum none."""
    pulled = PulledBead(edge, settings, friction_kg_s=WALK_FRICTION, mass_kg=WALK_MASS)
    return float(np.mean([pulled(np.array(place), in_rest_frame=False) for place in product(PLACES, repeat=3)]))


def _course(walk: Walk, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """(n_samples, n, 3) velocities and displacements of beads, without total momentum."""
    table = {"name": "beads", "count": walk.count, "mass_kg": WALK_MASS, "friction_kg_s": WALK_FRICTION}
    simulation = beads_boxes.bead_flow(beads_boxes.box((walk.edge,) * 3), [table], settings)
    beads_boxes.place_beads(
        simulation, "beads", np.random.default_rng(1).uniform(-0.5, walk.edge - 0.5, (walk.count, 3))
    )
    simulation.step(2 * walk.lag)
    found = np.array([each["beads"] for each in beads_boxes.samples(simulation, walk.n_steps // INTERVAL, INTERVAL)])
    return found[:, 0], found[:, 1]


def _rows(walk: Walk, expected: float, velocity, place, settings: Settings) -> list[Row]:
    lags = walk.lag // INTERVAL
    by_place = (_mean_square(place, 2 * lags) - _mean_square(place, lags)) / (2.0 * walk.lag)
    by_velocity = green_kubo(velocity_autocorrelation(velocity, lags + 1), float(INTERVAL))[-1]
    # Displacements over twice the lag count as independent, and their squares twice as much as over the lag.
    error = sqrt(8.0 * walk.lag / (3.0 * walk.count * walk.n_steps))
    tolerance = beads_boxes.N_SIGMA * error if settings.quick else WALK_TOLERANCE
    return [
        relative(f"L = {walk.edge}: from displacements, over kT mobility", 1.0, by_place / expected, tolerance),
        relative(f"L = {walk.edge}: from velocities, over kT mobility", 1.0, by_velocity / expected, tolerance),
    ]


def _mean_square(place: np.ndarray, lag: int) -> float:
    """Mean square displacement along an axis over a number of samples."""
    return float(((place[lag:] - place[: len(place) - lag]) ** 2).mean())


TAIL_MASS, TAIL_FRICTION, SPEED, TAIL_TOLERANCE = 1.0, 2.0, 1e-6, 0.1
HEAT = 0.02  # what kT of beads may be off by


class Decay(NamedTuple):
    """Edge of the box, and between which times: the last is below that in which sound crosses the box."""

    edge: int
    first: int
    last: int


@dataclass(frozen=True)
class Noise:
    """Edge of the box, number of beads, steps of each of some series, and the times that are compared."""

    edge: int
    count: int
    n_series: int
    n_steps: int
    times: tuple[int, ...]


DECAY, QUICK_DECAY = Decay(128, 18, 180), Decay(32, 8, 40)
NOISE = Noise(32, 256, 20, 5000, (0, 2, 5, 10, 15, 20))


@case(
    "bead-tail",
    "Alder, Wainwright, Phys. Rev. A 1, 18 (1970); Zwanzig, Bixon, Phys. Rev. A 2, 2005 (1970); Hansen, McDonald,"
    " Theory of Simple Liquids (2006), Ch. 8",
)
def bead_tail(settings: Settings) -> Iterator:
    """Decay of the velocity of a bead, and correlation of velocities of beads with noise."""
    beads_boxes.refuse(settings)
    decay = QUICK_DECAY if settings.quick else DECAY
    found = _two_steps(response(decay.edge, decay.last + 1, settings))[decay.first :]
    time = np.arange(decay.first, decay.last + 1) + 0.5
    tail = 2.0 / 3.0 * (4.0 * pi * beads_boxes.VISCOSITY * time) ** -1.5
    off = float(np.abs(found / tail - 1.0).max())
    yield at_most(f"L = {decay.edge}, t = {decay.first} to {decay.last}: largest deviation", TAIL_TOLERANCE, off)
    curves = (Series("t^-3/2", time, tail), Series("decay", time, found, "points"))
    yield Plot("Velocity of a bead", "steps", "velocity over momentum", curves, log_x=True, log_y=True)
    if settings.quick:
        yield "beads with noise, which take minutes"
    else:
        yield from _with_noise(NOISE, settings)


def response(edge: int, n_steps: int, settings: Settings) -> np.ndarray:
    """(n_steps + 1,) velocity over the momentum at the start, less that of all mass together; mean over places."""
    bead = {"name": "bead", "count": 1, "mass_kg": TAIL_MASS, "friction_kg_s": TAIL_FRICTION}
    simulation = beads_boxes.bead_flow(beads_boxes.box((edge,) * 3), [bead], settings, kt=0.0)
    total = np.zeros(n_steps + 1)
    for place in product(PLACES, repeat=3):
        simulation.state.start()
        beads_boxes.place_beads(simulation, "bead", edge // 2 + np.array([place]), np.array([[SPEED, 0.0, 0.0]]))
        total[0] += SPEED
        for step in range(1, n_steps + 1):
            simulation.step()
            total[step] += beads_boxes.columns_of(simulation, "bead")[0, 0]
    return total / (len(PLACES) ** 3 * TAIL_MASS * SPEED) - 1.0 / (edge**3 + TAIL_MASS)


def _two_steps(values: np.ndarray) -> np.ndarray:
    return 0.5 * (values[1:] + values[:-1])


def _with_noise(noise: Noise, settings: Settings) -> Iterator[Row]:
    """Correlations of velocities, of beads and fluid without momentum together, over those that the decay asks for."""
    n_lags = noise.times[-1] + 2
    table = {"name": "beads", "count": noise.count, "mass_kg": TAIL_MASS, "friction_kg_s": TAIL_FRICTION}
    simulation = beads_boxes.bead_flow(beads_boxes.box((noise.edge,) * 3), [table], settings)
    beads_boxes.place_beads(
        simulation, "beads", np.random.default_rng(1).uniform(-0.5, noise.edge - 0.5, (noise.count, 3))
    )
    simulation.step(1000)
    found = []
    for _ in range(noise.n_series):
        velocity = np.array([each["beads"][0] for each in beads_boxes.samples(simulation, noise.n_steps, 1)])
        found.append(_two_steps(velocity_autocorrelation(velocity, n_lags) / 3.0))
    expected = beads_boxes.KT * _two_steps(response(noise.edge, n_lags - 1, settings))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / sqrt(noise.n_series - 1)
    for time in noise.times:
        relative_error = error[time] / expected[time]
        what = (
            f"with noise, t = {time} + 1/2: correlation over kT times the decay (standard error {relative_error:.2g})"
        )
        yield relative(what, 1.0, mean[time] / expected[time], HEAT + beads_boxes.N_SIGMA * relative_error)
