"""Whether the permeability of a flow has settled, from the mean velocities of the last looks at it."""

from math import inf, isfinite

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.permeability import driving_acceleration

N_LOOKS = 3
MOST_LOOKS = 100.0
"""Most intervals that the rest of a change is taken to last: that of changes which do not shrink, such as rounding."""
UNSETTLED = 0.01
"""Share of k that may still be to come without a warning."""
REMEDY = "with run.steady_tolerance = 1e-4 the run ends when the flow is steady"


def rest_of_change(before: float, change: float) -> float:
    """Sum of the changes to come after two successive ones of a quantity."""
    if change == 0.0:
        return 0.0
    if not isfinite(before):
        return inf
    rest = change / (before - change) if abs(change) < abs(before) else MOST_LOOKS
    return abs(change) * min(abs(rest), MOST_LOOKS)


class Settling:
    """Remembers the mean velocity of the last looks at a flow, which k is proportional to.

    Args:
        every: steps between two looks.
    """

    def __init__(self, every: int):
        self.every = every
        self._steps: list[int] = []
        self._velocities: list[list[float]] = []

    def look(self, view: FlowView) -> None:
        """Take note of the present flow; looks that do not follow each other are forgotten. Collective."""
        if self._steps and view.step_number != self._steps[-1] + self.every:
            self._steps, self._velocities = [], []
        self._steps = [*self._steps, view.step_number][-N_LOOKS:]
        self._velocities = [*self._velocities, view.mean_velocity_m_s().tolist()][-N_LOOKS:]

    def to_come(self, view: FlowView) -> float:
        """Share of k along the force by which it may still change, if changes go on shrinking as the last two did;
        infinite where that is not known."""
        is_recent = self._steps and view.step_number - self._steps[-1] < self.every
        if not is_recent or len(self._steps) < N_LOOKS:
            return inf
        first, second, third = np.array(self._velocities) @ driving_acceleration(view.case, view.header)
        return rest_of_change(second - first, third - second) / third if third > 0.0 else inf

    def warnings(self, view: FlowView) -> tuple[str, ...]:
        """What speaks against k, or that nothing is known of it."""
        to_come = self.to_come(view)
        if to_come <= UNSETTLED:
            return ()
        if to_come == inf:
            return (
                "not judged: whether the flow is steady; it takes three looks at it, one every"
                f" {self.every} steps; {REMEDY}",
            )
        return (
            f"the flow is not steady yet: by its last looks, one every {self.every} steps, k may still change by"
            f" {100.0 * to_come:.2g} %; {REMEDY}",
        )

    def record(self) -> dict:
        """What a checkpoint must keep."""
        return {"every": self.every, "steps": self._steps, "velocities_m_s": self._velocities}

    def restore(self, record: dict) -> None:
        """Go on from a record; with other steps between looks it says nothing."""
        if record.get("every") == self.every:
            self._steps, self._velocities = list(record["steps"]), [list(row) for row in record["velocities_m_s"]]
