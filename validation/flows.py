"""Flows of the validation cases: set-up in lattice units, and integration to a steady state."""

from collections.abc import Callable, Mapping
from math import ceil
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import MuphyError
from muphy_lb.base.units import CS2, relaxation_time, viscosity
from muphy_lb.case.case import case_from_dict
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import DEFAULT, Settings

STEADY = 1e-10
# Change below which stored populations of that precision may never settle: a few roundings of the mean.
ROUND_OFF = {"fp64": 0.0, "fp32": 1e-6, "fp16": 1e-4}
MAX_STEPS = 400_000
RAMP_STEPS = 200  # of walls that a forced flow moves
VIEWS_PER_VISCOUS_TIME, SHORTEST_INTERVAL = 10, 100
SETTLED = 1e-9
DENSITY_SPREAD, SEED = 0.01, 1
NO_TABLES = MappingProxyType({})


def lattice_simulation(
    settings: Settings, geometry: Mapping, viscosity: float, make: type[Simulation] = Simulation, **tables
) -> Simulation:
    """A simulation in lattice units (density 1, time step 1) that starts without a ramp. ``geometry``: the table
    ``[geometry]`` of a case; the voxel edge is 1 if it does not say; ``viscosity``: kinematic, lattice units; ``make``:
    the class of the simulation; ``tables``: further keys of ``fluid``, ``flow``, ``lattice``, ``walls``, ``openings``
    and ``run``, lattice units."""
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
) -> Simulation:
    """A flow at rest that a body force will drive; its SI units are its lattice units. ``geometry``: the table
    ``[geometry]`` of a case, without spacing; ``relaxation_time``: [time steps]; ``force``: body force per volume (x,
    y, z), lattice units; ``lattice``: velocity set; ``tables``: further tables of the case; that of ``lattice`` is
    added to the one made here. See :func:`creeping`."""
    own = {"lattice": {"name": lattice, "collision": "bgk", **tables.get("lattice", {})}}
    drive = {"acceleration_m_s2": [float(component) for component in force]}
    run = {"steps": MAX_STEPS, "ramp_steps": RAMP_STEPS}
    nu = viscosity(relaxation_time, CS2)
    return lattice_simulation(settings, geometry, nu, **{**tables, **own, "flow": drive, "run": run})


def viscous_flow(geometry: Mapping, viscosity: float, force, lattice: str = "D3Q19", *more, **others) -> Simulation:
    """As :func:`forced_flow`, with the relaxation time of a kinematic viscosity [lattice units]."""
    tau = relaxation_time(viscosity, CS2)
    return forced_flow(geometry, tau, force, lattice, *more, **others)


def creeping(walls: str = "half-way", collision: str = "trt", **lattice) -> dict:
    """Tables for :func:`forced_flow`: Stokes flow (no terms of second order in the velocity), Lambda = 3/16 unless
    given."""
    return {"lattice": {"collision": collision, "equilibrium": "stokes", "walls": walls, **lattice}}


def start_from_velocity(simulation: Simulation, velocity: np.ndarray) -> None:
    """Equilibrium at density 1 and an (n, 3) velocity [lattice units] in the order of the node list."""
    mine = velocity[simulation.domain.number].T
    simulation.engine.start_from(np.ones(mine.shape[1]), mine)


def start_along(simulation: Simulation, axis: int, velocity: np.ndarray) -> None:
    """As :func:`start_from_velocity`, with (n,) velocities along an axis."""
    start_from_velocity(simulation, np.outer(velocity, np.eye(3)[axis]))


def until_steady(
    simulation: Simulation, measure: Callable[[], np.ndarray], tolerance: float = STEADY, interval: int = 100
) -> np.ndarray:
    """:func:`settle` within MAX_STEPS steps; the tolerance is at least the round-off of the
    populations."""
    tolerance = max(tolerance, ROUND_OFF[simulation.case.compute.precision])
    return settle(simulation, measure, interval, tolerance, MAX_STEPS)


def settle(
    simulation: Simulation, measure: Callable[[], np.ndarray], interval: int, tolerance: float, most_steps: int
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


def settled(
    simulation: Simulation, measure: Callable[[], np.ndarray], length: float, tolerance: float = SETTLED
) -> np.ndarray:
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


def over_two_steps(simulation: Simulation, measure: Callable[[], np.ndarray]) -> np.ndarray:
    """Mean of a measured array now and after one more step."""
    now = np.asarray(measure())
    simulation.step()
    return 0.5 * (now + np.asarray(measure()))


def sum_along_x(simulation: Simulation) -> np.ndarray:
    """Sum of the velocity along x over all nodes, lattice units."""
    return simulation.engine.moments()[1].sum(dtype=np.float64)


def drift_of_mass(simulation: Simulation, n_steps: int) -> tuple[float, float]:
    """(relative change of the mass in some steps, largest speed at their end) from a random density on, so that sound
    runs through the domain at first."""
    engine, n_nodes = simulation.engine, simulation.nodes.n_nodes
    density = 1.0 + DENSITY_SPREAD * np.random.default_rng(SEED).standard_normal(n_nodes)
    engine.start_from(density, np.zeros((3, n_nodes)))
    before = engine.totals().mass
    simulation.step(n_steps)
    after = engine.totals()
    return (after.mass - before) / (n_nodes + before), after.speed


def flow_through_openings(simulation: Simulation) -> np.ndarray:
    """What enters through each opening in a step, lattice units, on one rank."""
    flux, _ = simulation.engine.link_fluxes()
    return np.bincount(simulation.domain.links.boundary, flux, len(simulation.header.openings))


def order_of_convergence(sizes, errors) -> float:
    """Slope of error against resolution on a doubly logarithmic scale, fitted to all points, turned positive."""
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
