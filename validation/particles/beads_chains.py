"""Chains of beads: ideal ones, self-avoiding ones against Kirkwood's formula, and their passage through a pore.

N beads with springs k: <Rg^2> = (3 kT / k) (N^2 - 1) / 6N, with the fluid as without. Without, their friction adds up
(Rouse): D = kT / (N friction). With it beads drag each other along (Zimm): D falls more slowly, in the limit of long
chains like the inverse of their size, N^-1/2 for ideal ones; chains here are short, so that exponent is shown only.

Diffusion in a periodic box is corrected by 2.837297 kT / (6 pi eta L). Beads of an ideal chain share nodes, so that in
the fluid they are a little too hot (:mod:`muphy_lb.validation.particles.beads_equilibrium`), which is shown.

The fluid between its beads helps a chain of N along:

    D = D_0 / N + kT / (6 pi eta) <1 / R_h>,        1 / R_h = 1 / N^2 sum_{i != j} 1 / r_ij,

D_0 that of a single bead in an infinite fluid. Averages are those of the same run. Displacements give D only in the
long run: the fluid that a chain has set in motion carries it on (:mod:`.beads_motion`). In a periodic box of volume V

    1/2 d<x^2>/dt = D_box - 2 kT / (3 V) sum_{k != 0} exp(-nu k^2 t) / (nu k^2)        (rho = 1)

for waves longer than the chain, which is added; and Hasimoto's correction makes an infinite box of this one.

The exponent of D with the number of beads is Zimm's for long chains, -0.588: that of D_0 / N is larger, and that of
<1 / R_h>, here still -0.40, smaller.

A force acts on the beads inside the pore. A chain starts with its first beads in the pore and the others on a
self-avoiding walk on one side, and is through when its last bead has passed the middle of the wall. Many pores, far
from each other, are computed at once. Exponents depend on force, friction and length (Palyulin, Ala-Nissila, Metzler,
Soft Matter 10, 9016 (2014)), so published ones are shown; what is judged is that the fluid lowers them: moving
together, beads drag each other along.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil, pi, sqrt
from typing import NamedTuple

import numpy as np

from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.physics.particles.beads.motion import TRAVELLED
from muphy_lb.physics.particles.beads.start import AccessibleVolume, ChainBuilder
from muphy_lb.physics.particles.measures import inverse_hydrodynamic_radius, radius_of_gyration
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, at_least, at_most, case, relative, shown
from muphy_lb.validation.particles import beads_boxes
from muphy_lb.validation.particles.beads_boxes import KT as PORE_KT
from muphy_lb.validation.particles.beads_motion import HASIMOTO, MEAN_INVERSE_G
from muphy_lb.validation.plot import Plot, Series

KT, STIFFNESS, MASS, FRICTION = 1e-3, 3e-3, 1.0, 0.25
ROUSE, EXPONENT_TOLERANCE = -1.0, 0.05
HEATING = 0.05  # of beads that share nodes: what the size in the fluid may be too large by
LEAST_DIFFERENCE = 0.15


@dataclass(frozen=True)
class Chains:
    """The sizes of a computation."""

    edge: int  # of the box, voxels
    count: int  # chains of each length
    lengths: tuple[int, ...]  # beads of a chain
    n_steps: int  # n_steps, interval: steps, and how many between two samples
    interval: int
    lag: int  # samples over which displacements are taken


FREE, IN_FLUID = Chains(16, 200, (5, 10, 20, 40), 60_000, 100, 2), Chains(48, 40, (5, 10, 20, 40), 150_000, 100, 40)
QUICK_FREE = Chains(10, 12, (4, 10), 320, 20, 4)


@case(
    "bead-chains",
    "Rouse, J. Chem. Phys. 21, 1272 (1953); Zimm, J. Chem. Phys. 24, 269 (1956); Rubinstein, Colby, Polymer Physics"
    " (2003), Ch. 2 and 8",
)
def bead_chains(settings: Settings) -> Iterator:
    """Radius of gyration and exponent of the diffusion of ideal chains."""
    beads_boxes.refuse(settings)
    run = QUICK_FREE if settings.quick else FREE
    rows, free, free_curves = _study("fluid taken to rest", run, settings)
    yield from rows
    # Standard error of a diffusion coefficient over its value.
    error = beads_boxes.N_SIGMA * sqrt(2.0 * run.lag * run.interval / (3.0 * run.count * run.n_steps))
    for length, found in zip(run.lengths, free, strict=True):
        what, expected = f"fluid taken to rest, N = {length}: D over kT / (N friction)", KT / (length * FRICTION)
        yield relative(what, 1.0, found / expected, max(error, 0.03))
    exponent = _exponent(run, free)
    tolerance = max(EXPONENT_TOLERANCE, sqrt(2.0) * error / np.log(run.lengths[-1] / run.lengths[0]))
    yield absolute("fluid taken to rest: exponent of D", ROUSE, exponent, tolerance)
    yield free_curves
    if settings.quick:
        yield "chains in the fluid, which take minutes"
        return
    more, diffusivities, curves = _study("in the fluid", IN_FLUID, settings)
    with_fluid = _exponent(IN_FLUID, diffusivities)
    yield from more
    yield shown("in the fluid: exponent of D, infinite box", -0.5, with_fluid)
    yield at_least("exponent in the fluid minus that at rest", LEAST_DIFFERENCE, with_fluid - exponent, 0.0)
    yield curves


def _exponent(run: Chains, diffusion) -> float:
    return float(np.polyfit(np.log(run.lengths), np.log(diffusion), 1)[0])


def _study(what: str, run: Chains, settings: Settings) -> tuple[list[Row], list[float], Plot]:
    """Rows for the size of chains, their diffusion coefficients, and a plot of these."""
    at_rest = run.edge != IN_FLUID.edge
    size, centre, heat = _courses(run, settings, {"coupling": "at-rest"} if at_rest else {})
    rows, diffusion = [], []
    for length in run.lengths:
        expected = 3.0 * KT / STIFFNESS * (length**2 - 1) / (6.0 * length)
        # Rg^2 of an ideal chain varies by half of itself, and is forgotten in the longest time of Rouse.
        time = FRICTION * length**2 / (pi**2 * STIFFNESS)
        n_independent = run.count * max(1.0, run.n_steps / (2.0 * time))
        tolerance = beads_boxes.N_SIGMA * 0.52 / sqrt(n_independent) + (0.0 if at_rest else HEATING)
        found = float(np.mean(size[length]))
        rows.append(relative(f"{what}, N = {length}: <Rg^2> over exact", 1.0, found / expected, tolerance))
        moved = centre[length][run.lag :] - centre[length][: -run.lag]
        own = float((moved**2).mean()) / (2.0 * run.lag * run.interval)
        diffusion.append(own if at_rest else own + HASIMOTO * KT / (6.0 * pi * beads_boxes.VISCOSITY * run.edge))
    rows += [shown(f"{what}, N = {n}: kT of beads", 1.0, float(np.mean(heat[n])) / KT) for n in run.lengths]
    curves = (
        Series("found", run.lengths, diffusion, "points"),
        Series("kT / (N friction)", run.lengths, [KT / (length * FRICTION) for length in run.lengths]),
    )
    plot = Plot(f"Diffusion of chains, {what}", "beads", "D", curves, log_x=True, log_y=True)
    return rows, diffusion, plot


def _courses(run: Chains, settings: Settings, keys) -> tuple[dict, dict, dict]:
    """By length: mean square radii of gyration, (n_samples, chains, 3) centres, and kT of beads over time."""
    common = {"mass_kg": MASS, "friction_kg_s": FRICTION, "bonds": {"stiffness_n_m": STIFFNESS}, **keys}
    tables = [
        {"name": f"n{length}", "chains": run.count, "beads_per_chain": length, "seed": length, **common}
        for length in run.lengths
    ]
    simulation = beads_boxes.bead_flow(beads_boxes.box((run.edge,) * 3), tables, settings, kt=KT, fluctuates=not keys)
    simulation.step(run.lag * run.interval)
    series: list[dict[int, list]] = [{length: [] for length in run.lengths} for _ in range(3)]
    size, centre, heat = series
    start = {length: beads_boxes.start_of_chains(simulation, f"n{length}", length) for length in run.lengths}
    for found in beads_boxes.samples(simulation, run.n_steps // run.interval, run.interval):
        for length in run.lengths:
            speed, travelled = found[f"n{length}"]
            chains = start[length] + travelled.reshape(-1, length, 3)
            size[length].append(float((radius_of_gyration(chains) ** 2).mean()))
            centre[length].append(chains.mean(axis=1))
            heat[length].append(MASS * float((speed**2).mean()))
    return size, {length: np.array(each) for length, each in centre.items()}, heat


KIRKWOOD_FRICTION, DIAMETER, SUBSTEPS = 2.0, 1.2, 5
#: Length of bonds at the start (about that at rest), and how far other beads are kept away.
BOND, APART = 0.97 * DIAMETER, 1.05 * DIAMETER
TOLERANCE, ZIMM, KIRKWOOD_EXPONENT_TOLERANCE = 0.05, -0.588, 0.05
TRIALS = 20  # directions that are tried for the next bead of a chain at the start
LONGEST_WAVES = 24  # largest number of waves along an axis of the box in the sum over them: shorter ones have died out


class KirkwoodChains(NamedTuple):
    """The sizes of a computation."""

    edge: int  # of the box, voxels
    n_beads: int  # number of beads of all chains together
    lengths: tuple[int, ...]  # beads of a chain
    warm_up: int  # warm_up, n_steps, interval: steps before the first sample, from then on, and between two samples
    n_steps: int
    interval: int
    lag: int  # samples t: displacements over t and over 2 t are compared


LONG = KirkwoodChains(128, 3072, (8, 16, 32), 20_000, 120_000, 100, 10)
QUICK = KirkwoodChains(16, 32, (8,), 100, 600, 20, 4)


@case(
    "bead-kirkwood",
    "Kirkwood, J. Polym. Sci. 12, 1 (1954); Zimm, J. Chem. Phys. 24, 269 (1956); Ahlrichs, Duenweg, J. Chem. Phys. 111,"
    " 8225 (1999); exponent: Rubinstein, Colby, Polymer Physics (2003), Ch. 8",
)
def bead_kirkwood(settings: Settings) -> Iterator:
    """Diffusion of self-avoiding chains over Kirkwood's, and its exponent."""
    beads_boxes.refuse(settings)
    run, found, expected = QUICK if settings.quick else LONG, [], []
    for length in run.lengths:
        course = _course(run, length, settings)
        own = KT * (1.0 / KIRKWOOD_FRICTION + MEAN_INVERSE_G / beads_boxes.VISCOSITY) / length
        expected.append(own + KT / (6.0 * pi * beads_boxes.VISCOSITY) * course.inverse_radius)
        found.append(_diffusion(run, course.centre))
        error = sqrt(8.0 * run.lag * run.interval * length / (3.0 * run.n_beads * run.n_steps))
        tolerance = beads_boxes.N_SIGMA * error if settings.quick else TOLERANCE
        name = f"N = {length}, Rg = {course.radius:.2f} voxels"
        over = f"{name}: D over Kirkwood's (standard error {error:.2g})"
        yield relative(over, 1.0, found[-1] / expected[-1], tolerance)
        yield shown(f"{name}: kT of beads", 1.0, course.heat / KT)
    if settings.quick:
        yield "longer chains, which take minutes on a GPU"
        return
    exponent = float(np.polyfit(np.log(run.lengths), np.log(found), 1)[0])
    yield absolute("exponent of D", ZIMM, exponent, KIRKWOOD_EXPONENT_TOLERANCE)
    curves = Series("found", run.lengths, found, "points"), Series("Kirkwood", run.lengths, expected)
    yield Plot("Diffusion of self-avoiding chains", "beads", "D", curves, log_x=True, log_y=True)


