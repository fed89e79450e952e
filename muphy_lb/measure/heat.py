"""Heat through walls over time: gradients and Nusselt numbers, in ``heat.csv`` and in the summary."""

import numpy as np

from muphy_lb.output.report import SeriesWriter

FILE = "heat.csv"


def nusselt(gradient_k_m: float, difference_k: float, length_m: float | None) -> float | None:
    """Of a mean gradient; None without a length or a difference."""
    return abs(gradient_k_m) * length_m / difference_k if length_m and difference_k else None


class HeatWriter(SeriesWriter):
    """Appends gradient and Nusselt number of every wall of fixed temperature to ``heat.csv``."""

    file = FILE

    def columns(self) -> list[str]:
        """Two a wall, and the extremes of the fluid."""
        walls = self._simulation.wall_heat.walls
        return [f"{wall}_{what}" for wall in walls for what in ("gradient_k_m", "nusselt")] + ["lowest_k", "highest_k"]

    def numbers(self) -> list[float] | None:
        """One number a column, on rank 0; collective."""
        state = heat_state(self._simulation)
        if state is None:
            return None
        walls = [value for wall in state["walls"].values() for value in (wall["gradient_k_m"], wall["nusselt"])]
        return [np.nan if value is None else value for value in (*walls, state["lowest_k"], state["highest_k"])]


def heat_state(simulation) -> dict | None:
    """What a summary says of heat, on rank 0; collective."""
    temperature_k, heating = simulation.temperature_k(), simulation.heating
    if temperature_k is None:
        return None
    length_m, difference_k = simulation.case.thermal.length_m, heating.difference_k
    gradients = simulation.wall_heat.gradients_k_m(temperature_k)
    walls = {
        name: {"gradient_k_m": gradient, "nusselt": nusselt(gradient, difference_k, length_m)}
        for name, gradient in gradients.items()
    }
    return {"walls": walls, "lowest_k": float(temperature_k.min()), "highest_k": float(temperature_k.max())}
