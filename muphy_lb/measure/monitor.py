"""Monitor: sees a flow between two steps, and may request a pause, a checkpoint, a change, or the end of the run."""

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple, Protocol

from muphy_lb.measure.flow_view import EngineView
from muphy_lb.measure.observer import Steadiness

ASKED_TO_STOP = "the live view"

Changes = Sequence[tuple[str, object]]
"""Actions by name, and values of the case by dotted key, in the order in which viewers ask for them."""


class RunStatus(NamedTuple):
    """The last step of a run, and how far the criteria for its end are met (on rank 0)."""

    last_step: int
    steadiness: tuple[Steadiness, ...] = ()


class Request(NamedTuple):
    """The requests of a monitor after a look: a checkpoint, no step for now, the end of the run, changes of the
    flow, a return to the last checkpoint."""

    checkpoint: bool = False
    pause: bool = False
    stop: bool = False
    changes: Changes = ()
    go_back: bool = False


class Monitor:
    """Base class of monitors, and one that never looks; every method is called on every rank."""

    next_step: float = inf  #: number of the step of the next look, the same on every rank
    keeps_checkpoints: bool = False  #: whether the run writes a checkpoint on request, and can continue from one
    told: str = ""  #: outcome of the last requested change, as text

    def look(self, status: RunStatus) -> Request:
        """See the present step; the request is the same on every rank. During a pause it is called again and again,
        and waits a little each time."""
        return Request()

    def rest(self, status: RunStatus) -> None:
        """See the last of the steps that were asked for; more may follow."""

    def end(self, status: RunStatus, ending: str) -> None:
        """See the last step of a run, with its ending in words."""

    def release(self) -> None:
        """Let go of the engine and its memory; its successor has the same nodes."""

    def follow(self, simulation: "MonitoredFlow") -> None:
        """Look at a simulation from now on: the same flow, after a change of its case, or of its step."""

    def close(self) -> None:
        """End the monitoring."""


class MonitoredFlow(EngineView, Protocol):
    """A flow that a monitor sees between its steps."""

    monitor: Monitor


def _nothing() -> None:
    return None


def _change_nothing(changes: Changes) -> str:
    return "these steps take no changes; call sim.run() or sim.step() of a Simulation"


def _go_back_nowhere() -> str:
    return "these steps have no checkpoint to go back to"


def poll(
    monitor: Monitor,
    status: Callable[[], RunStatus],
    write_checkpoint: Callable[[], None] = _nothing,
    asked_to_stop: Callable[[], str | None] = _nothing,
    change: Callable[[Changes], str] = _change_nothing,
    go_back: Callable[[], str] = _go_back_nowhere,
) -> str | None:
    """Let a monitor see the present step, for as long as it requests a pause; collective.

    Args:
        asked_to_stop: gives another reason to end the run, the same on every rank, which also ends a pause.
        change, go_back: take changes of the flow, and return to the last checkpoint; both give the outcome in words.

    Returns:
        The reason to end the run; None to continue.
    """
    while True:
        request = monitor.look(status())
        if request.checkpoint:
            write_checkpoint()
        if request.changes:
            monitor.told = change(request.changes)
        if request.go_back:
            monitor.told = go_back()
        if request.stop:
            return ASKED_TO_STOP
        if not request.pause:
            return None
        if reason := asked_to_stop():
            return reason
