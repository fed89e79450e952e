"""The wall shear stress of a run: at the nodes, on the input surface, a picture of it, and its statistics."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY, HALF_WAY_SHEAR
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.wall_shear import Mean, WallShear, statistics
from muphy_lb.output.drawing import drawing, picture_files
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.output.surface_values import on_surface
from muphy_lb.output.vtkhdf import VtkHdfSeries
from muphy_lb.setup.geometry import input_surface
from muphy_lb.setup.waveforms import longest_period_s

SHEAR_FILE = "wall_shear.vtkhdf"
SHEAR_PICTURE = "wall_shear.png"
SHEAR_SURFACE = "wall_shear_surface.vtu"
TABLE_ROWS = {
    "magnitude_pa": "wall shear stress [Pa]",
    "time_averaged_pa": "time-averaged [Pa]",
    "oscillatory_index": "oscillatory index",
}
SAMPLES_PER_PERIOD = 40
LOG = logging.getLogger(__name__)
SHEAR_UNITS = {
    "wall_shear_stress": "Pa",
    "time_averaged_wall_shear_stress": "Pa",
    "oscillatory_shear_index": "1",
    "counted": "1",
}


class WallShearObserver(Observer):
    """Wall shear stress at the end of a run, and its average over the last period of a periodic flow.

    A run that ends before the last planned step averages over what it has of it. The sums are in checkpoints; a run
    that is given more steps has another last period, and begins them anew.

    Args:
        view: the flow.
        folder: output folder.
    """

    files = (SHEAR_FILE, *picture_files(SHEAR_PICTURE), SHEAR_SURFACE)
    name = "wall_shear"

    def __init__(self, view: FlowView, folder: Path):
        self._view, self._folder = view, folder
        self._shear = WallShear(view)
        period_s = longest_period_s(view.case)
        steps = period_s / view.units.time_step_s
        self.every = max(1, round(steps / SAMPLES_PER_PERIOD)) if period_s else 0
        self._first_step = view.numerics.steps - steps
        self._mean = Mean(0 if view.communicator.rank else self._shear.surface.voxel.size)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case requests it."""
        return (cls(view, folder),) if view.case.output.wall_shear else ()

    def act(self) -> None:
        """Take a sample, if the last period has begun."""
        if self._view.step_number <= self._first_step:
            return
        traction = self._shear.traction_pa()
        if traction is not None:
            self._mean.add(traction)

    def state(self) -> dict | None:
        """The sums over the samples so far, if there are any."""
        return self._mean.record() | {"since": self._first_step} if self._mean.count else None

    def restore(self, state: dict) -> None:
        """Go on from them, if they are of the same period."""
        if state.get("since", self._first_step) == self._first_step:
            self._mean.restore(state)
        else:
            LOG.info("the average of the wall shear stress is that of another last period, and begins anew")

    def finish(self) -> dict | None:
        """Write the files; returns the record for the summary on rank 0."""
        traction = self._shear.traction_pa()
        if traction is None:
            return None
        counted = self._shear.far_from_openings()
        fields = {"wall_shear_stress": traction}
        record = {"n_nodes": len(traction), "n_counted": int(counted.sum()), "warnings": self._warnings()}
        if record["n_counted"]:
            magnitude = np.linalg.norm(traction, axis=1)
            record["magnitude_pa"] = statistics(magnitude[counted])
            if self._mean.count:
                fields |= self._of_the_period(counted, record)
            self._write(fields, counted)
        return record

    def _warnings(self) -> list[str]:
        return [HALF_WAY_SHEAR] if self._view.case.lattice.walls == HALF_WAY else []

    def _of_the_period(self, counted, record: dict) -> dict:
        """Fields of the average; adds its statistics to the record."""
        mean = self._mean
        record["samples"] = mean.count
        record["sampled_s"] = mean.count * self.every * self._view.units.time_step_s
        record["time_averaged_pa"] = statistics(mean.magnitude[counted])
        record["oscillatory_index"] = statistics(mean.oscillation[counted])
        return {"time_averaged_wall_shear_stress": mean.magnitude, "oscillatory_shear_index": mean.oscillation}

    def _write(self, fields: dict, counted: np.ndarray) -> None:
        """Write the files; ``counted`` marks the nodes that the statistics count."""
        view, nodes = self._view, self._shear.nodes()
        written = fields | {"counted": counted.astype(np.float32)}
        text = view.case.to_toml(self._folder)
        series = VtkHdfSeries(self._folder / SHEAR_FILE, nodes, text, SHEAR_UNITS)
        series.append(view.time_s, view.step_number, written)
        if view.case.output.vtk:
            self._write_on_surface(written)
        if view.case.output.picture:
            from muphy_lb.output.pictures.theme import chosen_theme
            from muphy_lb.output.pictures.wall import Marks, draw_walls

            shown = fields.get("time_averaged_wall_shear_stress", np.linalg.norm(fields["wall_shear_stress"], axis=1))
            what = "time-averaged wall shear stress [Pa]" if len(fields) > 1 else "wall shear stress [Pa]"
            theme = chosen_theme(view.case.output)
            with drawing(SHEAR_PICTURE):
                draw_walls(
                    self._folder / SHEAR_PICTURE, nodes, shown, what, Marks(view.header.openings, counted, theme)
                )

    def _write_on_surface(self, fields: dict) -> None:
        """Write the fields on the input surface, if the geometry is one and still there."""
        view, shear = self._view, self._shear
        try:
            surface = input_surface(view.case)
        except GeometryError as error:
            LOG.warning("warning: %s is not written: %s", SHEAR_SURFACE, error)
            return
        if surface is not None:
            weights = on_surface(surface, shear.wall_points_m(), shear.surface.normal, view.header.spacing_m)
            weights.write(self._folder / SHEAR_SURFACE, fields)

    def lines(self, summary: Mapping) -> list[str]:
        """Statistics over the wall, now and of the period."""
        return shear_lines(summary[self.name])

    def section(self, summary: Mapping) -> ReportPart:
        """The statistics as a table, and the picture."""
        record = summary[self.name]
        tables = [_table(record)] if record["n_counted"] else []
        return ReportPart(tables=tables, warnings=record["warnings"], pictures={SHEAR_PICTURE: "stress on the walls"})


