"""Diffusion of chains that do not cross, against Kirkwood's formula.

The fluid between its beads helps a chain of N along:

    D = D_0 / N + kT / (6 pi eta) <1 / R_h>,        1 / R_h = 1 / N^2 sum_{i != j} 1 / r_ij,

D_0 that of a single bead in an infinite fluid. Averages are those of the same run. Displacements tell D only in the
long run: the fluid that a chain has set in motion carries it on (:mod:`.beads_tail`). In a periodic box of volume V

    1/2 d<x^2>/dt = D_box - 2 kT / (3 V) sum_{k != 0} exp(-nu k^2 t) / (nu k^2)        (rho = 1)

for waves longer than the chain, which is added; and Hasimoto's correction makes an infinite box of this one.

The exponent of D with the number of beads is Zimm's for long chains, -0.588: that of D_0 / N is larger, and that of
<1 / R_h>, here still -0.40, smaller.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import pi, sqrt

import numpy as np

from muphy_lb.physics.particles.measures import inverse_hydrodynamic_radius, radius_of_gyration
from muphy_lb.validation.case import Settings, absolute, case, relative, shown
from muphy_lb.validation.particles.beads_boxes import (
    N_SIGMA,
    VISCOSITY,
    bead_flow,
    box,
    place_beads,
    refuse,
    samples,
    start_of_chains,
)
from muphy_lb.validation.particles.beads_diffusion import MEAN_INVERSE_G
from muphy_lb.validation.particles.beads_mobility import HASIMOTO
from muphy_lb.validation.plot import Plot, Series

KT, MASS, FRICTION, DIAMETER, SUBSTEPS = 1e-3, 1.0, 2.0, 1.2, 5
BOND, APART = 0.97 * DIAMETER, 1.05 * DIAMETER
"""Length of bonds at the start (about that at rest), and how far other beads are kept away."""
TOLERANCE = 0.05
ZIMM, EXPONENT_TOLERANCE = -0.588, 0.05
TRIALS = 20
"""Directions that are tried for the next bead of a chain at the start."""
LONGEST_WAVES = 24
"""Largest number of waves along an axis of the box in the sum over them: shorter ones have died out."""


@dataclass(frozen=True)
class Chains:
    """What is computed."""

    edge: int  # of the box, voxels
    n_beads: int  # number of beads of all chains together
    lengths: tuple[int, ...]  # beads of a chain
    warm_up: int  # warm_up, n_steps, interval: steps before the first sample, from then on, and between two samples
    n_steps: int
    interval: int
    lag: int  # samples t: displacements over t and over 2 t are compared


LONG = Chains(128, 3072, (8, 16, 32), 20_000, 120_000, 100, 10)
QUICK = Chains(16, 32, (8,), 100, 600, 20, 4)


@case(
    "bead-kirkwood",
    "Kirkwood, J. Polym. Sci. 12, 1 (1954); Zimm, J. Chem. Phys. 24, 269 (1956); Ahlrichs, Duenweg, J. Chem. Phys. 111,"
    " 8225 (1999); exponent: Rubinstein, Colby, Polymer Physics (2003), Ch. 8",
)
def bead_kirkwood(settings: Settings) -> Iterator:
    """Diffusion of self-avoiding chains over Kirkwood's, and its exponent."""
    refuse(settings)
    run, found, expected = QUICK if settings.quick else LONG, [], []
    for length in run.lengths:
        course = _course(run, length, settings)
        own = KT * (1.0 / FRICTION + MEAN_INVERSE_G / VISCOSITY) / length
        expected.append(own + KT / (6.0 * pi * VISCOSITY) * course.inverse_radius)
        found.append(_diffusion(run, course.centre))
        error = sqrt(8.0 * run.lag * run.interval * length / (3.0 * run.n_beads * run.n_steps))
        tolerance = N_SIGMA * error if settings.quick else TOLERANCE
        name = f"N = {length}, Rg = {course.radius:.2f} voxels"
        over = f"{name}: D over Kirkwood's (standard error {error:.2g})"
        yield relative(over, 1.0, found[-1] / expected[-1], tolerance)
        yield shown(f"{name}: kT of beads", 1.0, course.heat / KT)
    if settings.quick:
        yield "longer chains, which take minutes on a GPU"
        return
    exponent = float(np.polyfit(np.log(run.lengths), np.log(found), 1)[0])
    yield absolute("exponent of D", ZIMM, exponent, EXPONENT_TOLERANCE)
    curves = Series("found", run.lengths, found, "points"), Series("Kirkwood", run.lengths, expected)
    yield Plot("Diffusion of self-avoiding chains", "beads", "D", curves, log_x=True, log_y=True)


