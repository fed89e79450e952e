"""Schedule: the tasks of a time step, one after the other or recorded as few launches."""

from collections.abc import Callable
from itertools import groupby

from muphy_lb.parallel.task import ON_DEVICE, ON_HOST, Task

# Steps of one launch where no step needs the host: launches count most on small domains.
CYCLE = 16
Launches = list[Callable[[], None]]


def needs_host(tasks: list[Task]) -> bool:
    """Whether the host has to do something in the step."""
    return any(task.queue == ON_HOST for task in tasks)


def plain(tasks: list[Task]) -> Launches:
    """One launch a task."""
    return [task.run for task in tasks]


def recorded(tasks: list[Task], backend) -> Launches:
    """As few launches as possible: the whole step, or, where the host has to do something in between, each stretch of
    one queue. All tasks must have run once already."""
    if not needs_host(tasks):
        return [backend.record(plain(tasks))]
    launches = []
    for queue, stretch in groupby(tasks, key=lambda task: task.queue):
        runs = plain(stretch)
        launches += [backend.record(runs, queue)] if queue in ON_DEVICE else runs
    return launches


def recorded_cycle(steps: list[list[Task]], backend) -> Callable[[], None] | None:
    """``CYCLE`` steps as one launch, if the device can do without the host."""
    if any(needs_host(tasks) for tasks in steps):
        return None
    return backend.record(plain(sum(steps, []) * (CYCLE // len(steps))))


def without_repeats(tasks: list[Task], *runs) -> list[Task]:
    """The tasks without all but the first that call each of ``runs``."""
    first = [next((k for k, task in enumerate(tasks) if task.run == run), None) for run in runs]
    return [task for k, task in enumerate(tasks) if task.run not in runs or k in first]
