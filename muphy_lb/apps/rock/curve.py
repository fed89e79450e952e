"""Curves: the numbers that an option names, the table of the points with its chart, and the case that they are of."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.case.case import Case, as_case, changed_contents, changed_keys
from muphy_lb.case.toml import as_override
from muphy_lb.measure.displacement import LONG
from muphy_lb.output.charts import line_chart
from muphy_lb.output.series import write_summary

SATURATION = "saturation of the first fluid"
FLUIDS, KR, ERROR = ("first", "second"), "relative_permeability", "standard_error"
PERMEABILITIES = tuple(f"{fluid}_{name}" for fluid in FLUIDS for name in (KR, ERROR))
"""Columns of the relative permeabilities of both fluids, each with its own standard error."""
LENGTHS = "box_lengths"
"""Column of the lengths of the box, or of the rock, that both fluids together have gone through."""


def numbers(text: str) -> list[float]:
    """The numbers between the commas of a text; none where one of them is no finite number."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def origin(case: Case, folder: Path) -> dict:
    """Origin of the points in a folder, for their record: the case as text, but for its title and output, and what
    its files hold."""
    bare = as_case(case, [as_override(section, None) for section in ("title", "output")])
    return {"case": bare.to_toml(folder), "contents": bare.contents()}


def other_origin(then: Mapping, now: Mapping) -> list[str]:
    """Keys and files of the case in which two origins differ. Raises KeyError: one of them is none."""
    return changed_keys(then["case"], now["case"]) + changed_contents(then["contents"], now["contents"])


def not_read(error: Exception) -> str:
    """The reason why the record of a folder cannot be continued, behind its name: an entry that it lacks, or damage."""
    if isinstance(error, KeyError):
        return f"was written by another version of muphy-lb: it has no {error}, without which it is not continued"
    return "is damaged, or not a record of this command"


def short_told(steps: int, lengths: float) -> str:
    """A flow that has gone through so few lengths in so many steps that it is not known, as the end of a sentence."""
    more = f"; {LONG:g} lengths take some {steps * LONG / lengths:.2g} steps" if lengths > 0.0 else ""
    return f"below {LONG:g} lengths mean flows remember their start{more}"


def with_bars(rows: Sequence[Mapping]) -> dict[str, tuple]:
    """Lines of a chart: the relative permeabilities of both fluids against the saturation, with their bars."""
    saturation, unknown = _column(rows, "first_saturation"), _column(rows, "saturation_error")
    return {
        f"k of the {fluid} fluid": (
            saturation,
            _column(rows, f"{fluid}_{KR}"),
            unknown,
            _column(rows, f"{fluid}_{ERROR}"),
        )
        for fluid in FLUIDS
    }


def _column(rows: Sequence[Mapping], name: str) -> np.ndarray:
    """(points,) numbers of a column, 0 where there is none."""
    return np.array([row.get(name, 0.0) for row in rows])


def write_curve(
    stem: Path,
    points: Sequence[Mapping],
    columns: Sequence[str],
    labels: tuple[str, str, str],
    lines: Mapping,
    **record,
) -> None:
    """Write the points as ``STEM.csv`` and ``STEM.json``, and their chart as ``STEM.png``.

    Args:
        points, columns, record: as of :func:`write_points`.
        labels: title of the chart, what it shows to the right and upwards.
        lines: as of :func:`muphy_lb.output.charts.line_chart`.

    Raises OutputError: a file cannot be written.
    """
    with atomic_write(stem.with_suffix(".png")) as temporary:
        temporary.write_bytes(line_chart(*labels, lines))
    write_points(stem, points, columns, **record)


def write_points(stem: Path, points: Sequence[Mapping], columns: Sequence[str], **record) -> None:
    """Write points as ``STEM.csv`` and ``STEM.json``.

    Args:
        points: numbers and texts of each by column.
        columns: of the table.
        record: what the JSON file holds besides.

    Raises OutputError: a file cannot be written.
    """
    rows = [",".join(columns), *(",".join(str(point[name]).replace(",", ";") for name in columns) for point in points)]
    with atomic_write(stem.with_suffix(".csv")) as temporary:
        temporary.write_bytes(("\n".join(rows) + "\n").encode())
    write_summary(stem.with_suffix(".json"), {**record, "points": points})
