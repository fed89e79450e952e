"""Records of tracers: how far they spread and how many have left where over time, in ``particles_NAME.csv``; how long
they stayed, in ``particles_NAME_residence.csv`` and the summary; and their positions and path lines for ParaView."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from muphy_lb.base.files.atomic import write_text
from muphy_lb.base.units import Units
from muphy_lb.measure.at_particles import positions_m
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.files.vtkhdf import read_paths, write_path_lines
from muphy_lb.physics.particles.measures import PlaneCounts, told
from muphy_lb.physics.particles.openings import BORN, END, END_STEP, STUCK, UNDER_WAY, WAITING
from muphy_lb.physics.particles.snapshots import ParticleSnapshots
from muphy_lb.physics.particles.tracers.section import TracersSection
from muphy_lb.physics.particles.tracers.walk import BEFORE, travelled

HALF_A_STEP = 0.5  # A tracer leaves within a step: half of one before its end on average


@dataclass(frozen=True)
class TracerStatistics:
    """State of all tracers of a set at one time."""

    waiting: int  #: how many have not started
    under_way: int  #: how many move
    stuck: int  #: how many stick to walls
    left: dict[str, int]  #: how many have left through each opening, by name
    mean_residence_s: dict[str, float]  #: how long those stayed on average [s]; NaN where none left
    displacement_m: np.ndarray  #: (3,) mean displacement of those that move [m]
    variance_m2: np.ndarray  #: (3,) variance of their displacement along each axis [m^2]
    mean_square_m2: float  #: mean of the square of their displacement [m^2]


def tracer_statistics(columns: Mapping[str, np.ndarray], openings, units: Units) -> TracerStatistics:
    """The statistics of all tracers of a set. ``columns``: of all tracers, by name; ``openings``: names of all
    openings, in order."""
    end = columns[END]
    moves = end == UNDER_WAY
    distance_m = units.spacing_m * travelled(columns)[:, moves]
    nothing = np.full(3, np.nan)
    stays = {name: residence_s(columns, k, units) for k, name in enumerate(openings)}
    return TracerStatistics(
        waiting=int((end == WAITING).sum()),
        under_way=int(moves.sum()),
        stuck=int((end == STUCK).sum()),
        left={name: stay.size for name, stay in stays.items()},
        mean_residence_s={name: float(stay.mean()) if stay.size else np.nan for name, stay in stays.items()},
        displacement_m=distance_m.mean(axis=1) if moves.any() else nothing,
        variance_m2=distance_m.var(axis=1) if moves.any() else nothing,
        mean_square_m2=float((distance_m**2).sum(axis=0).mean()) if moves.any() else np.nan,
    )


def residence_s(columns: Mapping[str, np.ndarray], opening: int, units: Units) -> np.ndarray:
    """Times [s] between start and end of the tracers that have left through an opening, given by its number."""
    has_left = columns[END] == opening + 1
    steps = columns[END_STEP][has_left] - columns[BORN][has_left]
    return units.time_step_s * (steps - HALF_A_STEP)


def breakthrough(residence: Mapping[str, np.ndarray], count: int, n_rows: int) -> tuple[np.ndarray, dict]:
    """Breakthrough curves: residence times (n_rows,) [s], evenly spaced up to the longest, and for each opening the
    share of all ``count`` tracers that stayed no longer and left there."""
    longest = max((float(stay.max()) for stay in residence.values() if stay.size), default=0.0)
    times = np.linspace(0.0, longest, n_rows)
    return times, {
        name: np.searchsorted(np.sort(stay), times, side="right") / count for name, stay in residence.items()
    }


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
        """Continue from them."""
        self._before = state["time_s"], np.asarray(state["variance_m2"])

    def finish(self) -> dict | None:
        """Number of tracers that have left through each opening and their residence times; writes the breakthrough
        curves."""
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


class TracerSnapshots(ParticleSnapshots):
    """Writes all tracers, those that have left where they left, and at the end path lines."""

    velocity = BEFORE
    units = MappingProxyType({BORN: "time steps", END: ""})

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, section: TracersSection):
        super().__init__(view, folder, resume_step, section)
        self._lines, self._n_lines = folder / f"particles_{section.name}_path_lines.vtkhdf", section.path_lines

    def close(self) -> None:
        """Write the last snapshot and the path lines."""
        super().close()
        particles = self._view.particles() if self._n_lines else None
        if particles is not None:
            ids, header = particles[self._set]["id"][: self._n_lines], self._view.header
            size = np.array(header.shape[::-1]) * header.spacing_m
            paths = read_paths(self._path, ids)
            write_path_lines(self._lines, paths, np.where(header.periodic, size, 0.0), self._view.case.to_toml())

    def are_in_flow(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n,) whether each tracer has started and not left."""
        return (columns[END] == UNDER_WAY) | (columns[END] == STUCK)

    def snapshot(self, columns: Mapping[str, np.ndarray]) -> Snapshot:
        """With when they started, and whether and how they have ended."""
        return replace(super().snapshot(columns), scalars={name: columns[name] for name in (END, BORN)})
