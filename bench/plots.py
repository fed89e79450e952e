"""Plots of a comparison: time against size, and the flow on the middle plane as colours and as arrows; and of a scaling
study: speed-up and efficiency, where the time of a step goes, and the model's prediction."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.bench.compare.study import Published, Timing
from muphy_lb.bench.scaling.predict import Forecast
from muphy_lb.bench.scaling.study import Point
from muphy_lb.geometry.nodes import NodeList

DPI, PAIR_SIZE_IN, PLANE_SIZE_IN, SPLIT_SIZE_IN = 150, (11.0, 4.5), (8.0, 6.5), (9.0, 5.0)
MARKERS = "osD^vP"
LINE_STYLES = {"fp64": "-", "fp32": "--", "fp16": ":"}
COLOUR_MAP, SOLID_COLOUR = "viridis", "0.75"
N_ARROWS = 28  # along the longer edge
SPLIT_COLOURS = {"compute": "C0", "pack": "C1", "exchange": "C3"}
PUBLISHED_STYLE: dict[str, Any] = {"color": "0.5", "linestyle": ":", "linewidth": 1.0}
IDEAL: dict[str, Any] = {"color": "0.5", "linestyle": "--", "linewidth": 1.0}
BAR_WIDTH = 0.8


@dataclass(frozen=True)
class Plane:
    """The velocity on the middle plane normal to z."""

    velocity_m_s: np.ndarray  # (ny, nx, 3) velocity (x, y, z) [m/s]; nan where no fluid is
    x_m: np.ndarray  # x_m, y_m: (nx,), (ny,) node centres [m]
    y_m: np.ndarray
    spacing_m: float  # distance between nodes [m]

    @property
    def extent_m(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top of the voxels [m]."""
        half = 0.5 * self.spacing_m
        return self.x_m[0] - half, self.x_m[-1] + half, self.y_m[0] - half, self.y_m[-1] + half

    @property
    def speed_m_s(self) -> np.ndarray:
        """(ny, nx) speed [m/s]; nan where no fluid is."""
        return np.linalg.norm(self.velocity_m_s, axis=-1)


def middle_plane(nodes: NodeList, velocity_m_s: np.ndarray) -> Plane:
    """The plane z = nz // 2 of a flow, as far as there is fluid; the whole flow in two dimensions. ``nodes``: the
    geometry; ``velocity_m_s``: (n, 3) velocity [m/s] in the order of the nodes."""
    coordinates = nodes.coordinates()
    low = coordinates.min(axis=0)
    nx, ny, _ = coordinates.max(axis=0) - low + 1
    chosen = coordinates[:, 2] == nodes.shape[0] // 2
    x, y, _ = (coordinates[chosen] - low).T
    velocity = np.full((ny, nx, 3), np.nan)
    velocity[y, x] = velocity_m_s[chosen]
    x_m, y_m = (nodes.origin_m[i] + nodes.spacing_m * (low[i] + np.arange(count)) for i, count in enumerate((nx, ny)))
    return Plane(velocity, x_m, y_m, nodes.spacing_m)


def draw_times(path: str | os.PathLike, timings: Sequence[Timing], title: str, published: Published) -> None:
    """Write a PNG: seconds per 1000 steps, and node updates per second, against size; a line per backend and precision,
    and the published seconds in grey. Raises OutputError: the file cannot be written."""
    figure, left, right = _pair(title)
    backends = list(dict.fromkeys(timing.backend for timing in timings))
    for backend, precision in dict.fromkeys((timing.backend, timing.precision) for timing in timings):
        chosen = [timing for timing in timings if (timing.backend, timing.precision) == (backend, precision)]
        sizes = [timing.size for timing in chosen]
        number = backends.index(backend)
        style: dict[str, Any] = {"color": f"C{number}", "marker": MARKERS[number], "linestyle": LINE_STYLES[precision]}
        left.loglog(sizes, [t.seconds_per_1000_steps for t in chosen], label=f"{backend}, {precision}", **style)
        right.loglog(sizes, [t.mflups for t in chosen], **style)
    for marker, (backend, seconds) in zip(MARKERS, published.items(), strict=False):
        theirs = {size: taken for size, taken in seconds.items() if size in {timing.size for timing in timings}}
        left.loglog([*theirs], [*theirs.values()], label=f"published, {backend}", marker=marker, **PUBLISHED_STYLE)
    for axes, name in ((left, "time of 1000 steps [s]"), (right, "million node updates per second")):
        _dress(axes, "size [voxels]", sorted({timing.size for timing in timings}))
        axes.set(ylabel=name)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    left.legend()
    _write(path, figure)


def draw_speed(path: str | os.PathLike, plane: Plane, title: str) -> None:
    """Write a PNG of the speed in colours; solids are grey. Raises OutputError: the file cannot be written."""
    figure, axes = _plane_figure(plane, title)
    axes.set_facecolor(SOLID_COLOUR)
    image = axes.imshow(
        plane.speed_m_s, origin="lower", extent=plane.extent_m, interpolation="nearest", cmap=COLOUR_MAP, vmin=0.0
    )
    figure.colorbar(image, label="speed [m/s]")
    _write(path, figure)


