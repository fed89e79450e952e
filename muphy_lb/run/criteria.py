"""Criteria that end a run before its last step: a steady flow, and a periodic one.

*Steady.* Every ``run.steady_interval_steps`` steps (a time T) the watched quantities are measured: the mean speed,
every opening's flow rate, every labelled wall's force, or the mean velocity along each axis, to which the permeability
is proportional. The flow is steady if, over each of the last two intervals, every quantity x of every group changed per
characteristic time T_c = ``run.steady_time_s`` (without it, T) by no more than ``run.steady_tolerance`` of the largest
of its group:

    |x(t) - x(t - T)| T_c / T <= tolerance * max over the group of |x(t)|.

Two intervals, because sound can make a flow stand still for a moment. A slow mode that dies with a time t_s is still
off by about t_s / T_c times the change: choose T_c near the slowest time of the flow (L^2 / viscosity for a pore or a
gap of width L, L / velocity for a vessel), and the tolerance is close to the error.

Where outlets have networks, the pressures of openings are watched beside the flow rates: an inlet that imposes its flow
keeps these while a compliance is being filled. Without T_c flow rates, and these pressures, must also have no more than
the tolerance still to come; with it the mean velocity of a rock, whose widest fracture may be slower than any T_c
chosen from a mean pore. In creeping flow through a narrow vessel of radius R and length L the pressure does not travel
as sound but spreads by diffusion, with the coefficient cs^2 R^2 / (8 nu), which takes far longer than an interval. The
change to come follows from the last two changes d' and d of a quantity, each over T or, because of sound, half of T_c:
if they shrink by the same factor r = d / d', as those of the slowest mode do, it is d r / (1 - r) (Aitken's
extrapolation).

Sums run in an order, or in integers, that the number of ranks does not touch, so every run stops at the same step.

*Periodic.* A beat lasts the longest period T of the waveforms that drive the flow. After every beat the flow rate and
the pressure of every opening are compared with those of the beat before, at the same phases:

    change = max over openings and both quantities of  sqrt(mean over a beat of (x(t) - x(t - T))^2) / range,

where the range is that of the quantity over the last beat, the largest of all openings. Below
``run.periodic_tolerance`` the flow is periodic and the run ends; what it reports is averaged over the last beat. A mode
that dies with a time constant tau shrinks by r = exp(-T / tau) in a beat and is still off by r / (1 - r) times the
change; r is taken from the last two changes, and what is still to come is known.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, inf, isnan
from pathlib import Path
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages, sections
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, Steadiness
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.measure.records import OpeningState
from muphy_lb.output.charts import line_chart
from muphy_lb.output.report_html import ReportPart
from muphy_lb.output.series import CsvSeries, read_series
from muphy_lb.physics.package import Physics
from muphy_lb.setup.waveforms import longest_period_s


def monitored(view: FlowView) -> dict[str, dict[str, float]] | None:
    """The quantities of ``run.steady_watch`` by group and name, on rank 0; collective."""
    measures: dict[str, Callable[[], dict[str, float]]] = {
        name: partial(measure, view) for name, measure in FLOW_QUANTITIES.items()
    }
    for physics in view.physics:
        measures |= physics.monitored(view)
    groups = {name: measures[name]() for name in measures if name in view.case.run.steady_watch}
    if EXTRAPOLATED in groups and any(condition.feedback for condition in view.conditions):
        groups |= groups_of_openings(view.openings() or {}, view.units.reference_pressure_pa)
    return groups if view.communicator.rank == 0 else None


def groups_of_openings(states: Mapping[str, OpeningState], reference_pa: float) -> dict[str, dict[str, float]]:
    """Groups of flow rates of openings and, where outlets have networks, of pressures above that of reference."""
    groups = {EXTRAPOLATED: {name: each.flow_rate_m3_s for name, each in states.items()}}
    if any(each.feedback for each in states.values()):
        groups[PRESSURES] = {name: each.mean_pressure_pa - reference_pa for name, each in states.items()}
    return groups


def refuse_to_watch_nothing(case: Case, header: GeometryHeader) -> None:
    """Raises InputError: nothing of what a steady-state criterion shall watch is there, so that it would never fire."""
    there = {"mean_speed", "permeability"}
    there |= {"flow_rates"} if header.openings else set()
    there |= {"forces"} if header.walls else set()
    kinds: tuple[type[Physics], ...] = packages(case)
    there |= {name for physics in kinds for name in physics.monitored_in(case)}
    if case.run.steady_tolerance is not None and there.isdisjoint(case.run.steady_watch):
        of_physics = [getattr(module, "MONITORED", {}) for module in sections().values()]
        needed = [what for quantities in of_physics for what in quantities.values()]
        *others, last = ("opening", "labelled wall", *needed)
        raise InputError(
            f"run.steady_watch is {', '.join(case.run.steady_watch)}, but the geometry has"
            f" {', '.join(f'no {what}' for what in others)} and no {last} for it; watch mean_speed or permeability"
        )


def _forces(view: FlowView) -> dict[str, float]:
    """Components of the force on each labelled wall, and of one that turns also those of its torque over the longest
    edge of the box: its force may be rounding, which never settles."""
    forces = view.wall_forces() or {}
    found = {
        f"{name}_{axis}": x for name, force in forces.items() for axis, x in zip("xyz", force.force_n, strict=True)
    }
    longest_m = max(view.header.shape) * view.header.spacing_m
    turning = [wall.name for wall, motion in zip(view.header.walls, view.motions, strict=True) if any(motion.rotation)]
    return found | {
        f"{name}_torque_{axis}": x / longest_m
        for name in turning
        if name in forces
        for axis, x in zip("xyz", forces[name].torque_n_m, strict=True)
    }


FLOW_QUANTITIES: Mapping[str, Callable[[FlowView], dict[str, float]]] = MappingProxyType(
    {
        "mean_speed": lambda view: {"mean_speed": view.health().mean_speed},
        "flow_rates": lambda view: {name: each.flow_rate_m3_s for name, each in (view.openings() or {}).items()},
        "forces": _forces,
        "permeability": lambda view: dict(zip("xyz", view.mean_velocity_m_s().tolist(), strict=True)),
    }
)


STEADY = "steady"
EXTRAPOLATED, PRESSURES, OF_ROCK = "flow_rates", "pressures", "permeability"
MEANS = {"permeability": "mean velocity in the pores [m/s]", "mean_speed": "mean speed [voxels per time step]"}


class SteadyWatch:
    """Remembers the last look at the flow and compares.

    Args:
        tolerance: allowed relative change per characteristic time, or None for never steady.
        intervals: characteristic time over the time between two looks.
        extrapolated: group of which what is to come must be within the tolerance, too; none if empty.

    Attributes:
        change: the largest relative change.
        to_come: what is to come of that group, if there is one, and of pressures, if they are looked at.
        to_come_of: what is to come of each quantity, by group and name, relative to the largest of its group.
    """

    def __init__(self, tolerance: float | None, intervals: float = 1.0, extrapolated: str = ""):
        self.tolerance = tolerance
        self.change = inf
        self.to_come = inf if extrapolated else 0.0
        self._extrapolated = extrapolated
        self._intervals = intervals
        self._change_before = inf
        self._looks: deque[dict] = deque(maxlen=1 + 2 * max(1, int(intervals) // 2))
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
        """Whether the last two changes, and what is to come if that counts, are within the tolerance."""
        changes = (self.change, self._change_before, self.to_come)
        return self.tolerance is not None and all(change <= self.tolerance for change in changes)

    @property
    def steadiness(self) -> Steadiness | None:
        """Progress towards the criterion; None for never steady."""
        if self.tolerance is None:
            return None
        change, to_come = (known if known < inf else None for known in (self.change, self.to_come))
        return Steadiness(self.tolerance, change, self.is_steady, to_come=to_come)

    def look(self, groups: dict[str, dict[str, float]]) -> bool:
        """Compare quantities, by group and name, with the last look and remember these."""
        last = self._looks[-1] if self._looks else {}
        self._looks.append(groups)
        if last:
            self._change_before = self.change
            self.change = self._intervals * max(_relative_changes(last, groups), default=inf)
            self._extrapolate()
        if last and self._extrapolated:
            counting = (self.to_come_of.get(group, {}) for group in (self._extrapolated, PRESSURES))
            self.to_come = max((rest for rests in counting for rest in rests.values()), default=0.0)
        return self.is_steady

    def _extrapolate(self) -> None:
        """Estimate the remaining changes of all quantities, over the largest of a group, if they continue as before."""
        apart = max(1, (len(self._looks) - 1) // 2)
        last, middle, first = [*list(self._looks)[::-apart], {}][:3]
        for group, values in last.items():
            scale = max(map(abs, values.values()), default=0.0)
            earlier, earliest = middle.get(group, {}), first.get(group, {})
            rests = {
                name: rest_of_change(earlier[name] - earliest.get(name, -inf), x - earlier[name])
                for name, x in values.items()
                if name in earlier
            }
            if rests:
                self.to_come_of[group] = {name: _ratio(rest, scale) for name, rest in rests.items()}

    def record(self) -> dict:
        """The values that a checkpoint must keep."""
        known = [each if each < inf else None for each in (self.change, self._change_before, self.to_come)]
        return {"looks": list(self._looks), "changes": known[:2], "to_come": known[2]}

    def restore(self, record: dict) -> None:
        """Continue from a checkpoint's record."""
        looks = record["looks"] if "looks" in record else [record["last"]]  # earlier versions held the last one
        self._looks.extend(look for look in looks if look)
        self.change, self._change_before = (inf if change is None else change for change in record["changes"])
        if self._extrapolated:
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
    group, is_there = (EXTRAPOLATED, bool(view.header.openings)) if run.steady_time_s is None else (OF_ROCK, True)
    extrapolated = group if is_there and group in run.steady_watch else ""
    return SteadyWatch(tolerance, (run.steady_time_s or interval_s) / interval_s, extrapolated)


