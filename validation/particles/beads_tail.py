"""How a bead forgets its velocity: in the long run like t^-3/2, since the fluid that it has set in motion remembers.

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

import numpy as np

from muphy_lb.physics.particles.measures import velocity_autocorrelation
from muphy_lb.validation.case import Row, Settings, at_most, case, relative
from muphy_lb.validation.particles.beads_boxes import (
    KT,
    N_SIGMA,
    VISCOSITY,
    bead_flow,
    box,
    columns_of,
    place_beads,
    refuse,
    samples,
)
from muphy_lb.validation.particles.beads_diffusion import PLACES
from muphy_lb.validation.plot import Plot, Series

MASS, FRICTION, SPEED = 1.0, 2.0, 1e-6
TOLERANCE = 0.1
HEAT = 0.02
"""What kT of beads may be off by."""


@dataclass(frozen=True)
class Decay:
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
    refuse(settings)
    decay = QUICK_DECAY if settings.quick else DECAY
    found = _two_steps(response(decay.edge, decay.last + 1, settings))[decay.first :]
    time = np.arange(decay.first, decay.last + 1) + 0.5
    tail = 2.0 / 3.0 * (4.0 * pi * VISCOSITY * time) ** -1.5
    off = float(np.abs(found / tail - 1.0).max())
    yield at_most(f"L = {decay.edge}, t = {decay.first} to {decay.last}: largest deviation", TOLERANCE, off)
    curves = (Series("t^-3/2", time, tail), Series("decay", time, found, "points"))
    yield Plot("Velocity of a bead", "steps", "velocity over momentum", curves, log_x=True, log_y=True)
    if settings.quick:
        yield "beads with noise, which take minutes"
    else:
        yield from _with_noise(NOISE, settings)


def response(edge: int, n_steps: int, settings: Settings) -> np.ndarray:
    """(n_steps + 1,) velocity over the momentum at the start, less that of all mass together; mean over places."""
    bead = {"name": "bead", "count": 1, "mass_kg": MASS, "friction_kg_s": FRICTION}
    simulation = bead_flow(box((edge,) * 3), [bead], settings, kt=0.0)
    total = np.zeros(n_steps + 1)
    for place in product(PLACES, repeat=3):
        simulation.start_from_rest()
        place_beads(simulation, "bead", edge // 2 + np.array([place]), np.array([[SPEED, 0.0, 0.0]]))
        total[0] += SPEED
        for step in range(1, n_steps + 1):
            simulation.step()
            total[step] += columns_of(simulation, "bead")[0, 0]
    return total / (len(PLACES) ** 3 * MASS * SPEED) - 1.0 / (edge**3 + MASS)


def _two_steps(values: np.ndarray) -> np.ndarray:
    return 0.5 * (values[1:] + values[:-1])


def _with_noise(noise: Noise, settings: Settings) -> Iterator[Row]:
    """Correlations of velocities, of beads and fluid without momentum together, over those that the decay asks for."""
    n_lags = noise.times[-1] + 2
    table = {"name": "beads", "count": noise.count, "mass_kg": MASS, "friction_kg_s": FRICTION}
    simulation = bead_flow(box((noise.edge,) * 3), [table], settings)
    place_beads(simulation, "beads", np.random.default_rng(1).uniform(-0.5, noise.edge - 0.5, (noise.count, 3)))
    simulation.step(1000)
    found = []
    for _ in range(noise.n_series):
        velocity = np.array([each["beads"][0] for each in samples(simulation, noise.n_steps, 1)])
        found.append(_two_steps(velocity_autocorrelation(velocity, n_lags) / 3.0))
    expected = KT * _two_steps(response(noise.edge, n_lags - 1, settings))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / sqrt(noise.n_series - 1)
    for time in noise.times:
        relative_error = error[time] / expected[time]
        what = (
            f"with noise, t = {time} + 1/2: correlation over kT times the decay (standard error {relative_error:.2g})"
        )
        yield relative(what, 1.0, mean[time] / expected[time], HEAT + N_SIGMA * relative_error)
