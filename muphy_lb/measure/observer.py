"""Observer: base class of measurements during a run that write files.

A kind of observer is a class with a row in ``muphy_lb/run/observers.py``; a run creates the observers of its
case through the class, calls them in the order of the table, and knows none of them by name. During a run it calls

    act() of those that are due | verdict() of all | checkpoint, which stores state() of all

and at its end

    finish() of all, for summary.json | summary.json | close() and wait() of all | section() of all, for report.html

so the summary contains what :meth:`Observer.finish` returns, and is written before :meth:`Observer.close`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from muphy_lb.case.case import Case
from muphy_lb.case.choice import Key
from muphy_lb.measure.flow_view import FlowView, PreparedView
from muphy_lb.output.report_html import ReportPart

NOTHING = ReportPart()


def tell_walls(observers: Sequence, step: int) -> bool:
    """Whether one of them is due at a step and reports wall forces or the stress beside walls there."""
    return any(each.tells_walls and each.every and step % each.every == 0 for each in observers)


@dataclass(frozen=True)
class Steadiness:
    """Progress towards a criterion for the end of a run."""

    tolerance: float  #: allowed relative change
    change: float | None  #: the last one; None before the flow was looked at twice
    is_reached: bool  #: whether the criterion is met
    word: str = "steady"  #: what the flow is then: steady or periodic
    to_come: float | None = None  #: change still to come, where it is known and counts
    rises_until: int = 0  #: step up to which openings and walls still rise; 0 once they have

    def __str__(self):
        change = "not yet known" if self.change is None else f"{self.change:.2e}"
        rest = f", {self.to_come:.2e} to come" if (self.to_come or 0.0) > self.tolerance else ""
        rises = f"; openings and walls rise until step {self.rises_until:,}" if self.rises_until else ""
        return f"last change {change}{rest}, asked for {self.tolerance:.2g}{rises}"


@dataclass(frozen=True)
class PeriodMean:
    """Means over the last whole period of a flow that a waveform drives."""

    period_s: float  #: the longest period of its waveforms [s]
    n_periods: float  #: how many of them the run lasted
    #: mean flow rate of every opening by name, positive in the direction of its kind; empty where less than a period
    #: was seen
    flow_rates_m3_s: Mapping[str, float]


class Observer:
    """Base class of all observers; every method is called on every rank, and rank 0 writes.

    Attributes:
        files: patterns of the files that the class writes into the output folder; a new run removes them.
        name: name of its record in summary.json, and of its state in checkpoints; empty if it has neither.
        every: number of steps between two calls of :meth:`act`, 0 for none.
        reason: why a run ends where its criterion is met, in one word; empty if it has none.
        tells_walls: whether it reports wall forces or the stress beside walls, or ends a run, which reports them: means
            of two steps, of which the first is measured ahead of the step.
        keys: the keys of [output] in case files that it declares, by name; :meth:`asked` reads them.
    """

    files: tuple[str, ...] = ()
    name: str = ""
    every: int = 0
    reason: str = ""
    tells_walls: bool = False
    keys: ClassVar[Mapping[str, Key]] = MappingProxyType({})

    @classmethod
    def asked(cls, case: Case, name: str) -> Any:
        """The value of one of its keys in a case, or its default."""
        return (case.output.model_extra or {}).get(name, cls.keys[name].default)

    @classmethod
    def create(cls, view: FlowView, folder: Path, resume_step: int | None) -> Sequence["Observer"]:
        """Create the observers of this kind for a case; collective.

        Args:
            view: the flow.
            folder: output folder.
            resume_step: step from which an earlier run is continued, whose files are continued; None for a new run.

        Raises:
            InputError: a quantity that the case requests cannot be measured.
            OutputError: a file cannot be written.
        """
        raise NotImplementedError

    @classmethod
    def check(cls, view: PreparedView) -> None:
        """Refuse requests that this kind cannot fulfil, before files of an earlier run are removed. Raises InputError:
        the case contains such a request."""

    def act(self) -> None:
        """Observe the present step."""

    def forget(self) -> None:
        """Look at the present step again: the flow has been changed."""

    def verdict(self) -> str | None:
        """Reason, in one word, to end the run after the present step; None to continue. The same on every rank."""
        return None

    @property
    def is_satisfied(self) -> bool:
        """Whether its own criterion for the end of the run is met, on rank 0."""
        return False

    def steadiness(self) -> Steadiness | None:
        """Progress towards its criterion of steadiness, on rank 0; None if it has none."""
        return None

    def period_mean(self) -> PeriodMean | None:
        """The flow rates over the last period of a flow that a waveform drives, on rank 0; None if it has none."""
        return None

    def objections(self) -> tuple[str, ...]:
        """Objections to the end of a run, one sentence each without a full stop, on rank 0; collective."""
        return ()

    def status(self) -> str:
        """Its part of the progress line, on rank 0."""
        return ""

    def finish(self) -> dict | None:
        """Its record for summary.json, under its name, on rank 0; None for no record."""
        return None

    def close(self) -> None:
        """Write remaining output, after the summary."""

    def wait(self) -> None:
        """Wait for what it writes beside the run, ahead of checkpoints and at the end."""

    def state(self) -> dict | None:
        """The state that a checkpoint must keep of it, on rank 0: arrays, and what JSON can hold, by name; None for
        nothing."""
        return None

    def restore(self, state: dict) -> None:
        """Continue from the state in a checkpoint."""

    def lines(self, summary: Mapping) -> list[str]:
        """Its lines in the closing text of a run; ``summary`` has the content of ``summary.json``."""
        return []

    def section(self, summary: Mapping) -> ReportPart:
        """Its part of report.html."""
        return NOTHING
