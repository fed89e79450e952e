"""When a run is looked at: often enough for a picture that moves, seldom enough not to slow it down."""

import time
from collections.abc import Callable, Collection

PICTURE_S = 0.2
"""Shortest time between two pictures [s]."""
LARGEST_SHARE = 0.04
"""Share of the time of a run that pictures may take."""
WATCHED_S, UNWATCHED_S = 0.1, 0.4
"""Time between two looks for what the page has said, with and without viewers [s]."""
CURVES_S = 0.5
"""Time between two points of the curves [s]."""
GROWTH = 4
"""How many times as many steps as before may lie before the next look: the first steps say little of the others."""


class Pace:
    """Chooses the steps between two looks, and which looks take a picture.

    Args:
        step: steps made so far.
        now: tells the time [s].

    Attributes:
        steps_per_s: steps per second between the last two looks that had steps between them; 0 at first.
    """

    def __init__(self, step: int, now: Callable[[], float] = time.perf_counter):
        self._now, self._step, self._left_s = now, step, now()
        self._stretch, self.steps_per_s = 0, 0.0
        self._pictures_from_s = self._curves_from_s = now()
        self._known_kinds: set = set()

    def arrive(self, step: int) -> None:
        """A look begins."""
        seconds = self._now() - self._left_s
        if step > self._step and seconds > 0.0:
            self.steps_per_s = (step - self._step) / seconds
        self._step = step

    def leave(self, is_watched: bool) -> int:
        """A look ends; returns the number of steps before the next one."""
        self._left_s = self._now()
        wanted = int(self.steps_per_s * (WATCHED_S if is_watched else UNWATCHED_S))
        self._stretch = max(1, min(wanted, GROWTH * self._stretch))
        return self._stretch

    def has_picture(self) -> bool:
        """Whether a picture may be taken now."""
        return self._now() >= self._pictures_from_s

    def picture_taken(self, since_s: float, is_paused: bool, kinds: Collection = ()) -> None:
        """Pictures have been taken, begun at ``since_s``; during a pause they cost no steps. What the first of a kind
        costs, for which kernels are compiled, says nothing of the next one."""
        now, is_first = self._now(), not self._known_kinds.issuperset(kinds)
        self._known_kinds.update(kinds)
        rest_s = 0.0 if is_paused or is_first else (now - since_s) / LARGEST_SHARE
        self._pictures_from_s = max(since_s + PICTURE_S, now + rest_s)

    def has_curves(self) -> bool:
        """Whether the curves get a point now."""
        is_due = self._now() >= self._curves_from_s
        if is_due:
            self._curves_from_s = self._now() + CURVES_S
        return is_due
