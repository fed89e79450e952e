"""Mean temperature gradient at walls of fixed temperature, and at conducting walls of fixed outer temperature.

The heat through all links into a wall along the axes, over the true area of the wall
(:mod:`muphy_lb.geometry.wall_areas`; that of the voxels' faces, where walls are half-way). A link conducts by the slope
half-way along it, where the faces of the voxels lie, of the parabola through the wall, the node and the next one; at
half-way walls dT/dn = (-8 T_w + 9 T_1 - T_2) / 3 (Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012),
Eqs. (23), (24)). The nearer a wall is to its node, the less that counts beside the line through the wall and the next
node. For a conducting wall with the outer temperature T_o the gradient is that of the fluid up to the wall and the wall
in series, (T_1 - T_o) / (distance + 1 / b), b the conductivity of the wall over that of the fluid, divided by its
thickness in voxels. Of a wall behind a solid, in whose voxels heat spreads, the slope is that in the solid times its
conductivity over that of the fluid.
"""

from typing import NamedTuple

import numpy as np

from muphy_lb.geometry.link_cuts import cut_distances
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.wall_areas import AXES, areas_of_links

BACK = np.array([1, 0, 3, 2, 5, 4])
LEAST_DISTANCE = 0.25
"""Of a wall from a node without a next one, below which the slope would say more of the node's error."""


class _Links(NamedTuple):
    """Links into a wall of a temperature, its b if it conducts, their nodes, the conductivities of these over that of
    the fluid, the next nodes of the same material, distances and areas."""

    temperature_k: float
    b: float | None
    node: np.ndarray
    conductivity: np.ndarray
    behind: np.ndarray
    distance: np.ndarray
    area: np.ndarray


class WallHeat:
    """The links into walls of fixed or outer temperature; made on rank 0.

    Args:
        fixed_k: temperature of each wall by name.
        conducting: outer temperature [K] and b of each conducting wall, by name.
        conductivity: (n_walls,) conductivity of the solids among the walls over that of the fluid.
    """

    def __init__(
        self,
        nodes: NodeList,
        fixed_k: dict[str, float],
        conducting: dict[str, tuple[float, float]],
        conductivity: np.ndarray,
    ):
        search = NeighbourSearch(nodes)
        table, through_solids = search.table(AXES), search.table_through_solids(AXES)
        numbers = {wall.name: k for k, wall in enumerate(nodes.walls)}
        self._links, self._spacing_m = {}, nodes.spacing_m
        walls = {name: (temperature_k, None) for name, temperature_k in fixed_k.items()} | conducting
        for name, (temperature_k, b) in walls.items():
            axis, node = np.nonzero(through_solids == FIRST_WALL_LINK - numbers[name])
            if node.size:
                distance = cut_distances(nodes.cuts, nodes.voxel[node], AXES[axis])
                area = areas_of_links(nodes, search, node, AXES[axis])
                ratio = _conductivity(search, node, conductivity)
                self._links[name] = _Links(temperature_k, b, node, ratio, table[BACK[axis], node], distance, area)

    def gradients_k_m(self, temperature_k: np.ndarray) -> dict[str, float]:
        """Mean slope of the temperature from each wall into the fluid [K/m], by name; of (n,) temperatures in node-list
        order."""
        means = {name: _slopes(temperature_k, links).sum() / links.area.sum() for name, links in self._links.items()}
        return {name: float(mean) / self._spacing_m for name, mean in means.items()}

    @property
    def walls(self) -> tuple[str, ...]:
        """Names of the walls that have links along an axis."""
        return tuple(self._links)


def _conductivity(search: NeighbourSearch, node: np.ndarray, of_walls: np.ndarray) -> np.ndarray:
    """(m,) conductivity at nodes over that of the fluid."""
    if search.solid is None:
        return np.ones(node.size)
    return np.where(search.solid[node] < 0, 1.0, of_walls[search.solid[node]])


def _slopes(temperature_k, links: _Links) -> np.ndarray:
    """Heat through every link, as a slope of the temperature of the fluid per voxel edge."""
    first, s = temperature_k[links.node].astype(np.float64) - links.temperature_k, links.distance
    if links.b is not None:
        return links.area * links.b / (1.0 + links.b * s * links.area / links.conductivity) * first
    second = temperature_k[np.maximum(links.behind, 0)].astype(np.float64) - links.temperature_k
    share = np.minimum(4.0 * s**2, 1.0)
    both = share * (2.0 - s) * (1.0 + s) * first + s * (1.0 - share * (2.0 - s)) * second
    return links.conductivity * np.where(
        links.behind >= 0, both / (s * (1.0 + s)), first / np.maximum(s, LEAST_DISTANCE)
    )
