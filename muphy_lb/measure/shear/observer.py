"""The wall shear stress of a run, the indices of its course over the last period, and what is written of them: fields
at the nodes and on the input surface, a table, a picture.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import write_text
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period import PeriodWindow
from muphy_lb.measure.shear.wall_nodes import (
    INDICES,
    STRESS,
    WHOLE,
    Quantity,
    in_region,
    node_positions_m,
    part_record,
    parts_of_wall,
    statistics_table,
)
from muphy_lb.measure.shear.wall_shear import WallShear, along_wall, tangents, wall_indices
from muphy_lb.output.drawing import drawing, picture_files
from muphy_lb.output.polydata import PolyData, PolyDataSeries, cells_of
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.output.vtkhdf import VtkHdfSeries
from muphy_lb.output.vtp import on_surface, write_vtp
from muphy_lb.setup.geometry import input_surface
from muphy_lb.setup.waveforms import longest_period_s, samples_of_period

SHEAR_FILE = "wall_shear.vtkhdf"
SHEAR_PICTURE = "wall_shear.png"
TAWSS_PICTURE, OSI_PICTURE = "wall_tawss.png", "wall_osi.png"
SHEAR_SURFACE = "wall_shear_surface.vtp"
SHEAR_SURFACE_HDF = "wall_shear_surface.vtkhdf"
SHEAR_TABLE = "wall_shear.csv"
LOG = logging.getLogger(__name__)
LEAST_MISSING = 1e-6  # part of a period that rounding may take from it

AREA, MAGNITUDE = "wall_area", "wall_shear_magnitude"
UNITS = {quantity.field: quantity.unit for quantity in (STRESS, *INDICES.values())} | {"counted": "1", AREA: "m2"}
OF_SURFACE = UNITS | {MAGNITUDE: "Pa"}


@dataclass(frozen=True)
class ShearFiles:
    """Writes the files of the wall shear stress at the end of a run, on rank 0."""

    view: FlowView  #: the flow
    folder: Path  #: output folder
    shear: WallShear  #: its wall

    def write(
        self, traction: np.ndarray, scalars: Mapping[Quantity, np.ndarray], counted: np.ndarray, sampled_s: float
    ) -> None:
        """Write fields and pictures.

        Args:
            traction: (m, 3) stress at the end [Pa].
            scalars: (m,) indices of the last period; none without one.
            counted: (m,) mask of the nodes that the statistics count.
            sampled_s: time over which the indices are averaged [s].
        """
        view = self.view
        area_m2 = self.shear.areas.area * view.header.spacing_m**2
        # An infinite value spoils the range of colours of a whole picture.
        fields = {quantity.field: np.where(np.isfinite(x), x, np.nan) for quantity, x in scalars.items()}
        fields = {STRESS.field: traction, **fields, AREA: area_m2, "counted": counted.astype(np.float32)}
        series = VtkHdfSeries(self.folder / SHEAR_FILE, self.shear.nodes(), view.case.to_toml(self.folder), UNITS)
        series.append(view.time_s, view.step_number, fields)
        if view.case.output.vtk:
            self._write_on_surface({name: values for name, values in fields.items() if name != AREA})
        if view.case.output.picture:
            self._draw(fields, counted)
            self._draw_indices(fields, counted, sampled_s)

    def write_table(self, parts: Mapping[str, Mapping]) -> None:
        """Write the statistics of the parts of the wall."""
        write_text(self.folder / SHEAR_TABLE, statistics_table(parts))

    def _write_on_surface(self, fields: Mapping[str, np.ndarray]) -> None:
        """Write the fields on the input surface, if the geometry is one and still there."""
        view, shear = self.view, self.shear
        try:
            surface = input_surface(view.case)
        except GeometryError as error:
            LOG.warning("warning: %s is not written: %s", SHEAR_SURFACE, error)
            return
        if surface is not None:
            weights = on_surface(surface, shear.wall_points_m(), shear.surface.normal, view.header.spacing_m)
            magnitude = np.linalg.norm(fields[STRESS.field], axis=1)
            shown = INDICES["tawss"].field if INDICES["tawss"].field in fields else MAGNITUDE
            found = weights.triangles({MAGNITUDE: magnitude, **fields}, OF_SURFACE, shown)
            write_vtp(self.folder / SHEAR_SURFACE, found)
            data = PolyData(
                view.step_number, view.time_s, found.points_m, {"Polygons": cells_of(found.triangles)}, found.fields
            )
            case_text = view.case.to_toml(self.folder)
            PolyDataSeries(self.folder / SHEAR_SURFACE_HDF, case_text, OF_SURFACE).append(data)

    def _draw(self, fields: Mapping[str, np.ndarray], counted: np.ndarray) -> None:
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.pictures.wall import Marks, draw_walls

        averaged = fields.get(INDICES["tawss"].field)
        shown = np.linalg.norm(fields[STRESS.field], axis=1) if averaged is None else averaged
        what = "wall shear stress [Pa]" if averaged is None else "time-averaged wall shear stress [Pa]"
        marks = Marks(self.view.header.openings, counted, chosen_theme(self.view.case.output))
        with drawing(SHEAR_PICTURE):
            draw_walls(self.folder / SHEAR_PICTURE, self.shear.nodes(), shown, what, marks)

    def _draw_indices(self, fields: Mapping[str, np.ndarray], counted: np.ndarray, sampled_s: float) -> None:
        """Draw TAWSS and OSI on the shaded vessel, if there are any and the geometry is one."""
        from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, suitable_unit
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.pictures.wall import WallColours, can_be_shaded, draw_shaded_walls

        nodes, theme = whole_nodes(self.view), chosen_theme(self.view.case.output)
        if INDICES["tawss"].field not in fields or not can_be_shaded(nodes):
            return
        unit, unit_m = suitable_unit(LENGTH_UNITS, nodes.spacing_m, SMALLEST_LENGTH)
        facts: tuple[str, ...] = (
            f"{counted.size:,} wall nodes",
            f"spacing {nodes.spacing_m / unit_m:.4g} {unit}",
            _over(sampled_s, longest_period_s(self.view.case)),
        )
        facts += ("grey: near openings, left out of the statistics",) * (not counted.all())
        wall = nodes.numbers_of(self.shear.surface.voxel)
        looks = {
            "tawss": (
                TAWSS_PICTURE,
                WallColours("Time-averaged wall shear stress [Pa]", None, "viridis", facts, theme),
            ),
            "osi": (OSI_PICTURE, WallColours("Oscillatory shear index", (0.0, 0.5), "plasma", facts, theme)),
        }
        for name, (file, look) in looks.items():
            with drawing(file):
                values = np.where(counted, fields[INDICES[name].field], np.nan)
                draw_shaded_walls(self.folder / file, nodes, wall, values, look)


def _over(sampled_s: float, period_s: float) -> str:
    """The time over which indices are averaged, as text."""
    is_whole = sampled_s > period_s * (1.0 - LEAST_MISSING)
    return f"over {sampled_s:.4g} s" + ("" if is_whole else ", which is not a whole beat")


SAMPLES_PER_PERIOD = 40
PICTURES = {
    TAWSS_PICTURE: "time-averaged stress on the walls",
    OSI_PICTURE: "oscillatory index on the walls",
    SHEAR_PICTURE: "stress on the walls",
}
SHOWN = ("mean", "min", "p5", "p50", "p95", "p99", "max")


class WallShearObserver(Observer):
    """Wall shear stress at the end of a run, and its indices over the last period of a periodic flow.

    Samples are taken over the last period before the last planned step, or all the time where the flow itself may end
    the run; a run that is stopped in between has what there is. They are in checkpoints, so a resumed run has all.
    """

    files = (
        SHEAR_FILE,
        SHEAR_SURFACE,
        SHEAR_SURFACE_HDF,
        SHEAR_TABLE,
        *(name for picture in PICTURES for name in picture_files(picture)),
    )
    name = "wall_shear"
    tells_walls = True

    def __init__(self, view: FlowView, folder: Path):
        self._view, self._shear = view, WallShear(view)
        self._files = ShearFiles(view, folder, self._shear)
        period_s = longest_period_s(view.case)
        period = period_s / view.units.time_step_s
        self._window = PeriodWindow(period, samples_of_period(view.case, SAMPLES_PER_PERIOD)) if period_s else None
        self.every = 0 if self._window is None else self._window.every
        last = min(view.numerics.steps, view.frozen_from)
        self._first_step = -inf if view.case.run.may_end_early else last - period
        self._tangents = tangents(self._shear.surface.normal) if view.communicator.rank == 0 else np.empty(0)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case requests it."""
        return (cls(view, folder),) if view.case.output.wall_shear else ()

    @classmethod
    def check(cls, view: PreparedView) -> None:
        """Refuse regions that hold no fluid node."""
        if view.case.wall_regions and view.communicator.rank == 0:
            nodes = whole_nodes(view)
            points_m = node_positions_m(nodes, nodes.voxel)
            for section in view.case.wall_regions:
                if not in_region(section, points_m).any():
                    low, high = (", ".join(f"{x:.4g}" for x in end(points_m, axis=0)) for end in (np.min, np.max))
                    raise InputError(
                        f"wall_regions.{section.name} holds no fluid node: they lie from ({low}) to ({high}) m; move it"
                    )

    def act(self) -> None:
        """Take a sample, if the last period has begun."""
        is_sampled = self._first_step < self._view.step_number <= self._view.frozen_from
        if self._window is None or not is_sampled:
            return
        traction = self._shear.traction_pa()
        if traction is not None:
            self._window.add(self._view.step_number, along_wall(traction, self._tangents))

    def state(self) -> dict | None:
        """The samples so far, if there are any."""
        return None if self._window is None else self._window.record()

    def restore(self, state: dict) -> None:
        """Continue from stored sums."""
        if self._window is not None and "steps" in state:
            self._window.restore(state)

    def finish(self) -> dict | None:
        """Write the files; returns the record for the summary on rank 0."""
        traction = self._shear.traction_pa()
        if traction is None:
            return None
        counted = self._shear.far_from_openings()
        record: dict[str, Any] = {
            "n_nodes": len(traction),
            "n_counted": int(counted.sum()),
            "warnings": self._shear.warnings(),
        }
        if not record["n_counted"]:
            return record
        found = self._indices(record)
        parts = self._parts({STRESS: np.linalg.norm(traction, axis=1), **found}, counted)
        record |= {name: values for name, values in parts[WHOLE].items() if name != "n_nodes"}
        record["parts"] = {name: part for name, part in parts.items() if name != WHOLE}
        self._files.write(traction, found, counted, record.get("sampled_s", 0.0))
        self._files.write_table(parts)
        return record

    def _indices(self, record: dict) -> dict[Quantity, np.ndarray]:
        """The indices of the period, if there are samples of it, which the record then contains."""
        window = self._window
        if window is None or not len(window):
            return {}
        found = wall_indices(window)
        record["samples"] = len(window)
        record["sampled_s"] = window.covered_steps() * self._view.units.time_step_s
        return {quantity: getattr(found, name) for name, quantity in INDICES.items()}

    def _parts(self, quantities: Mapping[Quantity, np.ndarray], counted: np.ndarray) -> dict[str, dict]:
        """The statistics of each part of the wall."""
        view, shear = self._view, self._shear
        points_m = shear.wall_points_m()
        regions = {section.name: in_region(section, points_m) for section in view.case.wall_regions}
        names = [wall.name for wall in view.header.walls]
        area_m2, thresholds = shear.areas.area * view.header.spacing_m**2, view.case.output.wall_thresholds
        masks = parts_of_wall(shear.areas, counted, names, regions)
        return {name: part_record(quantities, area_m2, mask, thresholds) for name, mask in masks.items()}

    def lines(self, summary: Mapping) -> list[str]:
        """Statistics over the wall, now and of the period."""
        return shear_lines(summary[self.name])

    def section(self, summary: Mapping) -> ReportPart:
        """The statistics as tables, and the picture."""
        record = summary[self.name]
        tables = list(_tables(record)) if record["n_counted"] else []
        return ReportPart(tables=tables, warnings=record["warnings"], pictures=PICTURES)


