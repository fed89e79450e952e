"""Flows of the validation cases: set up in lattice units, run until they are steady."""

from collections.abc import Callable, Mapping

import numpy as np

from muphy_lb.case import case_from_dict
from muphy_lb.errors import MuphyError
from muphy_lb.lattice import lattice_named
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.simulation import Simulation
from muphy_lb.units import viscosity

STEADY = 1e-10
MAX_STEPS = 400_000


def forced_flow(
    geometry: Mapping, relaxation_time: float, force, lattice: str = "D3Q19", precision: str = "fp64"
) -> Simulation:
    """A flow at rest that a body force will drive; its SI units are its lattice units.

    Args:
        geometry: the table ``[geometry]`` of a case, without spacing.
        relaxation_time: [time steps].
        force: body force per volume (x, y, z), lattice units.
        lattice: velocity set.
        precision: of the populations.
    """
    cs2 = float(lattice_named(lattice).cs2)
    table = {
        "geometry": {**geometry, "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(relaxation_time, cs2)},
        "flow": {"acceleration_m_s2": [float(component) for component in force]},
        "lattice": {"name": lattice, "time_step_s": 1.0},
        "compute": {"precision": precision},
        "run": {"steps": MAX_STEPS},
    }
    return Simulation(case_from_dict(table), SerialCommunicator())


def start_from_velocity(simulation: Simulation, velocity: np.ndarray) -> None:
    """Equilibrium at density 1 and an (n, 3) velocity [lattice units] in the order of the node list."""
    mine = velocity[simulation.domain.number].T
    simulation.engine.start_from(np.ones(mine.shape[1]), mine)


def until_steady(
    simulation: Simulation, measure: Callable[[], np.ndarray], tolerance: float = STEADY, interval: int = 100
) -> np.ndarray:
    """Step until a measured array changes by less than ``tolerance`` of its largest value in ``interval`` steps.

    Returns:
        The array as last measured.

    Raises:
        MuphyError: it still changes after MAX_STEPS steps.
    """
    now = np.asarray(measure())
    for _ in range(0, MAX_STEPS, interval):
        last = now
        simulation.step(interval)
        now = np.asarray(measure())
        change = np.abs(now - last).max()
        if change < tolerance * np.abs(now).max():
            return now
    raise MuphyError(f"the flow is not steady after {MAX_STEPS} steps: it still changed by {change:.3g} in {interval}")


def order_of_convergence(sizes, errors) -> float:
    """Slope of error against resolution on a doubly logarithmic scale, fitted to all points, turned positive."""
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
