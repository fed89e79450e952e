"""Task: one launch of a time step, with its name and the queue that it belongs to."""

from collections.abc import Callable
from typing import NamedTuple

# The device works through queues beside each other; some tasks order them, and some are done by the host.
ON_EDGE, ON_INTERIOR, ON_OPENINGS, ORDERING, ON_HOST = "edge", "interior", "openings", "ordering", "host"
ON_DEVICE = (ON_EDGE, ON_INTERIOR, ON_OPENINGS)


class Task(NamedTuple):
    """A call without arguments.

    Attributes:
        stage: what it does: ``"openings"``, ``"pack"``, ``"exchange"``, ``"unpack"``, ``"interior"``, ``"walls"``,
            ``"edge"``, or ``"order"``.
        queue: one of ``ON_DEVICE``, ``ORDERING`` (lets one queue wait for another) or ``ON_HOST`` (the call waits; it
            cannot be recorded).
        run: does it, or enqueues it.
    """

    stage: str
    queue: str
    run: Callable[[], None]


def ordering(run: Callable[[], None]) -> Task:
    """A task that lets one queue wait for another."""
    return Task("order", ORDERING, run)
