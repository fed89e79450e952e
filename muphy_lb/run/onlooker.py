"""Onlooker: who looks at a flow between two steps, and may ask for a pause, a checkpoint, or the end of the run."""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from muphy_lb.measure.observer import Steadiness

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver

ASKED_TO_STOP = "the live view"


class Standing(NamedTuple):
    """Where a run stands: its last step, and how far the criteria for a steady flow are met (on rank 0)."""

    last_step: int
    steadiness: tuple[Steadiness, ...] = ()


class Wish(NamedTuple):
    """What an onlooker asks for after a look: a checkpoint, that no step is made for now, the end of the run."""

    checkpoint: bool = False
    pause: bool = False
    stop: bool = False


class Onlooker:
    """Base class of those who look on, and one that never does; every method is called on every rank.

    Attributes:
        next_step: number of the step at which it looks next, the same on every rank.
        keeps_checkpoints: whether the run writes a checkpoint if that is asked for.
    """

    next_step: float = inf
    keeps_checkpoints: bool = False

    def look(self, standing: Standing) -> Wish:
        """See the present step; what is asked for is the same on every rank. During a pause it is called again and
        again, and waits a little each time."""
        return Wish()

    def rest(self, standing: Standing) -> None:
        """See the last of the steps that were asked for; whoever asks for steps may ask for more."""

    def end(self, standing: Standing, reason: str) -> None:
        """See the last step of a run, which ends for a reason."""

    def release(self) -> None:
        """The engine goes, and its memory with it: nothing of it may be kept. Its successor has the same nodes."""

    def follow(self, simulation: "Solver") -> None:
        """Look at another simulation from now on: the same flow, after a change of its case."""

    def close(self) -> None:
        """Look no more."""


def _nothing() -> None:
    return None


def attend(
    onlooker: Onlooker,
    standing: Callable[[], Standing],
    write_checkpoint: Callable[[], None] = _nothing,
    asked_to_stop: Callable[[], str | None] = _nothing,
) -> str | None:
    """Let an onlooker see the present step, for as long as it asks for a pause; collective.

    Args:
        onlooker: whose turn it is.
        standing: tells where the run stands.
        write_checkpoint: writes a checkpoint.
        asked_to_stop: tells, the same on every rank, why else the run shall end, which also ends a pause.

    Returns:
        Why the run shall end; None to continue.
    """
    while True:
        wish = onlooker.look(standing())
        if wish.checkpoint:
            write_checkpoint()
        if wish.stop:
            return ASKED_TO_STOP
        if not wish.pause:
            return None
        if reason := asked_to_stop():
            return reason
