"""Ideal chains: their size, and how their diffusion depends on their length, with and without the fluid between beads.

N beads with springs k: <Rg^2> = (3 kT / k) (N^2 - 1) / 6N, with the fluid as without. Without, their friction adds up
(Rouse): D = kT / (N friction). With it beads drag each other along (Zimm): D falls more slowly, in the limit of long
chains like the inverse of their size, N^-1/2 for ideal ones; chains here are short, so that exponent is shown only.

Diffusion in a periodic box is corrected by 2.837297 kT / (6 pi eta L). Beads of an ideal chain share nodes, so that in
the fluid they are a little too hot (:mod:`muphy_lb.validation.particles.beads_temperature`), which is shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from muphy_lb.physics.particles.measures import radius_of_gyration
from muphy_lb.validation.case import Row, Settings, absolute, at_least, case, relative, shown
from muphy_lb.validation.particles.beads_boxes import (
    N_SIGMA,
    VISCOSITY,
    bead_flow,
    box,
    refuse,
    samples,
    start_of_chains,
)
from muphy_lb.validation.particles.beads_mobility import HASIMOTO
from muphy_lb.validation.plot import Plot, Series

KT, STIFFNESS, MASS, FRICTION = 1e-3, 3e-3, 1.0, 0.25
ROUSE, EXPONENT_TOLERANCE = -1.0, 0.05
HEATING = 0.05
"""Of beads that share nodes: what the size in the fluid may be too large by."""
LEAST_DIFFERENCE = 0.15


@dataclass(frozen=True)
class Chains:
    """What is computed."""

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
    refuse(settings)
    run = QUICK_FREE if settings.quick else FREE
    rows, free, free_curves = _study("fluid taken to rest", run, settings)
    yield from rows
    # Standard error of a diffusion coefficient over its value.
    error = N_SIGMA * sqrt(2.0 * run.lag * run.interval / (3.0 * run.count * run.n_steps))
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
    more, found, curves = _study("in the fluid", IN_FLUID, settings)
    with_fluid = _exponent(IN_FLUID, found)
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
        tolerance = N_SIGMA * 0.52 / sqrt(n_independent) + (0.0 if at_rest else HEATING)
        found = float(np.mean(size[length]))
        rows.append(relative(f"{what}, N = {length}: <Rg^2> over exact", 1.0, found / expected, tolerance))
        moved = centre[length][run.lag :] - centre[length][: -run.lag]
        own = float((moved**2).mean()) / (2.0 * run.lag * run.interval)
        diffusion.append(own if at_rest else own + HASIMOTO * KT / (6.0 * pi * VISCOSITY * run.edge))
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
    simulation = bead_flow(box((run.edge,) * 3), tables, settings, kt=KT, fluctuates=not keys)
    simulation.step(run.lag * run.interval)
    size, centre, heat = ({length: [] for length in run.lengths} for _ in range(3))
    start = {length: start_of_chains(simulation, f"n{length}", length) for length in run.lengths}
    for found in samples(simulation, run.n_steps // run.interval, run.interval):
        for length in run.lengths:
            speed, travelled = found[f"n{length}"]
            chains = start[length] + travelled.reshape(-1, length, 3)
            size[length].append(float((radius_of_gyration(chains) ** 2).mean()))
            centre[length].append(chains.mean(axis=1))
            heat[length].append(MASS * float((speed**2).mean()))
    return size, {length: np.array(each) for length, each in centre.items()}, heat
