"""The clock of a run: what it has spent on steps, on looks, and on everything."""

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Looks:
    """How long a look at the flow takes that comes after every so many steps."""

    every: int
    seconds: float = 0.0
    count: int = 0


@dataclass
class Clock:
    """Wall time since the start, the time and steps spent stepping, and the time spent on looks."""

    started: float = field(default_factory=time.perf_counter)
    stepping_s: float = 0.0
    steps: int = 0
    updates: float = 0.0
    looks: dict[Hashable, Looks] = field(default_factory=dict)
    _counted: tuple[int, int | None] = (0, None)

    def count(self, n_occupied: int | None) -> None:
        """Take note of the number of nodes with fluid; between two counts their mean is assumed. None: all have."""
        step, before = self._counted
        if n_occupied is not None:
            self.updates += (self.steps - step) * 0.5 * (n_occupied + (n_occupied if before is None else before))
        self._counted = self.steps, n_occupied

    @contextmanager
    def look(self, who: Hashable, every: int) -> Iterator[None]:
        """Context of a look that ``who`` takes every so many steps."""
        began = time.perf_counter()
        yield
        looks = self.looks.setdefault(who, Looks(every))
        looks.seconds += time.perf_counter() - began
        looks.count += 1

    def remaining_s(self, step: int, last: int) -> float:
        """What the steps to come will take, with all looks that have been taken at least once [s]."""
        of_looks = sum(
            each.seconds / each.count * (last // each.every - step // each.every) for each in self.looks.values()
        )
        return (last - step) * self.stepping_s / max(self.steps, 1) + of_looks

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
