"""Means over the last period of a flow that something drives periodically: samples, numbers, flow rates."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Protocol

import numpy as np

from muphy_lb.base.files.atomic import write_text
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, PeriodMean
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.output.series import flow_split
from muphy_lb.setup.waveforms import longest_period_s, samples_of_period

LARGEST_GAP = 2.0  # gap, in distances between two samples, beyond which samples do not cover a period


class PeriodWindow:
    """Samples taken every ``every`` steps, of which those of the last period are kept.

    Args:
        period: length of the period [steps], which need not be a whole number.
        samples_per_period: about how many samples to take in a period.

    Attributes:
        every: number of steps between two samples.
    """

    def __init__(self, period: float, samples_per_period: int):
        self.every = max(1, round(period / samples_per_period))
        self._period = period
        self._samples: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, step: int, values: np.ndarray) -> None:
        """Add the sample of a step, later than all others, and drop those that are a period older."""
        self._samples[step] = values
        # A step that is exactly a period back is the same instant of the period as this one.
        begin = step - self._period * (1.0 - 1e-9)
        for old in [other for other in self._samples if other < begin]:
            del self._samples[old]

    @property
    def is_whole(self) -> bool:
        """Whether the samples cover a period."""
        return bool(self._samples) and float(self._gaps().max()) <= LARGEST_GAP * self.every

    def weights(self) -> np.ndarray:
        """(k,) weights of the samples, which add up to 1: the trapezoidal rule over a period whose end joins its
        beginning, spectrally accurate for evenly spaced samples; equal weights where they do not cover a period."""
        if not self.is_whole:
            return np.full(len(self), 1.0 / max(1, len(self)))
        gaps = self._gaps()
        return 0.5 * (gaps + np.roll(gaps, -1)) / self._period

    def samples(self) -> Iterator[np.ndarray]:
        """The samples, in order of time."""
        return iter(self._samples.values())

    def mean(self) -> np.ndarray:
        """Weighted mean of the samples, of which there is at least one."""
        return sum(weight * values for weight, values in zip(self.weights(), self.samples(), strict=True))

    def covered_steps(self) -> float:
        """Length of time that the samples stand for [steps]."""
        return self._period if self.is_whole else float(len(self) * self.every)

    def record(self) -> dict | None:
        """The samples that a checkpoint must keep; None without samples."""
        if not self._samples:
            return None
        return {"steps": list(self._samples), "samples": np.array(list(self._samples.values()))}

    def restore(self, record) -> None:
        """Continue from a record of samples."""
        self._samples = dict(zip(record["steps"], record["samples"], strict=True))

    def _gaps(self) -> np.ndarray:
        """(k,) steps between each sample and the one before it, for the first the last one of the period before."""
        steps = np.array(list(self._samples), dtype=np.float64)
        return np.diff(np.concatenate(([steps[-1] - self._period], steps)))


SAMPLES_PER_PERIOD = 100


class Measured(Protocol):
    """A source of measured numbers."""

    def numbers(self) -> np.ndarray | None:
        """The numbers now, on rank 0; collective."""


class PeriodMeans(Observer):
    """Numbers at the end of a run, of a periodic flow their means over its last period; subclasses report them."""

    def __init__(self, measured: Measured, view: FlowView, folder: Path):
        self._measured, self._view, self._folder = measured, view, folder
        self._period_s = longest_period_s(view.case)
        period = max(1.0, self._period_s / view.units.time_step_s)
        self._window = PeriodWindow(period, samples_of_period(view.case, SAMPLES_PER_PERIOD))
        self.every = self._window.every if self._period_s else 0

    def record(self, means: np.ndarray) -> dict:
        """The numbers by name, on rank 0."""
        raise NotImplementedError

    def act(self) -> None:
        """Take a sample."""
        found = self._measured.numbers()
        if found is not None:
            self._window.add(self._view.step_number, found)

    def state(self) -> dict | None:
        """The samples of the last period, if there are any."""
        return self._window.record()

    def restore(self, state: dict) -> None:
        """Continue from stored sums."""
        self._window.restore(state)

    def finish(self) -> dict | None:
        """The record, on rank 0; of a period if it is whole."""
        now = self._measured.numbers()
        if now is None:
            return None
        over_s = self._period_s if self.every and self._window.is_whole else None
        return {"averaged_over_s": over_s, **self.record(now if over_s is None else self._window.mean())}


COURSE_FILE = "last_period.csv"


class PeriodFlowRates(Observer):
    """Keeps the flow rates of the last period; they are in checkpoints. At the end it writes their course over that
    period to ``last_period.csv``. ``period_s``: the longest period of what drives it [s]."""

    name = "period_flow_rates"
    files = (COURSE_FILE,)

    def __init__(self, view: FlowView, period_s: float, folder: Path):
        self._view, self._period_s, self._folder = view, period_s, folder
        self._period = period_s / view.units.time_step_s
        self.every = max(1, round(self._period / samples_of_period(view.case, SAMPLES_PER_PERIOD)))
        # One more than a period holds at each end: the mean begins between two of them.
        self._samples: deque = deque(maxlen=ceil(self._period / self.every) + 2)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if something is periodic."""
        period_s = longest_period_s(view.case)
        return (cls(view, period_s, folder),) if period_s else ()

    def act(self) -> None:
        """Take a sample, unless this step has one, or the flow is frozen."""
        is_flowing = self._view.step_number <= self._view.frozen_from
        states = self._view.openings() if is_flowing and self._view.header.openings else None
        if states and not (self._samples and self._samples[-1][0] == self._view.step_number):
            self._samples.append((self._view.step_number, [state.flow_rate_m3_s for state in states.values()]))

    def period_mean(self) -> PeriodMean:
        """The flow rates of the last period."""
        self.act()
        names = [opening.name for opening in self._view.header.openings]
        return PeriodMean(
            self._period_s, self._view.step_number / self._period, dict(zip(names, self._means(), strict=False))
        )

    def finish(self) -> dict | None:
        """Means, and each outlet's share of what leaves, over the last period; writes the course. None without a whole
        period."""
        means = self.period_mean().flow_rates_m3_s
        if self._view.communicator.rank or not means:  # after a resume, all ranks have samples
            return None
        openings = self._view.header.openings
        states = {each.name: {"kind": each.kind, "flow_rate_m3_s": means[each.name]} for each in openings}
        write_text(self._folder / COURSE_FILE, self._course())
        lowest = dict(zip(means, np.array(self._of_the_period()[1]).min(axis=0).tolist(), strict=True))
        return {
            "period_s": self._period_s,
            "mean_m3_s": dict(means),
            "flow_split": flow_split(states),
            "reverses": [name for name, rate in lowest.items() if rate < 0.0 < means[name]],
        }

    def _of_the_period(self) -> tuple[list[int], list[list[float]]]:
        """Steps and flow rates of the samples of the last period, both ends included."""
        begin = self._samples[-1][0] - self._period * (1.0 + 1e-9)
        inside = [sample for sample in self._samples if sample[0] >= begin]
        return [step for step, _ in inside], [rates for _, rates in inside]

    def _course(self) -> str:
        names = ["step", "time_s", *(f"{opening.name}_flow_rate_m3_s" for opening in self._view.header.openings)]
        steps, rates = self._of_the_period()
        rows = [
            ",".join([str(step), *map(repr, (step * self._view.units.time_step_s, *row))])
            for step, row in zip(steps, rates, strict=True)
        ]
        return "\n".join([",".join(names), *rows]) + "\n"

    def lines(self, summary: Mapping) -> list[str]:
        """The split over the last period, and what reverses."""
        record = summary.get(self.name)
        if record is None:
            return []
        split = ", ".join(f"{name} {100.0 * share:.2f} %" for name, share in record["flow_split"].items())
        lines = [f"flow split over the last {record['period_s']:.4g} s: {split}"] if split else []
        return lines + [f"the flow of {name} reverses in every period" for name in record["reverses"]]

    def section(self, summary: Mapping) -> ReportPart:
        """Means and split as a table."""
        record = summary.get(self.name)
        if record is None:
            return ReportPart()
        shares = {name: f"{100.0 * share:.2f} %" for name, share in record["flow_split"].items()}
        rows = [(name, rate, shares.get(name, "")) for name, rate in record["mean_m3_s"].items()]
        heading = f"Flow over the last period of {record['period_s']:.4g} s"
        return ReportPart(tables=(ReportTable(heading, ("", "mean flow rate [m3/s]", "share of the outflow"), rows),))

    def _means(self) -> list[float]:
        """Mean flow rate of each opening [m3/s] over the last period by the trapezoidal rule; empty where the samples
        do not reach back so far."""
        if not self._samples:
            return []
        steps = np.array([step for step, _ in self._samples], dtype=np.float64)
        begin = steps[-1] - self._period
        if steps[0] - begin > 2 * self.every:
            return []
        times = np.concatenate(([max(begin, steps[0])], steps[steps > begin]))
        rates = np.array([rates for _, rates in self._samples]).T
        return [float(np.trapezoid(np.interp(times, steps, row), times) / np.ptp(times)) for row in rates]

    def state(self) -> dict | None:
        """The samples of the last period, if there are any."""
        return {"samples": [list(sample) for sample in self._samples]} if self._samples else None

    def restore(self, state: dict) -> None:
        """Continue from stored sums."""
        self._samples.extend((step, list(rates)) for step, rates in state["samples"])
