"""Mean temperature gradient at walls of fixed temperature, and at conducting walls of fixed outer temperature.

One-sided differences of second order, dT/dn = (-8 T_w + 9 T_1 - T_2) / 3 (Obrecht, Kuznik, Tourancheau, Roux, Comput.
Fluids 54, 118 (2012), Eqs. (23), (24)), 2 (T_1 - T_w) where only one node is next to the wall; the mean over all links
along the axes. For a conducting wall with the outer temperature T_o the gradient is that of the extrapolated values:
half a voxel of fluid and the wall in series, 2 b (T_1 - T_o) / (2 + b), b the conductivity of the wall over that of the
fluid, divided by its thickness in voxels.
"""

import numpy as np

from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList

AXES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
BACK = np.array([1, 0, 3, 2, 5, 4])


class WallHeat:
    """The links into walls of fixed or outer temperature; made on rank 0.

    Args:
        nodes: the whole geometry.
        fixed_k: temperature of each wall by name.
        conducting: outer temperature [K] and b of each conducting wall, by name.
    """

    def __init__(self, nodes: NodeList, fixed_k: dict[str, float], conducting: dict[str, tuple[float, float]]):
        table = NeighbourSearch(nodes).table(AXES)
        numbers = {wall.name: k for k, wall in enumerate(nodes.walls)}
        self._links, self._spacing_m = {}, nodes.spacing_m
        walls = {name: (temperature_k, None) for name, temperature_k in fixed_k.items()} | conducting
        for name, (temperature_k, b) in walls.items():
            axis, node = np.nonzero(table == FIRST_WALL_LINK - numbers[name])
            if node.size:
                self._links[name] = temperature_k, b, node, table[BACK[axis], node]

    def gradients_k_m(self, temperature_k: np.ndarray) -> dict[str, float]:
        """Mean slope of the temperature from each wall into the fluid [K/m], by name; of (n,) temperatures in node-list
        order."""
        slopes = {name: _slopes(temperature_k, *links) for name, links in self._links.items()}
        return {name: float(slope.mean()) / self._spacing_m for name, slope in slopes.items()}

    @property
    def walls(self) -> tuple[str, ...]:
        """Names of the walls that have links along an axis."""
        return tuple(self._links)


def _slopes(temperature_k, wall_k: float, b: float | None, node: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Slope of the temperature per voxel edge at every link."""
    first = temperature_k[node].astype(np.float64) - wall_k
    if b is not None:
        return 2.0 * b / (2.0 + b) * first
    second = temperature_k[np.maximum(behind, 0)].astype(np.float64) - wall_k
    return np.where(behind >= 0, (9.0 * first - second) / 3.0, 2.0 * first)