def shear_lines(record: Mapping) -> list[str]:
    """A record of wall shear stress as lines of text."""
    if not record["n_counted"]:
        return []
    now = record[STRESS.name]
    lines = [
        f"wall shear stress: mean {now['mean']:.4g} Pa, median {now['p50']:.4g}, 95 % below {now['p95']:.4g},"
        f" max {now['max']:.4g} ({_counted_nodes(record)})"
    ]
    tawss, osi = (record.get(INDICES[name].name) for name in ("tawss", "osi"))
    if tawss and osi:
        lines.append(
            f"over {record['samples']} samples of {record['sampled_s']:.4g} s: time-averaged mean"
            f" {tawss['mean']:.4g} Pa, oscillatory index mean {osi['mean']:.4g}, max {osi['max']:.4g}"
            f"; {100.0 * tawss['share_beyond']:.3g} % of the wall below {tawss['threshold']:g} Pa,"
            f" {100.0 * osi['share_beyond']:.3g} % above an index of {osi['threshold']:g}"
        )
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _counted_nodes(record: Mapping) -> str:
    """The number of wall nodes of a record as text."""
    n_counted, n_nodes = record["n_counted"], record["n_nodes"]
    if n_counted == n_nodes:
        return f"all {n_nodes:,} wall nodes"
    return f"{n_counted:,} of {n_nodes:,} wall nodes: those farther than a diameter from the openings"


def _tables(record: Mapping):
    """A table of all of the wall, and one of each part, weighted by area."""
    parts = {"Wall shear stress": record} | {f"Wall shear stress, {name}": x for name, x in record["parts"].items()}
    for heading, part in parts.items():
        there = [quantity for quantity in (STRESS, *INDICES.values()) if quantity.name in part]
        rows = [
            (quantity.title, *(part[quantity.name][mark] for mark in SHOWN), _beyond(part[quantity.name], quantity))
            for quantity in there
        ]
        nodes = _counted_nodes(record) if part is record else f"{part['n_nodes']:,} wall nodes"
        yield ReportTable(heading, ("", *SHOWN, "share of the area"), rows, f"{part['area_m2']:.4g} m2, {nodes}")


def _beyond(found: Mapping, quantity: Quantity) -> str:
    """The share of the area that is beyond a threshold, as text."""
    if "threshold" not in found:
        return ""
    return f"{100.0 * found['share_beyond']:.3g} % {'below' if quantity.is_low else 'above'} {found['threshold']:.3g}"
