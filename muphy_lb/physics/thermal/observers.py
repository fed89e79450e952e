"""Heat over time, through walls and midway between them: gradients and Nusselt numbers, in ``heat.csv`` and in the
summary."""

from pathlib import Path

import numpy as np

from muphy_lb.output.report import SeriesWriter
from muphy_lb.physics.thermal.mid_plane import NAME as MIDDLE
from muphy_lb.physics.thermal.mid_plane import MiddleHeat, middle_heat

FILE = "heat.csv"
OF_PLACES = ("gradient_k_m", "nusselt")


def nusselt(gradient_k_m: float, difference_k: float, length_m: float | None) -> float | None:
    """Of a mean gradient; None without a length or a difference."""
    return abs(gradient_k_m) * length_m / difference_k if length_m and difference_k else None


class HeatWriter(SeriesWriter):
    """Appends gradient and Nusselt number of every wall of fixed or outer temperature, and of the plane midway between
    two, to ``heat.csv``."""

    file = FILE

    def __init__(self, simulation, folder: Path, resume_step: int | None):
        self._middle = middle_heat(simulation)
        super().__init__(simulation, folder, resume_step)

    def columns(self) -> list[str]:
        """Two a wall and the middle plane, and the extremes of the fluid."""
        places = (*self._simulation.wall_heat.walls, *((MIDDLE,) if self._middle else ()))
        return [f"{place}_{what}" for place in places for what in OF_PLACES] + ["lowest_k", "highest_k"]

    def numbers(self) -> list[float] | None:
        """One number a column, on rank 0; collective."""
        state = _state(self._simulation, self._middle)
        if state is None:
            return None
        places = (*state["walls"].values(), *((state[MIDDLE],) if self._middle else ()))
        numbers = [*(place[what] for place in places for what in OF_PLACES), state["lowest_k"], state["highest_k"]]
        return [np.nan if value is None else value for value in numbers]


def heat_state(simulation) -> dict | None:
    """What a summary says of heat, on rank 0; collective."""
    return _state(simulation, middle_heat(simulation))


def _state(simulation, middle: MiddleHeat | None) -> dict | None:
    temperature_k, through_middle = simulation.temperature_k(), middle and middle.gradient_k_m()
    if temperature_k is None:
        return None
    length_m, difference_k = simulation.case.thermal.length_m, simulation.heating.difference_k

    def place(gradient_k_m: float) -> dict:
        return {"gradient_k_m": gradient_k_m, "nusselt": nusselt(gradient_k_m, difference_k, length_m)}

    gradients = simulation.wall_heat.gradients_k_m(temperature_k)
    return {
        "walls": {name: place(gradient) for name, gradient in gradients.items()},
        **({MIDDLE: place(through_middle)} if middle else {}),
        "lowest_k": float(temperature_k.min()),
        "highest_k": float(temperature_k.max()),
    }
