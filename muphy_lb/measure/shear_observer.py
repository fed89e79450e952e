"""The wall shear stress of a run, and the indices of its course over the last period."""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF_WAY, HALF_WAY_SHEAR
from muphy_lb.measure.flow_view import FlowView, PreparedView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period_window import PeriodWindow
from muphy_lb.measure.shear.wall_nodes import (
    INDICES,
    STRESS,
    WHOLE,
    Quantity,
    in_region,
    node_positions_m,
    part_record,
    parts_of_wall,
)
from muphy_lb.measure.shear.wall_shear import WallShear, along_wall, tangents, wall_indices
from muphy_lb.measure.shear_files import (
    OSI_PICTURE,
    SHEAR_FILE,
    SHEAR_PICTURE,
    SHEAR_SURFACE,
    SHEAR_SURFACE_HDF,
    SHEAR_TABLE,
    TAWSS_PICTURE,
    ShearFiles,
)
from muphy_lb.output.drawing import picture_files
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.setup.waveforms import longest_period_s

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

    Args:
        view: the flow.
        folder: output folder.
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
        self._window = PeriodWindow(period, SAMPLES_PER_PERIOD) if period_s else None
        self.every = 0 if self._window is None else self._window.every
        self._first_step = -inf if view.case.run.may_end_early else view.numerics.steps - period
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
        if self._window is None or self._view.step_number <= self._first_step:
            return
        traction = self._shear.traction_pa()
        if traction is not None:
            self._window.add(self._view.step_number, along_wall(traction, self._tangents))

    def state(self) -> dict | None:
        """The samples so far, if there are any."""
        return None if self._window is None else self._window.record()

    def restore(self, state: dict) -> None:
        """Go on from them."""
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
            "warnings": self._warnings(),
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

    def _warnings(self) -> list[str]:
        return [HALF_WAY_SHEAR] if self._view.case.lattice.walls == HALF_WAY else []

    def _indices(self, record: dict) -> dict[Quantity, np.ndarray]:
        """The indices of the period, if there are samples of it, of which the record then tells."""
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
