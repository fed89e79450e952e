"""Heat through walls of fixed temperature: the mean temperature gradient there, and the Nusselt number.

One-sided differences of second order, dT/dn = (-8 T_w + 9 T_1 - T_2) / 3 (Obrecht, Kuznik, Tourancheau, Roux, Comput.
Fluids 54, 118 (2012), Eqs. (23), (24)), 2 (T_1 - T_w) where only one node lies before the wall; the mean over all links
along the axes.
"""

import numpy as np

from geometry.neighbours import FIRST_WALL_LINK, NeighbourSearch
from geometry.nodes import NodeList
from muphy_lb.output.report import SeriesWriter

AXES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
BACK = np.array([1, 0, 3, 2, 5, 4])
FILE = "heat.csv"


class WallHeat:
    """The links into walls of fixed temperature; made on rank 0.

    Args:
        nodes: the whole geometry.
        fixed_k: temperature of each wall by name.
    """

    def __init__(self, nodes: NodeList, fixed_k: dict[str, float]):
        table = NeighbourSearch(nodes).table(AXES)
        numbers = {wall.name: k for k, wall in enumerate(nodes.walls)}
        self._links, self._spacing_m = {}, nodes.spacing_m
        for name, temperature_k in fixed_k.items():
            axis, node = np.nonzero(table == FIRST_WALL_LINK - numbers[name])
            self._links[name] = temperature_k, node, table[BACK[axis], node]

    def gradients_k_m(self, temperature_k: np.ndarray) -> dict[str, float]:
        """Mean slope of the temperature from each wall into the fluid [K/m], by name; of (n,) temperatures in node-list
        order."""
        slopes = {name: _slopes(temperature_k, *links) for name, links in self._links.items()}
        return {name: float(slope.mean()) / self._spacing_m for name, slope in slopes.items() if slope.size}


def _slopes(temperature_k, wall_k: float, node: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Per voxel edge, of every link."""
    first = temperature_k[node].astype(np.float64) - wall_k
    second = temperature_k[np.maximum(behind, 0)].astype(np.float64) - wall_k
    return np.where(behind >= 0, (9.0 * first - second) / 3.0, 2.0 * first)


def nusselt(gradient_k_m: float, difference_k: float, length_m: float | None) -> float | None:
    """Of a mean gradient; None without a length or a difference."""
    return abs(gradient_k_m) * length_m / difference_k if length_m and difference_k else None


class HeatWriter(SeriesWriter):
    """Appends gradient and Nusselt number of every wall of fixed temperature to ``heat.csv``."""

    file = FILE

    def columns(self) -> list[str]:
        """Two a wall, and the extremes of the fluid."""
        walls = self._simulation.heating.fixed_k
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
