"""Task: one launch of a time step, with its name and queue; tasks are launched one by one, or as recorded graphs."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

# The queues of a device run concurrently; some tasks order them, and some are executed by the host.
ON_EDGE, ON_INTERIOR, ON_OPENINGS, ON_BULK = "edge", "interior", "openings", "bulk"
ORDERING, ON_HOST = "ordering", "host"
ON_DEVICE = (ON_INTERIOR, ON_EDGE, ON_OPENINGS, ON_BULK)


class Task(NamedTuple):
    """A call without arguments."""

    #: what it does: the name of a stage of the model, or a name that the engine gives to a part of the step itself,
    #: such as ``"pack"`` or ``"interior"``; traces show it
    stage: str
    #: one of ``ON_DEVICE``, ``ORDERING`` (makes one queue wait for another) or ``ON_HOST`` (the call blocks; it cannot
    #: be recorded)
    queue: str
    run: Callable[[], None]  #: executes the task, or enqueues it on the device


def ordering(run: Callable[[], None]) -> Task:
    """A task that makes one queue wait for another."""
    return Task("order", ORDERING, run)


# Steps recorded as one launch where none needs the host; the overhead of launches matters most on small domains.
CYCLE = 16
Launches = list[Callable[[], None]]


def needs_host(tasks: list[Task]) -> bool:
    """Whether the host has to act within the step."""
    return any(task.queue == ON_HOST for task in tasks)


def plain(tasks: Iterable[Task]) -> Launches:
    """One launch per task."""
    return [task.run for task in tasks]


def recorded(tasks: list[Task], backend) -> Launches:
    """As few launches as possible: the whole step, or, where the host has to act in between, each sequence of tasks on
    one queue. All tasks must have run once already."""
    if not needs_host(tasks):
        return [backend.record(plain(tasks))]
    launches: Launches = []
    for queue, group in groupby(tasks, key=lambda task: task.queue):
        runs = plain(group)
        launches += [backend.record(runs, queue)] if queue in ON_DEVICE else runs
    return launches


def recorded_cycle(steps: list[list[Task]], backend) -> Callable[[], None] | None:
    """Some steps as one launch; None if the host has to act in one of them."""
    if any(needs_host(tasks) for tasks in steps):
        return None
    return backend.record(plain(sum(steps, [])))


def without_repeats(tasks: list[Task], *runs) -> list[Task]:
    """The tasks, of which those that call one of ``runs`` are kept only at their first occurrence."""
    first = [next((k for k, task in enumerate(tasks) if task.run == run), None) for run in runs]
    return [task for k, task in enumerate(tasks) if task.run not in runs or k in first]
