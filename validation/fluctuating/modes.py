"""Equipartition: every mode of a node and every wave of a box has the energy of the temperature.

Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007): mode k of a node has the variance mu b_k, mu = rho kT / c_s^2,
and velocities and densities at all wave vectors have the same. Without noise on the modes above the stress, as in the
first fluctuating lattice Boltzmann methods, velocities keep less than half of it (Adhikari, Stratford, Cates, Wagner,
Europhys. Lett. 71, 473 (2005)).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.engine.engine import Engine
from muphy_lb.parallel import HaloConnector
from muphy_lb.physics.fluctuating.operators.balance import noise_modes
from muphy_lb.physics.fluctuating.operators.noise import amplitude_name
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Row, Settings, absolute, at_most, case, relative
from muphy_lb.validation.flows import memory, share_of_sigma
from muphy_lb.validation.fluctuating import boxes
from muphy_lb.validation.plot import Plot, Series

TOLERANCE, LINEAR = 0.02, 0.01
VISCOSITIES, COLLISIONS = (1 / 6, 0.02), ("bgk", "trt", "mrt")
RATES = {("D2Q9", "mrt"): {"bulk": 1.1}, ("D3Q27", "mrt"): {"bulk": 1.1}}  # without a rate these two would be trt
BOXES = {"D2Q9": (1, 65, 65), "D3Q15": (15, 15, 15), "D3Q19": (15, 15, 15), "D3Q27": (15, 15, 15)}
QUICK_BOX, QUICK_RUNS = (7, 7, 7), (("D3Q19", "bgk", 1 / 6), ("D3Q19", "bgk", 0.02))
SETTLING = 40.0  # steps before the first sample, over the viscosity
WITHOUT_GHOSTS, CONTROL = {"density": 0.482, "velocity": 0.417}, 0.05
NO_LINKS = LinkConditions(np.zeros(0), np.zeros(0, np.int64), np.zeros((3, 0)), np.ones(1))


class Sampling(NamedTuple):
    """How often a fluid is looked at: number of samples, and steps between two."""

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
    found = {"density": rho * float(simulation.lattice.cs2), "velocity": float(np.mean(u))}
    for name, value in WITHOUT_GHOSTS.items():
        yield absolute(f"without noise above the stress: variance of the {name}", value, found[name], CONTROL)


def mode_variances(simulation: Simulation, sampling: Sampling, settling: int) -> np.ndarray:
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


def wave_variances(simulation: Simulation, sampling: Sampling) -> dict[str, tuple[np.ndarray, int]]:
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


def _momentum_variance(simulation: Simulation, sampling: Sampling) -> float:
    """Variance of a component of the momentum of a node; that of the box is zero.

    Velocities, momentum over density, vary by a share of 9 kT more.
    """
    simulation.step(round(SETTLING / boxes.VISCOSITY))
    n_nodes, dimension = simulation.header.n_nodes, simulation.lattice.dimension
    samples = boxes.moments_over_time(simulation, sampling.n_samples, sampling.interval)
    squares = [(((1.0 + moments[0]) * moments[1 : 1 + dimension]) ** 2).mean() for moments in samples]
    return float(np.mean(squares)) * n_nodes / (n_nodes - 1.0)


def without_ghost_noise(simulation: Simulation) -> Engine:
    """An engine like that of a simulation without openings, with noise on the stress alone."""
    engine, lattice = simulation.engine, simulation.lattice
    n_stresses, n_modes = lattice.dimension * (lattice.dimension + 1) // 2, len(noise_modes(lattice))
    silent = {amplitude_name(k, j) for k in range(n_stresses, n_modes) for j in range(n_modes)}
    parameters = {name: 0.0 if name in silent else value for name, value in engine.model.parameters.items()}
    model, connector = replace(engine.model, parameters=parameters), HaloConnector(simulation.communicator)
    silenced = Engine(engine.backend, connector, engine.domain, model, NO_LINKS, 1.0)
    silenced.warm_up()
    return silenced