class Course(NamedTuple):
    """Centres of mass (n_samples, chains, 3), and means: <1/R_h>, root of <Rg^2>, kT of beads."""

    centre: np.ndarray
    inverse_radius: float
    radius: float
    heat: float


def _course(run: KirkwoodChains, length: int, settings: Settings) -> Course:
    count = run.n_beads // length
    table = {
        "name": "chains",
        "chains": count,
        "beads_per_chain": length,
        "mass_kg": MASS,
        "friction_kg_s": KIRKWOOD_FRICTION,
        "substeps": SUBSTEPS,
        "bonds": {"potential": "fene", "stiffness_n_m": 30.0 * KT / DIAMETER**2, "length_m": 1.5 * DIAMETER},
        "repulsion": {"energy_j": KT, "diameter_m": DIAMETER},
    }
    simulation = beads_boxes.bead_flow(beads_boxes.box((run.edge,) * 3), [table], settings, kt=KT)
    beads_boxes.place_beads(simulation, "chains", _apart(run.edge, count, length))
    simulation.step(run.warm_up)
    centre, inverse, square, heat = [], [], [], []
    start = beads_boxes.start_of_chains(simulation, "chains", length)
    for found in beads_boxes.samples(simulation, run.n_steps // run.interval, run.interval):
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


def _diffusion(run: KirkwoodChains, centre: np.ndarray) -> float:
    """Diffusion coefficient in an infinite box, from the centres of mass."""
    time = float(run.lag * run.interval)
    squares = [float(((centre[lag:] - centre[:-lag]) ** 2).mean()) for lag in (run.lag, 2 * run.lag)]
    in_box = (squares[1] - squares[0]) / (2.0 * time) + _still_to_come(run.edge, time)
    return in_box + HASIMOTO * KT / (6.0 * pi * beads_boxes.VISCOSITY * run.edge)


def _still_to_come(edge: int, time: float) -> float:
    """The share that displacements between times t and 2 t lack, since the fluid still moves then."""
    waves = np.arange(-LONGEST_WAVES, LONGEST_WAVES + 1) * 2.0 * pi / edge
    k2 = np.array([x * x + y * y + z * z for x, y, z in product(waves, repeat=3)])
    decay = beads_boxes.VISCOSITY * k2[k2 > 0.0]
    lacking = (np.exp(-decay * time) - np.exp(-2.0 * decay * time)) / decay**2
    return 2.0 * KT / (3.0 * edge**3) * float(lacking.sum()) / time


WITH_FLUID, WITHOUT, PORE_N_SIGMA = 1.28, 1.37, 2.0
MOST_LOST = 0.1  # chains that may slip back out of the pore; they do not count

SIGMA, PORE_BOND = 1.2, 1.16  # diameter of a bead, and length of bonds at the start
BEAD = {
    "mass_kg": 1.0,
    "friction_kg_s": 0.5,
    "substeps": 3,
    "bonds": {"potential": "fene", "stiffness_n_m": 30 * PORE_KT / SIGMA**2, "length_m": 1.5 * SIGMA},
    "repulsion": {"energy_j": PORE_KT, "diameter_m": SIGMA},
}
FORCE = 0.01
THICKNESS, PORE = 3, 3  # of the wall, and edge of the square pores
CELL_PER_RADIUS, HALF_PER_RADIUS, FLORY = 3.4, 3.0, 0.588


@dataclass(frozen=True)
class Pores:
    """A wall and its pores."""

    grid: int  # pores along y, and along z
    cell: int  # distance between pores, voxels
    half: int  # length of the space on each side of the wall

    @property
    def middle(self) -> float:
        """Place of the middle of the wall along x."""
        return self.half + 0.5 * (THICKNESS - 1)


class Plan(NamedTuple):
    """The sizes of a computation."""

    lengths: tuple[int, ...]  # beads of a chain, more than three, which the pore holds
    grid: int  # pores along y, and along z
    least_cell: int = 24  # least_cell, least_half: of the pores, voxels; longer chains get more room
    least_half: int = 30
    interval: int = 20  # steps between two looks at the chains
    most_steps: int = 400_000  # after which chains under way are given up

    def pores(self, length: int) -> Pores:
        """Pores with room for chains of some beads: multiples of their radius of gyration in a good solvent."""
        radius = PORE_BOND * length**FLORY / sqrt(6.0)
        cell, half = ceil(CELL_PER_RADIUS * radius), ceil(HALF_PER_RADIUS * radius)
        return Pores(self.grid, max(self.least_cell, cell), max(self.least_half, half))


PORE_QUICK = Plan((4, 5), 2, 8, 6, most_steps=2000)
PLAN = Plan((20, 50, 100), 6)
GPU_PLAN = Plan((20, 50, 100, 200, 300), 10)  # A hundred chains of each length; up to some 20 million nodes


@case(
    "bead-translocation",
    "with fluid: Fyta et al., Phys. Rev. E 78, 036704 (2008), alpha = 1.28; without: Luo, Ala-Nissila, Ying,"
    " Bhattacharya, EPL 88, 68006 (2009), 1.37 (fast) to 1.588",
)
def bead_translocation(settings: Settings) -> Iterator:
    """Exponents of the time in which chains pass a pore, in the fluid and in a fluid taken to rest."""
    beads_boxes.refuse(settings)
    plan = PORE_QUICK if settings.quick else GPU_PLAN if settings.backend == "cuda" else PLAN
    curves, fits = [], []
    for what, coupling, published in (("in the fluid", "both", WITH_FLUID), ("at rest", "at-rest", WITHOUT)):
        times = [passing_times(plan, length, coupling, settings) for length in plan.lengths]
        means = [float(np.mean(each)) for each in times]
        for length, found, mean in zip(plan.lengths, times, means, strict=True):
            error = np.std(found) / sqrt(len(found))
            yield shown(f"{what}, N = {length}: steps (standard error {error:.2g})", mean, mean)
        lost = 1.0 - sum(map(len, times)) / (len(times) * plan.grid**2)
        yield at_most(f"{what}: share of chains that slipped back or stayed", MOST_LOST, lost)
        exponent, error = power_law(plan.lengths, times)
        yield shown(f"{what}: exponent (standard error {error:.2g})", published, exponent)
        fits.append((exponent, error))
        curves.append(Series(what, plan.lengths, means, "points"))
    (with_fluid, error_1), (without, error_2) = fits
    allowed = PORE_N_SIGMA * sqrt(error_1**2 + error_2**2)
    if not settings.quick:
        yield at_least("exponent at rest minus that in the fluid", 0.0, without - with_fluid, allowed)
    yield Plot("Chains through a pore", "beads", "steps", tuple(curves), log_x=True, log_y=True)


def power_law(lengths, times) -> tuple[float, float]:
    """Exponent of the mean times over the lengths, and its standard error."""
    x, y = np.log(lengths), np.log([np.mean(each) for each in times])
    error = np.array([np.std(each) / np.mean(each) / sqrt(len(each)) for each in times])
    weight = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return float(weight @ y), float(np.sqrt(weight**2 @ error**2))


def passing_times(plan: Plan, length: int, coupling: str, settings: Settings) -> np.ndarray:
    """Steps that the chains take which pass."""
    pores = plan.pores(length)
    edge, n = pores.cell * pores.grid, pores.grid**2
    slab = [[pores.half - 0.5, -1.0, -1.0], [pores.half + THICKNESS - 0.5, edge + 1.0, edge + 1.0]]
    chains = {"name": "chains", "chains": n, "beads_per_chain": length, "coupling": coupling, **BEAD}
    chains["pull"] = {"force_n": [FORCE, 0.0, 0.0], "box_m": slab}
    chains["start"] = "line"  # replaced by what follows
    simulation = beads_boxes.bead_flow(
        beads_boxes.box((1, 1, 1)), [chains], settings, make=partial(Solver, nodes=wall_with_pores(pores))
    )
    # (chains, length, 3) places: the first beads in a line through the pore, the others on a walk before the wall.
    cell, half = pores.cell, pores.half
    random = np.random.default_rng(length)
    room = build_nodes(Voxels(np.full((cell, cell, half), FLUID, FLAG_DTYPE)))
    builder = ChainBuilder(AccessibleVolume(room, 3), PORE_BOND, 0.9 * SIGMA, random)
    line = np.arange(half + THICKNESS - 1.0, half - 1.0, -PORE_BOND)[:length]
    threaded = np.full((len(line), 3), float(cell // 2))
    threaded[:, 0] = line
    mouth = threaded[-1] - [PORE_BOND, 0.0, 0.0]
    found: list[np.ndarray] = []
    while len(found) < pores.grid**2:
        chain = np.concatenate((threaded, builder.walk(lambda: mouth, length - len(line))))[:length]
        apart = np.linalg.norm(chain[:, None] - chain[None, : len(line)], axis=-1)
        if (apart > 0.9 * SIGMA).sum() == length * len(line) - len(line):  # but of each with itself
            row, column = divmod(len(found), pores.grid)
            found.append(chain + [0.0, cell * row, cell * column])
    start = np.array(found)
    beads_boxes.place_beads(simulation, "chains", start.reshape(-1, 3))
    passed, lost = np.zeros(n, np.int64), np.zeros(n, bool)
    while simulation.step_number < plan.most_steps and not (lost | (passed > 0)).all():
        simulation.step(plan.interval)
        x = start[..., 0] + beads_boxes.columns_of(simulation, "chains", TRAVELLED)[:, 0].reshape(n, length)
        passed[(passed == 0) & (x.min(axis=1) > pores.middle) & ~lost] = simulation.step_number
        lost |= (passed == 0) & (x.max(axis=1) < pores.half - 1.0)
    return passed[passed > 0]


def wall_with_pores(pores: Pores) -> NodeList:
    """A periodic box with a wall across x, and square pores in the middle of its cells."""
    edge = pores.cell * pores.grid
    flags = np.full((edge, edge, 2 * pores.half + THICKNESS), FLUID, FLAG_DTYPE)
    flags[:, :, pores.half : pores.half + THICKNESS] = SOLID
    beside = np.abs(np.arange(edge) % pores.cell - pores.cell // 2) <= PORE // 2
    flags[beside[:, None] & beside[None, :]] = FLUID
    return build_nodes(Voxels(flags, periodic=(True, True, True)))
