"""The report of a validation: JSON, pictures, and one HTML page with all of them."""

import base64
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from muphy_lb.base.files.atomic import atomic_write, check_writable, write_text
from muphy_lb.base.version import __version__
from muphy_lb.validation import precision
from muphy_lb.validation.case import HEADINGS, Validation
from muphy_lb.validation.plot import draw

PAGE, DATA = "report.html", "report.json"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #1c2330; }
table { border-collapse: collapse; margin: .6em 0; }
th, td { padding: .25em .8em; border-bottom: 1px solid #d8dce4; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.passed { color: #14713d; } .FAILED { color: #b3171e; font-weight: bold; } .skipped, .shown, .note { color: #667085; }
img { max-width: 100%; }
"""


def write_report(folder: str | os.PathLike, outcomes: Sequence[Validation]) -> Path:
    """Write ``report.html``, which needs no other file, ``report.json`` and one PNG per plot. ``folder``: made where
    missing; files of an earlier report are replaced, each whole or not at all; ``outcomes``: what the cases gave.
    Returns path of the page. Raises OutputError: the folder or a file cannot be written."""
    folder = Path(folder)
    check_writable(folder)
    pictures = [[draw(plot) for plot in outcome.plots] for outcome in outcomes]
    for outcome, drawn in zip(outcomes, pictures, strict=True):
        for number, picture in enumerate(drawn, 1):
            _write_bytes(folder / f"{_file_name(outcome.name)}-{number}.png", picture)
    write_text(folder / DATA, as_json(outcomes))
    write_text(folder / PAGE, _page(outcomes, pictures))
    return folder / PAGE


def as_json(outcomes: Sequence[Validation]) -> str:
    """All outcomes as JSON text."""
    return json.dumps([outcome.record() for outcome in outcomes], indent=2, allow_nan=False) + "\n"


def verdict(outcomes: Sequence[Validation]) -> str:
    """One line: how many comparisons passed, and which cases were skipped or ended early."""
    rows = [row for outcome in outcomes for row in outcome.rows if row.is_judged]
    parts = [f"{sum(row.passed for row in rows)} of {len(rows)} comparisons passed"]
    words = {"skipped": "skipped", "left_out": "skipped or not judged in part", "failure": "ended early"}
    for field, word in words.items():
        names = [outcome.name for outcome in outcomes if getattr(outcome, field)]
        parts += [f"{word}: {', '.join(names)}"] if names else []
    return "; ".join(parts)


def _page(outcomes, pictures) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    sections = [_section(*pair) for pair in zip(outcomes, pictures, strict=True)]
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>muphy_lb validation</title>',
            f"<style>{STYLE}</style></head><body>",
            "<h1>muphy_lb validation</h1>",
            f'<p>{escape(verdict(outcomes))}</p><p class="note">muphy_lb {__version__}, {now}</p>',
            _table(("case", "comparisons passed", "time [s]", ""), map(_summary, outcomes)),
            *_differences(outcomes),
            *sections,
            "</body></html>\n",
        )
    )


def _summary(outcome: Validation) -> tuple[str, ...]:
    name = escape(outcome.name)
    judged = [row for row in outcome.rows if row.is_judged]
    passed = f"{sum(row.passed for row in judged)} of {len(judged)}"
    return f'<a href="#{name}">{name}</a>', passed, f"{outcome.seconds:.1f}", _marked(_word(outcome))


def _differences(outcomes) -> list[str]:
    """The table of differences between precisions; empty if none were compared."""
    rows = [tuple(map(escape, row)) for row in precision.table_rows(outcomes)]
    return [f"<h2>Precisions</h2><p>{precision.TITLE}</p>", _table(precision.HEADINGS, rows)] if rows else []


def _section(outcome: Validation, drawn: Sequence[bytes]) -> str:
    name = escape(outcome.name)
    parts = [f'<h2 id="{name}">{name} {_marked(_word(outcome))}</h2>', f"<p>{escape(outcome.citation)}</p>"]
    parts += [
        f'<p class="note">{escape(text)}</p>' for text in (outcome.skipped, *outcome.left_out, outcome.failure) if text
    ]
    if outcome.rows:
        parts.append(_table(HEADINGS, map(_row, outcome.rows)))
    if outcome.device and not outcome.skipped:
        parts.append(f'<p class="note">{outcome.seconds:.1f} s on {escape(outcome.device)}</p>')
    for plot, picture in zip(outcome.plots, drawn, strict=True):
        data = base64.b64encode(picture).decode("ascii")
        parts.append(f'<p><img alt="{escape(plot.title)}" src="data:image/png;base64,{data}"></p>')
    return "\n".join(parts)


def _row(row) -> tuple[str, ...]:
    numbers = (f"{row.reference:.6g}", f"{row.computed:.6g}", f"{row.error:.2e}", f"{row.tolerance:.1e}")
    return escape(row.quantity), *numbers, _marked(row.verdict)


def _word(outcome: Validation) -> str:
    if outcome.skipped:
        return "skipped"
    return "passed" if outcome.passed else "FAILED"


def _marked(word: str) -> str:
    return f'<span class="{word}">{word}</span>'


def _table(headings, rows) -> str:
    lines = ["".join(f"<th>{heading}</th>" for heading in headings)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)


def _write_bytes(path: Path, content: bytes) -> None:
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
