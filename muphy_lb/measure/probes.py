"""Probes: the flow at points, along lines and through planes, and between two planes.

A point takes the velocity, the pressure and the scalars of other physics from the (at most eight) fluid nodes around
it, trilinearly; the weight of solid ones goes to the others. A plane takes the nodes with their shares of it
(:mod:`muphy_lb.measure.plane_shares`).

Of nodes that are partly fluid that share counts: points that lie more in gas than in liquid have no values; flow rates
and speeds of planes are those of the liquid, their pressure is that of liquid and gas.

Segments are between two planes through a vessel. The fractional flow reserve (FFR) is the mean pressure behind a
stenosis over that before it, both over whole beats and above the venous pressure, at the largest flow that the bed
behind takes (Pijls, van Son, Kirkeeide, De Bruyne, Gould, Circulation 87, 1354 (1993)). Pressures contain
``flow.reference_pressure_pa``; that the flow is the largest one is up to the case.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.sections import nearest_piece, shares_near_plane
from muphy_lb.case.output import ProbeSection
from muphy_lb.geometry.nodes import NodeList, box_told, voxel_coordinates
from muphy_lb.geometry.openings.carve import unit_hint
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period import PeriodMeans
from muphy_lb.measure.plane_shares import PlaneShares, up_to_walls
from muphy_lb.measure.shear.fields import STRESS_FIELDS, NodeNumbers, column_names
from muphy_lb.measure.shear.stress import stored_density_and_velocity
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts

AT_POINTS = ("velocity_x_m_s", "velocity_y_m_s", "velocity_z_m_s", "pressure_pa")
ACROSS_PLANES = ("flow_rate_m3_s", "mean_pressure_pa", "mean_speed_m_s", "max_speed_m_s")
CORNERS = np.array(list(product((0, 1), repeat=3)))


class ProbeSeries(SeriesObserver):
    """Appends the values of a probe to ``probe_NAME.csv``; subclasses select the nodes and reduce their values.
    ``resume_step``: as for all series. Raises InputError: the probe lies outside the fluid."""

    files = ("probe_*.csv",)

    def __init__(self, section: ProbeSection, view: FlowView, folder: Path, resume_step: int | None):
        self.file = f"probe_{section.name}.csv"
        self._section = section
        self._scalars = [scalar for physics in view.physics for scalar in physics.probed]
        wanted = self.choose(whole_nodes(view), view) if view.communicator.rank == 0 else None
        self._probe = view.node_probe(wanted)
        self._stress = NodeNumbers(view, wanted) if section.fields else None
        super().__init__(view, folder, resume_step)

    @property
    def further(self) -> list[str]:
        """Names of the columns of what is recorded beside velocity and pressure."""
        of_stress = [name for field in self._section.fields for name in column_names(field)]
        return [*(scalar.column for scalar in self._scalars), *of_stress]

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
        """Voxel ids of the nodes that a probe reads, and their weights. Raises InputError: the probe lies outside the
        fluid."""
        raise NotImplementedError

    def choose(self, nodes: NodeList, view: PreparedView) -> np.ndarray:
        """Ascending voxel ids of the nodes to read."""
        raise NotImplementedError

    def reduce(
        self, velocity_m_s: np.ndarray, scalars: np.ndarray, share: np.ndarray, gas_pa: np.ndarray
    ) -> np.ndarray:
        """One number per column from (3, m) velocities and (s, m) scalars of the nodes, the first the pressure, the
        (m,) share of them that is fluid, and the pressure of what else is there."""
        raise NotImplementedError

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        view, state = self._view, self._probe.stored()
        stress = self._stress.read() if self._stress else None
        if state is None:
            return None
        density, velocity = stored_density_and_velocity(view, state)
        cs2 = float(view.lattice.cs2)
        scalars = [view.units.density_to_pressure(density, cs2)]
        scalars += [scalar.in_si(state.fields[scalar.field]) for scalar in self._scalars]
        if stress is not None:
            fields = (STRESS_FIELDS[name].in_si(stress, view.units) for name in self._section.fields)
            scalars += [row for values in fields for row in np.atleast_2d(values.T)]
        beside = state.share, view.units.density_to_pressure(1.0 + state.beside, cs2)
        return self.reduce(view.units.velocity_to_si(velocity), np.array(scalars), *beside).ravel().tolist()


class _PointSeries(ProbeSeries):
    @staticmethod
    def weights(section, nodes) -> tuple[np.ndarray, np.ndarray]:
        """(k, 8) nodes around each point and their trilinear weights."""
        voxel, weight = corner_weights(nodes, _points_m(section))
        if not weight.any():
            _refuse(section, nodes, "no point of it lies")
        return voxel, weight

    def choose(self, nodes: NodeList, view: PreparedView) -> np.ndarray:
        voxel, weight = self.weights(self._section, nodes)
        wanted = np.unique(voxel[weight > 0.0])
        position = np.minimum(np.searchsorted(wanted, voxel), wanted.size - 1)
        self._position, self._weight = position, weight
        return wanted

    def columns(self) -> list[str]:
        points_m = _points_m(self._section)
        names = (*AT_POINTS, *self.further)
        if len(points_m) == 1:
            return list(names)
        from_start_m = np.linalg.norm(points_m - points_m[0], axis=1)
        return [f"{name}_at_{distance_m:.6g}_m" for distance_m in from_start_m for name in names]

    def reduce(self, velocity_m_s, scalars, share, gas_pa) -> np.ndarray:
        values = np.vstack((velocity_m_s, scalars)).T[self._position]
        weight = self._weight * share[self._position]
        total, whole = (each.sum(axis=1, keepdims=True) for each in (weight, self._weight))
        weight /= np.where((total > 0.0) & (total >= 0.5 * whole), total, np.nan)
        return (weight[:, :, None] * values).sum(axis=1)


class _PlaneSeries(ProbeSeries):
    @staticmethod
    def weights(section, nodes) -> tuple[np.ndarray, np.ndarray]:
        """(m,) nodes near the plane, ascending, and the shares of their voxels."""
        normal, spacing_m = _unit_normal(section), nodes.spacing_m
        voxel = np.sort(nodes.voxel)
        arm = voxel_coordinates(voxel, nodes.shape) - (np.array(section.plane_m) - nodes.origin_m) / spacing_m
        across = arm @ normal
        weight = shares_near_plane(across, normal)
        if section.radius_m is not None:
            in_plane = np.linalg.norm(arm - across[:, None] * normal, axis=1)
            weight[in_plane > section.radius_m / spacing_m] = 0.0
        near = weight > 0.0
        if not near.any():
            _refuse(section, nodes, "no part of the plane lies")
        if section.branch == "nearest":
            near[near] = nearest_piece(voxel[near], nodes.shape, np.linalg.norm(arm[near], axis=1))
        return voxel[near], weight[near]

    def choose(self, nodes: NodeList, view: PreparedView) -> np.ndarray:
        shares, voxel_m2 = _plane_shares(self._section, nodes, view), nodes.spacing_m**2
        self._normal, self._area_m2 = _unit_normal(self._section), shares.area * voxel_m2
        self._flow_m2 = shares.flow * voxel_m2
        return shares.voxel

    def columns(self) -> list[str]:
        return [*ACROSS_PLANES, *(f"mean_{column}" for column in self.further)]

    def reduce(self, velocity_m_s, scalars, share, gas_pa) -> np.ndarray:
        speed_m_s, area_m2, flow_m2 = np.linalg.norm(velocity_m_s, axis=0), share * self._area_m2, share * self._flow_m2
        flow_rate_m3_s, wet_m2 = float((self._normal @ velocity_m_s * flow_m2).sum()), area_m2.sum() or np.nan
        pressure_pa = (area_m2 * scalars[0] + (self._area_m2 - area_m2) * gas_pa).sum() / self._area_m2.sum()
        mean_speed_m_s = float((speed_m_s * flow_m2).sum() / wet_m2)
        means = [float((values * area_m2).sum() / wet_m2) for values in scalars[1:]]
        largest_m_s = speed_m_s[area_m2 > 0.0].max(initial=0.0)
        return np.array([flow_rate_m3_s, pressure_pa, mean_speed_m_s, largest_m_s, *means])


def _plane_shares(section: ProbeSection, nodes: NodeList, view: PreparedView) -> PlaneShares:
    """The shares of the nodes that a plane of the case reads; on rank 0."""
    moved = tuple(number for number, motion in enumerate(view.motions) if motion.moves or motion.slips)
    return up_to_walls(nodes, view.lattice, moved, _PlaneSeries.weights(section, nodes))


class PlaneValues:
    """Flow rate and mean pressure on a plane of the case; every call is collective.

    Args:
        section: a probe with ``plane_m``.
        nodes: its geometry, on rank 0.

    Raises InputError: the plane lies outside the fluid.
    """

    def __init__(self, section: ProbeSection, view: FlowView, nodes: NodeList | None):
        self._view, self._normal, voxel = view, _unit_normal(section), None
        if nodes is not None:
            voxel, self._area, self._flow = _plane_shares(section, nodes, view)
        self._probe = view.node_probe(voxel)

    def flow_and_pressure(self) -> tuple[float, float] | None:
        """Flow rate [m3/s] along the plane's normal and mean pressure [Pa], on rank 0."""
        state = self._probe.stored()
        if state is None:
            return None
        units, (density, velocity) = self._view.units, stored_density_and_velocity(self._view, state)
        wet = state.share * self._area
        deviation = float((density - 1.0) @ wet + state.beside @ (self._area - wet)) / float(self._area.sum())
        flow_rate_m3_s = units.flow_rate_to_si(float((self._normal @ velocity) @ (state.share * self._flow)))
        return flow_rate_m3_s, units.density_to_pressure(1.0 + deviation, float(self._view.lattice.cs2))