def draw_quiver(path: str | os.PathLike, plane: Plane, title: str) -> None:
    """Write a PNG of the velocity as arrows at every so many nodes, coloured by speed; solids are grey. Raises
    OutputError: the file cannot be written."""
    figure, axes = _plane_figure(plane, title)
    solid = np.where(np.isnan(plane.speed_m_s), 1.0, np.nan)
    axes.imshow(solid, origin="lower", extent=plane.extent_m, interpolation="nearest", cmap="gray", vmin=0.0, vmax=1.33)
    stride = -(-max(plane.x_m.size, plane.y_m.size) // N_ARROWS)
    at_y, at_x = (slice(count % stride // 2 + stride // 2, None, stride) for count in (plane.y_m.size, plane.x_m.size))
    x_m, y_m = np.meshgrid(plane.x_m[at_x], plane.y_m[at_y])
    speed_m_s = plane.speed_m_s[at_y, at_x]
    ux, uy, _ = np.moveaxis(plane.velocity_m_s[at_y, at_x], -1, 0)
    fluid = np.isfinite(speed_m_s)
    longest = float(np.hypot(ux, uy)[fluid].max(initial=0.0)) or 1.0
    look: dict[str, Any] = {"angles": "xy", "pivot": "mid", "clim": (0.0, None), "cmap": COLOUR_MAP}
    scale: dict[str, Any] = {"scale_units": "xy", "scale": longest / (stride * plane.spacing_m)}
    arrows = axes.quiver(*(values[fluid] for values in (x_m, y_m, ux, uy, speed_m_s)), **look, **scale)
    figure.colorbar(arrows, label="speed [m/s]")
    _write(path, figure)


def _plane_figure(plane: Plane, title: str) -> tuple[Figure, Axes]:
    """A figure with one panel that covers the plane, axes in metres."""
    figure = Figure(figsize=PLANE_SIZE_IN, dpi=DPI, layout="constrained")
    axes = figure.subplots()
    left, right, bottom, top = plane.extent_m
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xlabel="x [m]", ylabel="y [m]")
    axes.set_title(title, parse_math=False)
    axes.ticklabel_format(style="sci", scilimits=(-2, 3))
    return figure, axes


def draw_scaling(path: str | os.PathLike, groups: Mapping[str, Sequence[Point]], title: str) -> None:
    """Write a PNG: speed-up with the ideal line, and efficiency, against ranks; a line per series. ``path``: the file;
    ``groups``: the points of each series, by its name; ``title``: of the figure. Raises OutputError: the file cannot be
    written."""
    figure, left, right = _pair(title)
    ranks = sorted({point.ranks for points in groups.values() for point in points})
    left.plot(ranks, ranks, label="ideal", **IDEAL)
    right.axhline(1.0, **IDEAL)
    for number, (name, points) in enumerate(groups.items()):
        style: dict[str, Any] = {"color": f"C{number}", "marker": MARKERS[number % len(MARKERS)]}
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
    _write(path, figure)


def draw_split(path: str | os.PathLike, groups: Mapping[str, Sequence[Point]], title: str) -> None:
    """Write a PNG: what computing, packing and exchanging take of a step, stacked; a bar per point, and the measured
    step as a line across it. Raises OutputError: the file cannot be written."""
    figure = Figure(figsize=SPLIT_SIZE_IN, dpi=DPI, layout="constrained")
    axes, position, ticks = figure.subplots(), 0.0, {}
    for name, points in groups.items():
        first = position
        for point in points:
            bottom = 0.0
            for group, seconds in point.split_s.items():
                axes.bar(position, 1e3 * seconds, BAR_WIDTH, bottom=bottom, color=SPLIT_COLOURS[group])
                bottom += 1e3 * seconds
            half = 0.5 * BAR_WIDTH + 0.06
            axes.plot([position - half, position + half], [1e3 * point.step_s] * 2, color="black", linewidth=1.5)
            ticks[position] = str(point.ranks)
            position += 1.0
        below: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "top"}
        axes.text(0.5 * (first + position - 1.0), -0.1, name, **below)
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
    figure, left, right = _pair(title)
    numbers = sorted({item.gpus for forecast in forecasts for item in forecast.predictions})
    subjects = list(dict.fromkeys(item.subject for forecast in forecasts for item in forecast.predictions))
    for number, forecast in enumerate(forecasts):
        for subject in subjects:
            chosen = [item for item in forecast.predictions if item.subject == subject and item.fits]
            style: dict[str, Any] = {"color": f"C{number}", "linestyle": ("-", "--")[subjects.index(subject)]}
            style["marker"] = MARKERS[subjects.index(subject)]
            x = [item.gpus for item in chosen]
            left.plot(x, [1e-3 * item.mflups for item in chosen], label=f"{subject}: {forecast.name}", **style)
            right.plot(x, [item.efficiency for item in chosen], **style)
    left.set(yscale="log", ylabel="10$^9$ node updates per second")
    right.axhline(1.0, **IDEAL)
    right.set(ylabel="efficiency against a single GPU", ylim=(0.0, 1.1))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (left, right):
        _dress(axes, "GPUs (predicted)", numbers)
    left.legend(fontsize="small")
    _write(path, figure)


def _pair(title: str) -> tuple[Figure, Axes, Axes]:
    figure = Figure(figsize=PAIR_SIZE_IN, dpi=DPI, layout="constrained")
    figure.suptitle(title, parse_math=False)
    return figure, *figure.subplots(1, 2)


def _dress(axes: Axes, name: str, ranks: Sequence[int]) -> None:
    axes.set(xscale="log", xlabel=name)
    axes.set_xticks(ranks, [str(number) for number in ranks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3, which="both")


def _write(path: str | os.PathLike, figure: Figure) -> None:
    canvas = FigureCanvasAgg(figure)
    with atomic_write(path) as temporary:
        canvas.print_png(temporary)
