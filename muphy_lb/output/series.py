"""Time series as CSV: one row per observation, on disk as soon as it is appended."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from muphy_lb.errors import OutputError
from muphy_lb.files.atomic import output_errors, write_text


@dataclass(frozen=True)
class CsvSeries:
    """A CSV file that grows by one row at a time and survives crashes and restarts.

    Attributes:
        path: the file.
        columns: header; the first is ``"step"``, the others carry their unit in the name (``"mass_flow_kg_s"``).
        resume_step: None starts the file anew; a number keeps the rows of an existing file up to that step.

    Raises:
        OutputError: the file cannot be written, or its header is not ``columns`` when resuming.
    """

    path: str | os.PathLike
    columns: Sequence[str]
    resume_step: int | None = None

    def __post_init__(self):
        if not self.columns or self.columns[0] != "step":
            raise OutputError(f"{self.path}: the columns are {list(self.columns)}; the first must be 'step'")
        write_text(self.path, "\n".join([self._header, *self._kept_lines()]) + "\n")

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row, a value for each column; the line is on disk when this returns.

        Raises:
            OutputError: a column is missing or unknown, or the disk refuses.
        """
        if set(row) != set(self.columns):
            wrong = sorted(set(row) ^ set(self.columns))
            raise OutputError(f"{self.path}: a row lacks or adds {wrong}; the columns are {list(self.columns)}")
        line = ",".join(_text(row[name]) for name in self.columns)
        with output_errors(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    @property
    def _header(self) -> str:
        """First line; names that hold a comma are quoted."""
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(self.columns)
        return line.getvalue()

    def _kept_lines(self) -> list[str]:
        """Complete rows of the existing file whose step is not later than the resume step."""
        if self.resume_step is None or not Path(self.path).exists():
            return []
        with output_errors(self.path):
            header, *lines = Path(self.path).read_text(encoding="utf-8").split("\n")
        if header != self._header:
            raise OutputError(
                f"cannot continue {self.path}: its columns are {header}, this run writes {self._header};"
                " move the file away or observe the same quantities"
            )
        complete = lines[:-1]  # what follows the last line end was cut off by a crash
        return [line for line in complete if int(line.split(",", 1)[0]) <= self.resume_step]


def read_series(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Columns of a series by name, float64 (``step`` int64)."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(header))
    series = {name: table[:, i] for i, name in enumerate(header)}
    return series | {"step": series["step"].astype(np.int64)}


def _text(value) -> str:
    """Shortest text that reads back to the same number."""
    return str(int(value)) if isinstance(value, int | np.integer) else repr(float(value))