def probe_series(section: ProbeSection, view: FlowView, folder: Path, resume_step: int | None) -> ProbeSeries:
    """The observer of one probe of the case; collective. Raises InputError: the probe lies outside the fluid."""
    return _kind(section)(section, view, folder, resume_step)


def _kind(section: ProbeSection) -> type[ProbeSeries]:
    return _PlaneSeries if section.plane_m is not None else _PointSeries


def _points_m(section: ProbeSection) -> np.ndarray:
    if section.line_m is None:
        return np.array([section.point_m])
    first, last = map(np.array, section.line_m)
    return np.linspace(first, last, section.n_points)


def _unit_normal(section: ProbeSection) -> np.ndarray:
    normal = np.array(section.normal)
    return normal / np.linalg.norm(normal)


def _refuse(section: ProbeSection, nodes: NodeList, what: str):
    point_m = section.plane_m if section.plane_m is not None else _points_m(section)[0]
    hint = unit_hint(point_m, nodes.origin_m, nodes.shape, nodes.spacing_m)
    raise InputError(f"probes.{section.name}: {what} in the fluid; {box_told(nodes)}{hint}: move it")


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


SERIES_FILE = "segments.csv"
QUANTITIES = {
    "pressure_drop_pa": "pressure drop [Pa]",
    "pressure_ratio": "distal over proximal pressure",
    "proximal_pressure_pa": "proximal pressure [Pa]",
    "distal_pressure_pa": "distal pressure [Pa]",
    "flow_rate_m3_s": "flow rate [m3/s]",
}
NO_REFERENCE = (
    "the ratio of pressures (FFR) is that of pressures above 0 Pa, and flow.reference_pressure_pa is 0: give the"
    " pressure that the openings' pressures are relative to"
)


