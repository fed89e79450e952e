"""Curves of a watched run: flow rates, pressures, and how far the criteria for its end are met."""

from collections.abc import Sequence
from html import escape

import numpy as np
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, Div, LogTicker
from bokeh.palettes import Category10_10
from bokeh.plotting import figure

from muphy_lb.base.narrow import triple
from muphy_lb.output.drawing import shown_unit
from muphy_lb.output.pictures.theme import Theme
from muphy_lb.view.messages import Update
from muphy_lb.view.style import CURVES, paint, sheet

MOST_POINTS = 1200  # when there are so many, every other one is dropped
MOST_CURVES = 12


class History:
    """Flow rates, pressures and relative changes over time.

    Attributes:
        openings: names of those with curves.
        n_points: number of points that have come so far.
    """

    def __init__(self, names: Sequence[str] = ()):
        self.openings = tuple(names)[:MOST_CURVES]
        self.n_points = 0
        self._flow: list[tuple[float, ...]] = []
        self._change: list[tuple[float, ...]] = []

    def add(self, update: Update) -> None:
        """Add the points of an update."""
        if update.openings:
            numbers = [number for name in self.openings for number in update.openings[name]]
            self.n_points += _append(self._flow, (update.time_s, *numbers))
        changes = [each for each in update.status.steadiness if each.change is not None]
        if changes:
            self.n_points += _append(self._change, (float(update.step), changes[0].change, changes[0].tolerance))

    def of_openings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k,) times [s], and (n, k) flow rates [m^3/s] and pressures [Pa] of the openings."""
        table = np.array(self._flow).reshape(-1, 1 + 2 * len(self.openings)).T
        return table[0], table[1::2], table[2::2]

    def of_changes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k,) steps, relative changes, and tolerances."""
        return triple(np.array(self._change).reshape(-1, 3).T)


def _append(rows: list, row: tuple) -> bool:
    """Add a row, unless it is as old as the last one; whether it was added. A run that goes back forgets the rows
    behind."""
    while rows and rows[-1][0] > row[0]:
        rows.pop()
    if rows and rows[-1][0] == row[0]:
        return False
    rows.append(row)
    if len(rows) > MOST_POINTS:
        del rows[-2::-2]
    return True


class Curves:
    """The right side of a page; curves appear when there is something to be seen."""

    def __init__(self, names: Sequence[str], theme: Theme):
        self._n_openings = len(names)
        empty: dict[str, list] = {"x": [], **{f"y{k}": [] for k in range(len(names))}}
        self._openings = [ColumnDataSource(empty), ColumnDataSource(empty)]
        self._flow, self._pressure = _plot("t [s]", theme), _plot("t [s]", theme)
        for plot, source in zip((self._flow, self._pressure), self._openings, strict=True):
            for k in range(len(names)):
                plot.line("x", f"y{k}", source=source, color=_colour(k), line_width=2)
        self._change = _plot("step", theme, y_axis_type="log")
        self._change.yaxis.ticker = LogTicker(desired_num_ticks=3, mantissas=[1, 3])
        self._change.title.text = "relative change (dashed: the one asked for)"
        self._changes = ColumnDataSource({"x": [], "change": [], "tolerance": []})
        self._change.line("x", "change", source=self._changes, color=Category10_10[0], line_width=2)
        self._change.line("x", "tolerance", source=self._changes, color=theme.faint, line_dash="dashed")
        said = (f"<span style='color:{_colour(k)}'>&#9632;</span> {escape(name)}" for k, name in enumerate(names))
        legend = Div(text="&ensp;".join(said), width=CURVES[0], stylesheets=[sheet(theme)])
        self.column = column(legend, self._flow, self._pressure, self._change)

    def draw(self, history: History) -> None:
        """Draw all of them again."""
        if self._n_openings:
            times, flows, pressures = history.of_openings()
            _fill(self._flow, self._openings[0], times, flows, "flow rate", "m3/s")
            _fill(self._pressure, self._openings[1], times, pressures, "pressure", "Pa")
        steps, changes, tolerances = history.of_changes()
        self._change.visible = steps.size > 1
        self._changes.data = {"x": steps, "change": changes, "tolerance": tolerances}


def _colour(k: int) -> str:
    return Category10_10[k % len(Category10_10)]


def _plot(label: str, theme: Theme, **options):
    plot = figure(width=CURVES[0], height=CURVES[1], x_axis_label=label, tools="", visible=False, title="", **options)
    plot.toolbar_location = None
    paint(plot, theme)
    return plot


def _fill(plot, source: ColumnDataSource, x: np.ndarray, rows: np.ndarray, name: str, unit: str) -> None:
    shown, size = shown_unit(unit, float(np.abs(rows).max(initial=0.0)))
    plot.title.text, plot.visible = f"{name} [{shown}]", x.size > 1
    source.data = {"x": x, **{f"y{k}": row / size for k, row in enumerate(rows)}}