@dataclass(frozen=True)
class Course:
    """Centres of mass (n_samples, chains, 3), and means: <1/R_h>, root of <Rg^2>, kT of beads."""

    centre: np.ndarray
    inverse_radius: float
    radius: float
    heat: float


def _course(run: Chains, length: int, settings: Settings) -> Course:
    count = run.n_beads // length
    table = {
        "name": "chains",
        "chains": count,
        "beads_per_chain": length,
        "mass_kg": MASS,
        "friction_kg_s": FRICTION,
        "substeps": SUBSTEPS,
        "bonds": {"potential": "fene", "stiffness_n_m": 30.0 * KT / DIAMETER**2, "length_m": 1.5 * DIAMETER},
        "repulsion": {"energy_j": KT, "diameter_m": DIAMETER},
    }
    simulation = bead_flow(box((run.edge,) * 3), [table], settings, kt=KT)
    place_beads(simulation, "chains", _apart(run.edge, count, length))
    simulation.step(run.warm_up)
    centre, inverse, square, heat = [], [], [], []
    start = start_of_chains(simulation, "chains", length)
    for found in samples(simulation, run.n_steps // run.interval, run.interval):
        speed, travelled = found["chains"]
        chains = start + travelled.reshape(start.shape)
        centre.append(chains.mean(axis=1))
        inverse.append(inverse_hydrodynamic_radius(chains).mean())
        square.append((radius_of_gyration(chains) ** 2).mean())
        heat.append(MASS * (speed**2).mean())
    return Course(np.array(centre), float(np.mean(inverse)), sqrt(np.mean(square)), float(np.mean(heat)))


def _apart(edge: int, count: int, length: int) -> np.ndarray:
    """(count * length, 3) places of chains on random walks in the box, all beads apart from each other."""
    random, placed = np.random.default_rng(3), np.zeros((0, 3))
    while len(placed) < count * length:
        chain = _walk(edge, length, placed, random)
        if len(chain) == length:
            placed = np.concatenate((placed, chain))
    return (placed + 0.5) % edge - 0.5


def _walk(edge: int, length: int, placed: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """(length, 3) places of a chain; fewer, where it found no way on."""
    chain = np.zeros((0, 3))
    while len(chain) < length:
        there = random.uniform(0.0, edge, (TRIALS, 3))
        if len(chain):
            steps = random.standard_normal((TRIALS, 3))
            there = chain[-1] + BOND * steps / np.linalg.norm(steps, axis=1, keepdims=True)
        away = there[:, None] - np.concatenate((placed, chain[:-1]))
        nearest = np.linalg.norm(away - edge * np.rint(away / edge), axis=2).min(axis=1, initial=np.inf)
        if nearest.max() < APART:
            return chain
        chain = np.concatenate((chain, there[[np.argmax(nearest >= APART)]]))
    return chain


def _diffusion(run: Chains, centre: np.ndarray) -> float:
    """Diffusion coefficient in an infinite box, from the centres of mass."""
    time = float(run.lag * run.interval)
    squares = [float(((centre[lag:] - centre[:-lag]) ** 2).mean()) for lag in (run.lag, 2 * run.lag)]
    in_box = (squares[1] - squares[0]) / (2.0 * time) + _still_to_come(run.edge, time)
    return in_box + HASIMOTO * KT / (6.0 * pi * VISCOSITY * run.edge)


def _still_to_come(edge: int, time: float) -> float:
    """What displacements between times t and 2 t lack, since the fluid still moves then."""
    waves = np.arange(-LONGEST_WAVES, LONGEST_WAVES + 1) * 2.0 * pi / edge
    k2 = np.array([x * x + y * y + z * z for x, y, z in product(waves, repeat=3)])
    decay = VISCOSITY * k2[k2 > 0.0]
    lacking = (np.exp(-decay * time) - np.exp(-2.0 * decay * time)) / decay**2
    return 2.0 * KT / (3.0 * edge**3) * float(lacking.sum()) / time