class SegmentValues:
    """Pressures at both ends of every segment of a case, and the flow; every call is collective. Raises InputError: a
    plane lies outside the fluid."""

    def __init__(self, view: FlowView):
        planes = {section.name: section for section in view.case.probes}
        nodes = whole_nodes(view) if view.communicator.rank == 0 else None
        wanted = {end for segment in view.case.segments for end in (segment.proximal, segment.distal)}
        self._planes = {name: PlaneValues(planes[name], view, nodes) for name in sorted(wanted)}
        self._segments = view.case.segments

    def numbers(self) -> np.ndarray | None:
        """(n_segments, 3): proximal and distal pressure [Pa], and the mean of both flow rates [m3/s], on rank 0."""
        measured = {name: plane.flow_and_pressure() for name, plane in self._planes.items()}
        found = {name: values for name, values in measured.items() if values is not None}
        if len(found) < len(measured):
            return None
        ends = [(found[segment.proximal], found[segment.distal]) for segment in self._segments]
        return np.array([(first[1], last[1], 0.5 * (first[0] + last[0])) for first, last in ends])


def segment_record(proximal_pa: float, distal_pa: float, flow_rate_m3_s: float) -> dict[str, float]:
    """The record of a segment, by :data:`QUANTITIES`; the ratio is NaN unless the proximal pressure is positive."""
    ratio = distal_pa / proximal_pa if proximal_pa > 0.0 else float("nan")
    return dict(zip(QUANTITIES, (proximal_pa - distal_pa, ratio, proximal_pa, distal_pa, flow_rate_m3_s), strict=True))


