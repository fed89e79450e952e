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

Sums run in an order, or in integers, that the number of ranks does not touch, so every run stops at the same step.
"""

from math import inf


class SteadyWatch:
    """Remembers the last look at the flow and compares.

    Args:
        tolerance: allowed relative change per characteristic time, or None for never steady.
        intervals: characteristic time over the time between two looks.
    """

    def __init__(self, tolerance: float | None, intervals: float = 1.0):
        self.tolerance = tolerance
        self.change = inf
        self._intervals = intervals
        self._change_before = inf
        self._last: dict = {}

    def __str__(self):
        return f"change {self.change:.2e} (steady at {self.tolerance:.0e})"

    @property
    def is_steady(self) -> bool:
        """Whether the last two changes were within the tolerance."""
        return self.tolerance is not None and max(self.change, self._change_before) <= self.tolerance

    def look(self, groups: dict[str, dict[str, float]]) -> bool:
        """Compare quantities, by group and name, with the last look and remember these."""
        last, self._last = self._last, groups
        if last:
            self._change_before = self.change
            self.change = self._intervals * max(_relative_changes(last, groups), default=inf)
        return self.is_steady

    def record(self) -> dict:
        """What a checkpoint must keep."""
        changes = [change if change < inf else None for change in (self.change, self._change_before)]
        return {"last": self._last, "changes": changes}

    def restore(self, record: dict) -> None:
        """Continue from a checkpoint's record."""
        self._last = record["last"]
        self.change, self._change_before = (inf if change is None else change for change in record["changes"])


def _relative_changes(last: dict, now: dict):
    for group, values in now.items():
        scale = max((abs(value) for value in values.values()), default=0.0)
        for name, value in values.items():
            yield _ratio(abs(value - last.get(group, {}).get(name, inf)), scale)


def _ratio(change: float, scale: float) -> float:
    """Relative change; a flow at rest has not begun, hence is not steady."""
    return change / scale if scale > 0.0 else inf
