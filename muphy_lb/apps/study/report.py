"""The files of a study that has ended: ``members.csv``, ``answers.json``, ``report.html``; and its lines for people."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import NamedTuple

from muphy_lb.apps.study.answers import Answer, answers_of_table, dominating
from muphy_lb.apps.study.control_variate import FEWEST, ControlVariate
from muphy_lb.apps.study.maps import Maps, maps_of_table, remove_maps, write_maps
from muphy_lb.apps.study.pictures import map_pictures, pictures
from muphy_lb.apps.study.spread import spreads
from muphy_lb.apps.study.table import Table
from muphy_lb.base.files.atomic import write_text
from muphy_lb.base.version import __version__
from muphy_lb.output.drawing import drawing
from muphy_lb.output.report_html import REPORT_FILE, STYLE, html_image, html_table
from muphy_lb.output.series import write_summary

ANSWERS_FILE = "answers.json"
MOST_PICTURED = 12  # answers with pictures in the report; all are in the tables
MOST_LISTED = 10
ENOUGH = 39  # members from which on a band can hold 95 %
BAND = ("answer", "members", "mean", "standard deviation", "2.5 %", "97.5 %")


class Results(NamedTuple):
    """The results of a study: its answers, and the bands of fields of its members at every point."""

    answers: list[Answer]
    maps: list[Maps]


def results_of(table: Table) -> Results:
    """The results of a study by the order of its table."""
    return Results(answers_of_table(table), list(maps_of_table(table)))


def write_results(table: Table, folder: Path, with_pictures: bool = True) -> Results:
    """Write the files of a study; returns what is in them. Raises OutputError: the disk refuses."""
    results = results_of(table)
    table.write(folder)
    write_summary(folder / ANSWERS_FILE, _record(table, results))
    remove_maps(folder)
    for maps in results.maps:
        write_maps(maps, folder)
    _write_report(table, results, folder, with_pictures)
    return results


def lines(table: Table, results: Results) -> Iterator[str]:
    """The results in a few lines for people."""
    answers = results.answers
    yield from _counts(table, answers)
    for answer in answers:
        band, blocks = answer.band, spreads(table, answer.name)
        for each in blocks:
            what = f"over {each.n} blocks of {each.edge:.0f} voxels"
            yield f"{answer.name} {what}: mean {each.mean:.5g}, standard deviation {each.deviation:.3g}"
        if band is not None and len(blocks) < 2:
            yield (
                f"{answer.name}: mean {_with_error(band.mean, band.mean_error)}, standard deviation"
                f" {_with_error(band.deviation, band.deviation_error)}, 95 % band"
                f" {_with_error(band.low, band.low_error)} to {_with_error(band.high, band.high_error)}"
            )
        yield from _grid_lines(answer, table)
    for maps in results.maps:
        yield from (f"{maps.file}: {each.told}" for each in maps.found)
    yield from _dominating(answers)


def _grid_lines(answer: Answer, table: Table) -> Iterator[str]:
    """Findings of members on other grids, in sentences."""
    if answer.control is not None:
        yield f"{answer.name}: {answer.control.told}"
    elif table.members.asked.section.coarse:
        yield f"{answer.name}: no control variates: they need {FEWEST} pairs of members with answers that differ"
    if answer.grid is not None:
        yield f"{answer.name}: {answer.grid.told}"
    if answer.whole_band is not None:
        low, high = answer.whole_band
        yield f"{answer.name}: with the grid the 95 % band is {low:.5g} to {high:.5g}"


def _dominating(answers: list[Answer]) -> Iterator[str]:
    """The parameters that dominate, in sentences, and why there are none."""
    yield from (dominating(answer) for answer in answers if answer.indices)
    yield from dict.fromkeys(answer.method for answer in answers if not answer.indices)


def _counts(table: Table, answers: list[Answer]) -> Iterator[str]:
    """Number of members that ended, failed, and are doubtful, with reasons."""
    n, failures = table.members.design.n_members, table.failures
    yield f"{int(table.has_ended.sum())} of {n} members ended, {len(failures)} failed, {table.n_missing} are missing"
    alike = defaultdict(list)  # reasons that differ in their numbers alone
    for number, reason in failures.items():
        alike[re.sub(r"[-+]?\d[\d.e+-]*", "", reason)].append(number)
    for numbers in sorted(alike.values(), key=len, reverse=True)[:MOST_LISTED]:
        which = ", ".join(map(str, numbers[:MOST_LISTED])) + (", ..." if len(numbers) > MOST_LISTED else "")
        yield f"failed, {len(numbers)} ({which}): {failures[numbers[0]]}"
    if failures:
        yield "bands and indices are those of the members that ended: they say nothing of values that make a flow fail"
    if doubtful := table.doubtful:
        yield f"{len(doubtful)} members are doubtful by their own verdict, and counted: {doubtful[:MOST_LISTED]}"
    if table.seconds:
        yield f"time by phase: {', '.join(f'{phase} {seconds:.1f} s' for phase, seconds in table.seconds.items())}"
    fewest = min((answer.band for answer in answers if answer.band), key=lambda band: band.n, default=None)
    if fewest is not None and fewest.n < ENOUGH:
        yield f"a band of {fewest.n} members holds {100.0 * fewest.covered:.0f} %, not 95 %; take {ENOUGH} or more"


def _with_error(value: float, error: float) -> str:
    return f"{value:.5g} +- {error:.2g}"


def _record(table: Table, results: Results) -> dict:
    """All results, as JSON-compatible values."""
    return {
        "version": __version__,
        "title": table.members.asked.title,
        "members": table.members.design.n_members,
        "ended": int(table.has_ended.sum()),
        "failed": table.failures,
        "missing": table.n_missing,
        "doubtful": table.doubtful,
        "answers": {answer.name: _answer_record(answer, table) for answer in results.answers},
        "maps": {maps.file: {each.name: each.means for each in maps.found} for maps in results.maps},
    }


def _answer_record(answer: Answer, table: Table) -> dict:
    surface = answer.expansion and {"error": answer.expansion.error, "missed": answer.expansion.missed}
    return {
        "band": answer.band and asdict(answer.band),
        "indices": {index.factor: asdict(index) for index in answer.indices},
        "method": answer.method,
        "surface": surface,
        "grid": answer.grid and asdict(answer.grid) | {"index": answer.grid.index, "band": answer.whole_band},
        "control_variate": answer.control and asdict(answer.control) | _used(answer.control),
        "blocks": [each._asdict() for each in spreads(table, answer.name)],
    }


def _used(control: ControlVariate) -> dict:
    return {"gain": control.gain, "is_used": control.is_used}


def _write_report(table: Table, results: Results, folder: Path, with_pictures: bool) -> None:
    asked, answers = table.members.asked, results.answers
    on_grids = [text for answer in answers for text in _grid_lines(answer, table)]
    page = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(asked.title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(asked.title)}: {len(answers)} answers from {table.members.design.n_members} members</h1>",
        *(f"<p>{escape(text)}</p>" for text in _counts(table, answers)),
        f'<p class="note">muphy_lb {escape(__version__)}</p>',
        "<h2>Answers</h2>",
        html_table(BAND, [_band_row(answer) for answer in answers if answer.band]),
        '<p class="note">Behind +-: the standard error of each number by bootstrap over the members.</p>',
        *(
            [f"<h2>Other grids</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in on_grids)}</ul>"]
            if on_grids
            else []
        ),
        "<h2>What dominates</h2>",
        f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in _dominating(answers))}</ul>",
        *(line for answer in answers for line in _index_lines(answer)),
        *(line for maps in results.maps for line in _map_lines(maps, folder, with_pictures)),
        *(_picture_lines(table, answers) if with_pictures else ()),
        "<h2>Parameters</h2>",
        html_table(("parameter", "key", "distribution"), [_parameter_row(each) for each in asked.section.parameters]),
        *([f"<h2>Case</h2><pre>{escape(asked.case.to_toml(folder))}</pre>"] if asked.case else []),
        "</body></html>\n",
    ]
    write_text(folder / REPORT_FILE, "\n".join(page))


def _band_row(answer: Answer) -> list:
    band = answer.band
    if band is None:
        return [answer.name]
    names = ("mean", "deviation", "low", "high")
    return [answer.name, band.n, *(_with_error(getattr(band, key), getattr(band, f"{key}_error")) for key in names)]


def _index_lines(answer: Answer) -> list[str]:
    if not answer.indices:
        return []
    rows = [
        [each.factor, f"{each.first:.3f}", _bar(each.first_bar), f"{each.total:.3f}", _bar(each.total_bar)]
        for each in sorted(answer.indices, key=lambda index: -index.total)
    ]
    heading = f"<h3>{escape(answer.name)}: {escape(answer.method)}</h3>"
    return [heading, html_table(("parameter", "first order", "95 %", "total", "95 %"), rows)]


def _map_lines(maps: Maps, folder: Path, with_pictures: bool) -> Iterator[str]:
    """The bands at points: a table of their means, and the wall coloured by mean and width of the band."""
    yield f"<h2>At every point: {maps.file}</h2>"
    yield html_table(
        ("field", "unit", *BAND[2:]), [[each.name, each.unit, *each.means.values()] for each in maps.found]
    )
    if with_pictures and maps.is_wall:
        for text, png in map_pictures(maps, folder):
            yield f"<p>{html_image(png, text)}</p>"


def _bar(bar: tuple[float, float]) -> str:
    return f"{bar[0]:.3f} to {bar[1]:.3f}"


def _picture_lines(table: Table, answers: list[Answer]) -> Iterator[str]:
    yield "<h2>Pictures</h2>"
    for answer in [each for each in answers if each.band][:MOST_PICTURED]:
        with drawing(f"a picture of {answer.name}"):
            yield "\n".join(f"<p>{html_image(png, text)}</p>" for text, png in pictures(answer, table))


def _parameter_row(parameter) -> list[str]:
    given = parameter.model_dump(exclude_none=True, exclude_defaults=True)
    hidden = ("name", "key", "values") if parameter.blocks else ("name", "key")  # the crops are many
    rest = {name: value for name, value in given.items() if name not in hidden}
    return [parameter.name, ", ".join(parameter.key), ", ".join(f"{name} {value}" for name, value in rest.items())]
