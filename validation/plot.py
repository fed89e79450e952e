"""Plots of a validation case as plain data, and their drawing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from muphy_lb.output.charts import png_of

MARKERS, SIZE_IN, DPI = ("o", "s", "^", "D", "v"), (6.4, 4.2), 120
BARS_WIDTH = 0.8  # of all bars at one x
N_LEVELS = 15  # of contour lines


@dataclass(frozen=True)
class Series:
    """A curve, or a set of points: reference solutions are best lines, computed values points."""

    name: str  # in the legend
    # x, y: the coordinates, as many of one as of the other; stored as tuples of numbers
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    # ``"line"``, ``"points"`` or ``"bars"``; bars of several series at one x stand side by side
    style: Literal["line", "points", "bars"] = "line"

    def __post_init__(self):
        """Keep plain numbers, so that a series can be compared and written as text."""
        for name in ("x", "y"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        if len(self.x) != len(self.y):
            raise ValueError(f"series {self.name!r} has {len(self.x)} x and {len(self.y)} y; give as many of each")


@dataclass(frozen=True)
class Plot:
    """A picture of one panel."""

    title: str  # heading
    x_label: str  # x_label, y_label: what the axes show, with units
    y_label: str
    series: tuple[Series, ...]  # what is drawn
    log_x: bool = False  # log_x, log_y: logarithmic axes
    log_y: bool = False
    ticks: tuple[str, ...] = ()  # names of x = 0, 1, 2 and so on; numbers if empty


@dataclass(frozen=True)
class Picture:
    """A picture drawn elsewhere, such as one written by a run."""

    title: str  # what it shows
    png: bytes  # the file


def convergence(title: str, x_label: str, sizes: Sequence[float], errors: Mapping, order: float) -> Plot:
    """Errors against resolution on logarithmic axes, with a line of the expected order. ``title``, ``x_label``: of the
    plot; ``sizes``: resolutions, rising; ``errors``: name of a curve to its errors, one per size; ``order``: expected
    order of convergence; the line passes through the first error of the first curve."""
    first = next(iter(errors.values()))[0]
    points = [Series(name, sizes, values, "points") for name, values in errors.items()]
    line = Series(f"order {order:g}", sizes, [first * (size / sizes[0]) ** -order for size in sizes])
    return Plot(title, x_label, "error", (*points, line), log_x=True, log_y=True)


def draw(plot: Plot | Picture) -> bytes:
    """The plot as a PNG image; a picture is returned unchanged."""
    return plot.png if isinstance(plot, Picture) else png_of(SIZE_IN, partial(_draw_plot, plot), dpi=DPI)


def contours(title: str, values) -> Picture:
    """Lines of equal value of an (n, m) section, the first axis upwards."""
    extent = (0.0, values.shape[1] / max(values.shape), 0.0, values.shape[0] / max(values.shape))

    def draw_lines(axes) -> None:
        filled = axes.imshow(values, origin="lower", extent=extent, cmap="coolwarm", alpha=0.6)
        axes.contour(values, levels=N_LEVELS, colors="k", linewidths=0.7, origin="lower", extent=extent)
        axes.figure.colorbar(filled)
        axes.set(title=title, xlabel="place over the edge", ylabel="place over the edge")

    return Picture(title, png_of(SIZE_IN, draw_lines, dpi=DPI))


def _draw_plot(plot: Plot, axes) -> None:
    for number in range(len(plot.series)):
        _draw_series(axes, plot, number)
    axes.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axes.set_xscale("log" if plot.log_x else "linear")
    axes.set_yscale("log" if plot.log_y else "linear")
    if plot.log_x:
        low, high = axes.get_xlim()
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}" if high < 10.0 * low else "")
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks)
    axes.grid(alpha=0.3, which="both")
    if plot.series:
        axes.legend(fontsize=8)


def _draw_series(axes, plot: Plot, number: int) -> None:
    series = plot.series[number]
    if series.style == "bars":
        width = BARS_WIDTH / len(plot.series)
        shift = (number - 0.5 * (len(plot.series) - 1)) * width
        axes.bar([x + shift for x in series.x], series.y, width, label=series.name)
        return
    look = {"marker": MARKERS[number % len(MARKERS)], "ls": "none", "mfc": "none"}
    axes.plot(series.x, series.y, label=series.name, **(look if series.style == "points" else {}))
