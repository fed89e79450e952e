"""Task: one launch of a time step, with its name and the queue that it belongs to."""

from collections.abc import Callable
from typing import NamedTuple

# The device works through two queues beside each other; some tasks order them, and some are done by the host.
ON_EDGE, ON_INTERIOR, ORDERING, ON_HOST = "edge", "interior", "ordering", "host"


class Task(NamedTuple):
    """A call without arguments.

    Attributes:
        stage: what it does: ``"openings"``, ``"pack"``, ``"exchange"``, ``"unpack"``, ``"interior"``, ``"walls"``,
            ``"edge"``, or ``"order"``.
        queue: ``ON_EDGE``, ``ON_INTERIOR``, ``ORDERING`` (lets one queue wait for the other) or ``ON_HOST`` (the call
            waits; it cannot be recorded).
        run: does it, or enqueues it.
    """

    stage: str
    queue: str
    run: Callable[[], None]
