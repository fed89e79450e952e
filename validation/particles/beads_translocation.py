"""Chains pulled through a pore in a wall: the time grows like a power of the number of beads, which the fluid lowers.

A force acts on the beads inside the pore. A chain starts with its first beads in the pore and the others on a
self-avoiding walk on one side, and is through when its last bead has passed the middle of the wall. Many pores, far
from each other, are computed at once. Exponents depend on force, friction and length (Palyulin, Ala-Nissila, Metzler,
Soft Matter 10, 9016 (2014)), so published ones are shown; what is judged is that the fluid lowers them: moving
together, beads drag each other along.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt

import numpy as np

from muphy_lb.geometry.flags import FLAG_DTYPE, FLUID, SOLID
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.physics.particles.beads.names import TRAVELLED
from muphy_lb.physics.particles.beads.start import AccessibleVolume, ChainBuilder
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Settings, at_least, at_most, case, shown
from muphy_lb.validation.particles.beads_boxes import KT, bead_flow, box, columns_of, place_beads, refuse
from muphy_lb.validation.plot import Plot, Series

WITH_FLUID, WITHOUT = 1.28, 1.37
N_SIGMA = 2.0
MOST_LOST = 0.1
"""Chains that may slip back out of the pore; they do not count."""

SIGMA, BOND = 1.2, 1.16  # diameter of a bead, and length of bonds at the start
BEAD = {
    "mass_kg": 1.0,
    "friction_kg_s": 0.5,
    "substeps": 3,
    "bonds": {"potential": "fene", "stiffness_n_m": 30 * KT / SIGMA**2, "length_m": 1.5 * SIGMA},
    "repulsion": {"energy_j": KT, "diameter_m": SIGMA},
}
FORCE = 0.01
THICKNESS, PORE = 3, 3  # of the wall, and edge of the square pores
CELL_PER_RADIUS, HALF_PER_RADIUS = 3.4, 3.0
FLORY = 0.588


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


@dataclass(frozen=True)
class Plan:
    """What is computed."""

    lengths: tuple[int, ...]  # beads of a chain, more than three, which the pore holds
    grid: int  # pores along y, and along z
    least_cell: int = 24  # least_cell, least_half: of the pores, voxels; longer chains get more room
    least_half: int = 30
    interval: int = 20  # steps between two looks at the chains
    most_steps: int = 400_000  # after which chains under way are given up

    def pores(self, length: int) -> Pores:
        """Pores with room for chains of some beads: multiples of their radius of gyration in a good solvent."""
        radius = BOND * length**FLORY / sqrt(6.0)
        cell, half = ceil(CELL_PER_RADIUS * radius), ceil(HALF_PER_RADIUS * radius)
        return Pores(self.grid, max(self.least_cell, cell), max(self.least_half, half))


QUICK = Plan((4, 5), 2, 8, 6, most_steps=2000)
PLAN = Plan((20, 50, 100), 6)
GPU_PLAN = Plan((20, 50, 100, 200, 300), 10)
"""A hundred chains of each length; up to some 20 million nodes."""


@case(
    "bead-translocation",
    "with fluid: Fyta et al., Phys. Rev. E 78, 036704 (2008), alpha = 1.28; without: Luo, Ala-Nissila, Ying,"
    " Bhattacharya, EPL 88, 68006 (2009), 1.37 (fast) to 1.588",
)
def bead_translocation(settings: Settings) -> Iterator:
    """Exponents of the time in which chains pass a pore, in the fluid and in a fluid taken to rest."""
    refuse(settings)
    plan = QUICK if settings.quick else GPU_PLAN if settings.backend == "cuda" else PLAN
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
    allowed = N_SIGMA * sqrt(error_1**2 + error_2**2)
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
    simulation = bead_flow(box((1, 1, 1)), [chains], settings, make=partial(_with_nodes, nodes=wall_with_pores(pores)))
    start = starting_chains(pores, length)
    place_beads(simulation, "chains", start.reshape(-1, 3))
    passed, lost = np.zeros(n, np.int64), np.zeros(n, bool)
    while simulation.step_number < plan.most_steps and not (lost | (passed > 0)).all():
        simulation.step(plan.interval)
        x = start[..., 0] + columns_of(simulation, "chains", TRAVELLED)[:, 0].reshape(n, length)
        passed[(passed == 0) & (x.min(axis=1) > pores.middle) & ~lost] = simulation.step_number
        lost |= (passed == 0) & (x.max(axis=1) < pores.half - 1.0)
    return passed[passed > 0]


def _with_nodes(case, communicator, nodes: NodeList) -> Simulation:
    return Simulation(case, communicator, nodes)


def wall_with_pores(pores: Pores) -> NodeList:
    """A periodic box with a wall across x, and square pores in the middle of its cells."""
    edge = pores.cell * pores.grid
    flags = np.full((edge, edge, 2 * pores.half + THICKNESS), FLUID, FLAG_DTYPE)
    flags[:, :, pores.half : pores.half + THICKNESS] = SOLID
    beside = np.abs(np.arange(edge) % pores.cell - pores.cell // 2) <= PORE // 2
    flags[beside[:, None] & beside[None, :]] = FLUID
    return build_nodes(Voxels(flags, periodic=(True, True, True)))


def starting_chains(pores: Pores, length: int) -> np.ndarray:
    """(chains, length, 3) places: the first beads in a line through the pore, the others on a walk before the wall."""
    cell, half = pores.cell, pores.half
    random = np.random.default_rng(length)
    room = build_nodes(Voxels(np.full((cell, cell, half), FLUID, FLAG_DTYPE)))
    builder = ChainBuilder(AccessibleVolume(room, 3), BOND, 0.9 * SIGMA, random)
    line = np.arange(half + THICKNESS - 1.0, half - 1.0, -BOND)[:length]
    threaded = np.full((len(line), 3), float(cell // 2))
    threaded[:, 0] = line
    mouth = threaded[-1] - [BOND, 0.0, 0.0]
    found: list[np.ndarray] = []
    while len(found) < pores.grid**2:
        chain = np.concatenate((threaded, builder.walk(lambda: mouth, length - len(line))))[:length]
        apart = np.linalg.norm(chain[:, None] - chain[None, : len(line)], axis=-1)
        if (apart > 0.9 * SIGMA).sum() == length * len(line) - len(line):  # but of each with itself
            row, column = divmod(len(found), pores.grid)
            found.append(chain + [0.0, cell * row, cell * column])
    return np.array(found)
