"""Fluctuations and dissipation: viscosity from how fluctuations decay, and independence of the noise.

Onsager: a transverse wave of the velocity decays as a shear flow does, <u_k(0) u_k(t)> ~ exp(-nu k^2 t). Green, Kubo:
the viscosity is V / kT times the integral of the autocorrelation of the shear stress. In discrete time the integral is
the sum over steps with half of the first term, by which the collision's viscosity (1 / omega - 1/2) / 3 follows
exactly from the stress sum_q c_x c_y f_q.
"""

from collections.abc import Iterator
from itertools import permutations, product
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, at_most, case, relative
from muphy_lb.validation.fluctuating import boxes
from muphy_lb.validation.plot import Plot, Series

TOLERANCE = 0.05
SETTLING_TIMES = 2.0  # of the longest wave
WAVES = ((1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 0, 0))
KEPT = 0.45  # correlation from which the decay is determined best


class Decay(NamedTuple):
    """Box and duration of the decay: edge, number of samples, steps between two."""

    edge: int
    n_samples: int
    interval: int


DECAY, QUICK_DECAY = Decay(25, 16000, 16), Decay(11, 3000, 6)
STRESS_EDGE, STRESS_VISCOSITY = 5, 0.3
STRESS_STEPS, QUICK_STRESS_STEPS, STRESS_LAGS = 40000, 6000, 6
NOISE_BOX, N_SHIFTS, QUICK_N_SHIFTS, SEEDS = (9, 9, 9), 1000, 200, (1, 2, 2 + 2**32, 2**62)
MOST_CORRELATED = 4.0  # over the standard error


@case(
    "fluctuating-decay",
    "Onsager, Phys. Rev. 37, 405 (1931); Green, J. Chem. Phys. 22, 398 (1954); Kubo, J. Phys. Soc. Jpn. 12, 570 (1957);"
    " the sum over steps: exact",
)
def fluctuating_decay(settings: Settings) -> Iterator:
    """Viscosity from the decay of fluctuations and from the stress (Green-Kubo); noise of different seeds and times."""
    boxes.refuse_half(settings)
    run, points = QUICK_DECAY if settings.quick else DECAY, []
    amplitudes = transverse_waves(boxes.fluctuating_box((run.edge,) * 3, settings), run)
    for wave, amplitude in zip(WAVES, amplitudes, strict=True):
        rate = boxes.VISCOSITY * (2.0 * np.pi / run.edge) ** 2 * np.dot(wave, wave) * run.interval
        lag = max(1, round(-log(KEPT) / rate))
        found = -log(correlation(amplitude, lag)) / (lag * rate)
        # Two components, real and imaginary, of every wave vector.
        # Standard error of a rate of decay over the rate, determined from the correlation over ``lag`` samples.
        # Bartlett's formula (J. R. Stat. Soc. Suppl. 8, 27 (1946)) for a series whose correlation over m samples is
        # exp(-rate m).
        n_samples = run.n_samples
        freedom = 4 * amplitude.shape[1]
        one, kept = np.exp(-2.0 * rate), np.exp(-2.0 * rate * lag)
        variance = ((1.0 + one) * (1.0 - kept) / (1.0 - one) - 2.0 * lag * kept) / (n_samples * freedom)
        error = sqrt(variance / kept) / (lag * rate)
        tolerance = boxes.N_SIGMA * error if settings.quick else TOLERANCE
        yield relative(f"waves ({','.join(map(str, wave))}), {run.edge}^3: viscosity", 1.0, found, tolerance)
        lags = np.arange(0, 2 * lag + 1)
        points.append(Series(f"{wave}", lags * rate, [correlation(amplitude, m) for m in lags], "points"))
    times = np.linspace(0.0, max(max(series.x) for series in points), 100)
    lines = (Series("exp(-nu k^2 t)", times.tolist(), np.exp(-times).tolist()), *points)
    yield Plot("Transverse waves", "nu k^2 t", "autocorrelation of the velocity", lines)
    yield from _green_kubo(QUICK_STRESS_STEPS if settings.quick else STRESS_STEPS, settings)
    # Correlations of the noise of one seed in one step with that of others, in the same and in later steps, and with
    # its own in later steps.
    n_shifts = QUICK_N_SHIFTS if settings.quick else N_SHIFTS
    simulations = {seed: boxes.fluctuating_box(NOISE_BOX, settings, seed=seed) for seed in SEEDS}
    fields = {seed: noise_fields(simulation, n_shifts) for seed, simulation in simulations.items()}
    first = SEEDS[0]
    for seed in SEEDS:
        found = np.abs(fields[seed] @ fields[first][0])
        worst = float(found[1:].max() if seed == first else found.max())
        what = f"noise of seed {first}, and of {seed} in {n_shifts} steps: correlation"
        yield at_most(f"{what} [standard errors]", MOST_CORRELATED, worst * sqrt(fields[seed].shape[1]))


