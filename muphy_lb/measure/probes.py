"""Probes: the flow at points, along lines and through planes, as time series.

A point takes the velocity, the pressure and the scalars of other physics from the (at most eight) fluid nodes around
it, trilinearly; the weight of solid ones goes to the others. A plane takes the nodes within a voxel of it with the
weight 1 - |d|, d their distance in voxels, which for a plane along the axes is the interpolation between two layers.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.output import ProbeSection
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.openings.carve import unit_hint
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.shear.stress import stored_density_and_velocity

AT_POINTS = ("velocity_x_m_s", "velocity_y_m_s", "velocity_z_m_s", "pressure_pa")
ACROSS_PLANES = ("flow_rate_m3_s", "mean_pressure_pa", "mean_speed_m_s", "max_speed_m_s")
CORNERS = np.array(list(product((0, 1), repeat=3)))


class ProbeSeries(SeriesObserver):
    """Appends the values of a probe to ``probe_NAME.csv``; subclasses select the nodes and reduce their values.

    Args:
        section: the probe.
        view: the flow.
        folder: output folder.
        resume_step: as for all series.

    Raises:
        InputError: the probe lies outside the fluid.
    """

    files = ("probe_*.csv",)

    def __init__(self, section: ProbeSection, view: FlowView, folder: Path, resume_step: int | None):
        self.file = f"probe_{section.name}.csv"
        self._section = section
        self._scalars = [scalar for physics in view.physics for scalar in physics.probed]
        wanted = self.choose(whole_nodes(view)) if view.communicator.rank == 0 else None
        self._probe = view.node_probe(wanted)
        super().__init__(view, folder, resume_step)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """One observer per probe of the case."""
        return [probe_series(section, view, folder, resume_step) for section in view.case.probes]

    @classmethod
    def check(cls, view: PreparedView) -> None:
        """Refuse probes outside the fluid."""
        if view.case.probes and view.communicator.rank == 0:
            nodes = whole_nodes(view)
            for section in view.case.probes:
                _kind(section).weights(section, nodes)

    @staticmethod
    def weights(section: ProbeSection, nodes: NodeList) -> tuple[np.ndarray, np.ndarray]:
        """Voxel ids of the nodes that a probe reads, and their weights.

        Raises:
            InputError: the probe lies outside the fluid.
        """
        raise NotImplementedError

    def choose(self, nodes: NodeList) -> np.ndarray:
        """Ascending voxel ids of the nodes to read."""
        raise NotImplementedError

    def reduce(self, velocity_m_s: np.ndarray, scalars: np.ndarray) -> np.ndarray:
        """One number per column from (3, m) velocities and (s, m) scalars of the nodes, the first the pressure."""
        raise NotImplementedError

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        view, state = self._view, self._probe.stored()
        if state is None:
            return None
        density, velocity = stored_density_and_velocity(view, state)
        scalars = [view.units.density_to_pressure(density, float(view.lattice.cs2))]
        scalars += [scalar.in_si(state.fields[scalar.field]) for scalar in self._scalars]
        return self.reduce(view.units.velocity_to_si(velocity), np.array(scalars)).ravel().tolist()


class _PointSeries(ProbeSeries):
    """Velocity, pressure and scalars at a point, or at the points of a line."""

    @staticmethod
    def weights(section, nodes) -> tuple[np.ndarray, np.ndarray]:
        """(k, 8) nodes around each point and their trilinear weights."""
        voxel, weight = corner_weights(nodes, _points_m(section))
        if not weight.any():
            _refuse(section, nodes, "no point of it lies")
        return voxel, weight

    def choose(self, nodes: NodeList) -> np.ndarray:
        """The nodes around the points."""
        voxel, weight = self.weights(self._section, nodes)
        total = weight.sum(axis=1, keepdims=True)
        wanted = np.unique(voxel[weight > 0.0])
        position = np.minimum(np.searchsorted(wanted, voxel), wanted.size - 1)
        with np.errstate(invalid="ignore"):
            self._position, self._weight = position, weight / total
        return wanted

    def columns(self) -> list[str]:
        """Velocity and scalars, for a line at each distance from its start."""
        points_m = _points_m(self._section)
        names = (*AT_POINTS, *(scalar.column for scalar in self._scalars))
        if len(points_m) == 1:
            return list(names)
        from_start_m = np.linalg.norm(points_m - points_m[0], axis=1)
        return [f"{name}_at_{distance_m:.6g}_m" for distance_m in from_start_m for name in names]

    def reduce(self, velocity_m_s, scalars) -> np.ndarray:
        """Values interpolated at the points."""
        values = np.vstack((velocity_m_s, scalars)).T[self._position]
        return (self._weight[:, :, None] * values).sum(axis=1)


class _PlaneSeries(ProbeSeries):
    """Flow rate, pressure and speeds on a plane."""

    @staticmethod
    def weights(section, nodes) -> tuple[np.ndarray, np.ndarray]:
        """(m,) nodes within a voxel of the plane, ascending, and their weights."""
        normal, spacing_m = _unit_normal(section), nodes.spacing_m
        voxel = np.sort(nodes.voxel)
        arm = voxel_coordinates(voxel, nodes.shape) - (np.array(section.plane_m) - nodes.origin_m) / spacing_m
        across = arm @ normal
        weight = np.maximum(0.0, 1.0 - np.abs(across))
        if section.radius_m is not None:
            in_plane = np.linalg.norm(arm - across[:, None] * normal, axis=1)
            weight[in_plane > section.radius_m / spacing_m] = 0.0
        near = weight > 0.0
        if not near.any():
            _refuse(section, nodes, "no part of the plane lies")
        if section.branch == "nearest":
            near[near] = nearest_piece(voxel[near], nodes.shape, np.linalg.norm(arm[near], axis=1))
        return voxel[near], weight[near]

    def choose(self, nodes: NodeList) -> np.ndarray:
        """The nodes within a voxel of the plane."""
        voxel, weight = self.weights(self._section, nodes)
        self._normal, self._area_m2 = _unit_normal(self._section), weight * nodes.spacing_m**2
        return voxel

    def columns(self) -> list[str]:
        """Flow rate, pressure, speeds, means of scalars."""
        return [*ACROSS_PLANES, *(f"mean_{scalar.column}" for scalar in self._scalars)]

    def reduce(self, velocity_m_s, scalars) -> np.ndarray:
        """Sums and means weighted by area."""
        speed_m_s, area_m2 = np.linalg.norm(velocity_m_s, axis=0), self._area_m2
        flow_rate_m3_s = float((self._normal @ velocity_m_s * area_m2).sum())
        pressure_pa, mean_speed_m_s, *means = (
            float((values * area_m2).sum() / area_m2.sum()) for values in (scalars[0], speed_m_s, *scalars[1:])
        )
        return np.array([flow_rate_m3_s, pressure_pa, mean_speed_m_s, speed_m_s.max(), *means])


class PlaneValues:
    """Flow rate and mean pressure on a plane of the case; every call is collective.

    Args:
        section: a probe with ``plane_m``.
        view: the flow.
        nodes: its geometry, on rank 0.

    Raises:
        InputError: the plane lies outside the fluid.
    """

    def __init__(self, section: ProbeSection, view: FlowView, nodes: NodeList | None):
        self._view, self._normal, voxel = view, _unit_normal(section), None
        if nodes is not None:
            voxel, self._weight = _PlaneSeries.weights(section, nodes)
        self._probe = view.node_probe(voxel)

    def flow_and_pressure(self) -> tuple[float, float] | None:
        """Flow rate [m3/s] along the plane's normal and mean pressure [Pa], on rank 0."""
        state = self._probe.stored()
        if state is None:
            return None
        units, (density, velocity) = self._view.units, stored_density_and_velocity(self._view, state)
        deviation = float((density - 1.0) @ self._weight) / float(self._weight.sum())
        flow_rate_m3_s = units.flow_rate_to_si(float((self._normal @ velocity) @ self._weight))
        return flow_rate_m3_s, units.density_to_pressure(1.0 + deviation, float(self._view.lattice.cs2))


