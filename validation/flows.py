"""Flows of the validation cases: set-up in lattice units, integration to a steady state, exact profiles, lines.

Source: White, Viscous Fluid Flow (2006), sections 3-3.1 to 3-3.3.
"""

from collections.abc import Callable, Mapping
from math import ceil, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np

from muphy_lb.base.errors import MuphyError
from muphy_lb.base.units import CS2, relaxation_time, viscosity
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.nodes import on_box as nodes_on_box
from muphy_lb.operators.initial import AXES_OF_TENSOR
from muphy_lb.run.solver import Solver
from muphy_lb.setup.initial import stress_of
from muphy_lb.validation.case import DEFAULT, Settings

N_TERMS = 500


def channel_velocity(y, height: float, acceleration: float, viscosity: float) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from one of them: g y (H - y) / (2 nu)."""
    y = np.asarray(y, dtype=np.float64)
    return acceleration / (2.0 * viscosity) * y * (height - y)


def pipe_velocity(r, radius: float, acceleration: float, viscosity: float) -> np.ndarray:
    """Velocity in a round pipe at the distances ``r`` from its axis: g (R^2 - r^2) / (4 nu)."""
    return acceleration / (4.0 * viscosity) * (radius**2 - np.asarray(r, dtype=np.float64) ** 2)


def pipe_flow_rate(radius: float, acceleration: float = 1.0, viscosity: float = 1.0) -> float:
    """Volume flow of a round pipe: pi R^4 g / (8 nu)."""
    return np.pi * radius**4 * acceleration / (8.0 * viscosity)


def duct_flow_rate(width: float, height: float, acceleration: float = 1.0, viscosity: float = 1.0) -> float:
    """Volume flow of a rectangular duct."""
    a, b = sorted((0.5 * width, 0.5 * height))
    i = 2.0 * np.arange(N_TERMS) + 1.0
    sides = 192.0 * a / (np.pi**5 * b) * np.sum(np.tanh(0.5 * np.pi * i * b / a) / i**5)
    return float(4.0 * b * a**3 / 3.0 * acceleration / viscosity * (1.0 - sides))


STEADY = 1e-10
# Change below which stored populations of that precision may never settle: a few roundings of the mean.
ROUND_OFF = {"fp64": 0.0, "fp32": 1e-6, "fp16": 1e-4}
MAX_STEPS = 400_000
RAMP_STEPS = 200  # of walls that a forced flow moves
VIEWS_PER_VISCOUS_TIME, SHORTEST_INTERVAL, SETTLED = 10, 100, 1e-9
DENSITY_SPREAD, SEED = 0.01, 1
NO_TABLES: Mapping[str, Any] = MappingProxyType({})


def lattice_simulation(
    settings: Settings, geometry: Mapping, viscosity: float, make: Callable[..., Solver] = Solver, **tables
) -> Solver:
    """A simulation in lattice units (density 1, time step 1) that starts without a ramp. ``geometry``: the table
    ``[geometry]`` of a case; the voxel edge is 1 if it does not say; ``viscosity``: kinematic, lattice units; ``make``:
    makes the simulation of a case and ranks; ``tables``: further keys of ``fluid``, ``flow``, ``lattice``, ``walls``,
    ``openings`` and ``run``, lattice units."""
    defaults = {
        "geometry": {"spacing_m": 1.0, **geometry},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": float(viscosity)},
        "lattice": {"name": "D2Q9", "collision": "trt", "time_step_s": 1.0},
        "compute": settings.compute_table(),
        "run": {"steps": 1, "ramp_steps": 0},
    }
    merged = {key: {**table, **tables.pop(key, {})} for key, table in defaults.items()}
    return make(case_from_dict({**merged, **tables}), settings.communicator)


def forced_flow(
    geometry: Mapping,
    relaxation_time: float,
    force,
    lattice: str = "D3Q19",
    settings: Settings = DEFAULT,
    tables: Mapping = NO_TABLES,
) -> Solver:
    """A flow at rest that a body force will drive; its SI units are its lattice units. ``geometry``: the table
    ``[geometry]`` of a case, without spacing; ``relaxation_time``: [time steps]; ``force``: body force per volume (x,
    y, z), lattice units; ``lattice``: velocity set; ``tables``: further tables of the case; that of ``lattice`` is
    added to the one made here. See :func:`creeping`."""
    own = {"lattice": {"name": lattice, "collision": "bgk", **tables.get("lattice", {})}}
    drive = {"acceleration_m_s2": [float(component) for component in force]}
    run = {"steps": MAX_STEPS, "ramp_steps": RAMP_STEPS}
    nu = viscosity(relaxation_time, CS2)
    return lattice_simulation(settings, geometry, nu, **{**tables, **own, "flow": drive, "run": run})


def viscous_flow(geometry: Mapping, viscosity: float, force, lattice: str = "D3Q19", *more, **others) -> Solver:
    """As :func:`forced_flow`, with the relaxation time of a kinematic viscosity [lattice units]."""
    tau = relaxation_time(viscosity, CS2)
    return forced_flow(geometry, tau, force, lattice, *more, **others)


def creeping(walls: str = "half-way", collision: str = "trt", **lattice) -> dict:
    """Tables for :func:`forced_flow`: Stokes flow (no terms of second order in the velocity), Lambda = 3/16 unless
    given."""
    return {"lattice": {"collision": collision, "equilibrium": "stokes", "walls": walls, **lattice}}


def start_from_velocity(simulation: Solver, velocity: np.ndarray) -> None:
    """Equilibrium at density 1 and an (n, 3) velocity [lattice units] in the order of the node list."""
    mine = velocity[simulation.domain.number].T
    simulation.engine.start_from(np.ones(mine.shape[1]), mine)


def start_along(simulation: Solver, axis: int, velocity: np.ndarray) -> None:
    """As :func:`start_from_velocity`, with (n,) velocities along an axis."""
    start_from_velocity(simulation, np.outer(velocity, np.eye(3)[axis]))


def until_steady(simulation: Solver, measure: Callable[[], Any], tolerance: float = STEADY, interval: int = 100) -> Any:
    """:func:`settle` within MAX_STEPS steps; the tolerance is at least the round-off of the
    populations."""
    tolerance = max(tolerance, ROUND_OFF[simulation.case.compute.precision])
    return settle(simulation, measure, interval, tolerance, MAX_STEPS)


def settle(
    simulation: Solver, measure: Callable[[], Any], interval: int, tolerance: float, most_steps: int
) -> np.ndarray:
    """Step until a measured array changes by less than ``tolerance`` of its largest value in ``interval`` steps.
    Returns the array as last measured. Raises MuphyError: it still changes after ``most_steps`` steps."""
    now = np.asarray(measure())
    for _ in range(0, most_steps, interval):
        last = now
        simulation.step(interval)
        now = np.asarray(measure())
        change = np.abs(now - last).max()
        if change < tolerance * np.abs(now).max():
            return now
    raise MuphyError(f"the flow is not steady after {most_steps} steps: it still changed by {change:.3g} in {interval}")


def settled(simulation: Solver, measure: Callable[[], Any], length: float, tolerance: float = SETTLED) -> Any:
    """Step until a measured array is steady on the scale of the viscous time length^2 / nu.

    At least that time passes, and the change in a tenth of it must fall below ``tolerance`` of the largest value: modes
    of a flow confined to ``length`` decay faster, so the last change bounds what is missing. Every measurement is the
    mean of two consecutive steps, which removes the oscillation of period two that some interpolated walls leave.
    Raises MuphyError: it still changes after MAX_STEPS steps.
    """
    viscous_time = length**2 / simulation.numerics.viscosity_lattice
    interval = max(SHORTEST_INTERVAL, ceil(viscous_time / VIEWS_PER_VISCOUS_TIME))
    simulation.step(max(0, ceil(viscous_time) - interval))
    return until_steady(simulation, lambda: over_two_steps(simulation, measure), tolerance, interval)


def over_two_steps(simulation: Solver, measure: Callable[[], Any]) -> Any:
    """Mean of a measured array now and after one more step."""
    now = np.asarray(measure())
    simulation.step()
    return 0.5 * (now + np.asarray(measure()))


def until_openings_are_steady(simulation: Solver, tolerance: float, interval: int) -> np.ndarray:
    """:func:`flow_through_openings` of the steady flow, mean of two consecutive steps."""
    return until_steady(
        simulation, lambda: over_two_steps(simulation, lambda: flow_through_openings(simulation)), tolerance, interval
    )


def sum_along_x(simulation: Solver) -> np.ndarray:
    """Sum of the velocity along x over all nodes, lattice units."""
    return simulation.engine.moments()[1].sum(dtype=np.float64)


def drift_of_mass(simulation: Solver, n_steps: int) -> tuple[float, float]:
    """(relative change of the mass in some steps, largest speed at their end) from a random density on, so that sound
    runs through the domain at first."""
    engine, n_nodes = simulation.engine, simulation.nodes.n_nodes
    density = 1.0 + DENSITY_SPREAD * np.random.default_rng(SEED).standard_normal(n_nodes)
    engine.start_from(density, np.zeros((3, n_nodes)))
    before = engine.totals().mass
    simulation.step(n_steps)
    after = engine.totals()
    return (after.mass - before) / (n_nodes + before), after.speed


def flow_through_openings(simulation: Solver) -> np.ndarray:
    """The inflow through each opening in a step, lattice units, on one rank."""
    flux, _ = simulation.engine.link_fluxes()
    return np.bincount(simulation.domain.links.boundary, flux, len(simulation.header.openings))


def memory(rate, interval: float):
    """Number of samples that are worth one independent sample, if deviations decay like exp(-rate t).

    Their squares decay twice as fast; 1 + 2 sum_m exp(-2 rate m interval) is the hyperbolic cotangent of rate times
    interval. A deviation that oscillates as well forgets faster.
    """
    return 1.0 / np.tanh(np.maximum(rate * interval, 1e-12))


def share_of_sigma(n_independent: float) -> float:
    """Standard error of a variance over the variance."""
    return sqrt(2.0 / n_independent)


def order_of_convergence(sizes, errors) -> float:
    """Slope of error against resolution on a doubly logarithmic scale, fitted to all points, turned positive."""
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def start_from_flow(simulation: Solver, density: np.ndarray, velocity: np.ndarray, strain: np.ndarray) -> None:
    """Start with the viscous stress of an exact rate of strain (:mod:`muphy_lb.operators.initial`); without it the
    stress of the first steps is wrong. ``simulation``: on one rank; ``density``: (n,) in the order of the node list,
    like the others; ``velocity``: (n, 3); ``strain``: (n, 3, 3) rate of strain, lattice units."""
    own, fluid = simulation.domain.number, simulation.fluid
    rho, six = density[own], np.stack([strain[own, a, b] for a, b in AXES_OF_TENSOR])
    stress = stress_of(fluid, rho if fluid.equilibrium.is_compressible else 1.0, six)
    simulation.engine.start_from(rho, velocity[own].T, stress)


def on_box(simulation: Solver, values: np.ndarray) -> np.ndarray:
    """(nz, ny, nx, ...) float64 values (n, ...) of the nodes on the whole box; NaN where there is no node."""
    return nodes_on_box(simulation.nodes, values.astype(np.float64))


def from_axis(nodes: NodeList) -> np.ndarray:
    """(n,) distance of nodes from the middle of their box, across z."""
    x, y, _ = (nodes.coordinates() - 0.5 * (np.array(nodes.shape[::-1]) - 1.0)).T
    return np.hypot(x, y)


def middle(values: np.ndarray, axis: int) -> np.ndarray:
    """Values on the middle plane across an axis: those of its layer, or between two by a cubic through four."""
    n = values.shape[axis]
    if n % 2:
        return values.take(n // 2, axis)
    near = values.take(n // 2 - 1, axis) + values.take(n // 2, axis)
    far = values.take(n // 2 - 2, axis) + values.take(n // 2 + 1, axis)
    return (9.0 * near - far) / 16.0


def interpolate(x: np.ndarray, values: np.ndarray, points) -> np.ndarray:
    """Values at ``points`` by the cubic through the four nearest of evenly spaced, rising ``x``."""
    points = np.asarray(points, dtype=np.float64)
    position = (points - x[0]) / (x[1] - x[0])
    first = np.clip(np.floor(position).astype(int) - 1, 0, x.size - 4)
    t = position - first
    result = np.zeros_like(points)
    for k in range(4):
        others = [j for j in range(4) if j != k]
        weight = np.prod([(t - j) / (k - j) for j in others], axis=0)
        result += weight * values[first + k]
    return result


def extremum(x: np.ndarray, values: np.ndarray, sign: int) -> tuple[float, float]:
    """(position, value) of the maximum (``sign`` 1) or minimum (-1), on the parabola through three points of even
    spacing."""
    k = int(np.argmax(sign * values[1:-1])) + 1
    below, here, above = values[k - 1 : k + 2]
    slope, bend = 0.5 * (above - below), above - 2.0 * here + below
    return float(x[k] - slope / bend * (x[1] - x[0])), float(here - 0.5 * slope**2 / bend)
