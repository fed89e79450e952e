"""The launches of a time step by kind of step: one per task at first, as few as possible once they are recorded."""

from collections.abc import Callable

from muphy_lb.engine.step import StepBinder, StepKind
from muphy_lb.parallel.task import Task, plain, recorded, recorded_cycle


class StepLaunches:
    """Binds and records the few kinds of step on demand.

    Args:
        binder: binds the tasks of a kind of step.
        backend: the device.

    Attributes:
        is_recording: whether launches are recorded; every task must have run once before.
    """

    def __init__(self, binder: StepBinder, backend):
        self._binder, self._backend = binder, backend
        self._tasks: dict[StepKind, list[Task]] = {}
        self._launches: dict[StepKind, list[Callable[[], None]]] = {}
        self._cycles: dict[StepKind, Callable[[], None] | None] = {}
        self.is_recording = False

    def start_recording(self) -> None:
        """Record launches from now on."""
        self.is_recording = True
        self._launches.clear()

    def tasks(self, kind: StepKind) -> list[Task]:
        """The tasks of a kind of step."""
        if kind not in self._tasks:
            self._tasks[kind] = self._binder.bind(kind)
        return self._tasks[kind]

    def step(self, kind: StepKind) -> list[Callable[[], None]]:
        """The launches of a kind of step."""
        if kind not in self._launches:
            tasks = self.tasks(kind)
            self._launches[kind] = recorded(tasks, self._backend) if self.is_recording else plain(tasks)
        return self._launches[kind]

    def cycle(self, first: StepKind, kinds: Callable[[], list[StepKind]]) -> Callable[[], None] | None:
        """Steps of consecutive kinds as one launch, identified by the first; None if the host has to act in them."""
        if first not in self._cycles:
            self._cycles[first] = recorded_cycle([self.tasks(kind) for kind in kinds()], self._backend)
        return self._cycles[first]
