"""Observer: whatever measures a run and writes a file of it.

A kind of observer is a class with a row in ``muphy_lb/run/observers.py``; a run asks the class for the observers of its
case, calls them in the order of the table, and knows none of them by name. A stretch of a run goes

    verdict() of all | act() of those that are due | checkpoint, which keeps state() of all

and its end

    finish() of all, for summary.json | summary.json | close() of all | section() of all, for report.html

so what :meth:`Observer.finish` returns is in the summary, and what :meth:`Observer.close` writes comes after it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart

NOTHING = ReportPart()


class Observer:
    """Base of all observers; every method is called on every rank, and rank 0 writes.

    Attributes:
        files: patterns of the files that the class writes into the output folder; a new run removes them.
        name: of its record in summary.json, and of its state in checkpoints; empty if it has neither.
        every: steps between two calls of :meth:`act`, 0 for none.
    """

    files: tuple[str, ...] = ()
    name: str = ""
    every: int = 0

    @classmethod
    def create(cls, view: FlowView, folder: Path, resume_step: int | None) -> Sequence["Observer"]:
        """The observers of this kind that the case asks for; collective.

        Args:
            view: the flow.
            folder: output folder.
            resume_step: step from which an earlier run is continued, whose files then go on; None for a new run.

        Raises:
            InputError: what the case asks for is not there to be measured.
            OutputError: a file cannot be written.
        """
        raise NotImplementedError

    @classmethod
    def check(cls, view: FlowView) -> None:
        """Refuse what this kind cannot measure, before anything of an earlier run is removed.

        Raises:
            InputError: the case asks for it.
        """

    def act(self) -> None:
        """Observe the present step."""

    def verdict(self) -> str | None:
        """Why the run should end after the present step, in a word; None to go on. The same on every rank."""
        return None

    @property
    def is_satisfied(self) -> bool:
        """Whether a criterion of its own for the end of the run is met, on rank 0."""
        return False

    def status(self) -> str:
        """What it adds to the progress line, on rank 0."""
        return ""

    def finish(self) -> dict | None:
        """Its record for summary.json, under its name, on rank 0; None for no record."""
        return None

    def close(self) -> None:
        """Write what is left to write, after the summary."""

    def state(self) -> dict | None:
        """What a checkpoint must keep of it, on rank 0: arrays, and what JSON can hold, by name; None for nothing."""
        return None

    def restore(self, state: dict) -> None:
        """Continue from the state that a checkpoint kept."""

    def lines(self, summary: Mapping) -> list[str]:
        """What the closing text of a run says of it; ``summary`` holds what ``summary.json`` does."""
        return []

    def section(self, summary: Mapping) -> ReportPart:
        """Its part of report.html."""
        return NOTHING
