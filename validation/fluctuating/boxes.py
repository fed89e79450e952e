"""Fluctuating fluids of the validation cases, in lattice units, and the statistics of what is measured in them.

A sample of N independent Gaussian numbers gives their variance to sqrt(2 / N) of itself. All tolerances that are not
published follow from that, with N the number of independent numbers that a run gives.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from math import sqrt

import numpy as np

from muphy_lb.lattice import Lattice
from muphy_lb.physics.fluctuating.operators import noise_modes
from muphy_lb.physics.fluctuating.temperature import BOLTZMANN_J_K
from muphy_lb.run.solver import Solver
from muphy_lb.validation import limits
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flows import lattice_simulation, memory

KT = 1e-6  # kT of most cases: so small that terms of second order in the velocity change no variance visibly

VISCOSITY, N_SIGMA, LATTICE_D3Q19, BGK = 1 / 6, 5.0, "D3Q19", "bgk"


refuse_half = partial(limits.refuse_half, reason="fluctuations refuse fp16: noise has no more than three digits in it")


def fluctuating_flow(geometry: Mapping, settings: Settings, **more) -> Solver:
    """A fluctuating fluid at rest. ``geometry``: the table ``[geometry]`` of a case, without spacing; ``more``: ``kt``,
    ``nu``, ``seed``, ``name`` of the velocity set, ``collision`` and its ``rates`` where they are not the usual ones,
    and further tables of the case."""
    kt, nu, seed = more.pop("kt", KT), more.pop("nu", VISCOSITY), more.pop("seed", 1)
    lattice = {"name": more.pop("name", LATTICE_D3Q19), "collision": more.pop("collision", BGK)}
    lattice["rates"] = dict(more.pop("rates", {}))
    fluid, fluctuating = {"temperature_k": kt / BOLTZMANN_J_K}, {"seed": seed}
    return lattice_simulation(settings, geometry, nu, fluid=fluid, fluctuating=fluctuating, lattice=lattice, **more)


def fluctuating_box(shape_zyx, settings: Settings, **more) -> Solver:
    """A periodic box without walls; ``more`` as of :func:`fluctuating_flow`.

    Edges are odd: across an even edge the momentum with alternating signs is conserved for ever, a property of
    every velocity set, and would stay zero.
    """
    options = {"shape_zyx": list(shape_zyx), "porosity": 1.0}
    return fluctuating_flow({"shape": "random_solid", "options": options}, settings, **more)


def moments_over_time(simulation: Solver, n_samples: int, interval: int) -> Iterator[np.ndarray]:
    """(4, n) density deviation and velocity of the nodes in double precision, ``n_samples`` times."""
    for _ in range(n_samples):
        simulation.step(interval)
        yield simulation.engine.moments().astype(np.float64)


def orthonormal_modes(lattice: Lattice) -> np.ndarray:
    """(Q, Q) matrix whose rows times populations are modes of variance rho kT / c_s^2: mass and momentum first."""
    axes = lattice.c.T[: lattice.dimension] / sqrt(float(lattice.cs2))
    return np.vstack((np.ones(lattice.q), axes, noise_modes(lattice) / lattice.w))


def equilibrium_populations(lattice: Lattice, n: int, kt: float, rng: np.random.Generator) -> np.ndarray:
    """(Q, n) deviations from w_q in thermal equilibrium: independent, of variance w_q rho kT / c_s^2."""
    amplitude = np.sqrt(kt / float(lattice.cs2) * lattice.w)
    return amplitude[:, None] * rng.standard_normal((lattice.q, n))


def wave_numbers(shape) -> list[np.ndarray]:
    """Components of the wave vectors of a box along its axes, [1 / voxel], in the order of a Fourier transform."""
    return [2.0 * np.pi * np.fft.fftfreq(n) for n in shape]


def mean_memory(shape, nu: float, interval: float) -> float:
    """:func:`memory` of a variance at the nodes of a periodic box, in which waves decay with nu k^2."""
    k_squared = sum(k**2 for k in np.meshgrid(*wave_numbers(shape), indexing="ij"))
    return float(memory(nu * k_squared[k_squared > 0.0], interval).mean())


def sigmas(ratio: np.ndarray, freedom) -> np.ndarray:
    """Distance of measured variances from their values, in standard errors.

    The cube root of a chi-squared number is nearly Gaussian: Wilson, Hilferty, Proc. Natl. Acad. Sci. 17, 684 (1931).
    ``ratio``: measured over expected; ``freedom``: independent numbers in each.
    """
    spread = 2.0 / (9.0 * np.asarray(freedom))
    return (np.cbrt(ratio) - (1.0 - spread)) / np.sqrt(spread)