class Criterion(Observer):
    """Base of the criteria for the end of a run; the course of the changes goes to a CSV file and to the report.

    Args:
        folder: output folder; None: no file.
        resume_step: rows up to that step are kept; None for a new file.
    """

    file: str
    tells_walls = True

    def __init__(self, view: FlowView, folder: Path | None, resume_step: int | None = None):
        self._view, self._path, self._resume_step = view, folder / self.file if folder else None, resume_step
        self._series: CsvSeries | None = None

    def follow(self, view: FlowView) -> None:
        """Look at another flow from now on: the same, after a change of its case."""
        self._view = view

    @property
    def _rises_until(self) -> int:
        """Step before which openings and walls do not impose in full what is given; 0 once they do."""
        return self._view.rises_until if self._view.step_number < self._view.rises_until else 0

    def _append(self, **values: float) -> None:
        if self._path is None:
            return
        row = {"step": self._view.step_number, "time_s": self._view.time_s} | values
        if self._series is None:
            self._series = CsvSeries(self._path, tuple(row), self._resume_step)
        self._series.append(row)

    def section(self, summary: Mapping) -> ReportPart:
        """The course of the change."""
        path = self._path
        return ReportPart(charts=lambda: self.charts(read_series(path)) if path and path.exists() else [])

    def charts(self, series: Mapping[str, np.ndarray]) -> list[tuple[str, bytes]]:
        """Titles and pictures of the columns of the file."""
        raise NotImplementedError


