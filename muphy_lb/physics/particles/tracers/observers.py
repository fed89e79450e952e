"""Tracers over time, in ``particles_NAME.csv``, and how long they stayed, in ``particles_NAME_residence.csv`` and the
summary."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.base.files.atomic import write_text
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.particles.planes import PlaneCounts, told
from muphy_lb.physics.particles.seeding import positions_m
from muphy_lb.physics.particles.tracers.section import TracersSection
from muphy_lb.physics.particles.tracers.statistics import (
    TracerStatistics,
    breakthrough,
    residence_s,
    tracer_statistics,
)
from muphy_lb.physics.particles.tracers.walk import travelled

BREAKTHROUGH_ROWS = 201
CHARTS = {
    "left": "tracers that have left",
    "variance_m2": "variance of the displacement [m2]",
    "dispersion_m2_s": "dispersion coefficient [m2/s]",
}


class TracerSeries(SeriesObserver):
    """Appends how many tracers move, stick, have left and have crossed planes, and how far they have come.

    The dispersion coefficient along an axis is half the growth of the variance of the displacement since the row before
    over the time in between; tracers that have left do not count, so it is meaningful while none leaves.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: as of :class:`SeriesObserver`.
        section: table of the tracers in the case file.
    """

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, section: TracersSection):
        self._set, self._planes = section.name, PlaneCounts(section, view.header, view.lattice.dimension)
        self.name, self.file = f"particles_{self._set}", f"particles_{self._set}.csv"
        self._before: tuple[float, np.ndarray] | None = None
        self._openings = [opening.name for opening in view.header.openings]
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        along = [f"{axis}_{what}" for what in ("displacement_m", "variance_m2", "dispersion_m2_s") for axis in "xyz"]
        counts = ["waiting", "under_way", "stuck", *(f"{name}_left" for name in self._openings)]
        return [*counts, *self._planes.columns(), "mean_square_displacement_m2", *along]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        columns = self._columns()
        if columns is None:
            return None
        found = self._statistics(columns)
        time_s, growth = self._view.time_s, np.full(3, np.nan)
        if self._before is not None and time_s > self._before[0]:
            growth = 0.5 * (found.variance_m2 - self._before[1]) / (time_s - self._before[0])
        self._before = time_s, found.variance_m2
        counts = (found.waiting, found.under_way, found.stuck, *found.left.values())
        crossed = self._crossed(columns)
        return [*counts, *crossed, found.mean_square_m2, *found.displacement_m, *found.variance_m2, *growth]

    def state(self) -> dict | None:
        """Time and variances of the last row."""
        if self._before is None:
            return None
        time_s, variance_m2 = self._before
        return {"time_s": time_s, "variance_m2": variance_m2}

    def restore(self, state: dict) -> None:
        """Go on from them."""
        self._before = state["time_s"], np.asarray(state["variance_m2"])

    def finish(self) -> dict | None:
        """How many have left where, and how long they stayed; the breakthrough curves are written beside it."""
        columns = self._columns()
        if columns is None:
            return None
        found = self._statistics(columns)
        self._write_breakthrough(columns)
        stays = {name: None if np.isnan(mean) else mean for name, mean in found.mean_residence_s.items()}
        counts = {"waiting": found.waiting, "under_way": found.under_way, "stuck": found.stuck}
        crossed = dict(zip(self._planes.columns(), self._crossed(columns), strict=True))
        return {"count": columns["id"].size, **counts, **crossed, "left": found.left, "mean_residence_s": stays}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        record = summary[self.name]
        text = f"tracers {self._set}: {record['under_way']:,} of {record['count']:,} under way"
        text += f", {record['waiting']:,} not started" if record["waiting"] else ""
        text += f", {record['stuck']:,} stuck" if record["stuck"] else ""
        names = self._planes.columns()
        return [text + _left(record) + told([record[name] for name in names], names)]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        record = summary[self.name]
        rows = [(name, n, record["mean_residence_s"][name] or "-") for name, n in record["left"].items()]
        rows += [(what.replace("_", " "), record[what], "-") for what in ("waiting", "under_way", "stuck")]
        heading = f"Tracers {self._set}"
        return ReportPart(
            tables=(ReportTable(heading, ("", "tracers", "mean residence time [s]"), rows),),
            charts=partial(series_charts, self._folder / self.file, heading, CHARTS),
        )

    def _columns(self) -> Mapping[str, np.ndarray] | None:
        particles = self._view.particles()
        return None if particles is None else particles[self._set]

    def _crossed(self, columns: Mapping[str, np.ndarray]) -> list[int]:
        header = self._view.header
        return self._planes.numbers(positions_m(header, columns), header.spacing_m * travelled(columns).T)

    def _statistics(self, columns: Mapping[str, np.ndarray]) -> TracerStatistics:
        return tracer_statistics(columns, self._openings, self._view.units)

    def _write_breakthrough(self, columns: Mapping[str, np.ndarray]) -> None:
        stays = {name: residence_s(columns, k, self._view.units) for k, name in enumerate(self._openings)}
        times, shares = breakthrough(stays, columns["id"].size, BREAKTHROUGH_ROWS)
        lines = [",".join(("residence_s", *(f"{name}_share" for name in shares)))]
        lines += [",".join(f"{x:.9g}" for x in row) for row in zip(times, *shares.values(), strict=True)]
        write_text(self._folder / f"particles_{self._set}_residence.csv", "\n".join(lines) + "\n")


def _left(record: Mapping) -> str:
    parts = [
        f"{n:,} left through {name} after {record['mean_residence_s'][name]:.5g} s on average"
        for name, n in record["left"].items()
        if n
    ]
    return "".join(f", {part}" for part in parts)
