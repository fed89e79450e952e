"""The steady-state criterion.

Every ``run.steady_interval_steps`` steps (a time T) the watched quantities are looked at: the mean speed, every
opening's flow rate, every labelled wall's force, or the mean velocity along each axis, to which the permeability is
proportional. The flow is steady when, over each of the last two intervals, every quantity x of every group changed per
characteristic time T_c = ``run.steady_time_s`` (without it, T) by no more than ``run.steady_tolerance`` of the largest
of its group:

    |x(t) - x(t - T)| T_c / T <= tolerance * max over the group of |x(t)|.

Two intervals, because sound can make a flow stand still for a moment. A slow mode that dies with a time t_s is still
off by about t_s / T_c times the change: choose T_c near the slowest time of the flow (L^2 / viscosity for a pore or a
gap of width L, L / velocity for a vessel), and the tolerance is close to the error.

Without T_c the flow rates of openings must also have no more than the tolerance still to come. In creeping flow through
a narrow vessel of radius R and length L the pressure does not travel as sound but spreads by diffusion, with the
coefficient cs^2 R^2 / (8 nu), which takes far longer than an interval. What is to come follows from the last two
changes d' and d of a flow rate: if they shrink by the same factor r = d / d' from look to look, as those of the slowest
mode do, it is d (r + r^2 + ...) = d r / (1 - r) (Aitken's extrapolation).

Sums run in an order, or in integers, that the number of ranks does not touch, so every run stops at the same step.
"""

from collections.abc import Mapping, Sequence
from math import inf, isnan
from pathlib import Path

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, Steadiness
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.output.charts import line_chart
from muphy_lb.output.report_html import ReportPart
from muphy_lb.output.series import CsvSeries, read_series
from muphy_lb.run.monitored import monitored

STEADY = "steady"
EXTRAPOLATED = "flow_rates"
MEANS = {"permeability": "mean velocity in the pores [m/s]", "mean_speed": "mean speed [voxels per time step]"}


class SteadyWatch:
    """Remembers the last look at the flow and compares.

    Args:
        tolerance: allowed relative change per characteristic time, or None for never steady.
        intervals: characteristic time over the time between two looks.
        is_extrapolated: whether what is to come of the flow rates must be within the tolerance, too.

    Attributes:
        change: the largest relative change.
        to_come: what is to come of the flow rates, if that counts.
        to_come_of: what is to come of each quantity, by group and name, relative to the largest of its group.
    """

    def __init__(self, tolerance: float | None, intervals: float = 1.0, is_extrapolated: bool = False):
        self.tolerance = tolerance
        self.change = inf
        self.to_come = inf if is_extrapolated else 0.0
        self._is_extrapolated = is_extrapolated
        self._intervals = intervals
        self._change_before = inf
        self._last: dict = {}
        self._differences: dict = {}
        self.to_come_of: dict[str, dict[str, float]] = {}

    def __str__(self):
        if self.tolerance is None:
            return ""
        if self.change == inf:
            return f"change not yet known (steady at {self.tolerance:.0e})"
        if self.change <= self.tolerance < self.to_come < inf:
            return f"change {self.change:.2e}, {self.to_come:.2e} to come (steady at {self.tolerance:.0e})"
        once = self.change <= self.tolerance < self._change_before
        return f"change {self.change:.2e} (steady at {self.tolerance:.0e}{', below it once, twice needed' * once})"

    @property
    def is_steady(self) -> bool:
        """Whether the last two changes, and what is to come of the flow rates, are within the tolerance."""
        changes = (self.change, self._change_before, self.to_come)
        return self.tolerance is not None and all(change <= self.tolerance for change in changes)

    @property
    def steadiness(self) -> Steadiness | None:
        """How far the criterion is met; None for never steady."""
        if self.tolerance is None:
            return None
        return Steadiness(self.tolerance, self.change if self.change < inf else None, self.is_steady)

    def look(self, groups: dict[str, dict[str, float]]) -> bool:
        """Compare quantities, by group and name, with the last look and remember these."""
        last, self._last = self._last, groups
        if last:
            self._change_before = self.change
            self.change = self._intervals * max(_relative_changes(last, groups), default=inf)
            self._extrapolate(last)
        if last and self._is_extrapolated:
            self.to_come = max(self.to_come_of.get(EXTRAPOLATED, {}).values(), default=0.0)
        return self.is_steady

    def _extrapolate(self, last: dict[str, dict[str, float]]) -> None:
        """What is to come of all quantities, relative to the largest of a group, if they go on changing as they did."""
        before, now = self._differences, self._last
        self._differences = {
            group: {name: x - last[group][name] for name, x in values.items() if name in last.get(group, {})}
            for group, values in now.items()
        }
        for group, changes in self._differences.items():
            scale, earlier = max(map(abs, now[group].values()), default=0.0), before.get(group, {})
            rests = {name: rest_of_change(earlier.get(name, inf), change) for name, change in changes.items()}
            if rests:
                self.to_come_of[group] = {name: _ratio(rest, scale) for name, rest in rests.items()}

    def record(self) -> dict:
        """What a checkpoint must keep."""
        changes = [change if change < inf else None for change in (self.change, self._change_before)]
        to_come = self.to_come if self.to_come < inf else None
        return {"last": self._last, "changes": changes, "differences": self._differences, "to_come": to_come}

    def restore(self, record: dict) -> None:
        """Continue from a checkpoint's record."""
        self._last = record["last"]
        self.change, self._change_before = (inf if change is None else change for change in record["changes"])
        given = record.get("differences", {})  # checkpoints of earlier versions do not hold it, or by name alone
        self._differences = given if all(isinstance(changes, dict) for changes in given.values()) else {}
        if self._is_extrapolated:
            self.to_come = inf if record.get("to_come") is None else record["to_come"]


