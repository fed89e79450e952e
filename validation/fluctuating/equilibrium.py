"""Equipartition: every mode of a node and every wave of a box has the energy of the temperature, also beside walls.

Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007): mode k of a node has the variance mu b_k, mu = rho kT / c_s^2,
and velocities and densities at all wave vectors have the same. Without noise on the modes above the stress, as in the
first fluctuating lattice Boltzmann methods, velocities keep less than half of it (Adhikari, Stratford, Cates, Wagner,
Europhys. Lett. 71, 473 (2005)).

Half-way bounce-back permutes populations, as streaming between nodes does; openings of given velocity do so up to a
constant, and openings of given pressure, which bounce back with the opposite sign, up to a constant and a sign. None
of them changes the variance of independent populations. So the thermal equilibrium of a box is that of any pore space
at rest: nodes beside staircase walls, in the narrowest throats and beside openings have the temperature of the bulk.

In a flow that holds but for corrections of the order of its velocity. The noise is that of density 1, whatever the
local density: the momentum of a node has its variance everywhere, its velocity less where pressure raises the density.
Across a throat of one voxel the collision cannot change the momentum, which changes its sign in every step: it keeps
the variance that it started with, which is none in a run from rest.

The states that are sampled grow out of states of thermal equilibrium, so that none depends on another.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.physics.fluctuating.operators import amplitude_name, noise_modes
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, at_most, case, relative, shown
from muphy_lb.validation.flows import memory, share_of_sigma
from muphy_lb.validation.fluctuating import boxes
from muphy_lb.validation.plot import Plot, Series

TOLERANCE, LINEAR, VISCOSITIES, COLLISIONS = 0.02, 0.01, (1 / 6, 0.02), ("bgk", "trt", "mrt")
RATES = {("D2Q9", "mrt"): {"bulk": 1.1}, ("D3Q27", "mrt"): {"bulk": 1.1}}  # without a rate these two would be trt
BOXES = {"D2Q9": (1, 65, 65), "D3Q15": (15, 15, 15), "D3Q19": (15, 15, 15), "D3Q27": (15, 15, 15)}
QUICK_BOX, QUICK_RUNS = (7, 7, 7), (("D3Q19", "bgk", 1 / 6), ("D3Q19", "bgk", 0.02))
SETTLING = 40.0  # steps before the first sample, over the viscosity
WITHOUT_GHOSTS, CONTROL = {"density": 0.482, "velocity": 0.417}, 0.05
NO_LINKS = LinkConditions(np.zeros(0), np.zeros(0, np.int64), np.zeros((3, 0)), np.ones(1))


class Sampling(NamedTuple):
    """Sampling of a fluid: number of samples, and steps between two."""

    n_samples: int
    interval: int


MODES, QUICK_MODES = Sampling(60, 48), Sampling(60, 16)
WAVES, QUICK_WAVES = Sampling(8000, 128), Sampling(300, 16)
WAVES_EDGE, QUICK_WAVES_EDGE = 33, 9
KTS, KT_BOX, QUICK_KT_BOX = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3), (1, 129, 129), (1, 33, 33)


@case(
    "fluctuating-modes",
    "equipartition over all modes and waves: Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007); without noise on"
    " the higher modes: another program (0.482 of it in the density, 0.417 in the velocity)",
)
def fluctuating_modes(settings: Settings) -> Iterator:
    """Equipartition: variances of all modes of a node, of all waves of a box, and over four decades of temperature."""
    boxes.refuse_half(settings)
    all_runs, bars = [(name, collision, nu) for name in BOXES for collision in COLLISIONS for nu in VISCOSITIES], []
    for name, collision, nu in QUICK_RUNS if settings.quick else all_runs:
        shape, sampling = (QUICK_BOX, QUICK_MODES) if settings.quick else (BOXES[name], MODES)
        rates = RATES.get((name, collision), {})
        simulation = boxes.fluctuating_box(shape, settings, name=name, collision=collision, nu=nu, rates=rates)
        found = mode_variances(simulation, sampling, round(SETTLING / nu))
        farthest = found[np.abs(found - 1.0).argmax()]
        n_independent = simulation.header.n_nodes * sampling.n_samples / boxes.mean_memory(shape, nu, sampling.interval)
        tolerance = boxes.N_SIGMA * share_of_sigma(n_independent) if settings.quick else TOLERANCE
        what = f"{name} {collision}, nu {nu:.2g}: worst of {found.size} modes over mu b_k"
        yield relative(what, 1.0, farthest, tolerance)
        if name == "D3Q19":
            bars.append(Series(f"{collision}, nu {nu:.2g}", range(found.size), found.tolist(), "points"))
    yield Plot("Variance of the modes of D3Q19", "mode", "variance over mu b_k", tuple(bars))
    yield from _waves(settings)
    yield from _temperatures(settings)
    # The negative control: these variances show that the other rows would notice missing noise.
    shape, sampling = (QUICK_BOX if settings.quick else BOXES["D3Q19"]), (QUICK_MODES if settings.quick else MODES)
    simulation = boxes.fluctuating_box(shape, settings)
    engine = without_ghost_noise(simulation)
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    engine.advance(round(SETTLING / boxes.VISCOSITY))
    samples = []
    for _ in range(sampling.n_samples):
        engine.advance(sampling.interval)
        samples.append((engine.moments().astype(np.float64) ** 2).mean(axis=1))
    rho, *u = np.mean(samples, axis=0) / boxes.KT
    variances: dict[str, float] = {"density": rho * float(simulation.lattice.cs2), "velocity": float(np.mean(u))}
    for name, value in WITHOUT_GHOSTS.items():
        yield absolute(f"without noise above the stress: variance of the {name}", value, variances[name], CONTROL)


def mode_variances(simulation: Solver, sampling: Sampling, settling: int) -> np.ndarray:
    """(Q,) variances of the modes of a node over their values, mass and momentum first."""
    modes, total = boxes.orthonormal_modes(simulation.lattice), np.zeros(simulation.lattice.q)
    n_nodes = simulation.header.n_nodes
    simulation.step(settling)
    for _ in range(sampling.n_samples):
        simulation.step(sampling.interval)
        total += ((modes @ simulation.engine.populations()) ** 2).mean(axis=1)
    found = total / sampling.n_samples * float(simulation.lattice.cs2) / boxes.KT
    found[: 1 + simulation.lattice.dimension] *= n_nodes / (n_nodes - 1.0)  # their sums over the box are fixed
    return found


def _waves(settings: Settings) -> Iterator[Row | Plot]:
    edge, sampling = (QUICK_WAVES_EDGE, QUICK_WAVES) if settings.quick else (WAVES_EDGE, WAVES)
    found = wave_variances(boxes.fluctuating_box((edge,) * 3, settings), sampling)
    kz, ky, kx = (k[:, :, : edge // 2 + 1] for k in np.meshgrid(*boxes.wave_numbers((edge,) * 3), indexing="ij"))
    k_squared = kx**2 + ky**2 + kz**2
    moves = k_squared > 0.0
    n_independent = sampling.n_samples / memory(boxes.VISCOSITY * k_squared, sampling.interval)
    # A wave and its opposite are one; of the plane kx = 0 both are there.
    share, curves = np.where(kx == 0.0, 0.5, 1.0) * moves, []
    for name, (ratio, components) in found.items():
        freedom = 2.0 * components * n_independent
        far = float(np.abs(boxes.sigmas(ratio[moves], freedom[moves])).max())
        what = f"{name}, {edge}^3: worst of {np.count_nonzero(moves)} wave vectors"
        yield at_most(f"{what} [standard errors]", boxes.N_SIGMA, far)
        numbers, mean, errors = _shells(np.sqrt(k_squared) * edge / (2.0 * np.pi), ratio, share * freedom)
        worst = int(np.argmax(np.abs(mean - 1.0) / (errors if settings.quick else 1.0)))
        tolerance = boxes.N_SIGMA * errors[worst] if settings.quick else TOLERANCE
        yield relative(f"{name}: mean over the worst shell of wave vectors", 1.0, mean[worst], tolerance)
        curves.append(Series(name, (2.0 * np.pi * numbers / edge).tolist(), mean.tolist(), "points"))
    yield Plot("Structure factors", "wave number [1 / voxel]", "over that of equipartition", tuple(curves))


def _shells(number, ratio, freedom) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wave numbers of shells as wide as one, means over them, and their standard errors; ``number`` counts waves."""
    shell = np.rint(number).astype(int).ravel()
    numbers = np.arange(1, shell.max() + 1)
    weighted, count = (np.bincount(shell, values.ravel())[1:] for values in (ratio * freedom, freedom))
    return numbers, weighted / count, np.sqrt(2.0 / count)


