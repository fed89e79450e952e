"""What the steady-state criterion looks at."""

import numpy as np

from muphy_lb.case.case import Case
from muphy_lb.errors import InputError
from muphy_lb.geometry.nodes import Outline


def watched(simulation) -> dict[str, dict[str, float]] | None:
    """The quantities of ``run.steady_watch`` by group and name, on rank 0; collective."""
    measures = {
        "mean_speed": lambda: {"mean_speed": simulation.health().mean_speed},
        "flow_rates": lambda: {k: state.flow_rate_m3_s for k, state in (simulation.openings() or {}).items()},
        "forces": lambda: {
            f"{k}_{axis}": x
            for k, force in (simulation.wall_forces() or {}).items()
            for axis, x in zip("xyz", force.force_n, strict=True)
        },
        "permeability": lambda: _mean_velocity(simulation),
        "heat": lambda: _wall_gradients(simulation),
    }
    groups = {name: measures[name]() for name in measures if name in simulation.case.run.steady_watch}
    return groups if simulation.communicator.rank == 0 else None


def refuse_to_watch_nothing(case: Case, outline: Outline) -> None:
    """A steady-state criterion that can never fire must not be asked for.

    Raises:
        InputError: as said.
    """
    there = {
        "mean_speed": True,
        "permeability": True,
        "flow_rates": outline.openings,
        "forces": outline.walls,
        "heat": any(wall.temperature_k is not None for wall in case.walls),
    }
    if case.run.steady_tolerance is not None and not any(there[name] for name in case.run.steady_watch):
        raise InputError(
            f"run.steady_watch is {', '.join(case.run.steady_watch)}, but the geometry has no opening, no labelled wall"
            " and no wall of fixed temperature for it; watch mean_speed or permeability"
        )


def _mean_velocity(simulation) -> dict[str, float]:
    """Mean velocity [m/s] along each axis, what permeability is proportional to; the same for any number of ranks."""
    velocity = simulation.velocity_m_s()
    return {} if velocity is None else dict(zip("xyz", velocity.mean(axis=0, dtype=np.float64).tolist(), strict=True))


def _wall_gradients(simulation) -> dict[str, float]:
    """Mean temperature gradient at every wall of fixed or outer temperature [K/m]."""
    temperature_k = simulation.temperature_k()
    return {} if temperature_k is None else simulation.wall_heat.gradients_k_m(temperature_k)
