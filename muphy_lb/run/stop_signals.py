"""Signals that ask for the end of a run: of a command, and Ctrl-C in Python."""

import logging
import os
import signal
import threading
import time
from typing import Any

from muphy_lb.parallel.watchdog import STOP_SIGNALS

LOG = logging.getLogger(__name__)
SAME_PRESS_S = 0.5  # a launcher may pass on a Ctrl-C that the terminal has sent to its children as well
INTERRUPTED = "interrupted"


class StopSignals:
    """Context in which stop signals set ``received`` instead of ending the process; ``nohup`` keeps SIGHUP ignored.

    A signal is obeyed at a look at the flow, which is announced to the user during set-up; a second Ctrl-C does not
    wait then. Commands of many flows never leave their set-up.
    """

    received = 0

    def __init__(self):
        self._is_set_up, self._first_s, self._process = False, 0.0, os.getpid()

    def set_up(self) -> None:
        """The set-up is over."""
        self._is_set_up = True

    def __enter__(self):
        under_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        numbers = [number for number in STOP_SIGNALS if number != signal.SIGHUP or not under_nohup]
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number, _frame):
        if os.getpid() != self._process:  # a forked child stops no run, and must not continue where it should end
            signal.signal(number, self._before[number])
            signal.raise_signal(number)
            return
        is_first, now = not self.received, time.perf_counter()
        if is_first:
            self._first_s = now
            if not self._is_set_up:
                told = "signal %s: stopping at the next check of the flow; Ctrl-C again to stop now"
                LOG.info(told, signal.Signals(number).name)
        elif number == signal.SIGINT and not self._is_set_up and now - self._first_s > SAME_PRESS_S:
            raise KeyboardInterrupt
        self.received = int(number)


class Interruption:
    """Context in which Ctrl-C waits for the end of a step, so that the state stays whole; then it is raised."""

    def __init__(self) -> None:
        self.received = 0

    def __enter__(self) -> "Interruption":
        self._before: Any = None
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind, *_) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self.received and kind is None:
            raise KeyboardInterrupt

    def agreed(self, communicator) -> str | None:
        """A reason to end where any rank was interrupted, which all know from now on; collective."""
        self.received = communicator.maximum(self.received)
        return INTERRUPTED if self.received else None

    def _note(self, number: int, _frame) -> None:
        self.received = number
