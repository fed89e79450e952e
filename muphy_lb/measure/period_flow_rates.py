"""Flow rates of the openings over the last whole period of a flow that a waveform drives."""

from collections import deque
from collections.abc import Sequence
from math import ceil

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, PeriodMean
from muphy_lb.setup.waveforms import longest_period_s

SAMPLES_PER_PERIOD = 100


class PeriodFlowRates(Observer):
    """Keeps the flow rates of the last period; they are in checkpoints.

    Args:
        view: the flow.
        period_s: the longest period of what drives it [s].
    """

    name = "period_flow_rates"

    def __init__(self, view: FlowView, period_s: float):
        self._view, self._period_s = view, period_s
        self._period = period_s / view.units.time_step_s
        self.every = max(1, round(self._period / SAMPLES_PER_PERIOD))
        # One more than a period holds at each end: the mean begins between two of them.
        self._samples: deque = deque(maxlen=ceil(self._period / self.every) + 2)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if something is periodic."""
        period_s = longest_period_s(view.case)
        return (cls(view, period_s),) if period_s else ()

    def act(self) -> None:
        """Take a sample, unless this step has one."""
        states = self._view.openings() if self._view.header.openings else None
        if states and not (self._samples and self._samples[-1][0] == self._view.step_number):
            self._samples.append((self._view.step_number, [state.flow_rate_m3_s for state in states.values()]))

    def period_mean(self) -> PeriodMean:
        """The flow rates of the last period."""
        self.act()
        names = [opening.name for opening in self._view.header.openings]
        return PeriodMean(
            self._period_s, self._view.step_number / self._period, dict(zip(names, self._means(), strict=False))
        )

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
        """Go on from them."""
        self._samples.extend((step, list(rates)) for step, rates in state["samples"])
