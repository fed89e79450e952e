"""The surface of the liquid, where its filling is 1/2, and its snapshots for ParaView.

The surface of the liquid, where its filling is 1/2: triangles, or lines in two dimensions.

Method: marching cubes, Lewiner et al., J. Graphics Tools 8 (2003) 1, as implemented by scikit-image.

Filling is known at the centres of voxels, walls lie half-way between them. A solid voxel gets the filling of the
nearest fluid voxel, with which the surface runs on behind the wall as it arrives there; what lies behind is then drawn
back by half a voxel, and so ends at the wall.

The surface over time for ParaView, ``surface.vtkhdf``.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.beside import Beside
from muphy_lb.output.polydata import PolyData, PolyDataSeries, cells_of
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.filling import Liquid, Snapshot
from muphy_lb.physics.free_surface.section import SURFACE_FILE

LEVEL = 0.5
SNAP = 1e-3  # distance [voxels] below which a vertex counts as lying at the centre of a voxel
CORNERS = np.array(list(product((0, 1), repeat=3)))


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface of triangles or of line segments."""

    points_m: np.ndarray  #: (m, 3) vertices [m]
    #: (k, 3) vertices of each triangle, anticlockwise if seen from the gas; or (k, 2) of each segment
    facets: np.ndarray
    velocity_m_s: np.ndarray  #: (m, 3) velocity of the liquid there [m/s]


def liquid_surface(nodes: NodeList, fill: np.ndarray, velocity_m_s: np.ndarray) -> Surface:
    """Where liquid and gas meet, up to the walls.

    Args:
        nodes: the geometry.
        fill: (n,) filling of every node.
        velocity_m_s: (n, 3) velocity of every node [m/s].
    """
    from scipy.ndimage import distance_transform_edt

    box = _Box(nodes, fill, wraps=True)
    solid = box.number < 0
    nearest = np.stack(distance_transform_edt(solid, return_distances=False, return_indices=True), axis=-1)
    points, facets = _contour(np.append(fill, 0.0)[box.number[_at(nearest)]])
    corner, weight = box.around(points)
    of_solid = (weight * solid[_at(corner)]).sum(axis=1)
    lies_in_wall = (of_solid > SNAP) & (of_solid < 1.0 - SNAP)
    cube, _ = box.around(points[facets].mean(axis=1))
    is_seen = ~solid[_at(cube)].all(axis=1) & ~lies_in_wall[facets].all(axis=1)
    fluid = nearest[_at(corner)]
    points += (weight[..., None] * _towards_wall(solid, corner, fluid)).sum(axis=1)
    return box.placed(points, facets[is_seen], _velocity(box.number[_at(fluid)], weight, fill, velocity_m_s))


def liquid_body(nodes: NodeList, fill: np.ndarray, velocity_m_s: np.ndarray) -> Surface:
    """Where the liquid ends, at gas, at walls or at the ends of a periodic box; the arguments are those of
    :func:`liquid_surface`."""
    box = _Box(nodes, fill, wraps=False)
    filling = np.append(fill, 0.0)
    points, facets = _contour(filling[box.number])
    corner, weight = box.around(points)
    velocity = np.append(velocity_m_s, np.zeros((1, 3)), axis=0)
    return box.placed(points, facets, _velocity(box.number[_at(corner)], weight, filling, velocity))


def wall_body(nodes: NodeList) -> Surface:
    """The boundary of what is solid between the nodes of a geometry in three dimensions; it does not move."""
    place = nodes.coordinates()
    low = place.min(axis=0)
    solid = np.ones(place.max(axis=0) - low + 1)
    solid[_at(place - low)] = 0.0
    points, facets = _contour(np.pad(solid, 1))
    position_m = np.asarray(nodes.origin_m) + nodes.spacing_m * (low + points - 1)
    return Surface(position_m, facets, np.zeros_like(position_m))


