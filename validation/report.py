"""The report of a validation: JSON, pictures, and one HTML page with all of them."""

import base64
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template

from muphy_lb.base.files.atomic import atomic_write, check_writable, write_text
from muphy_lb.base.version import __version__
from muphy_lb.validation import limits
from muphy_lb.validation.case import HEADINGS, Validation
from muphy_lb.validation.plot import draw

PAGE, DATA = "report.html", "report.json"


def write_report(folder: str | os.PathLike, outcomes: Sequence[Validation]) -> Path:
    """Write ``report.html``, which needs no other file, ``report.json`` and one PNG per plot. ``folder``: made where
    missing; files of an earlier report are replaced, each whole or not at all; ``outcomes``: what the cases gave.
    Returns path of the page. Raises OutputError: the folder or a file cannot be written."""
    folder = Path(folder)
    check_writable(folder)
    pictures = [[draw(plot) for plot in outcome.plots] for outcome in outcomes]
    for outcome, drawn in zip(outcomes, pictures, strict=True):
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", outcome.name)
        for number, picture in enumerate(drawn, 1):
            with atomic_write(folder / f"{name}-{number}.png") as temporary:
                temporary.write_bytes(picture)
    write_text(folder / DATA, as_json(outcomes))
    write_text(folder / PAGE, _page(outcomes, pictures))
    return folder / PAGE


def as_json(outcomes: Sequence[Validation]) -> str:
    """The outcomes as JSON text."""
    return json.dumps([outcome.record() for outcome in outcomes], indent=2, allow_nan=False) + "\n"


def verdict(outcomes: Sequence[Validation]) -> str:
    """Summary line: number of comparisons passed, and cases that were skipped or ended early."""
    rows = [row for outcome in outcomes for row in outcome.rows if row.is_judged]
    parts = [f"{sum(row.passed for row in rows)} of {len(rows)} comparisons passed"]
    words = {"skipped": "skipped", "left_out": "skipped or not judged in part", "failure": "ended early"}
    for field, word in words.items():
        names = [outcome.name for outcome in outcomes if getattr(outcome, field)]
        parts += [f"{word}: {', '.join(names)}"] if names else []
    return "; ".join(parts)


def _page(outcomes, pictures) -> str:
    now, page = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), Path(__file__).with_suffix(".html")
    cases = _table(("case", "comparisons passed", "time [s]", ""), map(_summary, outcomes))
    body = [cases, *_differences(outcomes), *(map(_section, outcomes, pictures))]
    texts = {"verdict": escape(verdict(outcomes)), "version": __version__, "now": now, "body": "\n".join(body)}
    return Template(page.read_text(encoding="utf-8")).substitute(texts)


def _summary(outcome: Validation) -> tuple[str, ...]:
    name = escape(outcome.name)
    judged = [row for row in outcome.rows if row.is_judged]
    passed = f"{sum(row.passed for row in judged)} of {len(judged)}"
    return f'<a href="#{name}">{name}</a>', passed, f"{outcome.seconds:.1f}", _marked(_word(outcome))


def _differences(outcomes) -> list[str]:
    """The table of differences between precisions; empty if none were compared."""
    rows = [tuple(map(escape, row)) for row in limits.table_rows(outcomes)]
    return [f"<h2>Precisions</h2><p>{limits.TITLE}</p>", _table(limits.HEADINGS, rows)] if rows else []


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
