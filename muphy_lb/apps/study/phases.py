"""The time of members by phase: nodes, set-up, steps, results."""

import time
from collections.abc import Mapping
from types import MappingProxyType

NODES, SET_UP, STEPS, RESULTS = "nodes", "set-up", "steps", "results"
NONE: Mapping[str, float] = MappingProxyType({})


class Phases:
    """Seconds by phase, from the making of the object on.

    Args:
        before: seconds that have been spent already.

    Attributes:
        seconds: so far, by phase [s].
    """

    def __init__(self, before: Mapping[str, float] = NONE):
        self.seconds = dict(before)
        self._since = time.perf_counter()

    def end(self, phase: str) -> None:
        """The time since the last end belongs to a phase."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._since
        self._since = now

    def move(self, source: str, target: str, seconds: float) -> None:
        """Count some of the time of a phase as that of another."""
        self.seconds[source] -= seconds
        self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def shared(self, n_members: int) -> dict[str, float]:
        """The share of each of some members."""
        return {phase: seconds / n_members for phase, seconds in self.seconds.items()}

    def without(self, n_ended: int, n_members: int) -> "Phases":
        """The time of the other members, from now on."""
        return Phases({phase: seconds * (1.0 - n_ended / n_members) for phase, seconds in self.seconds.items()})