class _Box:
    """The voxels around all that is wet, with a layer of walls or gas about them. Arrays are indexed by x, y, z.

    Args:
        nodes: the geometry.
        fill: (n,) filling of every node.
        wraps: whether the layer beyond the end of a periodic box is that of its beginning; else it is solid.

    Attributes:
        number: numbers of the nodes; -1 for solid voxels.
    """

    def __init__(self, nodes: NodeList, fill: np.ndarray, wraps: bool):
        self._nodes = nodes
        place, size = nodes.coordinates(), np.array(nodes.shape[::-1])
        wet = place[fill > 0.0] if np.any(fill > 0.0) else place[:1]
        is_thick = np.array([True, True, size[2] > 1])
        repeats = np.array(nodes.periodic) & is_thick & wraps
        self._low = np.where(repeats | ~is_thick, 0, wet.min(axis=0) - 1)
        high = np.where(repeats, size + 1, wet.max(axis=0) + 1 + is_thick)
        inside = np.all((place >= self._low) & (place < high), axis=1)
        self.number = np.full(high - self._low, -1)
        self.number[_at(place[inside] - self._low)] = np.flatnonzero(inside)
        for axis in np.flatnonzero(repeats):
            along = np.moveaxis(self.number, axis, 0)
            along[-1] = along[0]

    def around(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, 8, 3) indices of the voxels around points (m, 3), and their trilinear weights (m, 8)."""
        first = np.floor(points + SNAP).astype(np.int64)
        share = np.where(points - first < SNAP, 0.0, points - first)[:, None]
        weight = np.where(CORNERS == 1, share, 1.0 - share).prod(axis=2)
        return np.minimum(first[:, None] + CORNERS, np.array(self.number.shape) - 1), weight

    def placed(self, points: np.ndarray, facets: np.ndarray, velocity_m_s: np.ndarray) -> Surface:
        """The surface of these facets, without vertices that belong to none."""
        used, renumbered = np.unique(facets, return_inverse=True)
        position_m = np.asarray(self._nodes.origin_m) + self._nodes.spacing_m * (self._low + points[used])
        return Surface(position_m, renumbered.reshape(facets.shape), velocity_m_s[used])


def _at(index: np.ndarray) -> tuple[np.ndarray, ...]:
    """Indices (..., 3) as those of an array."""
    return tuple(np.moveaxis(index, -1, 0))


def _contour(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, 3) vertices in voxels from the corner of the box, and facets, where a value is 1/2."""
    from skimage.measure import find_contours, marching_cubes

    is_plane = value.shape[2] == 1
    if not value.min() < LEVEL < value.max():
        return np.empty((0, 3)), np.empty((0, 2 if is_plane else 3), dtype=np.int64)
    if not is_plane:
        options = {"gradient_direction": "ascent", "allow_degenerate": False}  # facets turn to what is not filled
        points, facets, _, _ = marching_cubes(value.astype(np.float32), LEVEL, **options)
        return points.astype(np.float64), facets.astype(np.int64)
    lines = find_contours(value[:, :, 0], LEVEL)
    ends = np.concatenate([np.stack((line[:-1], line[1:]), axis=1) for line in lines])
    flat, facets = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    return np.pad(flat, ((0, 0), (0, 1))), facets.reshape(-1, 2)


def _towards_wall(solid: np.ndarray, corner: np.ndarray, fluid: np.ndarray) -> np.ndarray:
    """(m, 8, 3) ways from voxels to where the wall is: half of those to the fluid beside them, across all its faces
    that there are, else half of that to the nearest fluid; 0 for fluid voxels."""
    faces, last = np.zeros((2, *corner.shape), dtype=bool), np.array(solid.shape) - 1
    for axis, side in product(range(3), (0, 1)):
        beside = corner.copy()
        beside[..., axis] = np.clip(beside[..., axis] + 2 * side - 1, 0, last[axis])
        faces[side, ..., axis] = ~solid[_at(beside)]
    across = faces[1].astype(np.int64) - faces[0]
    way = np.where((faces[0] | faces[1]).any(axis=-1, keepdims=True), across, fluid - corner)
    return 0.5 * way * solid[_at(corner)][..., None]


def _velocity(node: np.ndarray, weight: np.ndarray, fill: np.ndarray, velocity_m_s: np.ndarray) -> np.ndarray:
    """(m, 3) velocity [m/s] of the liquid between eight nodes each."""
    share = weight * fill[node]
    return (share[..., None] * velocity_m_s[node]).sum(axis=1) / share.sum(axis=1)[:, None]


class SurfaceSnapshots(Observer):
    """Appends the surface as triangles, or as lines in two dimensions, with the velocity at its vertices.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: snapshots up to that step are kept; None for a new file.
        liquid: of the present step.
    """

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, liquid: Snapshot):
        self._view, self.every = view, view.case.free_surface.surface_every_steps
        self._liquid, self._beside = liquid, Beside()

        def series() -> PolyDataSeries:
            text = view.case.to_toml(folder)
            return PolyDataSeries(folder / SURFACE_FILE, text, {"velocity": "m/s"}, resume_step=resume_step)

        self._series = agreed_on_root(view.communicator, series)
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    def forget(self) -> None:
        """Write the present step again."""
        self._written_step = None
        self._liquid.forget()

    def act(self) -> None:
        """Write one snapshot, unless this step is already written."""
        view = self._view
        if view.step_number == self._written_step:
            return
        self._written_step = view.step_number
        if liquid := self._liquid.now():
            self._beside.do(partial(self._append, view.step_number, view.time_s, whole_nodes(view), liquid))

    def wait(self) -> None:
        """Wait for all snapshots."""
        self._beside.wait()

    def close(self) -> None:
        """Write the last snapshot."""
        self.act()

    def _append(self, step: int, time_s: float, nodes: NodeList, liquid: Liquid) -> None:
        surface = liquid_surface(nodes, *liquid.spread())
        kind = "Lines" if nodes.shape[0] == 1 else "Polygons"
        cells, fields = {kind: cells_of(surface.facets)}, {"velocity": surface.velocity_m_s}
        on_root(self._series).append(PolyData(step, time_s, surface.points_m, cells, fields))
