"""A pause that viewers ask for: told in the log, and over when nobody looks on any more."""

import logging
import time
from collections.abc import Callable, Sequence

from muphy_lb.base.units import time_in_words

LOG = logging.getLogger(__name__)
REMINDER_S = 60.0
"""Time between two lines of the log about a pause [s]."""
ALONE_S = 60.0
"""So long after the last viewer has left a pause ends [s]: a page that is loaded anew has come back by then."""
IS_ON = {"pause": True, "step": True, "go on": False}
"""What a command makes of a pause."""


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
        """There are no viewers any more, and no page for them."""
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
