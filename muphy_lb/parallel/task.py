"""Task: one launch of a time step, with its name and the queue that it belongs to."""

from collections.abc import Callable
from typing import NamedTuple

# The queues of a device run concurrently; some tasks order them, and some are executed by the host.
ON_EDGE, ON_INTERIOR, ON_OPENINGS, ON_BULK = "edge", "interior", "openings", "bulk"
ORDERING, ON_HOST = "ordering", "host"
ON_DEVICE = (ON_INTERIOR, ON_EDGE, ON_OPENINGS, ON_BULK)


class Task(NamedTuple):
    """A call without arguments.

    Attributes:
        stage: what it does: the name of a stage of the model, or a name that the engine gives to a part of the step
            itself, such as ``"pack"`` or ``"interior"``; traces show it.
        queue: one of ``ON_DEVICE``, ``ORDERING`` (makes one queue wait for another) or ``ON_HOST`` (the call blocks;
            it cannot be recorded).
        run: executes the task, or enqueues it on the device.
    """

    stage: str
    queue: str
    run: Callable[[], None]


def ordering(run: Callable[[], None]) -> Task:
    """A task that makes one queue wait for another."""
    return Task("order", ORDERING, run)
