"""report.html: one page on a run that needs no other file."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.base.files.atomic import write_text
from muphy_lb.output.charts import line_chart
from muphy_lb.output.drawing import drawing, shown_unit
from muphy_lb.output.series import read_series

REPORT_FILE = "report.html"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74em; margin: 2em auto; padding: 0 1em; color: #1c2330; }
table { border-collapse: collapse; margin: .6em 0; display: block; overflow-x: auto; }
th, td { padding: .25em .8em; border-bottom: 1px solid #d8dce4; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
.note { color: #667085; } .warning { color: #9a4a00; }
img { max-width: 100%; } .charts img { width: 48%; }
@media (max-width: 50em) { .charts img { width: 100%; } }
pre { background: #f4f5f8; padding: 1em; overflow-x: auto; font-size: 13px; }
"""


class ReportTable(NamedTuple):
    """A table below a heading, with a note. Without rows and note it is left out."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence]
    note: str = ""


@dataclass(frozen=True)
class ReportPart:
    """The part of the page that one observer of a run adds."""

    results: Sequence[tuple] = ()  #: rows (quantity, value, unit) of the table of results
    tables: Sequence[ReportTable] = ()  #: its own ones
    warnings: Sequence[str] = ()  #: sentences without a full stop
    #: draws (text, PNG) each; called only where plots are wanted
    charts: Callable[[], Iterable[tuple[str, bytes]]] = tuple
    #: text by name of a PNG file in the folder of the run; those that are not there are left out
    pictures: Mapping[str, str] = field(default_factory=dict)


def write_report(folder: Path, summary: Mapping, parts: Sequence[ReportPart], with_plots: bool = True) -> None:
    """Write the page of a run. ``with_plots``: draw the series and embed the pictures. Raises OutputError: the file
    cannot be written."""
    title = summary["title"] or "muphy_lb run"
    reached = f"; the flow is {(summary.get('steadiness') or {}).get('word', 'steady')}" if summary["converged"] else ""
    ending = f"Ended: {summary['ended']} at step {summary['steps']:,}, t = {summary['time_s']:.5g} s{reached}."
    origin = f"muphy_lb {summary['version']}, {summary['date']}, on {', '.join(summary['hosts'])}"
    results = [row for part in parts for row in part.results]
    texts = {name: text for part in parts for name, text in part.pictures.items()}
    pictures = [name for name in sorted(texts) if with_plots and (folder / name).exists()]
    page = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(ending)}</p>",
        f"<p><strong>Verdict: {escape(summary['verdict'])}</strong></p>",
        *(f'<p class="warning">{escape(text)}</p>' for text in summary["objections"] or summary["not_judged"]),
        f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in summary['statements'])}</ul>",
        f'<p class="note">{escape(origin)}</p>',
        *(html_image((folder / name).read_bytes(), texts[name]) for name in pictures),
        "<h2>Results</h2>",
        html_table(("quantity", "value", "unit"), [*_results(summary), *results]),
        *(line for part in parts for table in part.tables for line in _table_lines(table)),
        *(f'<p class="warning">Warning: {escape(text)}.</p>' for part in parts for text in part.warnings),
        *(_charts(parts) if with_plots else ()),
        "<h2>Computation</h2>",
        html_table(("", "", ""), list(_computation(summary))),
        f"<h2>Case</h2><pre>{escape(summary['case_toml'])}</pre>",
        "</body></html>\n",
    ]
    write_text(folder / REPORT_FILE, "\n".join(page))


def _results(summary: Mapping) -> Iterator[tuple]:
    yield "largest velocity", summary["max_velocity_m_s"], "m/s"
    yield "mean velocity", summary["mean_velocity_m_s"], "m/s"
    yield "Mach number of the largest velocity", summary["mach"], ""
    if summary["reynolds"] is not None:
        yield "largest Reynolds number of an opening", summary["reynolds"], ""
    yield "largest relative change of density", summary["largest_density_change"], ""
    yield "relative change of mass", summary["mass_relative_drift"], ""


def _table_lines(table: ReportTable) -> list[str]:
    if not (table.rows or table.note):
        return []
    body = html_table(table.columns, table.rows) if table.rows else ""
    note = [f'<p class="note">{table.note}</p>'] if table.note else []
    return [f"<h3>{table.heading}</h3>", body, *note]


def _computation(summary: Mapping) -> Iterator[tuple]:
    yield "fluid nodes", f"{summary['n_fluid']:,}", ""
    yield "voxel edge", summary["spacing_m"], "m"
    if summary["voxels_across"] is not None:
        yield "smallest opening", summary["voxels_across"], "voxels across"
    yield "time step", summary["time_step_s"], "s"
    yield "relaxation time", summary["relaxation_time"], "time steps"
    yield "method", f"{summary['lattice']}, {summary['collision']}, walls {summary['walls_rule']}", ""
    yield "device", f"{summary['backend']} on {summary['device']}", ""
    yield "precision, streaming", f"{summary['precision']}, {summary['streaming']}", ""
    yield "ranks", summary["ranks"], ""
    yield "speed", summary["mflups"], "million node updates per second"
    if "mflups_fluid" in summary:
        yield "speed, nodes with fluid", summary["mflups_fluid"], "million updates per second"
    if "imbalance" in summary:
        yield "load of the fullest rank", summary["imbalance"], "of the mean"
    yield "wall time", summary["wall_time_s"], "s"
    yield "stepping", summary["stepping_time_s"], "s"
    yield "memory of the largest rank", max(summary["peak_memory_mib"]), "MiB"


def _charts(parts: Sequence[ReportPart]) -> list[str]:
    images = []
    for part in parts:
        with drawing("a chart of the report"):
            images += [html_image(png, text) for text, png in part.charts()]
    return [f'<h2>Course of the run</h2><p class="charts">{"".join(images)}</p>'] if images else []


def series_charts(path: Path, heading: str, quantities: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """One chart for each quantity of a series, a line for each of those that have it.

    Args:
        path: CSV file with columns ``NAME_QUANTITY``; without it there is no chart.
        heading: what the series is of.
        quantities: name of the axis by quantity.
    """
    if not path.exists():
        return
    suffix = re.compile(f"_({'|'.join(quantities)})$")
    series = read_series(path)
    grouped: dict[str, dict[str, tuple]] = {}
    for column, values in series.items():
        match = suffix.search(column)
        if match:
            grouped.setdefault(match[1], {})[column[: match.start()]] = (series["time_s"], values)
    for quantity, lines in grouped.items():
        told = {name: line for name, line in lines.items() if line[1].size and (line[1] == line[1]).any()}
        if any(line[1].any() for line in told.values()):  # of a plane flow some components are nothing
            unit = quantities[quantity].removesuffix("]").partition(" [")[2]
            top = max(float(np.nanmax(np.abs(y), initial=0.0)) for _, y in told.values())
            shown, size = shown_unit(unit, top)
            title = f"{heading}: {(label := quantities[quantity].replace(f'[{unit}]', f'[{shown}]'))}"
            in_unit = {name: (x, y / size) for name, (x, y) in told.items()}
            yield title, line_chart(title, "time [s]", label, in_unit)


def html_image(png: bytes, text: str) -> str:
    """A picture, which is part of the page."""
    data = base64.b64encode(png).decode("ascii")
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{data}">'


def html_table(headings: Sequence[str], rows: Sequence[Sequence]) -> str:
    """A table; without headings, or with empty ones, it has no first line."""
    lines = ["".join(f"<th>{escape(heading)}</th>" for heading in headings)] if any(headings) else []
    lines += ["".join(f"<td>{escape(_text(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _text(cell) -> str:
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)
