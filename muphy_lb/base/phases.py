"""Phases: a long phase ahead of the first steps is announced, and its duration is given afterwards; a flow among many
tells nothing of them."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)
WORTH_TELLING_S = 1.0


@contextmanager
def phase(what: str) -> Iterator[None]:
    """Context of work that may take long: its begin is logged, and its duration if that was more than a second.
    ``what``: the work, as in "reading the geometry"."""
    LOG.info("%s", what)
    began = time.perf_counter()
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