class SegmentSeries(SeriesObserver):
    """Appends the quantities of every segment to ``segments.csv``."""

    file = SERIES_FILE
    files = (file,)

    def __init__(self, values: SegmentValues, view: FlowView, folder: Path, resume_step: int | None):
        self._values = values
        super().__init__(view, folder, resume_step)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """The series, and what comes of it at the end, if the case has segments."""
        if not view.case.segments:
            return ()
        values = SegmentValues(view)
        return cls(values, view, folder, resume_step), SegmentMeans(values, view, folder)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"{section.name}_{quantity}" for section in self._view.case.segments for quantity in QUANTITIES]

    def numbers(self) -> list[float] | None:
        """Quantities of each segment, on rank 0; collective."""
        found = self._values.numbers()
        return None if found is None else [x for row in found for x in segment_record(*row.tolist()).values()]


class SegmentMeans(PeriodMeans):
    """The quantities of every segment at the end of a run, of a periodic flow from means over its last period."""

    name = "segments"

    def act(self) -> None:
        """Take a sample of the flow, which is frozen behind the last."""
        if self._view.step_number <= self._view.frozen_from:
            super().act()

    def record(self, means: np.ndarray) -> dict:
        """The record of each segment by name."""
        names = (section.name for section in self._view.case.segments)
        records = {name: segment_record(*row.tolist()) for name, row in zip(names, means, strict=True)}
        case = self._view.case
        is_absolute = case.flow.reference_pressure_pa or any(o.windkessel or o.coronary for o in case.openings)
        return {"warnings": [] if is_absolute else [NO_REFERENCE], "of": records}

    def lines(self, summary: Mapping) -> list[str]:
        """A line for each segment."""
        record = summary[self.name]
        when = f"mean of {record['averaged_over_s']:.4g} s" if record["averaged_over_s"] else "at the end"
        lines = [
            f"segment {name} ({when}): pressure drop {one['pressure_drop_pa']:.5g} Pa, distal over proximal pressure"
            f" {one['pressure_ratio']:.4g}, flow rate {one['flow_rate_m3_s']:.5g} m3/s"
            for name, one in record["of"].items()
        ]
        return lines + [f"warning: {text}" for text in record["warnings"]]

    def section(self, summary: Mapping) -> ReportPart:
        """A table of the segments, and charts over time."""
        record = summary[self.name]
        rows = [(name, *one.values()) for name, one in record["of"].items()]
        note = f"means over {record['averaged_over_s']:.4g} s" if record["averaged_over_s"] else "at the end"
        table = ReportTable("Segments", ("", *QUANTITIES.values()), rows, note)
        charts = partial(series_charts, self._folder / SERIES_FILE, "Segments", QUANTITIES)
        return ReportPart(tables=(table,), warnings=record["warnings"], charts=charts)