def criterion_of(view: FlowView) -> Criterion | None:
    """The criterion of a case, without a file; None without one."""
    run = view.case.run
    if run.periodic_tolerance is not None:
        return Periodicity(view)
    return None if run.steady_tolerance is None else SteadyState(view)


class SteadyState(Criterion):
    """Ends the run when the flow is steady, and appends what it looks at, and how much that changed, to ``steady.csv``.

    Args:
        view, folder, resume_step: as of :class:`Criterion`.
        tolerance: allowed relative change per characteristic time; None: that of the case.
    """

    file = "steady.csv"
    files = (file,)
    name = "watch"
    reason = STEADY

    def __init__(
        self,
        view: FlowView,
        folder: Path | None = None,
        resume_step: int | None = None,
        tolerance: float | None = None,
    ):
        super().__init__(view, folder, resume_step)
        run = view.case.run
        tolerance = run.steady_tolerance if tolerance is None else tolerance
        self.watch, self.every = steady_watch(view, tolerance), 0 if tolerance is None else run.steady_interval_steps

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """One, which without ``run.steady_tolerance`` does nothing."""
        return (cls(view, folder, resume_step),)

    def verdict(self) -> str | None:
        """Look at the flow where a look is due."""
        if not self.every or not self._view.is_due(self.every):
            return None
        groups = monitored(self._view)
        is_steady = self._view.communicator.broadcast(None if groups is None else self.watch.look(groups))
        if groups is not None:
            self.write(groups, self.watch.change)
        return STEADY if is_steady and not self._rises_until else None

    def write(self, groups: dict[str, dict[str, float]], change: float) -> None:
        """One row: the quantities by group and name, and their largest relative change; on rank 0."""
        values = {f"{group}.{name}": value for group, row in groups.items() for name, value in row.items()}
        self._append(**values, change=change)

    @property
    def is_satisfied(self) -> bool:
        """Whether the flow is steady."""
        return self.watch.is_steady and not self._rises_until

    def steadiness(self) -> Steadiness | None:
        """The last change, and what is wanted."""
        found = self.watch.steadiness
        return found and replace(found, is_reached=self.is_satisfied, rises_until=self._rises_until)

    def status(self) -> str:
        """The last change, and what is wanted."""
        return str(self.watch)

    def finish(self) -> dict | None:
        """The remaining change of every watched quantity, by group and name."""
        known = {
            group: {name: rest if rest < inf else None for name, rest in values.items()}
            for group, values in self.watch.to_come_of.items()
        }
        return {"to_come": known} if known and self._view.communicator.rank == 0 else None

    def lines(self, summary: Mapping) -> list[str]:
        """Uncertainty of each kind of quantity, as far as steadiness limits it."""
        to_come = summary.get(self.name, {}).get("to_come", {})
        found = []
        for group, values in to_come.items():
            if None not in values.values():
                name, rest = max(values.items(), key=lambda item: item[1])
                found.append(f"{f'{group} ({name})' if len(values) > 1 else group} +-{100.0 * rest:.2g} %")
        return [f"still to come, if the changes keep shrinking as they did: {'; '.join(found)}"] if found else []

    def state(self) -> dict:
        """The last look, the last two changes, and the number of steps between looks."""
        return self.watch.record() | {"every": self.every}

    def restore(self, state: dict) -> None:
        """Continue from them; with other steps between looks, changes do not compare, and the watch begins again."""
        if state.get("every", self.every) == self.every:  # checkpoints of earlier versions do not hold it
            self.watch.restore(state)

    def charts(self, series: Mapping[str, np.ndarray]) -> list[tuple[str, bytes]]:
        """The course of the change, and of mean velocities."""
        lines = {"": (series["step"], series["change"])}
        text = "Towards the steady state"
        charts = [(text, line_chart(text, "step", "relative change", lines, log=True))]
        for group, unit in MEANS.items():
            mean = {
                name.split(".")[1]: (series["step"], x) for name, x in series.items() if name.startswith(f"{group}.")
            }
            if mean:
                charts.append(("mean velocity", line_chart("Mean velocity", "step", unit, mean)))
        return charts


