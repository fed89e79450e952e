"""Pace of a live view: looks often enough for a picture that moves, seldom enough not to slow the run down; and the
pause of a run at the request of its viewers, which the log records and which ends when no viewer is left."""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from math import ceil

from muphy_lb.base.units import time_in_words

PICTURE_S = 0.047  # shortest time between two pictures, of which 20 a second are to be seen [s]
LARGEST_SHARE = 0.1  # share of the time of a run that pictures may take
MOST_SAVED_S, RESERVED_S = 0.3, 0.25
"""How much time for pictures is saved up while they take less than their share, and how much of it is reserved for
what a viewer has just asked for [s]."""
WATCHED_S, UNWATCHED_S = 0.5 * PICTURE_S, 0.4
"""Time between two looks for what the page has said, with and without viewers [s]."""
LONG_S = 1.0  # steps that were asked for at once and take so long are many [s]
CURVES_S = 0.5  # time between two points of the curves [s]
GROWTH = 4
"""How many times as many steps as before may lie before the next look: the first steps say little of the others."""
WEIGHT = 0.3  # of the newest look in the speed that is shown


class Pace:
    """Chooses the steps between two looks, and which looks take a picture.

    Pictures are paid for with time that is saved up while the run runs, a tenth of it; they may be taken as long as
    some is left, so that one that takes long makes those after it wait, and an average run loses no more.

    Args:
        step: steps made so far.
        now: tells the time [s].

    Attributes:
        steps_per_s: steps per second of late; 0 at first.
    """

    def __init__(self, step: int, now: Callable[[], float] = time.perf_counter):
        self._now, self._step = now, step
        self._left_s: float | None = now()
        self._stretch, self._newest, self.steps_per_s = 0, 0.0, 0.0
        self._saved_s, self._counted_s = MOST_SAVED_S, now()
        self._pictures_from_s = self._curves_from_s = now()
        self._known_kinds: set = set()
        self._rested_s = now()

    def arrive(self, step: int) -> None:
        """A look begins."""
        seconds = 0.0 if self._left_s is None else self._now() - self._left_s
        if step > self._step and seconds > 0.0:
            self._newest = (step - self._step) / seconds
            before = self.steps_per_s or self._newest
            self.steps_per_s = before + WEIGHT * (self._newest - before)
        self._step = step
        self._save()

    def leave(self, is_watched: bool) -> int:
        """A look ends; returns the number of steps before the next one, which comes no later than a picture is due."""
        self._left_s = self._now()
        wait_s = WATCHED_S if is_watched else UNWATCHED_S
        due_s = self._pictures_from_s - self._left_s
        if is_watched and 0.0 < due_s < 2.0 * WATCHED_S:
            wait_s = due_s if due_s < 1.5 * WATCHED_S else 0.5 * due_s
        self._stretch = max(1, min(ceil(self._newest * wait_s), GROWTH * self._stretch))
        return self._stretch

    def rest(self) -> None:
        """Pause: no steps are made until a viewer asks for more."""
        self._left_s, self._rested_s = None, self._now()

    def has_last_picture(self) -> bool:
        """Whether the last of the steps that were asked for gets a picture: as others do, and after many steps sooner,
        since it may stay the last one for long."""
        return self.has_picture(is_new=self._now() - self._rested_s > LONG_S)

    def has_picture(self, is_new: bool = False) -> bool:
        """Whether a picture may be taken now; ``is_new`` if a viewer has just begun to ask for it."""
        is_paid = self._saved_s > (0.0 if is_new else RESERVED_S)
        return is_paid and (is_new or self._now() >= self._pictures_from_s)

    def picture_taken(self, since_s: float, is_paused: bool, kinds: Collection = ()) -> None:
        """Pictures have been taken, begun at ``since_s``; during a pause they cost no steps. The cost of the first of a
        kind, for which kernels are compiled, says nothing about the next one."""
        is_first = not self._known_kinds.issuperset(kinds)
        self._known_kinds.update(kinds)
        self._save()
        if not is_paused and not is_first:
            self._saved_s -= self._now() - since_s
        self._pictures_from_s = since_s + PICTURE_S

    def has_curves(self) -> bool:
        """Whether the curves get a point now."""
        is_due = self._now() >= self._curves_from_s
        if is_due:
            self._curves_from_s = self._now() + CURVES_S
        return is_due

    def _save(self) -> None:
        now = self._now()
        self._saved_s = min(MOST_SAVED_S, self._saved_s + LARGEST_SHARE * (now - self._counted_s))
        self._counted_s = now


LOG = logging.getLogger(__name__)
REMINDER_S = 60.0  # time between two lines of the log about a pause [s]
ALONE_S = 60.0
"""So long after the last viewer has left a pause ends [s]: a page that is loaded again has come back by then."""
IS_ON = {"pause": True, "step": True, "go on": False}  # the effect of a command on a pause


class Pause:
    """Whether a run waits, on rank 0.

    Args:
        now: tells the time [s].

    Attributes:
        is_on: whether it waits.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now, self.is_on = now, False
        self._began_s = self._told_s = 0.0
        self._left_s: float | None = None

    def hear(self, commands: Sequence[str], step: int, n_viewers: int) -> None:
        """Take the commands of viewers since the last look, at a step, and say what becomes of the pause."""
        was_on = self.is_on
        for command in commands:
            self.is_on = IS_ON.get(command, self.is_on)
        if self.is_on and not was_on:
            self._began_s = self._told_s = self._now()
            self._left_s = None
            ends = f"when a viewer asks for it, or {ALONE_S:.0f} s after the last one has left"
            LOG.info("paused by a viewer at step %d; goes on %s", step, ends)
        elif was_on and not self.is_on:
            LOG.info("goes on from step %d: a viewer has ended the pause", step)
        elif was_on:
            self._wait(step, n_viewers)

    def end(self) -> None:
        """End: there are no viewers any more, and no page for them."""
        self.is_on = False

    def _wait(self, step: int, n_viewers: int) -> None:
        now = self._now()
        if n_viewers:
            self._left_s = None
        elif self._left_s is None:
            self._left_s = now
        if self._left_s is not None and now - self._left_s >= ALONE_S:
            self.is_on = False
            LOG.info("goes on from step %d: the last viewer has left it paused", step)
        elif now - self._told_s >= REMINDER_S:
            self._told_s = now
            viewers = f"{n_viewers or 'no'} {'viewer' if n_viewers == 1 else 'viewers'}"
            since = time_in_words(now - self._began_s)
            LOG.info("paused by a viewer at step %d for %s, %s", step, since, viewers)
