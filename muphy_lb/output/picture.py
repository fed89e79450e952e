"""One picture of a run: the vessel in three dimensions beside the speed on a cut."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from geometry.nodes import NodeList
from geometry.voxels import Opening
from muphy_lb.output.atomic import atomic_write
from muphy_lb.output.cut import AXES, Cut, best_cut
from muphy_lb.output.projection import View, render_vessel

SIZE_IN = (13.0, 7.3)
DPI = 150
BACKGROUND, FOREGROUND, FAINT, SHADOW = "#0d1320", "#e8ecf4", "#7d8aa5", "#232c40"
KIND_COLOURS = {"inlet": "#7ee0a1", "outlet": "#ffb36b"}
COLOUR_MAP, COLOUR_RANGE = "plasma", (0.12, 1.0)  # the darkest colours would be lost on the background
TOP_PERCENTILE = 99.7  # single fast nodes must not darken the rest
SKEWED = 0.12  # median below this part of the top speed: a square-root scale shows more
N_RENDER_PIXELS = 980
WIDE = 1.9  # panels wider than this lie one above the other
MANY_OPENINGS = 30  # beyond this only arrows are drawn
ARROW_LENGTH = 0.07  # of the longer side of the panel
LENGTH_UNITS = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6))
SPEED_UNITS = (("m/s", 1.0), ("mm/s", 1e-3), ("µm/s", 1e-6))
AREA = {"left": 0.05, "right": 0.885, "bottom": 0.09, "top": 0.87}
SCALE_AREA = (0.925, 0.2, 0.012, 0.55)


@dataclass(frozen=True)
class Style:
    """What the panels share: colours of speeds [m/s], unit of lengths and its size [m], text of openings by name."""

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
    axis-aligned cut that shows most fluid. Two dimensions (nz = 1): the speed alone.

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
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor=BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    cut = best_cut(nodes, speed_m_s)
    if nodes.shape[0] == 1:
        _draw_cut(figure.add_subplot(figure.add_gridspec(1, 1, **AREA)[0]), nodes, cut, style)
    else:
        view = render_vessel(nodes, speed_m_s, style.colours.to_rgba, N_RENDER_PIXELS)
        left, right = _panels(figure, view, cut)
        _draw_view(left, nodes, view, style)
        _draw_cut(right, nodes, cut, style)
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
    unit, unit_m = _fitting(LENGTH_UNITS, max(nodes.shape) * nodes.spacing_m)
    return Style(ScalarMappable(scale, colours), unit, unit_m, labels)


def _fitting(units: tuple[tuple[str, float], ...], value: float) -> tuple[str, float]:
    """Name and size of the largest unit in which ``value`` is at least 1; the smallest where none is."""
    return next((row for row in units if value >= row[1]), units[-1])


def _panels(figure: Figure, view: View, cut: Cut) -> tuple[Axes, Axes]:
    """Two panels in proportion to what they show: side by side, or one above the other for long vessels."""
    sizes = [(right - left, top - bottom) for left, right, bottom, top in (view.extent_m, cut.extent_m)]
    aspects = [width / height for width, height in sizes]
    if min(aspects) > WIDE:
        grid = figure.add_gridspec(2, 1, height_ratios=[1 / a for a in aspects], hspace=0.12, **AREA)
    else:
        grid = figure.add_gridspec(1, 2, width_ratios=np.clip(aspects, 0.5, 2.0), wspace=0.14, **AREA)
    return figure.add_subplot(grid[0]), figure.add_subplot(grid[1])


def _draw_view(axes: Axes, nodes: NodeList, view: View, style: Style) -> None:
    """The vessel in three dimensions, with a scale bar and the directions of the axes."""
    extent = np.asarray(view.extent_m) / style.unit_m
    axes.imshow(view.image, origin="lower", extent=extent, interpolation="antialiased", zorder=2)
    axes.set_axis_off()
    for opening in nodes.openings:
        centre, normal = (view.project(vector) for vector in (opening.centre_m, opening.normal))
        _draw_opening(axes, opening, centre / style.unit_m, normal, style)
    _draw_length_scale(axes, extent, style)
    _draw_triad(axes, view.camera)


def _draw_cut(axes: Axes, nodes: NodeList, cut: Cut, style: Style) -> None:
    """The speed on the cut over the shadow of the whole vessel."""
    extent = np.asarray(cut.extent_m) / style.unit_m
    shadow = np.where(cut.shadow, 1.0, np.nan)
    axes.imshow(shadow, origin="lower", extent=extent, cmap=ListedColormap([SHADOW]), interpolation="nearest")
    image = axes.imshow(cut.speed_m_s, origin="lower", extent=extent, interpolation="nearest")
    image.set(norm=style.colours.norm, cmap=style.colours.cmap)
    in_plane = list(cut.in_plane)
    for opening in _near(nodes.openings, cut, nodes.spacing_m):
        centre, normal = (np.asarray(vector)[in_plane] for vector in (opening.centre_m, opening.normal))
        _draw_opening(axes, opening, centre / style.unit_m, normal, style)
    _dress(axes, [f"{AXES[i]} [{style.unit}]" for i in in_plane])
    if nodes.shape[0] > 1:
        place = cut.position_m / style.unit_m
        axes.set_title(f"cut at {AXES[cut.axis]} = {place:.3g} {style.unit}", color=FAINT, fontsize=10, loc="left")


def _near(openings: tuple[Opening, ...], cut: Cut, spacing_m: float) -> Iterator[Opening]:
    """The openings that the plane of the cut passes through."""
    for opening in openings:
        if abs(opening.centre_m[cut.axis] - cut.position_m) <= opening.radius_m + spacing_m:
            yield opening


def _draw_opening(axes: Axes, opening: Opening, centre: np.ndarray, normal: np.ndarray, style: Style) -> None:
    """An arrow in or out of the vessel, and the label at its outer end; positions in units of the axes."""
    length = ARROW_LENGTH * max(np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim()))
    outwards = -normal / max(np.linalg.norm(normal), 0.3)  # seen nearly end-on the arrow stays short
    tip, tail = centre + 0.15 * length * outwards, centre + (0.15 * length + length) * outwards
    start, end = (tail, tip) if opening.kind == "inlet" else (tip, tail)
    colour = KIND_COLOURS[opening.kind]
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.2, "mutation_scale": 16, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=arrow, zorder=5, annotation_clip=False)
    n_openings = len(style.labels) or 1
    if n_openings <= MANY_OPENINGS:
        _draw_label(axes, style.labels.get(opening.name, opening.name), tail + 0.15 * length * outwards, outwards, colour)


def _draw_label(axes: Axes, text: str, place: np.ndarray, outwards: np.ndarray, colour: str) -> None:
    """Text that begins at ``place`` and runs away from the vessel."""
    sideways = abs(outwards[0]) > 0.5 * abs(outwards[1])
    horizontal = ("left" if outwards[0] > 0 else "right") if sideways else "center"
    vertical = "center" if sideways else ("bottom" if outwards[1] > 0 else "top")
    label = axes.text(*place, text, color=colour, fontsize=10, ha=horizontal, va=vertical, zorder=6)
    label.set_path_effects([withStroke(linewidth=3, foreground=BACKGROUND)])
