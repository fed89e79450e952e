"""Gauges: the level of the liquid over a point, and the pressure there, in ``gauges.csv``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.probes import corner_weights
from muphy_lb.output.report_html import ReportPart, series_charts
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.filling import fill, gravity_m_s2
from muphy_lb.physics.free_surface.section import GAUGES_FILE, GaugeSection

QUANTITIES = {"level_m": "level [m]", "pressure_pa": "pressure [Pa]"}


@dataclass(frozen=True, eq=False)
class Gauge:
    """The nodes that a gauge reads.

    Attributes:
        around: numbers of the nodes around its point.
        weight: their trilinear weights, which add up to 1.
        column: numbers of the nodes over and under it, from wall to wall.
        bottom_m: height of the foot of that column, measured against gravity [m].
        rise_m: how much higher, measured against gravity, the next node of the column is [m].
    """

    around: np.ndarray
    weight: np.ndarray
    column: np.ndarray
    bottom_m: float
    rise_m: float

    def level_m(self, filling: np.ndarray) -> float:
        """Height of the surface, were all liquid of the column at its foot [m]."""
        return self.bottom_m + self.rise_m * float(filling[self.column].sum())

    def pressure_pa(self, filling: np.ndarray, pressure_pa: np.ndarray) -> float:
        """Pressure of the liquid at the point [Pa]; NaN in gas."""
        share = self.weight * filling[self.around]
        return float(share @ pressure_pa[self.around] / share.sum()) if share.sum() >= 0.5 else np.nan


def placed_gauges(view: PreparedView) -> list[Gauge]:
    """The gauges of a case, on rank 0.

    Raises:
        InputError: one lies outside the fluid.
    """
    sections, gravity = view.case.free_surface.gauges, gravity_m_s2(view)
    if view.communicator.rank or not sections:
        return []
    up, nodes = -gravity / (np.linalg.norm(gravity) or 1.0), whole_nodes(view)
    return [placed_gauge(section, nodes, up) for section in sections]


class GaugeSeries(SeriesObserver):
    """Appends level and pressure of every gauge; without gravity there is no level.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: as for all series.

    Raises:
        InputError: a gauge lies outside the fluid.
    """

    file = GAUGES_FILE
    files = (file,)
    name = "gauges"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self._sections = view.case.free_surface.gauges
        gravity = gravity_m_s2(view)
        self._quantities = tuple(QUANTITIES) if gravity.any() else ("pressure_pa",)
        self._gauges = agreed_on_root(view.communicator, lambda: placed_gauges(view)) or []
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Level and pressure of each gauge."""
        return [f"{section.name}_{quantity}" for section in self._sections for quantity in self._quantities]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        filling, pressure = fill(self._view), self._view.pressure_pa()
        if filling is None or pressure is None:
            return None
        values = [
            {"level_m": gauge.level_m(filling), "pressure_pa": gauge.pressure_pa(filling, pressure)}
            for gauge in self._gauges
        ]
        return [value[quantity] for value in values for quantity in self._quantities]

    def finish(self) -> dict | None:
        """The last row by gauge as the record for the summary; None where there is gas."""
        numbers = self.numbers()
        if numbers is None:
            return None
        rows = np.reshape([None if np.isnan(number) else number for number in numbers], (-1, len(self._quantities)))
        return {
            section.name: dict(zip(self._quantities, row.tolist(), strict=True))
            for section, row in zip(self._sections, rows, strict=True)
        }

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        return [f"gauge {name}: {_text(record)}" for name, record in summary[self.name].items()]

    def section(self, summary: Mapping) -> ReportPart:
        """Charts over time."""
        labels = {quantity: QUANTITIES[quantity] for quantity in self._quantities}
        return ReportPart(charts=partial(series_charts, self._folder / self.file, "Gauges", labels))


def placed_gauge(section: GaugeSection, nodes: NodeList, up: np.ndarray) -> Gauge:
    """What a gauge reads; ``up`` is the unit vector against gravity, or 0.

    Raises:
        InputError: it lies outside the fluid.
    """
    point_m, size = np.array(section.position_m), np.array(nodes.shape[::-1])
    place = np.rint((point_m - nodes.origin_m) / nodes.spacing_m).astype(np.int64)
    place = np.where(nodes.periodic, place % size, place)
    if np.any((place < 0) | (place >= size)) or _numbers(nodes, place[None])[0] < 0:
        ends_m = np.asarray(nodes.origin_m) + nodes.spacing_m * np.array([np.full(3, -0.5), size - 0.5])
        raise InputError(
            f"free_surface.gauges.{section.name}: position_m is {_point(point_m)}, which is not in the fluid; the box"
            f" of voxels is {_point(ends_m[0])} to {_point(ends_m[1])} m: move it"
        )
    voxel, weight = corner_weights(nodes, point_m[None])
    is_fluid = weight[0] > 0.0
    corners = voxel_coordinates(voxel[0][is_fluid], nodes.shape)
    axis = int(np.abs(up).argmax())
    column, foot_m = _column(nodes, place, axis, 1 if up[axis] >= 0.0 else -1)
    at_foot_m = np.where(np.arange(3) == axis, foot_m, point_m)
    rise_m = float(abs(up[axis])) * nodes.spacing_m
    return Gauge(_numbers(nodes, corners), weight[0][is_fluid] / weight.sum(), column, float(up @ at_foot_m), rise_m)


def _column(nodes: NodeList, place: np.ndarray, axis: int, upwards: int) -> tuple[np.ndarray, float]:
    """The nodes of a column from wall to wall, and where on its axis its foot is [m]."""
    places = np.repeat(place[None], nodes.shape[2 - axis], axis=0)
    places[:, axis] = np.arange(len(places))
    number, own = _numbers(nodes, places), place[axis]
    walls = np.concatenate(([-1], np.flatnonzero(number < 0), [len(number)]))
    low, high = walls[walls < own].max(), walls[walls > own].min()
    foot = low + 0.5 if upwards > 0 else high - 0.5
    return number[low + 1 : high], float(nodes.origin_m[axis] + nodes.spacing_m * foot)


def _numbers(nodes: NodeList, places: np.ndarray) -> np.ndarray:
    """Numbers of the nodes at coordinates (m, 3) within the box; -1 where it is solid."""
    voxel = (places[:, 2] * nodes.shape[1] + places[:, 1]) * nodes.shape[2] + places[:, 0]
    found = np.full(len(voxel), -1)
    _, of_node, of_place = np.intersect1d(nodes.voxel, voxel, return_indices=True)
    found[of_place] = of_node
    return found


def _point(point_m: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in point_m) + ")"


def _text(record: Mapping) -> str:
    """Level and pressure in words."""
    pressure = record["pressure_pa"]
    words = [f"level {record['level_m']:.5g} m"] if "level_m" in record else []
    return ", ".join([*words, "in gas" if pressure is None else f"pressure {pressure:.5g} Pa"])
