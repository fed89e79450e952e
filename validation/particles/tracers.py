"""Tracers: residence times, dispersion in a tube, diffusion between spheres."""

from collections.abc import Iterator
from math import pi, sqrt
from typing import Any

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.particles.openings import BORN, END, END_STEP, UNDER_WAY
from muphy_lb.physics.particles.tracers.observers import TracerStatistics, tracer_statistics
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation

NAME = "tracers"


def tracers(count: int, diffusivity: float = 0.0, name: str = NAME, **keys) -> dict:
    """A table [[particles]] of tracers in lattice units."""
    return {"name": name, "kind": "tracers", "count": count, "diffusivity_m2_s": diffusivity, **keys}


def statistics(simulation: Solver, name: str = NAME) -> TracerStatistics:
    """The statistics of tracers, on rank 0."""
    particles = on_root(simulation.particles())
    openings = [opening.name for opening in simulation.header.openings]
    return tracer_statistics(particles[name], openings, simulation.units)


def growth_rates(simulation: Solver, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Velocity (3,) of the mean of tracers, and half the rate (3,) at which the variance of their displacement grows,
    in the next ``n_steps`` steps; lattice units."""
    before = statistics(simulation)
    simulation.step(n_steps)
    after = statistics(simulation)
    velocity = (after.displacement_m - before.displacement_m) / n_steps
    return velocity, 0.5 * (after.variance_m2 - before.variance_m2) / n_steps


RADIUS, QUICK_RADIUS, PIPE_LENGTH, QUICK_PIPE_LENGTH = 10.5, 4.5, 60, 14
SPEED, VISCOSITY = 0.02, 0.05
#: The mean flow comes as far as diffusion in 5 voxels: what left by diffusion at the ends would be 4 % of V / Q.
PIPE_DIFFUSIVITY = 0.05
OBSERVED = 4.0  # time for which the pipe is observed, in volume over flow rate
PACK_SIZE, QUICK_PACK_SIZE, PACK_RADIUS, QUICK_PACK_RADIUS = 64, 16, 10.0, 4.0
POROSITY, PACK_FORCE, PACK_DIFFUSIVITY = 0.5, 1e-4, 2e-3
PACK_SPIN_UP, PACK_STEPS, QUICK_PACK_STEPS = 2000, 30_000, 1000
COUNT, QUICK_COUNT, TOLERANCE, QUICK_TOLERANCE = 400_000, 1500, 0.005, 0.06
EVERYWHERE = "everywhere"


@case(
    "tracer-residence",
    "mean residence time = volume / flow rate, exact for any steady flow with one inlet: Danckwerts, Chem. Eng. Sci. 2,"
    " 1 (1953)",
)
def residence_time(settings: Settings) -> Iterator:
    """Tracers in a pipe from its inlet to its outlet, with diffusion and without, and across a periodic rock."""
    yield _pipe(settings, "pipe", 0.0)
    yield _pipe(settings, "pipe with diffusion", PIPE_DIFFUSIVITY)
    yield _rock(settings)


def _pipe(settings: Settings, name: str, diffusivity: float) -> Row:
    """Tracers that enter with the flow. Near walls they stay so long that the mean is never complete; but as many of
    those that were evenly spread at the start are still there at a time as of the volume is yet to be counted: V / Q is
    the mean of the residence times, cut off at that time, over the share of the volume that was left until then."""
    radius, length, count = RADIUS, PIPE_LENGTH, COUNT
    if settings.quick:
        radius, length, count = QUICK_RADIUS, QUICK_PIPE_LENGTH, QUICK_COUNT
    start = 8 * length**2
    options = {"radius": radius, "length": length, "axis": "x", "ends": "open"}
    inlet = {"name": "inlet", "velocity_m_s": SPEED, "profile": "parabolic"}
    tables: dict[str, Any] = {
        "lattice": {"name": "D3Q19"},
        "openings": [inlet, {"name": "outlet", "pressure_pa": 0.0}],
        "particles": [
            tracers(count, diffusivity, opening="inlet", start_s=float(start)),
            tracers(count, diffusivity, name=EVERYWHERE, start_s=float(start)),
        ],
    }
    simulation = lattice_simulation(settings, {"shape": "pipe", "options": options}, VISCOSITY, **tables)
    duration = round(OBSERVED * length / SPEED)
    simulation.step(start + duration)
    entered = on_root(simulation.particles())[NAME]
    stay = np.where(entered[END] == UNDER_WAY, duration, entered[END_STEP] - entered[BORN] - 0.5).mean()
    remaining = statistics(simulation, EVERYWHERE).under_way / count
    # Mass in the fluid over mass flow rate, which is the same along the pipe although the density is not.
    inflow = on_root(simulation.openings())["inlet"].flow_rate_m3_s
    expected, found = float(on_root(simulation.density()).sum()) / inflow, stay / (1.0 - remaining)
    return relative(f"{name}: V / Q [time steps]", expected, found, QUICK_TOLERANCE if settings.quick else TOLERANCE)


def _rock(settings: Settings) -> Row:
    """Tracers that cross a periodic pack of spheres again and again."""
    size, radius, steps, count = PACK_SIZE, PACK_RADIUS, PACK_STEPS, COUNT
    if settings.quick:
        size, radius, steps, count = QUICK_PACK_SIZE, QUICK_PACK_RADIUS, QUICK_PACK_STEPS, QUICK_COUNT
    options = {"size": size, "radius": radius, "porosity": POROSITY}
    tables: dict[str, Any] = {
        "lattice": {"name": "D3Q19"},
        "flow": {"acceleration_m_s2": [PACK_FORCE * (PACK_RADIUS / radius) ** 2, 0.0, 0.0]},
        "particles": [tracers(count, PACK_DIFFUSIVITY, start_s=float(PACK_SPIN_UP))],
    }
    geometry = {"shape": "sphere_pack", "periodic": ["x", "y", "z"], "options": options}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, **tables)
    simulation.step(PACK_SPIN_UP + steps // 4)
    velocity, _ = growth_rates(simulation, steps)
    mean = float(on_root(simulation.velocity_m_s())[:, 0].mean())
    allowed = QUICK_TOLERANCE if settings.quick else TOLERANCE
    return relative("rock: V / Q of a period [time steps]", size / mean, size / velocity[0], allowed)


PECLET, QUICK_PECLET = (1.0, 10.0, 100.0), (10.0,)
TUBE_RADIUS, TUBE_QUICK_RADIUS, TUBE_COUNT, TUBE_QUICK_COUNT = 20.5, 5.5, 1_000_000, 8000
TUBE_TOLERANCE, TUBE_QUICK_TOLERANCE, LENGTH, TUBE_VISCOSITY = 0.02, 0.12, 2, 1.0 / 6.0
#: Mean velocity of the flow and diffusivity, lattice units: at most so much of each.
FASTEST, MOST_DIFFUSIVE = 0.05, 0.05
#: Time in which the flow becomes steady, in a^2 / nu; the slowest part decays as exp(-5.8 nu t / a^2).
VISCOUS_TIMES = 1.0
SETTLING, MEASURED = 0.5, 0.5  # durations in a^2 / D; the slowest part of the density decays as exp(-14.7 D t / a^2)


@case(
    "tracer-dispersion",
    "D_eff = D (1 + Pe^2 / 48), Pe = U a / D, in a tube of radius a: Taylor, Proc. R. Soc. A 219, 186 (1953); Aris,"
    " Proc. R. Soc. A 235, 67 (1956)",
)
def taylor_aris(settings: Settings) -> Iterator:
    """Growth of the variance of tracers that start evenly spread in a tube."""
    asked, count, allowed = TUBE_RADIUS, TUBE_COUNT, TUBE_TOLERANCE
    if settings.quick:
        asked, count, allowed = TUBE_QUICK_RADIUS, TUBE_QUICK_COUNT, TUBE_QUICK_TOLERANCE
    for peclet in QUICK_PECLET if settings.quick else PECLET:
        speed = min(FASTEST, MOST_DIFFUSIVE * peclet / asked)
        diffusivity = speed * asked / peclet
        start = round(VISCOUS_TIMES * asked**2 / TUBE_VISCOSITY)
        geometry = {"shape": "pipe", "options": {"radius": asked, "length": LENGTH, "axis": "x"}}
        tables: dict[str, Any] = {
            "lattice": {"name": "D3Q19"},
            "flow": {"acceleration_m_s2": [8.0 * TUBE_VISCOSITY * speed / asked**2, 0.0, 0.0]},
            "particles": [tracers(count, diffusivity, start_s=float(start))],
        }
        simulation = lattice_simulation(settings, geometry, TUBE_VISCOSITY, **tables)
        radius = sqrt(simulation.header.n_nodes / LENGTH / pi)
        simulation.step(start + round(SETTLING * radius**2 / diffusivity))
        velocity, dispersion = growth_rates(simulation, round(MEASURED * radius**2 / diffusivity))
        mean = float(on_root(simulation.velocity_m_s())[:, 0].mean())
        predicted = diffusivity * (1.0 + (mean * radius / diffusivity) ** 2 / 48.0)
        name = f"Pe {mean * radius / diffusivity:.4g}"
        yield relative(f"{name}: mean velocity of tracers", mean, velocity[0], allowed)
        what, found = f"{name}: dispersion coefficient over D", dispersion[0] / diffusivity
        yield relative(what, predicted / diffusivity, found, allowed)


FRACTIONS, QUICK_FRACTIONS = (0.05, 0.1, 0.2), (0.2,)
SIZE, QUICK_SIZE, SPHERES_COUNT, SPHERES_QUICK_COUNT = 48, 12, 1_000_000, 4000
SPHERES_TOLERANCE, SPHERES_QUICK_TOLERANCE = 0.01, 0.06
DIFFUSIVITY, SPHERES_VISCOSITY = 0.08, 1.0 / 6.0
#: Durations in size^2 / D; the slowest part decays as exp(-4 pi^2 D t / size^2).
SPHERES_SETTLING, SPHERES_MEASURED = 0.25, 0.5


@case(
    "tracer-obstruction",
    "2 (1 - c) / (2 + c) for spheres of volume fraction c: Maxwell, A Treatise on Electricity and Magnetism (1873),"
    " art. 314; in a simple cubic array the next term is of the order c^(10/3) (Rayleigh, Phil. Mag. 34, 481 (1892)):"
    " below 0.1 % for c up to 0.2",
)
def obstructed_diffusion(settings: Settings) -> Iterator:
    """Growth of the variance of tracers that start evenly spread in a resting fluid between spheres."""
    size, count, allowed = SIZE, SPHERES_COUNT, SPHERES_TOLERANCE
    if settings.quick:
        size, count, allowed = QUICK_SIZE, SPHERES_QUICK_COUNT, SPHERES_QUICK_TOLERANCE
    for asked in QUICK_FRACTIONS if settings.quick else FRACTIONS:
        geometry = {"shape": "sphere_array", "options": {"size": size, "solid_fraction": asked}}
        tables: dict[str, Any] = {"lattice": {"name": "D3Q19"}, "particles": [tracers(count, DIFFUSIVITY)]}
        simulation = lattice_simulation(settings, geometry, SPHERES_VISCOSITY, **tables)
        simulation.step(round(SPHERES_SETTLING * size**2 / DIFFUSIVITY))
        _, dispersion = growth_rates(simulation, round(SPHERES_MEASURED * size**2 / DIFFUSIVITY))
        c = 1.0 - simulation.header.n_nodes / size**3
        computed = (1.0 - c) * dispersion.mean() / DIFFUSIVITY
        yield relative(f"c {c:.4g}: effective diffusivity over D", 2.0 * (1.0 - c) / (2.0 + c), computed, allowed)