def wave_variances(simulation: Solver, sampling: Sampling) -> dict[str, tuple[np.ndarray, int]]:
    """Structure factors over their values at the wave vectors of a periodic box, and how many components each has.

    Arrays (nz, ny, nx // 2 + 1) of the velocity along and across the wave vector, and of the density.
    """
    shape, voxel = simulation.header.shape, simulation.domain.voxel
    kz, ky, kx = (k[:, :, : shape[2] // 2 + 1] for k in np.meshgrid(*boxes.wave_numbers(shape), indexing="ij"))
    along = np.stack((kx, ky, kz)) / np.sqrt(np.maximum(kx**2 + ky**2 + kz**2, 1e-12))
    grid, totals = np.zeros((4, voxel.size)), np.zeros((3, *kx.shape))
    simulation.step(round(SETTLING / boxes.VISCOSITY))
    for moments in boxes.moments_over_time(simulation, sampling.n_samples, sampling.interval):
        grid[:, voxel] = moments
        rho, *u = np.fft.rfftn(grid.reshape(4, *shape), axes=(1, 2, 3))
        longitudinal = np.abs(sum(a * b for a, b in zip(along, u, strict=True))) ** 2
        totals += longitudinal, sum(np.abs(component) ** 2 for component in u) - longitudinal, np.abs(rho) ** 2
    totals /= sampling.n_samples * voxel.size * boxes.KT
    cs2 = float(simulation.lattice.cs2)
    return {
        "velocity along k": (totals[0], 1),
        "velocity across k": (totals[1] / 2.0, 2),
        "density": (cs2 * totals[2], 1),
    }


def _temperatures(settings: Settings) -> Iterator[Row]:
    """Variance of the momentum over kT, in single and in double precision; two-dimensional, which is enough."""
    shape = QUICK_KT_BOX if settings.quick else KT_BOX
    kts, sampling = ((KTS[0], KTS[-1]), QUICK_MODES) if settings.quick else (KTS, MODES)
    n_independent = (
        2 * shape[1] * shape[2] * sampling.n_samples / boxes.mean_memory(shape, boxes.VISCOSITY, sampling.interval)
    )
    tolerance, by_precision = boxes.N_SIGMA * share_of_sigma(n_independent) if settings.quick else LINEAR, {}
    for precision in ("fp64", "fp32"):
        chosen = replace(settings, precision=precision)
        simulations = {kt: boxes.fluctuating_box(shape, chosen, name="D2Q9", kt=kt) for kt in kts}
        found = by_precision[precision] = {kt: _momentum_variance(each, sampling) for kt, each in simulations.items()}
        worst = max(found, key=lambda kt: abs(found[kt] / kt - 1.0))
        what = f"{precision}: variance of the momentum over kT, worst of kT {kts[0]:g} to {kts[-1]:g}"
        yield relative(what, 1.0, found[worst] / worst, tolerance)
    apart = max(abs(by_precision["fp32"][kt] / by_precision["fp64"][kt] - 1.0) for kt in kts)
    yield absolute("fp32 from fp64: variance of the momentum", 0.0, apart, LINEAR)


def _momentum_variance(simulation: Solver, sampling: Sampling) -> float:
    """Variance of a component of the momentum of a node; that of the box is zero.

    Velocities, momentum over density, vary by a share of 9 kT more.
    """
    simulation.step(round(SETTLING / boxes.VISCOSITY))
    n_nodes, dimension = simulation.header.n_nodes, simulation.lattice.dimension
    samples = boxes.moments_over_time(simulation, sampling.n_samples, sampling.interval)
    squares = [(((1.0 + moments[0]) * moments[1 : 1 + dimension]) ** 2).mean() for moments in samples]
    return float(np.mean(squares)) * n_nodes / (n_nodes - 1.0)


def without_ghost_noise(simulation: Solver) -> Engine:
    """An engine like that of a simulation without openings, with noise on the stress alone."""
    engine, lattice = simulation.engine, simulation.lattice
    n_stresses, n_modes = lattice.dimension * (lattice.dimension + 1) // 2, len(noise_modes(lattice))
    silent = {amplitude_name(k, j) for k in range(n_stresses, n_modes) for j in range(n_modes)}
    parameters = {name: 0.0 if name in silent else value for name, value in engine.model.parameters.items()}
    model, connector = replace(engine.model, parameters=parameters), HaloConnector(simulation.communicator)
    silenced = Engine(engine.backend, connector, engine.domain, model, NO_LINKS, 1.0)
    silenced.warm_up()
    return silenced


WALL_TOLERANCE = 0.03
PACK, QUICK_PACK = ({"size": edge, "radius": radius, "porosity": 0.4} for edge, radius in ((48, 6.0), (15, 4.0)))
PIPE, QUICK_PIPE = {"radius": 8.6}, {"radius": 3.4}
N_DRAWS, QUICK_N_DRAWS = 64, 20
AGE, QUICK_AGE = 256, 64  # steps from an equilibrium to the sample
OPEN, QUICK_OPEN = {"length": 25, "side": 11}, {"length": 9, "side": 5}
N_OPEN_DRAWS, QUICK_N_OPEN_DRAWS = 600, 100
RESTING, FLOWING = 0.0, 0.03  # velocities of the inlet
DISTANCES = (0, 1, 2)
MOST_LINKS = 9  # a node with fewer fluid neighbours is in a throat


@case(
    "fluctuating-walls",
    "equilibrium beside half-way walls: exact, as bounce-back is a permutation of populations (Ladd, Verberg,"
    " J. Stat. Phys. 104, 1191 (2001)); beside openings: the same to first order in the velocity",
)
def fluctuating_walls(settings: Settings) -> Iterator:
    """Temperature of the first layer at staircase walls, of narrow throats, and beside openings."""
    boxes.refuse_half(settings)
    pack, pipe = (QUICK_PACK, QUICK_PIPE) if settings.quick else (PACK, PIPE)
    draws, age = (QUICK_N_DRAWS, QUICK_AGE) if settings.quick else (N_DRAWS, AGE)
    for name, shape, options in (("sphere pack", "sphere_pack", pack), ("tilted pipe", "tilted_pipe", pipe)):
        simulation = boxes.fluctuating_flow({"shape": shape, "options": options}, settings)
        found = variances(simulation, draws, age)
        for place, nodes in places(simulation).items():
            yield from _rows(f"{name}, {place}", found[:, nodes], draws, settings)
    curves: list[Series] = []
    for inflow in (RESTING, FLOWING):
        yield from _beside_openings(inflow, curves, settings)
    yield Plot("Beside openings", "nodes from the opening", "variance of the momentum over kT", tuple(curves))


def _rows(where: str, of_nodes: np.ndarray, draws: int, settings: Settings) -> Iterator[Row]:
    """Rows for the variances (4, n) of the density and the momentum of nodes."""
    for quantity, found in (("momentum", of_nodes[1:]), ("density", of_nodes[:1])):
        error = share_of_sigma((draws - 1) * found.size)
        tolerance = boxes.N_SIGMA * error if settings.quick else WALL_TOLERANCE
        yield relative(f"{where}: variance of the {quantity}", 1.0, float(found.mean()), tolerance)


def variances(simulation: Solver, n_draws: int, age: int) -> np.ndarray:
    """(4, n) variances of density deviation and momentum over their equilibrium values, in the order of the run,
    ``age`` steps after each of some independent states of thermal equilibrium.

    Populations in equilibrium are independent numbers, before collisions as after them; if noise and dissipation were
    out of balance anywhere, they would not stay so. A mean flow, common to all states, does not count.
    """
    rng, engine = np.random.default_rng(1), simulation.engine
    total, square = np.zeros((2, 4, simulation.header.n_nodes))
    for _ in range(n_draws):
        engine.set_populations(boxes.equilibrium_populations(simulation.lattice, total.shape[1], boxes.KT, rng))
        simulation.step(age)
        moments = simulation.engine.moments().astype(np.float64)
        moments[1:] *= 1.0 + moments[0]
        total, square = total + moments, square + moments**2
    values = boxes.KT * np.array([1.0 / float(simulation.lattice.cs2), 1.0, 1.0, 1.0])
    return (square - total**2 / n_draws) / (n_draws - 1) / values[:, None]


def places(simulation: Solver) -> dict[str, np.ndarray]:
    """Masks of nodes, in the order of the run: those beside walls, and those in throats, if there are any."""
    neighbours = simulation.domain.search.table(simulation.lattice.c[1:], slice(None))
    n_fluid = (neighbours >= 0).sum(axis=0)[simulation.domain.number]
    found = {"first layer": n_fluid < simulation.lattice.q - 1, "narrow throats": n_fluid < MOST_LINKS}
    return {name: mask for name, mask in found.items() if mask.any()}


def _beside_openings(inflow: float, curves: list[Series], settings: Settings) -> Iterator[Row]:
    """Variances in layers at distances from an inlet of given velocity and an outlet of given pressure; those of a
    flowing fluid are shown, not judged. Their curves join ``curves``."""
    draws, options = (QUICK_N_OPEN_DRAWS, QUICK_OPEN) if settings.quick else (N_OPEN_DRAWS, OPEN)
    openings = [{"name": "inlet", "velocity_m_s": inflow}, {"name": "outlet", "pressure_pa": 0.0}]
    geometry = {"shape": "square_duct", "options": {**options, "ends": "open"}}
    simulation = boxes.fluctuating_flow(geometry, settings, openings=openings)
    found = variances(simulation, draws, QUICK_AGE if settings.quick else AGE)
    along = voxel_coordinates(simulation.domain.voxel, simulation.header.shape)[:, 0]
    layers = {"velocity": along - along.min(), "pressure": along.max() - along}
    for kind, layer in layers.items():
        for distance in DISTANCES:
            where = f"inflow {inflow:g}, {distance} nodes from given {kind}"
            for row in _rows(where, found[:, layer == distance], draws, settings):
                yield row if inflow == RESTING else shown(row.quantity, 1.0, row.computed)
        distances = np.arange(layer.max() // 2)
        means = [found[1:, layer == distance].mean() for distance in distances]
        curves.append(Series(f"given {kind}, inflow {inflow:g}", distances.tolist(), means, "points"))