def transverse_waves(simulation: Solver, run: Decay) -> list[np.ndarray]:
    """Amplitudes (n_samples, n_vectors, 3) across the wave vectors of each of ``WAVES``, in all directions."""
    vectors = [_directions(wave) for wave in WAVES]
    k = 2.0 * np.pi / run.edge * np.concatenate(vectors)
    position = voxel_coordinates(simulation.domain.voxel, simulation.header.shape)
    phases = np.exp(-1j * k @ position.T)
    unit = k / np.linalg.norm(k, axis=1)[:, None]
    simulation.step(round(SETTLING_TIMES / (boxes.VISCOSITY * (2.0 * np.pi / run.edge) ** 2)))
    found = np.empty((run.n_samples, len(k), 3), complex)
    for sample, (_, *u) in enumerate(boxes.moments_over_time(simulation, run.n_samples, run.interval)):
        wave = phases @ np.transpose(u)
        found[sample] = wave - unit * (unit * wave).sum(axis=1)[:, None]
    return np.split(found, np.cumsum([len(each) for each in vectors])[:-1], axis=1)


def _directions(wave) -> np.ndarray:
    """(n, 3) wave vectors of the same kind, one of each pair of opposites."""
    signed = {tuple(np.multiply(signs, order)) for order in permutations(wave) for signs in product((1, -1), repeat=3)}
    return np.array(sorted(vector for vector in signed if vector > tuple(np.negative(vector))), float)


def correlation(amplitude: np.ndarray, lag: int) -> float:
    """Autocorrelation of amplitudes (n_samples, ...) over a number of samples."""
    later, earlier = amplitude[lag:], amplitude[: len(amplitude) - lag]
    return float((later * earlier.conj()).real.mean() / (np.abs(amplitude) ** 2).mean())


def _green_kubo(n_steps: int, settings: Settings) -> Iterator[Row | Plot]:
    # (n_steps, 5) shear stresses summed over a periodic box, step after step: xy, yz, zx, and, as in axes turned by
    # an eighth of a circle, half the difference of two normal stresses and its like.
    simulation = boxes.fluctuating_box((STRESS_EDGE,) * 3, settings, nu=STRESS_VISCOSITY)
    cx, cy, cz = simulation.lattice.c.T
    normal = (cx**2 - cy**2) / 2.0, (cx**2 + cy**2 - 2.0 * cz**2) / sqrt(12.0)
    products = np.stack((cx * cy, cy * cz, cz * cx, *normal))
    found = np.empty((n_steps, len(products)))
    for step in range(n_steps):
        simulation.step()
        found[step] = products @ simulation.engine.populations().sum(axis=1, dtype=np.float64)
    stress = found
    volume = float(STRESS_EDGE**3)
    correlations = np.array([_mean_product(stress, lag) for lag in range(STRESS_LAGS)]) / (volume * boxes.KT)
    viscosities = np.cumsum(correlations) - 0.5 * correlations[0]
    # The sum over lags is known to its value times this (Zwanzig, Ailawadi, Phys. Rev. 182, 280 (1969)).
    error = sqrt((4.0 * STRESS_LAGS + 2.0) / stress.size)
    tolerance = boxes.N_SIGMA * error if settings.quick else TOLERANCE
    yield relative(f"Green-Kubo, {n_steps} steps: viscosity", STRESS_VISCOSITY, viscosities[-1], tolerance)
    lines = (
        Series("viscosity", (0, STRESS_LAGS - 1), (STRESS_VISCOSITY,) * 2),
        Series("sum up to that time", range(STRESS_LAGS), viscosities.tolist(), "points"),
        Series("autocorrelation of the stress", range(STRESS_LAGS), correlations.tolist(), "points"),
    )
    yield Plot("Green-Kubo", "time [steps]", "lattice units", lines)


def _mean_product(series: np.ndarray, lag: int) -> float:
    return float((series[lag:] * series[: len(series) - lag]).mean())


def noise_fields(simulation: Solver, n_steps: int) -> np.ndarray:
    """(n_steps, n) noise of the rest population in each of some steps, normalised: what one step adds to a fluid at
    rest."""
    engine, rest = simulation.engine, np.zeros((simulation.lattice.q, 1))
    found = np.empty((n_steps, simulation.header.n_nodes))
    for step in range(n_steps):
        engine.set_populations(rest)
        engine.set_step_number(step)
        engine.step()
        noise = engine.populations()[0].astype(np.float64)
        found[step] = noise / np.linalg.norm(noise)
    return found