def _relative_changes(last: dict, now: dict):
    for group, values in now.items():
        scale = max((abs(value) for value in values.values()), default=0.0)
        for name, value in values.items():
            yield _ratio(abs(value - last.get(group, {}).get(name, inf)), scale)


def _ratio(change: float, scale: float) -> float:
    """Relative change; a flow at rest has not begun, hence is not steady, nor is one without numbers."""
    return change / scale if scale > 0.0 and not isnan(change) else inf


def steady_watch(view: FlowView, tolerance: float | None) -> SteadyWatch:
    """The watch that a case asks for, with a tolerance."""
    run = view.case.run
    interval_s = run.steady_interval_steps * view.units.time_step_s
    is_extrapolated = run.steady_time_s is None and EXTRAPOLATED in run.steady_watch and bool(view.header.openings)
    return SteadyWatch(tolerance, (run.steady_time_s or interval_s) / interval_s, is_extrapolated)


class SteadyState(Observer):
    """Ends the run when the flow is steady, and appends what it looks at, and how much that changed, to ``steady.csv``.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: rows up to that step are kept; None for a new file.
    """

    file = "steady.csv"
    files = (file,)
    name = "watch"
    reason = STEADY
    tells_walls = True

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        run = view.case.run
        self.watch = steady_watch(view, run.steady_tolerance)
        self.every = 0 if run.steady_tolerance is None else run.steady_interval_steps
        self._view, self._path, self._resume_step = view, folder / self.file, resume_step
        self._series: CsvSeries | None = None

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """One, which without ``run.steady_tolerance`` does nothing."""
        return (cls(view, folder, resume_step),)

    def verdict(self) -> str | None:
        """Look at the flow where a look is due."""
        if not self.every or self._view.step_number % self.every:
            return None
        groups = monitored(self._view)
        is_steady = self._view.communicator.broadcast(None if groups is None else self.watch.look(groups))
        if groups is not None:
            self.write(groups, self.watch.change)
        return STEADY if is_steady else None

    def write(self, groups: dict[str, dict[str, float]], change: float) -> None:
        """One row: the quantities by group and name, and their largest relative change; on rank 0."""
        values = {f"{group}.{name}": value for group, row in groups.items() for name, value in row.items()}
        if self._series is None:
            self._series = CsvSeries(self._path, ("step", "time_s", *values, "change"), self._resume_step)
        place = {"step": self._view.step_number, "time_s": self._view.time_s}
        self._series.append(place | values | {"change": change})

    @property
    def is_satisfied(self) -> bool:
        """Whether the flow is steady."""
        return self.watch.is_steady

    def steadiness(self) -> Steadiness | None:
        """The last change, and what is wanted."""
        return self.watch.steadiness

    def status(self) -> str:
        """The last change, and what is wanted."""
        return str(self.watch)

    def finish(self) -> dict | None:
        """What is to come of every quantity that was watched, by group and name."""
        known = {
            group: {name: rest if rest < inf else None for name, rest in values.items()}
            for group, values in self.watch.to_come_of.items()
        }
        return {"to_come": known} if known and self._view.communicator.rank == 0 else None

    def lines(self, summary: Mapping) -> list[str]:
        """How far each kind of quantity is known, as far as steadiness goes."""
        to_come = summary.get(self.name, {}).get("to_come", {})
        found = [_known_to(group, values) for group, values in to_come.items() if None not in values.values()]
        return [f"still to come, if the changes keep shrinking as they did: {'; '.join(found)}"] if found else []

    def state(self) -> dict:
        """The last look, the last two changes, and the number of steps between looks."""
        return self.watch.record() | {"every": self.every}

    def restore(self, state: dict) -> None:
        """Go on from them; with other steps between looks, changes do not compare, and the watch begins anew."""
        if state.get("every", self.every) == self.every:  # checkpoints of earlier versions do not hold it
            self.watch.restore(state)

    def section(self, summary: Mapping) -> ReportPart:
        """The course of the change, and of mean velocities."""
        return ReportPart(charts=lambda: _charts(self._path))


def _known_to(group: str, values: Mapping[str, float]) -> str:
    """The quantity of a group that has most to come."""
    name, rest = max(values.items(), key=lambda item: item[1])
    which = f"{group} ({name})" if len(values) > 1 else group
    return f"{which} +-{100.0 * rest:.2g} %"


def _charts(path: Path) -> list[tuple[str, bytes]]:
    if not path.exists():
        return []
    series = read_series(path)
    lines = {"": (series["step"], series["change"])}
    text = "Towards the steady state"
    charts = [(text, line_chart(text, "step", "relative change", lines, log=True))]
    for group, unit in MEANS.items():
        mean = {name.split(".")[1]: (series["step"], x) for name, x in series.items() if name.startswith(f"{group}.")}
        if mean:
            charts.append(("mean velocity", line_chart("Mean velocity", "step", unit, mean)))
    return charts
