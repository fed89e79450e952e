"""A validation case: a function of the settings, its rows of reference, computed value and verdict, and their text."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import update_wrapper
from pathlib import Path

from muphy_lb.domain import streaming_named
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator
from muphy_lb.validation.plot import Picture, Plot

HEADINGS = ("quantity", "reference", "computed", "error", "allowed", "")
LAYOUT = "  {:<58}{:>13}{:>13}{:>11}{:>11}  {}"


@dataclass(frozen=True)
class Settings:
    """Settings of the computation of the cases; the reference values do not depend on them."""

    quick: bool = False  # small sizes, seconds instead of minutes
    backend: str = "auto"  # what runs the kernels, as ``compute.backend`` of a case file
    precision: str = "fp64"  # of the stored populations, as ``compute.precision``
    streaming: str = "pull"  # as ``compute.streaming``
    communicator: SerialCommunicator | MpiCommunicator = SerialCommunicator()  # the ranks that share each simulation
    ranks: int = 1  # of these, those that share a simulation of a search, which computes several side by side

    def compute_table(self) -> dict:
        """The table ``[compute]`` of a case file."""
        return {"backend": self.backend, "precision": self.precision, "streaming": self.streaming}

    @property
    def interpolates(self) -> bool:
        """Whether interpolated walls are possible: push overwrites what they read."""
        return streaming_named(self.streaming).fills_slots


DEFAULT = Settings()
DATA_VARIABLE = "MUPHY_DATA"


@dataclass(frozen=True)
class Row:
    """A comparison of a computed value with its reference."""

    quantity: str  # what is compared, with its unit if it has one
    reference: float  # published or analytic value
    computed: float  # what the solver gives
    error: float  # relative or absolute deviation, depending on the constructor
    tolerance: float  # largest error that passes; infinite for a row that is shown for the reader and not judged
    # the scale of differences of the computed value between precisions: the size of the reference, but at least 1 where
    # the error is absolute, and 1 where the reference is 0
    scale: float = 1.0

    @property
    def passed(self) -> bool:
        """Whether the error is a number within the tolerance."""
        return self.error <= self.tolerance

    @property
    def is_judged(self) -> bool:
        """Whether there is a tolerance to fail."""
        return self.tolerance < math.inf

    @property
    def verdict(self) -> str:
        """Verdict as one word."""
        return "FAILED" if not self.passed else "passed" if self.is_judged else "shown"

    def record(self) -> dict:
        """The row with its verdict as a plain dictionary; None for a number that is not finite, for JSON."""
        return _for_json(asdict(self)) | {"passed": self.passed}


@dataclass(frozen=True)
class Difference:
    """Difference of the results of a case in one precision from those in double precision."""

    precision: str  # its name
    largest: float  # difference of a computed value over the scale of its row, the largest of the case
    quantity: str  # where that is
    n_values: int  # how many values were compared
    bound: float  # largest difference that passes

    @property
    def row(self) -> Row:
        """The difference as a row of the case."""
        what = f"{self.precision} from fp64, worst of {self.n_values} values: {self.quantity}"
        return absolute(what, 0.0, self.largest, self.bound)


@dataclass(frozen=True)
class Validation:
    """The outcome of one case."""

    name: str  # name in the table of cases
    citation: str  # where the reference values come from
    rows: tuple[Row, ...] = ()  # the comparisons
    skipped: str = ""  # why nothing was computed; empty if it was
    plots: tuple[Plot | Picture, ...] = ()  # for the report
    left_out: tuple[str, ...] = ()  # what was not computed, or is not judged, with the reasons
    differences: tuple[Difference, ...] = ()  # of other precisions from double precision; each is among the rows too
    failure: str = ""  # the error that ended the case early; empty if none did
    device: str = ""  # what computed it, filled in by the command
    seconds: float = 0.0  # wall time, compilation included, filled in by the command

    @property
    def passed(self) -> bool:
        """Whether the case was completed and every comparison passed; true for a skipped case."""
        return not self.failure and all(row.passed for row in self.rows)

    def record(self) -> dict:
        """The outcome as a plain dictionary for JSON, with those plots that are data."""
        rows = [row.record() for row in self.rows]
        plots = [_for_json(asdict(plot)) for plot in self.plots if isinstance(plot, Plot)]
        differences = [_for_json(asdict(difference)) for difference in self.differences]
        return asdict(self) | {"rows": rows, "plots": plots, "differences": differences, "passed": self.passed}

    def __str__(self):
        lines = [f"{self.name}: {self.citation}"]
        if self.skipped:
            lines.append(f"  skipped: {self.skipped}")
        if self.rows:
            lines += [LAYOUT.format(*HEADINGS).rstrip(), *map(_line, self.rows)]
        lines += [f"  left out: {reason}" for reason in self.left_out]
        if self.failure:
            lines.append(f"  FAILED: {self.failure}")
        if self.device and not self.skipped:
            lines.append(f"  {self.seconds:.1f} s on {self.device}")
        return "\n".join(lines)


class Skipped(Exception):
    """Why nothing of a case can be computed."""


def data_folder(*files: str) -> Path:
    """The folder of ``$MUPHY_DATA``. Raises Skipped: it is not set, or lacks a file."""
    folder = os.environ.get(DATA_VARIABLE)
    missing = [file for file in files if folder is None or not Path(folder, file).is_file()]
    if not folder or missing or not Path(folder).is_dir():
        raise Skipped(f"no {', '.join(missing) or 'folder'} in ${DATA_VARIABLE}")
    return Path(folder)


class Failure(str):
    """An error within a case, which continues."""


class Case:
    """A validation case: its name, the source of its references, and a generator function of the settings.

    The generator yields rows, plots, failures and, as text, reasons why something is not computed or judged, or raises
    :class:`Skipped`; the first line of its docstring is the title.
    """

    def __init__(self, name: str, source: str, run: Callable[[Settings], Iterable]):
        self.name, self.source, self.run = name, source, run
        update_wrapper(self, run)

    def __call__(self, settings: Settings = DEFAULT) -> Validation:
        """The outcome with these settings. Raises MuphyError: a flow of it cannot be computed."""
        try:
            found = list(self.run(settings))
        except Skipped as reason:
            return Validation(self.name, self.source, skipped=str(reason))
        rows = tuple(item for item in found if isinstance(item, Row))
        plots = tuple(item for item in found if isinstance(item, Plot | Picture))
        failure = "; ".join(item for item in found if isinstance(item, Failure))
        left_out = tuple(item for item in found if isinstance(item, str) and not isinstance(item, Failure))
        return Validation(self.name, self.source, rows, plots=plots, left_out=left_out, failure=failure)


def case(name: str, source: str) -> Callable[[Callable[[Settings], Iterable]], Case]:
    """A decorator that makes a :class:`Case` of a generator function."""
    return lambda run: Case(name, source, run)


def relative(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is |computed / reference - 1|."""
    return _row(quantity, reference, computed, abs(computed / reference - 1.0), tolerance, abs(reference))


