"""Phases of a run: the wall time of each from the start of the process on; a long one is announced, and its duration
is given afterwards; a flow among many records nothing of them."""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOG = logging.getLogger(__name__)
WORTH_TELLING_S = 1.0

IMPORTS, SETTING_UP, READING, NUMBERING, SHARING = "imports", "setting up", "reading", "numbering", "sharing"
COMPILING, TUNING, STEPPING = "compiling", "tuning", "stepping"
LOOKING, WRITING, DRAWING = "looking", "writing", "drawing"
PHASES = (
    *(IMPORTS, READING, NUMBERING, SHARING, SETTING_UP),
    *(COMPILING, TUNING, STEPPING, LOOKING, WRITING, DRAWING),
)
"""In the order in which they begin. Compiling counts the loading of kernels that are kept, too; setting up counts what
has no phase of its own."""


class Profile:
    """Wall time of this process by phase. Every moment belongs to one phase: one inside another interrupts it. Other
    threads than the one that makes the profile count for nothing. ``began``: when the first phase, the imports, has
    begun, by ``time.perf_counter``."""

    def __init__(self, began: float):
        self._seconds, self._present, self._since = dict.fromkeys(PHASES, 0.0), IMPORTS, began
        self._thread = threading.get_ident()

    def enter(self, name: str) -> str | None:
        """Begin a phase; returns the one that it interrupts, or follows, and None in another thread."""
        if threading.get_ident() != self._thread:
            return None
        now, before = time.perf_counter(), self._present
        self._seconds[before] += now - self._since
        self._present, self._since = name, now
        return before

    def seconds(self) -> dict[str, float]:
        """Wall time of each phase so far [s], by name."""
        self.enter(self._present)
        return dict(self._seconds)


def age_of_process() -> float:
    """Wall time since this process was started [s]; 0 where the system does not give it."""
    try:
        started = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, LookupError, AttributeError):
        return 0.0
    return age if age > 0.0 else 0.0


PROFILE = Profile(time.perf_counter() - age_of_process())


@contextmanager
def spent_on(name: str) -> Iterator[None]:
    """Context of a phase, of ``PHASES``."""
    before = PROFILE.enter(name)
    try:
        yield
    finally:
        if before is not None:
            PROFILE.enter(before)


@contextmanager
def phase(what: str, name: str = SETTING_UP) -> Iterator[None]:
    """Context of a phase that may take long: its begin is logged, and its duration if that was more than a second.
    ``what``: the work, as in "reading the geometry"; ``name``: the phase, of ``PHASES``, as part of which it counts."""
    LOG.info("%s", what)
    began = time.perf_counter()
    with spent_on(name):
        yield
    seconds = time.perf_counter() - began
    if seconds > WORTH_TELLING_S:
        LOG.info("%s: done in %.1f s", what, seconds)


@contextmanager
def quietly() -> Iterator[None]:
    """Context of a flow among many, which logs its warnings alone."""
    log = logging.getLogger("muphy_lb")
    before = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(before)