def shear_lines(record: Mapping) -> list[str]:
    """A record of wall shear stress as lines of text."""
    if not record["n_counted"]:
        return []
    now = record["magnitude_pa"]
    lines = [
        f"wall shear stress: mean {now['mean']:.4g} Pa, median {now['p50']:.4g}, 95 % below {now['p95']:.4g},"
        f" max {now['max']:.4g} ({_counted_nodes(record)})"
    ]
    if record.get("time_averaged_pa"):
        lines.append(
            f"over {record['samples']} samples of {record['sampled_s']:.4g} s: time-averaged mean"
            f" {record['time_averaged_pa']['mean']:.4g} Pa, oscillatory index mean"
            f" {record['oscillatory_index']['mean']:.4g}, max {record['oscillatory_index']['max']:.4g}"
        )
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _counted_nodes(record: Mapping) -> str:
    """The number of wall nodes of a record as text."""
    n_counted, n_nodes = record["n_counted"], record["n_nodes"]
    if n_counted == n_nodes:
        return f"all {n_nodes:,} wall nodes"
    return f"{n_counted:,} of {n_nodes:,} wall nodes: those farther than a diameter from the openings"


def _table(record: Mapping) -> ReportTable:
    there = [name for name in TABLE_ROWS if name in record]
    marks = list(record[there[0]])
    rows = [(TABLE_ROWS[name], *(record[name][mark] for mark in marks)) for name in there]
    return ReportTable("Wall shear stress", ("", *marks), rows, _counted_nodes(record))