PERIODIC = "periodic"
SAMPLES = 100  # samples of a beat, and phases at which two are compared
LEAST_RANGE = 1e-3  # range of a quantity that does not change, over its largest value
WHOLE = 1e-9  # part of a beat that may be missing from a number of beats that is taken for whole: rounding
QUANTITIES = ("flow_rate_m3_s", "pressure_pa")


class Beats:
    """Samples of the last two beats and what they come to.

    Args:
        period: steps of a beat, not necessarily a whole number.
        every: steps between two samples.

    Attributes:
        count: beats that are over.
        change, change_before: between the last two, and what it was a beat ago; infinite before two were sampled from
            end to end.
    """

    def __init__(self, period: float, every: int):
        self.period, self._every = period, every
        self._samples: deque = deque(maxlen=ceil(2.0 * period / every) + 4)
        self.count, self.change, self.change_before = 0, inf, inf

    def add(self, step: int, values: Sequence[float]) -> bool:
        """Add a sample, of one number for each quantity and opening; whether two beats have been compared."""
        self._samples.append((step, list(values)))
        count = int(step / self.period + WHOLE)
        is_over, self.count = count > self.count, count
        if not is_over or count < 2 or self._samples[0][0] > (count - 2) * self.period + self._every:
            return False  # the first samples may lie in the middle of a run
        self.change_before, self.change = self.change, change_between(self.waves(1), self.waves(0))
        return True

    @property
    def to_come(self) -> float | None:
        """Sum of all changes that are still to come, if they continue to shrink as the last one did; None where it did
        not, or is the first."""
        if not self.change < self.change_before < inf:
            return None
        return self.change**2 / (self.change_before - self.change)

    def waves(self, back: int) -> np.ndarray:
        """(2, openings, SAMPLES) flow rates and pressures at the phases of a beat, the last one or one further back."""
        from scipy.interpolate import CubicSpline  # half a second that other runs need not wait

        steps = np.array([step for step, _ in self._samples], dtype=np.float64)
        phases = (self.count - 1 - back + (np.arange(SAMPLES) + 1.0) / SAMPLES) * self.period
        values = CubicSpline(steps, np.array([values for _, values in self._samples]))(phases)
        return values.T.reshape(len(QUANTITIES), -1, SAMPLES)

    def record(self) -> dict:
        """The values that a checkpoint must keep."""
        changes = [change if change < inf else None for change in (self.change_before, self.change)]
        samples = [list(sample) for sample in self._samples]
        kept = {"samples": samples, "count": self.count, "changes": changes}
        return kept | {"every": self._every, "period": self.period}

    def restore(self, record: Mapping) -> None:
        """Continue from a record; begin again if the intervals of samples, or the lengths of beats, differ."""
        if (record["every"], record["period"]) == (self._every, self.period):
            self._samples.extend((step, list(values)) for step, values in record["samples"])
            changes = [inf if change is None else change for change in record["changes"]]
            self.count, (self.change_before, self.change) = record["count"], changes


