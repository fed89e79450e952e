"""Heat through the plane midway between a hot and a cold wall that face each other.

It is expressed as the gradient with which conduction alone would transfer the same heat: u (T - T_0) / kappa - dT/dn, n
from the hot to the cold wall, summed over the plane and divided by the area of a wall (Tric, Labrosse, Betrouni, Int.
J. Heat Mass Transfer 43, 4043 (2000); Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012)). T_0, the mean
of both walls, matters only if there is a net flow through the plane. In a steady flow without other sources of heat it
is the gradient at the walls, up to the error of the differences.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.wall_areas import AXES
from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.shear.stress import stored_density_and_velocity
from muphy_lb.physics.thermal.model import NAME as TEMPERATURE
from muphy_lb.physics.thermal.temperature import setup_of

NAME = "middle"


@dataclass(frozen=True)
class MiddlePlane:
    """A plane between two flat walls. Its points are faces between two layers of nodes, or the nodes of one layer."""

    axis: int  #: 0, 1, 2 for walls normal to x, y, z
    names: tuple[str, str]  #: names of the walls at low and at high coordinates
    voxel: np.ndarray  #: (m,) ascending voxel ids of the nodes that are read
    centre: np.ndarray  #: (2, k) indices in ``voxel`` of the nodes whose mean is the value at a point
    ends: np.ndarray  #: (2, k) indices in ``voxel`` of the nodes whose difference gives the gradient at a point
    distance: int  #: distance of these nodes in voxels
    wall_area: float  #: area of a wall in voxel faces


@dataclass(frozen=True)
class _Side:
    """A flat wall: direction in which it lies (of ``AXES``), layer of the nodes before it, number of its links."""

    direction: int
    layer: int
    n_links: int


class MiddleHeat:
    """Measures the heat through the middle plane; every call is collective. ``view``: a thermal flow; ``plane``: the
    plane, on rank 0."""

    def __init__(self, view: FlowView, plane: MiddlePlane | None):
        self._view, self._plane = view, plane
        self._probe = view.node_probe(None if plane is None else plane.voxel)

    def gradient_k_m(self) -> float | None:
        """Gradient of conduction with the same heat transfer from the hot to the cold wall [K/m], on rank 0."""
        state, view = self._probe.stored(), self._view
        if state is None:
            return None
        plane = on_root(self._plane)
        temperatures, temperature = setup_of(view), state.fields[TEMPERATURE]
        _, velocity = stored_density_and_velocity(view, state)
        low_k, high_k = (temperatures.fixed_k[name] for name in plane.names)
        above_mean = temperature + temperatures.zero_k - 0.5 * (low_k + high_k)
        advected = velocity[plane.axis][plane.centre].mean(axis=0) * above_mean[plane.centre].mean(axis=0)
        conducted = (temperature[plane.ends[0]] - temperature[plane.ends[1]]) / plane.distance
        upwards = float((advected / temperatures.heat.diffusivity + conducted).sum()) / plane.wall_area
        return (upwards if low_k > high_k else -upwards) / view.units.spacing_m


def middle_heat(view: FlowView) -> MiddleHeat | None:
    """The middle plane of a thermal flow; None where it has not exactly two walls of fixed temperature, a hot and a
    cold one, flat, and facing each other, or where heat spreads in solids, too. Collective."""
    communicator, plane = view.communicator, None
    if (setup_of(view).conductivity != 1.0).any():
        return None
    if communicator.rank == 0:
        plane = middle_plane(whole_nodes(view), setup_of(view).fixed_k)
    there = communicator.broadcast(plane is not None)
    return MiddleHeat(view, plane) if there else None


def middle_plane(nodes: NodeList, fixed_k: dict[str, float]) -> MiddlePlane | None:
    """The plane midway between the walls of fixed temperature, if there are two as :func:`middle_heat` says. A wall
    named ``middle`` would be mistaken for the plane where results are written: no plane then."""
    if len(fixed_k) != 2 or len(set(fixed_k.values())) != 2 or NAME in fixed_k:
        return None
    sides = _flat_sides(nodes, fixed_k)
    if len(sides) != 2:
        return None
    (low_name, low), (high_name, high) = sorted(sides.items(), key=lambda item: -item[1].direction)
    face_each_other = low.direction == high.direction + 1 and high.direction % 2 == 0
    if not face_each_other or high.layer <= low.layer:
        return None
    axis = high.direction // 2
    points = _points(nodes, axis, low.layer + high.layer)
    return MiddlePlane(axis, (low_name, high_name), *points, 0.5 * (low.n_links + high.n_links))


def _flat_sides(nodes: NodeList, names) -> dict[str, _Side]:
    """The named walls that all their links along the axes reach in one direction from one layer of nodes."""
    search, numbers = NeighbourSearch(nodes), {wall.name: k for k, wall in enumerate(nodes.walls)}
    found: dict[str, list[_Side]] = {name: [] for name in names}
    for direction, vector in enumerate(AXES):
        table = search.table([vector])[0]
        for name in names:
            node = np.flatnonzero(table == FIRST_WALL_LINK - numbers[name])
            layers = np.unique(nodes.coordinates(node)[:, direction // 2])
            found[name] += [_Side(direction, int(layer), node.size) for layer in layers]
    return {name: sides[0] for name, sides in found.items() if len(sides) == 1}


def _points(nodes: NodeList, axis: int, twice: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """``voxel``, ``centre``, ``ends`` and ``distance`` of the plane at ``twice`` / 2 on an axis. The gap between the
    nodes of a layer and a solid lets no heat through: no advection and no conduction."""
    stride = int(np.cumprod((1, *nodes.shape[:0:-1]))[axis])
    place = nodes.voxel // stride % nodes.shape[2 - axis]
    middle = twice // 2
    reach = (0, 1) if twice % 2 else (-1, 0, 1)
    voxel = np.sort(nodes.voxel[np.isin(place, [middle + step for step in reach])])
    own = voxel[voxel // stride % nodes.shape[2 - axis] == middle]
    at = [np.searchsorted(voxel, own + step * stride) for step in reach]
    there = [np.isin(own + step * stride, voxel) for step in reach]
    if twice % 2:
        pair = np.array(at)[:, there[1]]
        return voxel, pair, pair, 1
    below, here, above = at
    ends = np.array([np.where(there[0], below, here), np.where(there[2], above, here)])
    return voxel, np.array([here, here]), ends, 2
