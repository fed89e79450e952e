"""Waiting for what other processes or threads do."""

import time
from collections.abc import Callable

PATIENCE_S = 300.0
"""Several ranks that compile their kernels on a busy machine take less."""


def wait_for(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Return as soon as a condition holds; raise TimeoutError if it does not within the time [s]."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it never came to that")
        time.sleep(0.02)
