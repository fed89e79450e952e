"""Measurements during a run with a free surface: ``free_surface.csv`` and ``bubbles.csv``, with lines of the summary,
and ``gauges.csv``, the level of the liquid over points, and the pressure there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, sqrt
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.probes import corner_weights
from muphy_lb.output.report_html import ReportPart, series_charts
from muphy_lb.output.series import read_series
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.bubbles import VOXEL, Bubbles
from muphy_lb.physics.free_surface.cells import BUBBLE, CELL, FILL, GAS, INTERFACE
from muphy_lb.physics.free_surface.filling import Wetting, fill, gravity_m_s2, share_of_liquid
from muphy_lb.physics.free_surface.operators.extent import edge_of, extent_in
from muphy_lb.physics.free_surface.section import BUBBLES_FILE, GAUGES_FILE, SERIES_FILE, GaugeSection

AXES = "xyz"
WETTED_AREAS = ("wetted_area_m2", "ever_wetted_area_m2")
LARGEST_SPEED = "max_velocity_m_s"
EVER = "ever_wetted"


class SurfaceSeries(SeriesObserver):
    """Appends volume, energies and extent of the liquid, and the area of the walls that it wets.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: as for all series.
        wetting: the walls.
        fall_m: height of the liquid at the start above the lowest point of the box [m]; 0 without gravity.
        gravity_m_s2: that of the case.
    """

    file = SERIES_FILE
    files = (file,)
    name = "free_surface"

    def __init__(
        self,
        view: FlowView,
        folder: Path,
        resume_step: int | None,
        wetting: Wetting,
        fall_m: float,
        gravity_m_s2: float,
    ):
        self._wetting, self._fall_m, self._gravity_m_s2 = wetting, fall_m, gravity_m_s2
        self._extent = view.node_sums(extent_in(view.header.shape))
        wetting.prepared(view)  # ahead of the steps
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        bounds = [f"{axis}_{end}_m" for axis in AXES for end in ("min", "max")]
        return ["volume_m3", "kinetic_energy_j", "potential_energy_j", *bounds, *WETTED_AREAS, LARGEST_SPEED]

    def numbers(self) -> list[float] | None:
        """Volume [m3], kinetic and potential energy [J] (by the uniform body force), and bounds [m] of the voxels with
        liquid, area of the walls that it touches now and has ever touched [m2], and largest speed in voxels that are
        full of it [m/s], on rank 0; collective."""
        view, found, areas = self._view, self._extent.read(), self._wetting.areas_m2(self._view)
        if found is None:
            return None
        units, header, (mass, kinetic, *place), (fastest, *ends) = view.units, view.header, *found
        potential = -edge_of(header.shape) * float(np.array(place) @ view.present_force)
        far = np.where(np.isfinite(ends), ends, np.nan).reshape(3, 2)  # what is left may fill no voxel's centre
        bounds = np.stack((-far[:, 1] - 0.5, far[:, 0] + 0.5))
        bounds = np.asarray(header.origin_m) + header.spacing_m * bounds
        energies = (units.energy_j * float(kinetic), units.energy_j * potential)
        largest_m_s = units.velocity_to_si(max(float(fastest), 0.0))
        return [float(mass) * units.spacing_m**3, *energies, *map(float, bounds.T.ravel()), *areas, largest_m_s]

    def state(self) -> dict | None:
        """Nodes beside walls that liquid has wetted at any time."""
        return None if self._wetting.ever is None else {EVER: self._wetting.ever}

    def restore(self, state: dict) -> None:
        """Continue from there."""
        self._wetting.restore(state[EVER])

    def finish(self) -> dict | None:
        """The last row as the record for the summary, with the largest speed of all rows, and the Reynolds and Froude
        number that follow from it and the height of the liquid at the start."""
        numbers = self.numbers()
        if numbers is None:
            return None
        record = dict(zip(self.columns(), numbers, strict=True))
        rows = read_series(self._folder / self.file)[LARGEST_SPEED]
        fastest_m_s = float(np.fmax.reduce([record[LARGEST_SPEED], *rows]))
        record |= {"largest_velocity_m_s": fastest_m_s}
        if self._fall_m:
            record["reynolds"] = fastest_m_s * self._fall_m / self._view.case.fluid.viscosity_m2_s
            record["froude"] = fastest_m_s / sqrt(self._gravity_m_s2 * self._fall_m)
        return record

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        ends = [(axis, record[f"{axis}_min_m"], record[f"{axis}_max_m"]) for axis in AXES]
        extent = ", ".join(f"{axis} {low:.4g} to {high:.4g} m" for axis, low, high in ends if not isnan(low))
        wet = f"walls wetted: {record[WETTED_AREAS[0]]:.4g} m2, so far {record[WETTED_AREAS[1]]:.4g} m2"
        fast = f"largest speed in full voxels, of all rows: {record['largest_velocity_m_s']:.4g} m/s"
        if "froude" in record:
            fast += f", Reynolds number {record['reynolds']:.4g}, Froude number {record['froude']:.3g}"
        return [f"liquid: {record['volume_m3']:.6g} m3, {extent or 'in no voxel'}", wet, fast]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(
            results=(
                ("volume of the liquid", record["volume_m3"], "m3"),
                ("kinetic energy of the liquid", record["kinetic_energy_j"], "J"),
                ("area of wetted walls", record[WETTED_AREAS[0]], "m2"),
                ("area of walls that have been wetted", record[WETTED_AREAS[1]], "m2"),
            )
        )


COLUMNS = ("label", "volume_m3", "pressure_pa", "x_m", "y_m", "z_m", "is_open")


class BubbleSeries(SeriesObserver):
    """Appends a row for each region of gas: its label, the smallest voxel id in it; volume, pressure, centre, and
    whether its pressure stays.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: rows up to that step are kept; None for a new file.
        bubbles: that follow the regions.
    """

    file = BUBBLES_FILE
    files = (file,)
    name = "bubbles"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, bubbles: Bubbles):
        super().__init__(view, folder, resume_step)
        self._bubbles = bubbles

    def columns(self) -> list[str]:
        """Names of the columns of a region."""
        return list(COLUMNS)

    def rows(self) -> Iterable[Sequence[float]] | None:
        """A row for each region of gas."""
        view, centres_m = self._view, self._centres_m()
        if centres_m is None:
            return None
        regions = self._bubbles.regions
        volume_m3 = regions.volume / VOXEL * view.units.spacing_m**3
        pressure_pa = self._bubbles.pressure_pa(view.units)
        columns = (regions.label, volume_m3, pressure_pa, *centres_m, regions.is_open)
        return np.array(columns, dtype=float).T.tolist()

    def finish(self) -> dict | None:
        """Number of regions of gas at the end, and the history of their gas."""
        regions, volume_m3 = self._bubbles.regions, self._view.units.spacing_m**3
        is_closed = ~regions.is_open
        return {
            "count": int(is_closed.sum()),
            "open_count": int(regions.is_open.sum()),
            "volume_m3": float(regions.volume[is_closed].sum()) / VOXEL * volume_m3,
            "content_m3": float(regions.content[is_closed].sum()) / VOXEL * volume_m3,
            "dissolved_m3": self._bubbles.dissolved / VOXEL * volume_m3,
            "at_limit_count": int(self._bubbles.is_limited().sum()),
        }

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        text = f"bubbles: {record['count']:,} of {record['volume_m3']:.4g} m3, and {record['open_count']:,} open"
        if record["at_limit_count"]:
            text += f"; {record['at_limit_count']:,} with a pressure beyond the limit of the lattice"
        return [text]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=(("bubbles", record["count"], ""), ("gas in bubbles", record["volume_m3"], "m3")))

    def _centres_m(self) -> np.ndarray | None:
        """(3, k) centres of the regions [m], on rank 0; collective."""
        view, nodes = self._view, self._view.nodes
        cell, number, share = view.model_field(CELL), view.model_field(BUBBLE), fill(view)
        if cell is None or number is None or share is None or not isinstance(nodes, NodeList):
            return None
        has_gas = (cell == GAS) | (cell == INTERFACE)
        number, gas, place = number[has_gas], 1.0 - share[has_gas], nodes.coordinates()[has_gas]
        label, size = self._bubbles.regions.label, np.array(nodes.shape[::-1])
        first = voxel_coordinates(label, nodes.shape)
        away = place - first[number]
        away = np.where(nodes.periodic, (away + size // 2) % size - size // 2, away)
        whole = np.maximum(np.bincount(number, gas, label.size), 1.0 / VOXEL)
        centre = first.T + np.array([np.bincount(number, gas * along, label.size) / whole for along in away.T])
        return np.asarray(nodes.origin_m)[:, None] + nodes.spacing_m * centre


QUANTITIES = {"level_m": "level [m]", "pressure_pa": "pressure [Pa]"}


@dataclass(frozen=True, eq=False)
class Gauge:
    """The nodes that a gauge reads."""

    around: np.ndarray  #: numbers of the nodes around its point
    weight: np.ndarray  #: their trilinear weights, which add up to 1
    column: np.ndarray  #: numbers of the nodes over and under it, from wall to wall
    bottom_m: float  #: height of the foot of that column, measured against gravity [m]
    rise_m: float  #: how much higher, measured against gravity, the next node of the column is [m]

    def level_m(self, filling: np.ndarray) -> float:
        """Height of the surface, were all liquid of the column at its foot [m]."""
        return self.bottom_m + self.rise_m * float(filling[self.column].sum())

    def pressure_pa(self, filling: np.ndarray, pressure_pa: np.ndarray) -> float:
        """Pressure of the liquid at the point [Pa]; NaN in gas."""
        share = self.weight * filling[self.around]
        return float(share @ pressure_pa[self.around] / share.sum()) if share.sum() >= 0.5 else np.nan


def placed_gauges(view: PreparedView) -> list[Gauge]:
    """The gauges of a case, on rank 0. Raises InputError: one lies outside the fluid."""
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

    Raises InputError: a gauge lies outside the fluid.
    """

    file = GAUGES_FILE
    files = (file,)
    name = "gauges"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self._view, self._gauges, self._sections = view, list[Gauge](), view.case.free_surface.gauges
        gravity = gravity_m_s2(view)
        self._quantities = tuple(QUANTITIES) if gravity.any() else ("pressure_pa",)
        voxel = agreed_on_root(view.communicator, lambda: self._choose(placed_gauges(view)))
        self._probe = view.node_probe(voxel, (CELL, FILL))
        super().__init__(view, folder, resume_step)

    def _choose(self, gauges: list[Gauge]) -> np.ndarray:
        """The ascending voxel ids of all nodes that gauges read; the gauges number these from now on."""
        nodes = whole_nodes(self._view)
        voxel = np.unique(nodes.voxel[np.concatenate([np.append(each.around, each.column) for each in gauges])])

        def place(number: np.ndarray) -> np.ndarray:
            return np.searchsorted(voxel, nodes.voxel[number])

        self._gauges = [replace(each, around=place(each.around), column=place(each.column)) for each in gauges]
        return voxel

    def columns(self) -> list[str]:
        """Level and pressure of each gauge."""
        return [f"{section.name}_{quantity}" for section in self._sections for quantity in self._quantities]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        found, moments, units = self._probe.fields(), self._probe.moments(), self._view.units
        if found is None or moments is None:
            return None
        filling, scale = share_of_liquid(found[CELL], found[FILL]), units.pascals_per_density(float(CS2))
        pressure = units.reference_pressure_pa + scale * moments[0]
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
    """The reading of a gauge; ``up`` is the unit vector against gravity, or 0. Raises InputError: it lies outside the
    fluid."""
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