def nearest_piece(voxel: np.ndarray, shape: tuple[int, int, int], distance: np.ndarray) -> np.ndarray:
    """(m,) mask of those of (m,) ascending voxels that are linked, face to face, to the one at the least distance.

    A slab of two voxels' thickness is linked by faces whatever its direction.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place, pairs = voxel_coordinates(voxel, shape), []
    for axis, step in enumerate((1, shape[2], shape[2] * shape[1])):
        first = np.flatnonzero(place[:, axis] < shape[::-1][axis] - 1)
        second = np.minimum(np.searchsorted(voxel, voxel[first] + step), voxel.size - 1)
        is_there = voxel[second] == voxel[first] + step
        pairs.append((first[is_there], second[is_there]))
    rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
    links = coo_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(voxel.size, voxel.size))
    _, piece = connected_components(links, directed=False)
    return piece == piece[distance.argmin()]


def probe_series(section: ProbeSection, view: FlowView, folder: Path, resume_step: int | None) -> ProbeSeries:
    """The observer of one probe of the case; collective.

    Raises:
        InputError: the probe lies outside the fluid.
    """
    return _kind(section)(section, view, folder, resume_step)


def _kind(section: ProbeSection) -> type[ProbeSeries]:
    return _PlaneSeries if section.plane_m is not None else _PointSeries


def _points_m(section: ProbeSection) -> np.ndarray:
    """(k, 3) the point, or the points of the line."""
    if section.line_m is None:
        return np.array([section.point_m])
    first, last = map(np.array, section.line_m)
    return np.linspace(first, last, section.n_points)


def _unit_normal(section: ProbeSection) -> np.ndarray:
    normal = np.array(section.normal)
    return normal / np.linalg.norm(normal)


def _refuse(section: ProbeSection, nodes: NodeList, what: str):
    """Raise an InputError: the probe lies outside the fluid."""
    low, high = np.array(nodes.origin_m), np.array(nodes.origin_m) + nodes.spacing_m * np.array(nodes.shape[::-1])
    box = " to ".join("(" + ", ".join(f"{x:.4g}" for x in corner) + ")" for corner in (low, high))
    point_m = section.plane_m if section.plane_m is not None else _points_m(section)[0]
    hint = unit_hint(point_m, nodes.origin_m, nodes.shape, nodes.spacing_m)
    raise InputError(f"probes.{section.name}: {what} in the fluid; the box of voxels is {box} m{hint}: move it")


def corner_weights(nodes: NodeList, points_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k, 8) voxel ids around (k, 3) points [m] and their trilinear weights, 0 where they are not fluid."""
    size, wraps = np.array(nodes.shape[::-1]), np.array(nodes.periodic)
    position = (points_m - np.asarray(nodes.origin_m)) / nodes.spacing_m
    first = np.floor(position).astype(np.int64)
    share = (position - first)[:, None, :]
    corner = first[:, None, :] + CORNERS
    weight = np.where(CORNERS == 1, share, 1.0 - share).prod(axis=2)
    inside = np.all(((corner >= 0) & (corner < size)) | wraps, axis=2)
    corner %= size
    voxel = (corner[..., 2] * nodes.shape[1] + corner[..., 1]) * nodes.shape[2] + corner[..., 0]
    return voxel, np.where(inside & np.isin(voxel, nodes.voxel), weight, 0.0)
