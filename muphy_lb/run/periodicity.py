"""Periodicity as a reason to stop: one beat of a pulsating flow is compared with the beat before.

A beat lasts the longest period T of what drives the flow. Behind every beat the flow rate and the pressure of every
opening are compared with those of the beat before, at the same phases:

    change = max over openings and both quantities of  sqrt(mean over a beat of (x(t) - x(t - T))^2) / range,

where the range is that of the quantity over the last beat, the largest of all openings. Below
``run.periodic_tolerance`` the flow is periodic and the run ends; what it reports is averaged over the last beat. A mode
that dies with a time constant tau shrinks by r = exp(-T / tau) in a beat and is still off by r / (1 - r) times the
change; r is taken from the last two changes, and what is still to come is told.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil, inf
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, Steadiness
from muphy_lb.output.charts import line_chart
from muphy_lb.output.report_html import ReportPart
from muphy_lb.output.series import CsvSeries, read_series
from muphy_lb.setup.waveforms import longest_period_s

PERIODIC = "periodic"
SAMPLES = 100
"""Samples of a beat, and phases at which two are compared."""
LEAST_RANGE = 1e-3
"""Range of a quantity that does not change, over its largest value."""
WHOLE = 1e-9
"""Part of a beat that may be missing from a number of beats that is taken for whole: rounding."""
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
        """Sum of all changes that are still to come, if they go on to shrink as the last one did; None where it did
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
        """What a checkpoint must keep."""
        changes = [change if change < inf else None for change in (self.change_before, self.change)]
        samples = [list(sample) for sample in self._samples]
        kept = {"samples": samples, "count": self.count, "changes": changes}
        return kept | {"every": self._every, "period": self.period}

    def restore(self, record: Mapping) -> None:
        """Go on from a record; begin anew if samples were taken at other intervals, or beats were longer or shorter."""
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


class Periodicity(Observer):
    """Ends the run when the flow repeats itself, and appends the change of every beat to ``periodic.csv``.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: rows up to that step are kept; None for a new file.
    """

    file = "periodic.csv"
    files = (file,)
    name = "periodicity"
    reason = PERIODIC
    tells_walls = True

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self._period_s = longest_period_s(view.case)
        period = self._period_s / view.units.time_step_s
        self.every = max(1, round(period / SAMPLES))
        self.beats = Beats(period, self.every)
        self._view, self._path, self._resume_step = view, folder / self.file, resume_step
        self._tolerance = view.case.run.periodic_tolerance or 0.0
        self._series: CsvSeries | None = None

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
        means = self._means()
        values = {f"{name}_mean_{key}": mean[key] for name, mean in means.items() for key in QUANTITIES}
        if self._series is None:
            columns = ("step", "time_s", "beats", "change", *values)
            self._series = CsvSeries(self._path, columns, self._resume_step)
        place = {"step": self._view.step_number, "time_s": self._view.time_s, "beats": self.beats.count}
        self._series.append(place | {"change": self.beats.change} | values)

    def _means(self) -> dict[str, dict[str, float]]:
        """Of every opening by name, over the last beat: its mean flow rate, its mean, lowest and highest pressure."""
        names = [opening.name for opening in self._view.header.openings]
        flow, pressure = self.beats.waves(0)
        return {
            name: {
                "flow_rate_m3_s": float(flow[k].mean()),
                "pressure_pa": float(pressure[k].mean()),
                "lowest_pressure_pa": float(pressure[k].min()),
                "highest_pressure_pa": float(pressure[k].max()),
            }
            for k, name in enumerate(names)
        }

    @property
    def is_satisfied(self) -> bool:
        """Whether the last two beats are the same."""
        return self.beats.change <= self._tolerance

    def steadiness(self) -> Steadiness:
        """The change between the last two beats, and what is wanted."""
        change = self.beats.change if self.beats.change < inf else None
        return Steadiness(self._tolerance, change, self.is_satisfied, PERIODIC)

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
        """How far the last beat is known, its flow rates and pressures."""
        found = summary.get(self.name)
        if not found:
            return []
        still = (
            "" if found["to_come"] is None else f" (if changes keep shrinking so, {found['to_come']:.2g} is to come)"
        )
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
        """Go on from them."""
        self.beats.restore(state)

    def section(self, summary: Mapping) -> ReportPart:
        """The change from beat to beat."""
        return ReportPart(charts=lambda: _charts(self._path))


def _charts(path: Path) -> list[tuple[str, bytes]]:
    if not path.exists():
        return []
    series = read_series(path)
    text = "Towards the periodic state"
    lines = {"": (series["beats"], series["change"])}
    return [(text, line_chart(text, "beats", "change from beat to beat", lines, log=True))]
