"""Plots of a scaling study: speed-up and efficiency, where the time of a step goes, and the model's prediction."""

import os
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.bench.scaling.predict import Forecast
from muphy_lb.bench.scaling.study import Point

DPI = 150
PAIR_SIZE_IN, SPLIT_SIZE_IN = (11.0, 4.5), (9.0, 5.0)
MARKERS = "osD^vP"
SPLIT_COLOURS = {"compute": "C0", "pack": "C1", "exchange": "C3"}
IDEAL = {"color": "0.5", "linestyle": "--", "linewidth": 1.0}
BAR_WIDTH = 0.8


def draw_scaling(path: str | os.PathLike, groups: Mapping[str, Sequence[Point]], title: str) -> None:
    """Write a PNG: speed-up with the ideal line, and efficiency, against ranks; a line per series. ``path``: the file;
    ``groups``: the points of each series, by its name; ``title``: of the figure. Raises OutputError: the file cannot be
    written."""
    figure = Figure(figsize=PAIR_SIZE_IN, dpi=DPI, layout="constrained")
    left, right = figure.subplots(1, 2)
    ranks = sorted({point.ranks for points in groups.values() for point in points})
    left.plot(ranks, ranks, label="ideal", **IDEAL)
    right.axhline(1.0, **IDEAL)
    for number, (name, points) in enumerate(groups.items()):
        style = {"color": f"C{number}", "marker": MARKERS[number % len(MARKERS)]}
        x = [point.ranks for point in points]
        left.plot(x, [point.speed_up for point in points], label=name, **style)
        right.plot(x, [point.efficiency for point in points], **style)
    left.set(yscale="log", ylabel="speed-up")
    left.set_yticks(ranks, [str(number) for number in ranks])
    left.yaxis.set_minor_locator(NullLocator())
    right.set(ylabel="efficiency a rank")
    right.set_ylim(0.0, max(1.1, right.get_ylim()[1]))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (left, right):
        _dress(axes, "ranks", ranks)
    left.legend()
    figure.suptitle(title, parse_math=False)
    _write(path, figure)


def draw_split(path: str | os.PathLike, groups: Mapping[str, Sequence[Point]], title: str) -> None:
    """Write a PNG: what computing, packing and exchanging take of a step, stacked; a bar per point, and the measured
    step as a line across it. Raises OutputError: the file cannot be written."""
    figure = Figure(figsize=SPLIT_SIZE_IN, dpi=DPI, layout="constrained")
    axes, position, ticks = figure.subplots(), 0.0, {}
    for name, points in groups.items():
        first = position
        for point in points:
            _draw_bar(axes, position, point)
            ticks[position] = str(point.ranks)
            position += 1.0
        axes.text(
            0.5 * (first + position - 1.0), -0.1, name, transform=axes.get_xaxis_transform(), ha="center", va="top"
        )
        position += 0.6
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set(ylabel="ms of a step that each lasts, slowest rank")
    axes.set_title(title, parse_math=False)
    axes.set_ylim(0.0, 1.12 * axes.get_ylim()[1])
    axes.set_xlabel("ranks, by series", labelpad=22)
    for group, colour in SPLIT_COLOURS.items():
        axes.bar(0.0, 0.0, color=colour, label=group)
    axes.plot([], [], color="black", linewidth=1.5, label="whole step as measured")
    axes.legend(ncols=len(SPLIT_COLOURS) + 1, loc="upper right")
    axes.grid(alpha=0.3, axis="y")
    axes.set_axisbelow(True)
    _write(path, figure)


def draw_forecasts(path: str | os.PathLike, forecasts: Sequence[Forecast], title: str) -> None:
    """Write a PNG: predicted speed and efficiency against the number of GPUs, where the flows fit into their memory.
    Raises OutputError: the file cannot be written."""
    figure = Figure(figsize=PAIR_SIZE_IN, dpi=DPI, layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = sorted({item.cards for forecast in forecasts for item in forecast.predictions})
    subjects = list(dict.fromkeys(item.subject for forecast in forecasts for item in forecast.predictions))
    for number, forecast in enumerate(forecasts):
        for subject in subjects:
            chosen = [item for item in forecast.predictions if item.subject == subject and item.fits]
            style = {"color": f"C{number}", "linestyle": ("-", "--")[subjects.index(subject)]}
            style["marker"] = MARKERS[subjects.index(subject)]
            x = [item.cards for item in chosen]
            left.plot(x, [1e-3 * item.mflups for item in chosen], label=f"{subject}: {forecast.name}", **style)
            right.plot(x, [item.efficiency for item in chosen], **style)
    left.set(yscale="log", ylabel="10$^9$ node updates per second")
    right.axhline(1.0, **IDEAL)
    right.set(ylabel="efficiency against a single GPU", ylim=(0.0, 1.1))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (left, right):
        _dress(axes, "GPUs (predicted)", numbers)
    left.legend(fontsize="small")
    figure.suptitle(title, parse_math=False)
    _write(path, figure)


def _draw_bar(axes: Axes, position: float, point: Point) -> None:
    bottom = 0.0
    for group, seconds in point.split_s.items():
        axes.bar(position, 1e3 * seconds, BAR_WIDTH, bottom=bottom, color=SPLIT_COLOURS[group])
        bottom += 1e3 * seconds
    half_width = 0.5 * BAR_WIDTH + 0.06
    axes.plot([position - half_width, position + half_width], [1e3 * point.step_s] * 2, color="black", linewidth=1.5)


def _dress(axes: Axes, name: str, ranks: Sequence[int]) -> None:
    axes.set(xscale="log", xlabel=name)
    axes.set_xticks(ranks, [str(number) for number in ranks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3, which="both")


def _write(path: str | os.PathLike, figure: Figure) -> None:
    canvas = FigureCanvasAgg(figure)
    with atomic_write(path) as temporary:
        canvas.print_png(temporary)
