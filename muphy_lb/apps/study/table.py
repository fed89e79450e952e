"""The table of all members: values, answers, and the outcome of members without any."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from muphy_lb.apps.study.members import Members, Outcome
from muphy_lb.apps.study.section import GRID
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import write_text

FILE = "members.csv"
SAME = 1e-12
"""Relative range below which an answer does not differ between members."""


@dataclass(frozen=True)
class Table:
    """Members and their answers."""

    members: Members
    outcomes: Sequence[Outcome | None]
    #: (m,) values of each answer by name, nan where a member has none
    answers: Mapping[str, np.ndarray]

    @property
    def has_ended(self) -> np.ndarray:
        """(m,) which members have ended with answers."""
        return np.array([outcome is not None and not outcome.failure for outcome in self.outcomes])

    @property
    def failures(self) -> dict[int, str]:
        """Reasons of those that failed, by number."""
        return {k: outcome.failure for k, outcome in enumerate(self.outcomes) if outcome and outcome.failure}

    @property
    def doubtful(self) -> list[int]:
        """Numbers of those whose flow is doubtful by its own verdict."""
        return [k for k, outcome in enumerate(self.outcomes) if outcome and outcome.verdict == "doubtful"]

    @property
    def n_missing(self) -> int:
        """Number of members that have not ended."""
        return sum(outcome is None for outcome in self.outcomes)

    @property
    def seconds(self) -> dict[str, float]:
        """Time of all members by phase [s]."""
        found: Counter[str] = Counter()
        for outcome in self.outcomes:
            found.update(outcome.seconds if outcome else {})
        return dict(found)

    def rows(self) -> Iterable[list]:
        """The heading, and a row of every member."""
        design = self.members.design
        columns = [GRID] if design.has_grids else []
        yield ["member", "status", *design.names, *columns, *self.answers, "steps", "verdict", "reason"]
        for k, outcome in enumerate(self.outcomes):
            status = "missing" if outcome is None else "failed" if outcome.failure else "ended"
            found = outcome or Outcome({})
            answers = [found.answers.get(name, "") for name in self.answers]
            yield [
                k,
                status,
                *self.members.values(k).values(),
                *answers,
                found.steps or "",
                found.verdict,
                found.failure,
            ]

    def write(self, folder: Path) -> None:
        """Write ``members.csv``. Raises OutputError: the disk refuses."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows())
        write_text(folder / FILE, text.getvalue())

    def write_parquet(self, folder: Path) -> Path:
        """Write ``members.parquet``. Raises InputError: pyarrow is not installed."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ModuleNotFoundError as error:
            raise InputError("study: --parquet needs the package pyarrow: pip install 'muphy_lb[study]'") from error
        heading, *rows = self.rows()
        columns = [[None if entry == "" else entry for entry in column] for column in zip(*rows, strict=True)]
        path = folder / FILE.replace(".csv", ".parquet")
        parquet.write_table(pyarrow.table(dict(zip(heading, columns, strict=True))), path)
        return path


def table_of(members: Members) -> Table:
    """The table of a study, with the answers that it asks for; without any, all that differ between members.

    Raises:
        InputError: an answer that no member has.
    """
    outcomes = members.outcomes()
    ended = [outcome.answers for outcome in outcomes if outcome and not outcome.failure]
    asked = members.asked.section.answers
    names = chosen_names(dict.fromkeys(name for answers in ended for name in answers), asked) if ended else []
    columns = {
        name: np.array([np.nan if outcome is None else outcome.answers.get(name, np.nan) for outcome in outcomes])
        for name in names
    }
    drawn = members.design.drawn
    kept = {name: column for name, column in columns.items() if asked or _differs(column[drawn])}
    return Table(members, outcomes, kept)


def chosen_names(found: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that patterns choose, ``*`` for any letters; all without a pattern.

    Raises:
        InputError: nothing has such a name.
    """
    names = list(found)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            there = ", ".join(dict.fromkeys(re.sub(r"\.\d+", ".*", name) for name in names))
            raise InputError(f"study.answers has {pattern!r}, which no member answers; there are: {there}")
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _differs(column: np.ndarray) -> bool:
    known = column[np.isfinite(column)]
    return known.size > 1 and float(np.ptp(known)) > SAME * float(np.abs(known).max())