def change_between(before: np.ndarray, last: np.ndarray) -> float:
    """Largest difference of two beats, (quantities, openings, phases), in the mean square over the phases, relative to
    the range of its quantity."""
    difference = np.sqrt(((last - before) ** 2).mean(axis=2)).max(axis=1)
    scale = np.maximum(np.ptp(last, axis=2).max(axis=1), LEAST_RANGE * np.abs(last).max(axis=(1, 2)))
    return float(np.divide(difference, scale, out=np.zeros_like(scale), where=scale > 0.0).max())


class Periodicity(Criterion):
    """Ends the run when the flow repeats itself, and appends the change of every beat to ``periodic.csv``."""

    file = "periodic.csv"
    files = (file,)
    name = "periodicity"
    reason = PERIODIC

    def __init__(self, view: FlowView, folder: Path | None = None, resume_step: int | None = None):
        super().__init__(view, folder, resume_step)
        self._begin()

    def _begin(self) -> None:
        self._tolerance = self._view.case.run.periodic_tolerance or 0.0
        self._period_s = longest_period_s(self._view.case)
        period = self._period_s / self._view.units.time_step_s
        self.every = max(1, round(period / SAMPLES))
        self.beats = Beats(period, self.every)

    def follow(self, view: FlowView) -> None:
        """Look at another flow from now on: the same, after a change, which begins again with other beats."""
        if view is not self._view:
            state = self.state()
            super().follow(view)
            self._begin()
            self.restore(state)

    @classmethod
    def check(cls, view) -> None:
        """Refuse what never repeats itself, or has no openings."""
        if view.case.run.periodic_tolerance is None:
            return
        if not longest_period_s(view.case):
            raise InputError(
                "run.periodic_tolerance is given, but no opening, wall or force of the case has a waveform: give one,"
                " or run.steady_tolerance in its place"
            )
        if not view.header.openings:
            raise InputError(
                "run.periodic_tolerance compares flow rates and pressures of openings, but the geometry has none; leave"
                " it out"
            )

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """One, with ``run.periodic_tolerance``."""
        return () if view.case.run.periodic_tolerance is None else (cls(view, folder, resume_step),)

    def verdict(self) -> str | None:
        """Take a sample where one is due, and compare behind each beat."""
        if self._view.step_number % self.every:
            return None
        states, is_over = self._view.openings(), False
        if states is not None:
            rows = [(state.flow_rate_m3_s, state.mean_pressure_pa) for state in states.values()]
            is_over = self.beats.add(self._view.step_number, np.ravel(np.array(rows).T).tolist())
        ends = self._view.communicator.broadcast(PERIODIC if is_over and self.is_satisfied else None)
        if is_over:
            self.write()
        return ends

    def write(self) -> None:
        """One row: the change, and means over the last beat; on rank 0."""
        values = {f"{name}_mean_{key}": mean[key] for name, mean in self._means().items() for key in QUANTITIES}
        self._append(beats=self.beats.count, change=self.beats.change, **values)

    def _means(self) -> dict[str, dict[str, float]]:
        """Of every opening by name, over the last beat: its mean flow rate, its mean, lowest and highest pressure."""
        waves = zip(self._view.header.openings, *self.beats.waves(0), strict=True)
        return {
            opening.name: {
                "flow_rate_m3_s": float(flow.mean()),
                "pressure_pa": float(pressure.mean()),
                "lowest_pressure_pa": float(pressure.min()),
                "highest_pressure_pa": float(pressure.max()),
            }
            for opening, flow, pressure in waves
        }

    @property
    def is_satisfied(self) -> bool:
        """Whether the last two beats are the same."""
        return self.beats.change <= self._tolerance and not self._rises_until

    def steadiness(self) -> Steadiness:
        """The change between the last two beats, and what is wanted."""
        change = self.beats.change if self.beats.change < inf else None
        return Steadiness(self._tolerance, change, self.is_satisfied, PERIODIC, rises_until=self._rises_until)

    def status(self) -> str:
        """The beats so far and the change between the last two."""
        beats = self.beats
        change = "change not yet known" if beats.change == inf else f"change {beats.change:.2e}"
        return f"{beats.count} beats, {change} (periodic at {self._tolerance:.0e})"

    def finish(self) -> dict | None:
        """Beats, change and means of the last beat."""
        if self._view.communicator.rank or self.beats.change == inf:
            return None
        return {
            "period_s": self._period_s,
            "beats": self.beats.count,
            "change": self.beats.change,
            "to_come": self.beats.to_come,
            "last_beat": self._means(),
        }

    def lines(self, summary: Mapping) -> list[str]:
        """Uncertainty of the flow rates and pressures of the last beat."""
        found = summary.get(self.name)
        if not found:
            return []
        rest = found["to_come"]
        still = "" if rest is None else f" (if changes keep shrinking so, {rest:.2g} is to come)"
        head = f"over beat {found['beats']}, which differs from the one before by {found['change']:.2e}{still}:"
        return [head] + [
            f"  {name}: mean flow rate {mean['flow_rate_m3_s']:.5g} m3/s, pressure {mean['lowest_pressure_pa']:.5g} to"
            f" {mean['highest_pressure_pa']:.5g} Pa, mean {mean['pressure_pa']:.5g} Pa"
            for name, mean in found["last_beat"].items()
        ]

    def state(self) -> dict:
        """The samples of the last two beats, and the last change."""
        return self.beats.record()

    def restore(self, state: dict) -> None:
        """Continue from them."""
        self.beats.restore(state)

    def charts(self, series: Mapping[str, np.ndarray]) -> list[tuple[str, bytes]]:
        """The change from beat to beat."""
        text, lines = "Towards the periodic state", {"": (series["beats"], series["change"])}
        return [(text, line_chart(text, "beats", "change from beat to beat", lines, log=True))]
