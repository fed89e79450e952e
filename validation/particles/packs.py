"""Dispersion along the flow through a random pack of spheres by two independent methods, over the Peclet number."""

from collections.abc import Iterator
from functools import partial
from math import ceil, log
from typing import Any

import numpy as np

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.porous.preparation import drop_unconnected
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.measure.flow_view import on_root
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, case, relative, shown
from muphy_lb.validation.flows import lattice_simulation, until_steady
from muphy_lb.validation.particles.tracers import statistics, tracers

SIZE, RADIUS, POROSITY, SEED = 100, 8.0, 0.4, 1
QUICK_SIZE, QUICK_RADIUS = 24, 4.0
COUNT, QUICK_COUNT = 200_000, 10_000
PECLETS, QUICK_PECLETS = (3.0, 10.0, 30.0, 100.0, 300.0), (3.0, 10.0)
SPEED, VISCOSITY = 0.015, 1.0 / 6.0  # of the fluid on the mean; creeping
SETTLED, EVERY = 1e-4, 500
#: Times of tracers before and while their variance is measured, in a^2 / D and in times past a sphere.
DIFFUSIVE_TIMES, SPHERES_PASSED = 0.3, 6.0
AGREE, QUICK_AGREE = 0.05, 0.15
CELL_PECLET = 2.0  # speed over diffusivity up to which the grid is compared
POWER, POWER_TOLERANCE = 1.2, 0.1
POWER_FROM, POWER_TO = 10.0, 300.0


@case(
    "pack-dispersion",
    "two methods against each other: the closure problem (Carbonell, Whitaker, Chem. Eng. Sci. 38, 1795 (1983)) and"
    " tracers; D_L / D = 1 / (F phi) + 0.5 Pe^1.2 for 5 < Pe < 300, measured in packs and sands: Sahimi, Rev. Mod."
    " Phys. 65, 1393 (1993), after Fried, Combarnous, Adv. Hydrosci. 7, 169 (1971), shown beside (from memory)",
)
def pack_dispersion(settings: Settings) -> Iterator:
    """Coefficients over those of diffusion of random spheres that touch, Pe = mean velocity of the fluid, diameter."""
    size, radius, count = (QUICK_SIZE, QUICK_RADIUS, QUICK_COUNT) if settings.quick else (SIZE, RADIUS, COUNT)
    peclets = QUICK_PECLETS if settings.quick else PECLETS
    pack = build_shape("random_spheres", size=size, radius=radius, porosity=POROSITY, seed=SEED)
    geometry = build_nodes(drop_unconnected(pack, "x", "faces")[0])  # what lies elsewhere stays where it is
    diffusivities = [2.0 * radius * SPEED / peclet for peclet in peclets]
    force, spin_up = _driving(settings, geometry)
    on_grid = _on_grid(settings, geometry, force, diffusivities)
    by_tracers = _by_tracers(settings, geometry, (force, spin_up), (diffusivities, radius, count))
    for peclet, diffusivity, grid, walkers in zip(peclets, diffusivities, on_grid, by_tracers, strict=True):
        name = f"Pe {peclet:g}: D_L over D"
        if SPEED / diffusivity <= CELL_PECLET:
            yield relative(f"{name}, grid and tracers", walkers, grid, QUICK_AGREE if settings.quick else AGREE)
        else:
            yield shown(f"{name}, grid and tracers (cell Peclet number {SPEED / diffusivity:.2g})", walkers, grid)
        yield shown(f"{name}, measured 0.67 + 0.5 Pe^1.2, and tracers", 0.67 + 0.5 * peclet**POWER, walkers)
    if not settings.quick:
        yield _power(peclets, by_tracers)


def _power(peclets, found) -> Row:
    """The power of Pe with which the coefficient grows."""
    inside = [k for k, peclet in enumerate(peclets) if POWER_FROM <= peclet <= POWER_TO]
    slope = np.polyfit([log(peclets[k]) for k in inside], [log(found[k]) for k in inside], 1)[0]
    name = f"power of Pe, {peclets[inside[0]]:g} to {peclets[inside[-1]]:g}, tracers"
    return absolute(name, POWER, float(slope), POWER_TOLERANCE)


def _flow(settings: Settings, geometry, force: float, **tables) -> Solver:
    lattice, flow = {"name": "D3Q19", "equilibrium": "stokes"}, {"acceleration_m_s2": [force, 0.0, 0.0]}
    box = {"shape": "channel", "options": {"length": 2, "height": 2, "width": 2}}  # the nodes are given
    make = partial(Solver, nodes=geometry)
    return lattice_simulation(settings, box, VISCOSITY, make, lattice=lattice, flow=flow, **tables)


def _driving(settings: Settings, geometry) -> tuple[float, int]:
    """The force that drives the mean velocity ``SPEED``, and the steps in which the flow becomes steady."""
    trial = 1e-4
    simulation = _flow(settings, geometry, trial)
    speed = until_steady(simulation, lambda: simulation.mean_velocity_m_s()[:1], SETTLED, 200)
    return trial * SPEED / float(speed[0]), simulation.step_number


def _on_grid(settings: Settings, geometry, force: float, diffusivities) -> np.ndarray:
    """The coefficients by the closure problem over the diffusivities, in one run."""
    simulation = _flow(settings, geometry, force, dispersion={"axis": "x", "diffusivities_m2_s": diffusivities})
    (physics,) = simulation.physics
    (measure,) = physics.monitored(simulation).values()
    found = until_steady(simulation, lambda: list(on_root(measure()).values()), SETTLED, EVERY)
    return np.asarray(found)


def _by_tracers(settings: Settings, geometry, driven: tuple[float, int], asked: tuple) -> np.ndarray:
    """The coefficients by the growth of the variance of tracers over the diffusivities, in one run."""
    (force, start), (diffusivities, radius, count) = driven, asked
    sets: dict[str, Any] = {
        f"at_{k}": tracers(count, diffusivity, name=f"at_{k}", start_s=float(start))
        for k, diffusivity in enumerate(diffusivities)
    }
    simulation = _flow(settings, geometry, force, particles=list(sets.values()))
    times = [
        ceil(DIFFUSIVE_TIMES * radius**2 / diffusivity + SPHERES_PASSED * 2.0 * radius / SPEED)
        for diffusivity in diffusivities
    ]
    looks = sorted((start + n * time, name) for name, time in zip(sets, times, strict=True) for n in (1, 2))
    variances: dict[str, list[float]] = {name: [] for name in sets}
    for step, name in looks:
        simulation.step(step - simulation.step_number)
        variances[name].append(float(statistics(simulation, name).variance_m2[0]))
    growth = [0.5 * (variances[name][1] - variances[name][0]) / time for name, time in zip(sets, times, strict=True)]
    return np.array(growth) / diffusivities
