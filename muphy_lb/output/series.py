"""Numbers of a run: time series as CSV, which a crash of the program does not lose, and its summary as JSON."""

import csv
import io
import json
import logging
import math
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import DAMAGED, no_link, output_errors, set_aside, write_text

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class CsvSeries:
    """A CSV file that grows by one row at a time and survives crashes and restarts. Raises OutputError: the file cannot
    be written, or its header is not ``columns`` when resuming."""

    path: str | os.PathLike  #: the file
    #: header; the first is ``"step"``, the others carry their unit in the name (``"mass_flow_kg_s"``)
    columns: Sequence[str]
    #: None begins a new file; a number keeps the rows of an existing file up to that step. Where some of them are
    #: no rows any more, or there is no header, what was found is kept beside it, as ``NAME.damaged``.
    resume_step: int | None = None
    last_step: int | None = field(default=None, init=False)  #: step of the last row that was kept; None without one

    def __post_init__(self):
        if not self.columns or self.columns[0] != "step":
            raise OutputError(f"{self.path}: the columns are {list(self.columns)}; the first must be 'step'")
        kept = self._kept_lines()
        write_text(self.path, "\n".join([self._header, *kept]) + "\n")
        if kept:
            object.__setattr__(self, "last_step", _step(kept[-1]))

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row, a value for each column; the system has the line when this returns. Raises OutputError: a
        column is missing or unknown, the file is gone, or the disk refuses."""
        if set(row) != set(self.columns):
            wrong = sorted(set(row) ^ set(self.columns))
            raise OutputError(f"{self.path}: a row lacks or adds {wrong}; the columns are {list(self.columns)}")
        line = ",".join(_text(row[name]) for name in self.columns)
        with output_errors(self.path), open(self.path, "r+", encoding="utf-8", opener=no_link) as file:
            file.seek(0, os.SEEK_END)
            file.write(line + "\n")

    @property
    def _header(self) -> str:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(self.columns)
        return line.getvalue()

    def _kept_lines(self) -> list[str]:
        if self.resume_step is None or not Path(self.path).exists():
            return []
        if Path(self.path).is_dir():
            self._put_away("is a folder")
            return []
        reads: dict[str, Any] = {"encoding": "utf-8", "errors": "replace", "opener": no_link}
        with output_errors(self.path), open(self.path, **reads) as file:
            header, *lines = file.read().split("\n")
        if not header.startswith("step,"):  # a header of this or another run does
            self._put_away("has no header")
            return []
        if header != self._header:
            raise OutputError(
                f"cannot continue {self.path}: its columns are {header}, this run writes {self._header};"
                " move the file away or observe the same quantities"
            )
        complete = lines[:-1]  # what follows the last line end was cut off by a crash
        rows = [line for line in complete if _is_row(line, len(self.columns))]
        if len(rows) < len(complete):
            copy, n_damaged = set_aside(self.path), len(complete) - len(rows)
            LOG.warning(
                "%s holds %d lines that are not rows; they are removed, and kept in %s", self.path, n_damaged, copy
            )
        return [line for line in rows if _step(line) <= self.resume_step]

    def _put_away(self, problem: str) -> None:
        """Keep what is there under another name, and begin again."""
        kept = Path(f"{self.path}{DAMAGED}")
        with output_errors(kept):
            if kept.is_dir() and not kept.is_symlink():
                kept = kept.with_name(f"{kept.name}.{secrets.token_hex(4)}")
            os.replace(self.path, kept)
        LOG.warning("%s %s; it is kept as %s, and a new file is started", self.path, problem, kept)


def read_series(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Columns of a series, or of another table of numbers, by name, float64 (``step`` int64)."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(header))
    series = {name: table[:, i] for i, name in enumerate(header)}
    return series | {"step": series["step"].astype(np.int64)} if "step" in series else series


def _is_row(line: str, n_columns: int) -> bool:
    step, *values = line.split(",")
    try:
        [float(value) for value in values]
        return step.isascii() and step.isdigit() and len(values) == n_columns - 1
    except ValueError:
        return False


def _step(row: str) -> int:
    return int(row.split(",", 1)[0])


def _text(value) -> str:
    """Shortest text that reads back to the same number."""
    return str(int(value)) if isinstance(value, int | np.integer) else repr(float(value))


def write_summary(path: str | os.PathLike, record: dict) -> None:
    """Write ``record`` as strict JSON, whole or not at all; a NaN or infinite number becomes ``null``.

    Values may be nested dictionaries, sequences, NumPy scalars and arrays, paths, numbers, texts and None.

    Raises OutputError: the file cannot be written; TypeError: a value has no JSON form.
    """
    text = json.dumps(_plain(record), indent=2, allow_nan=False)
    write_text(path, text + "\n")


def flow_split(openings: Mapping[str, Mapping]) -> dict[str, float]:
    """Fraction of all that leaves that goes through each outlet, by name; empty with fewer than two outlets or no flow.
    ``openings``: by name, with ``kind`` and ``flow_rate_m3_s`` (positive in the direction of the kind)."""
    rates = {name: state["flow_rate_m3_s"] for name, state in openings.items() if state["kind"] == "outlet"}
    total = sum(rates.values())
    return {name: rate / total for name, rate in rates.items()} if len(rates) > 1 and total > 0.0 else {}


def pressure_drops_pa(openings: Mapping[str, Mapping]) -> dict[str, float]:
    """Mean pressure of the inlets, weighted by area, less that of each outlet [Pa], by the outlet's name; empty without
    inlets."""
    inlets = [state for state in openings.values() if state["kind"] == "inlet"]
    area_m2 = sum(state["area_m2"] for state in inlets)
    if not area_m2 > 0.0:
        return {}
    upstream_pa = sum(state["mean_pressure_pa"] * state["area_m2"] for state in inlets) / area_m2
    outlets = {name: state for name, state in openings.items() if state["kind"] == "outlet"}
    return {name: upstream_pa - state["mean_pressure_pa"] for name, state in outlets.items()}


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
