"""One picture of a run: the vessel in three dimensions beside the speed on a flat image."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import shorten

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from geometry.nodes import NodeList
from geometry.voxels import Opening
from muphy_lb.output.atomic import atomic_write
from muphy_lb.output.cut import AXES, Cut, best_cut
from muphy_lb.output.marks import (
    BACKGROUND,
    FAINT,
    FOREGROUND,
    draw_directions,
    draw_length_bar,
    draw_opening,
    dress_axes,
    frame,
)
from muphy_lb.output.projection import View, render_vessel

WIDTH_IN, HEADER_IN, FOOTER_IN = 13.0, 0.95, 0.65
PANELS_WIDTH_IN, PANELS_HEIGHT_IN = 10.5, (3.0, 6.0)
DPI = 150
SHADOW = "#232c40"
COLOUR_MAP, COLOUR_RANGE = "plasma", (0.12, 0.96)  # the darkest colours would be lost on the background
TOP_PERCENTILE = 99.7  # single fast nodes must not darken the rest
SKEWED = 0.12  # median below this part of the top speed: a square-root scale shows more
N_RENDER_PIXELS = 980
WIDE = 1.9  # panels wider than this lie one above the other
MOST_LETTERS = 70  # of a title in one line
MANY_OPENINGS = 30  # beyond this only arrows are drawn
LENGTH_UNITS = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6))
SPEED_UNITS = (("m/s", 1.0), ("mm/s", 1e-3), ("µm/s", 1e-6))
SMALLEST_LENGTH, SMALLEST_SPEED = 1.0, 0.01  # in a unit that is still readable
SIDES = {"left": 0.05, "right": 0.9}
SCALE_AREA = (0.93, 0.2, 0.012, 0.55)


@dataclass(frozen=True)
class Style:
    """What panels share: colours of speeds [m/s], unit of lengths and its size [m], text of each opening by name."""

    colours: ScalarMappable
    unit: str
    unit_m: float
    labels: Mapping[str, str]


def draw_vessel(
    path: str | os.PathLike,
    nodes: NodeList,
    speed_m_s: np.ndarray,
    title: str = "",
    labels: Mapping[str, str] | None = None,
) -> None:
    """Write a PNG of the vessel and its speed.

    Three dimensions: the shaded vessel, coloured by the highest speed behind each point of the wall, and the
    axis-aligned cut that shows most fluid (for a branching vessel the highest speed along an axis). Two dimensions
    (nz = 1): the speed alone.

    Args:
        path: the PNG file.
        nodes: the geometry; its openings are marked with arrows and labels.
        speed_m_s: (n,) speed [m/s] in the order of the nodes; what is not finite counts as 0.
        title: heading.
        labels: text shown at an opening instead of its name, by name (for instance with its flow rate).

    Raises:
        OutputError: the file cannot be written.
    """
    speed_m_s = np.nan_to_num(np.asarray(speed_m_s, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    style = _style(nodes, speed_m_s, labels or {})
    figure = Figure(dpi=DPI, facecolor=BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    cut = best_cut(nodes, speed_m_s)
    if nodes.shape[0] == 1:
        (flat,) = _panels(figure, [cut.extent_m])
        _draw_cut(flat, nodes, cut, style)
    else:
        view = render_vessel(nodes, speed_m_s, style.colours.to_rgba, N_RENDER_PIXELS)
        solid, flat = _panels(figure, [view.extent_m, cut.extent_m])
        _draw_view(solid, nodes, view, style)
        _draw_cut(flat, nodes, cut, style)
    _draw_speed_scale(figure, style)
    _draw_heading(figure, nodes, speed_m_s, title)
    with atomic_write(path) as temporary:
        canvas.print_png(temporary)


def _style(nodes: NodeList, speed_m_s: np.ndarray, labels: Mapping[str, str]) -> Style:
    """Colour scale and units that suit the numbers."""
    top = float(np.percentile(speed_m_s, TOP_PERCENTILE)) or float(speed_m_s.max(initial=0.0)) or 1.0
    skewed = np.median(speed_m_s) < SKEWED * top
    scale = PowerNorm(0.5, 0.0, top, clip=True) if skewed else Normalize(0.0, top, clip=True)
    colours = ListedColormap(colormaps[COLOUR_MAP](np.linspace(*COLOUR_RANGE, 256)))
    unit, unit_m = _fitting(LENGTH_UNITS, max(nodes.shape) * nodes.spacing_m, SMALLEST_LENGTH)
    names = [opening.name for opening in nodes.openings]
    texts = {name: labels.get(name, name) if len(names) <= MANY_OPENINGS else "" for name in names}
    return Style(ScalarMappable(scale, colours), unit, unit_m, texts)


def _fitting(units: tuple[tuple[str, float], ...], value: float, smallest: float) -> tuple[str, float]:
    """Name and size of the largest unit in which ``value`` is not tiny; the smallest where it is in all."""
    return next((row for row in units if value >= smallest * row[1]), units[-1])


def _panels(figure: Figure, extents: list[tuple[float, ...]]) -> list[Axes]:
    """One panel per extent (left, right, bottom, top) in proportion to it: side by side, long ones stacked.

    The height of the figure follows.
    """
    aspects = np.array([(right - left) / (top - bottom) for left, right, bottom, top in extents])
    stacked = aspects.min() > WIDE
    heights_in = PANELS_WIDTH_IN / aspects if stacked else PANELS_WIDTH_IN / np.clip(aspects, 0.5, 2.0).sum()
    height_in = float(np.clip(np.sum(heights_in) + len(aspects) * stacked + 0.6, *PANELS_HEIGHT_IN))
    figure.set_size_inches(WIDTH_IN, height_in + HEADER_IN + FOOTER_IN)
    area = {"bottom": FOOTER_IN, "top": FOOTER_IN + height_in}
    area = {side: value / figure.get_figheight() for side, value in area.items()} | SIDES
    if stacked:
        grid = figure.add_gridspec(len(aspects), 1, height_ratios=1 / aspects + 0.06, hspace=0.2, **area)
    else:
        grid = figure.add_gridspec(1, len(aspects), width_ratios=np.clip(aspects, 0.5, 2.0), wspace=0.14, **area)
    return [figure.add_subplot(cell) for cell in grid]


def _draw_view(axes: Axes, nodes: NodeList, view: View, style: Style) -> None:
    """The vessel in three dimensions, with a scale bar and the directions of the axes."""
    extent = np.asarray(view.extent_m) / style.unit_m
    axes.imshow(view.image, origin="lower", extent=extent, interpolation="antialiased", zorder=2)
    axes.set_axis_off()
    marks = [_place_on_view(opening, view, style) for opening in nodes.openings]
    _draw_openings(axes, extent, nodes.openings, marks, style)
    draw_length_bar(axes, style.unit)
    rows, columns = (edge // 4 for edge in view.image.shape[:2])
    covered = view.image[:, :columns, 3]
    draw_directions(axes, view.camera, at_top=covered[-rows:].mean() < covered[:rows].mean())


def _draw_cut(axes: Axes, nodes: NodeList, cut: Cut, style: Style) -> None:
    """The speed on the cut over the shadow of the whole vessel."""
    extent = np.asarray(cut.extent_m) / style.unit_m
    shadow = np.where(cut.shadow, 1.0, np.nan)
    axes.imshow(shadow, origin="lower", extent=extent, cmap=ListedColormap([SHADOW]), interpolation="nearest")
    image = axes.imshow(cut.speed_m_s, origin="lower", extent=extent, interpolation="nearest")
    image.set(norm=style.colours.norm, cmap=style.colours.cmap)
    in_plane = list(cut.in_plane)
    near = _near(nodes.openings, cut, nodes.spacing_m)
    marks = [(np.asarray(o.centre_m)[in_plane] / style.unit_m, np.asarray(o.normal)[in_plane]) for o in near]
    _draw_openings(axes, extent, near, marks, style)
    dress_axes(axes, [f"{AXES[i]} [{style.unit}]" for i in in_plane])
    if nodes.shape[0] > 1:
        axes.set_title(_cut_title(cut, style), color=FAINT, fontsize=10, loc="left")


def _cut_title(cut: Cut, style: Style) -> str:
    if cut.position_m is None:
        return f"highest speed along {AXES[cut.axis]}"
    return f"cut at {AXES[cut.axis]} = {cut.position_m / style.unit_m:.3g} {style.unit}"


def _place_on_view(opening: Opening, view: View, style: Style) -> tuple[np.ndarray, np.ndarray]:
    """Centre, in units of the axes, and normal of an opening; a whole face gets its mark beside the vessel."""
    centre_m, normal = view.project(opening.centre_m), view.project(opening.normal)
    if np.isinf(opening.radius_m):
        centre_m = view.beyond_body(centre_m, -normal)
    return centre_m / style.unit_m, normal


def _draw_openings(axes: Axes, extent: np.ndarray, openings, marks, style: Style) -> None:
    """Frame the panel around ``extent`` and mark each opening at its (centre, normal)."""
    frame(axes, extent, marks)
    for opening, (centre, normal) in zip(openings, marks, strict=True):
        draw_opening(axes, opening.kind, centre, normal, style.labels[opening.name])


def _near(openings: tuple[Opening, ...], cut: Cut, spacing_m: float) -> list[Opening]:
    """The openings that the plane of the cut passes through; all of them where there is no plane."""
    if cut.position_m is None:
        return list(openings)
    distances_m = [abs(opening.centre_m[cut.axis] - cut.position_m) for opening in openings]
    return [o for o, distance_m in zip(openings, distances_m, strict=True) if distance_m <= o.radius_m + spacing_m]


def _draw_speed_scale(figure: Figure, style: Style) -> None:
    """The colour bar, in the unit that suits the top speed."""
    top = style.colours.norm.vmax
    unit, unit_m_s = _fitting(SPEED_UNITS, top, SMALLEST_SPEED)
    bar = figure.colorbar(style.colours, cax=figure.add_axes(SCALE_AREA), extend="max")
    bar.formatter = FuncFormatter(lambda speed, _: f"{speed / unit_m_s:.3g}")
    bar.set_ticks(unit_m_s * MaxNLocator(6).tick_values(0.0, top / unit_m_s)[:-1])
    bar.set_label(f"speed [{unit}]", color=FOREGROUND, fontsize=11)
    bar.ax.tick_params(colors=FOREGROUND, labelsize=9)
    bar.outline.set_visible(False)


def _draw_heading(figure: Figure, nodes: NodeList, speed_m_s: np.ndarray, title: str) -> None:
    """Title and one line of facts."""
    unit, unit_m = _fitting(LENGTH_UNITS, nodes.spacing_m, SMALLEST_LENGTH)
    speed_unit, unit_m_s = _fitting(SPEED_UNITS, float(speed_m_s.max()), SMALLEST_SPEED)
    facts = (
        f"{nodes.n_nodes:,} fluid nodes",
        f"spacing {nodes.spacing_m / unit_m:.3g} {unit}",
        f"top speed {speed_m_s.max() / unit_m_s:.3g} {speed_unit}",
    )
    height_in = figure.get_figheight()
    left, line, below = SIDES["left"] - 0.02, 1.0 - 0.4 / height_in, 1.0 - 0.7 / height_in
    heading = shorten(title, MOST_LETTERS, placeholder=" ...")
    figure.text(left, line, heading, color=FOREGROUND, fontsize=17, weight="bold", va="center")
    figure.text(left, below, "   ·   ".join(facts), color=FAINT, fontsize=10.5, va="center")
