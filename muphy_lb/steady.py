"""The steady-state criterion.

The flow is steady when, over each of the last two intervals of T = ``run.steady_interval_steps`` steps, the mean speed
and every opening's flow rate changed by no more than ``run.steady_tolerance`` (two, because sound can make them stand
still for a moment):

    |<|u|>(t) - <|u|>(t - T)| <= tolerance * <|u|>(t)   and   |Q_k(t) - Q_k(t - T)| <= tolerance * max_k |Q_k(t)|.

Both are summed in an order, or in integers, that the number of ranks does not touch, so every run stops at the same
step.
"""

from math import inf


class SteadyWatch:
    """Remembers the last look at the flow and compares.

    Args:
        tolerance: allowed relative change, or None for never steady.
    """

    def __init__(self, tolerance: float | None):
        self.tolerance = tolerance
        self.change = inf
        self._change_before = inf
        self._last: dict = {}

    def __str__(self):
        return f"change {self.change:.2e} (steady at {self.tolerance:.0e})"

    @property
    def is_steady(self) -> bool:
        """Whether the last two changes were within the tolerance."""
        return self.tolerance is not None and max(self.change, self._change_before) <= self.tolerance

    def look(self, mean_speed: float, openings) -> bool:
        """Compare with the last look and remember this one."""
        flows = {name: state.flow_rate_m3_s for name, state in openings.items()}
        last, self._last = self._last, {"mean_speed": mean_speed, "flows": flows}
        if last:
            self._change_before = self.change
            self.change = max(_relative_changes(last, self._last))
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
    yield _ratio(abs(now["mean_speed"] - last["mean_speed"]), now["mean_speed"])
    scale = max((abs(flow) for flow in now["flows"].values()), default=0.0)
    for name, flow in now["flows"].items():
        yield _ratio(abs(flow - last["flows"][name]), scale)


def _ratio(change: float, scale: float) -> float:
    """Relative change; a flow at rest has not begun, hence is not steady."""
    return change / scale if scale > 0.0 else inf
