"""The clock of a run: what it has spent on steps, and on everything."""

import time
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Wall time since the start, and the time and steps spent stepping."""

    started: float = field(default_factory=time.perf_counter)
    stepping_s: float = 0.0
    steps: int = 0
    updates: float = 0.0
    _counted: tuple[int, int | None] = (0, None)

    def count(self, n_occupied: int | None) -> None:
        """Take note of the number of nodes with fluid; between two counts their mean is assumed. None: all have."""
        step, before = self._counted
        if n_occupied is not None:
            self.updates += (self.steps - step) * 0.5 * (n_occupied + (n_occupied if before is None else before))
        self._counted = self.steps, n_occupied

    @property
    def occupied_mflups(self) -> float | None:
        """Million updates per second of stepping of nodes with fluid; None if all have fluid."""
        if self._counted[1] is None:
            return None
        return self.updates / self.stepping_s / 1e6 if self.stepping_s else 0.0

    @property
    def wall_time_s(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self.started

    @property
    def steps_per_s(self) -> float:
        """Steps of this run per second of wall time, with all that is written and drawn on the way."""
        return self.steps / self.wall_time_s

    def mflups(self, n_nodes: int) -> float:
        """Million fluid-node updates per second of stepping, output excluded."""
        return self.steps * n_nodes / self.stepping_s / 1e6 if self.stepping_s else 0.0