def absolute(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is |computed - reference|."""
    return _row(quantity, reference, computed, abs(computed - reference), tolerance, max(abs(reference), 1.0))


def at_least(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is the amount by which the computed value is below the reference; a larger value passes."""
    error = max(reference - computed, 0.0 * abs(computed))
    return _row(quantity, reference, computed, error, tolerance, abs(reference) or 1.0)


def at_most(quantity: str, reference: float, computed: float, tolerance: float = 0.0) -> Row:
    """A row whose error is the amount by which the computed value exceeds the reference; a smaller value passes."""
    error = max(computed - reference, 0.0 * abs(computed))
    return _row(quantity, reference, computed, error, tolerance, abs(reference) or 1.0)


def shown(quantity: str, reference: float, computed: float) -> Row:
    """A row for information: its relative error has no bound; only NaN fails."""
    return _row(quantity, reference, computed, abs(computed / reference - 1.0), math.inf, abs(reference))


def _row(quantity, *numbers) -> Row:
    return Row(quantity, *map(float, numbers))


def _for_json(value):
    """A record whose numbers that are not finite are None."""
    if isinstance(value, dict):
        return {key: _for_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_for_json, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _line(row: Row) -> str:
    numbers = (f"{row.reference:.6g}", f"{row.computed:.6g}", f"{row.error:.2e}", f"{row.tolerance:.1e}")
    return LAYOUT.format(row.quantity, *numbers, row.verdict)
