"""Common parts of the images of a run: layout and heading, panels with a cut, and suitable units."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, VECTOR_FORMATS, shown_unit, suitable_unit
from muphy_lb.output.pictures.cut import AXES, PlaneCut
from muphy_lb.output.pictures.marks import draw_opening, fit_labels, frame, style_axes
from muphy_lb.output.pictures.theme import DARK, Theme, ThemedFigure, theme_of

WIDTH_IN, HEADER_IN, FOOTER_IN = 13.0, 1.25, 0.65
PANELS_WIDTH_IN, PANELS_HEIGHT_IN = 10.5, (3.0, 6.0)
DPI = 150
GRAINS = "#6b7079"
WIDE = 1.9  # panels of a larger aspect ratio are stacked
MAX_TITLE_LENGTH = 70  # characters
MANY_OPENINGS = 30  # with more openings, only arrows are drawn
N_TICKS = 6
SIDES = {"left": 0.05, "right": 0.9}
SCALE_AREA = (0.93, 0.2, 0.012, 0.55)
GAP_BESIDE, SCALE_WIDTH, SCALE_HEIGHT = 0.04, 0.024, 0.76  # of the colour bar of a square panel, in edges


@dataclass(frozen=True)
class Style:
    """Style of all panels: quantity and colours, length unit and its size [m], label of each opening by name."""

    quantity: str
    colours: ScalarMappable
    unit: str
    unit_m: float
    labels: Mapping[str, str]


def make_style(
    nodes: NodeList,
    quantity: str,
    colours: ScalarMappable,
    labels: Mapping[str, str] | None = None,
    openings: Sequence[Opening] = (),
) -> Style:
    """The style for a geometry; openings, by default its own, without a text in ``labels`` show their names."""
    unit, unit_m = suitable_unit(LENGTH_UNITS, max(nodes.shape) * nodes.spacing_m, SMALLEST_LENGTH)
    names = [opening.name for opening in openings or nodes.openings]
    texts = {name: (labels or {}).get(name, name) if len(names) <= MANY_OPENINGS else "" for name in names}
    return Style(quantity, colours, unit, unit_m, texts)


@contextmanager
def figure_at(path: str | os.PathLike, theme: Theme = DARK) -> Iterator[Figure]:
    """An empty figure that is written when the context ends: in the format that the ending of its path names, a PNG
    without one, and in the other formats of its theme.

    Raises:
        OutputError: the file cannot be written.
    """
    figure = ThemedFigure(theme, dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    yield figure
    with atomic_write(path) as temporary:
        if (ending := Path(path).suffix.removeprefix(".").lower()) in VECTOR_FORMATS:
            figure.savefig(temporary, format=ending)
        else:
            canvas.print_png(temporary)
    for ending in theme.formats:
        with atomic_write(Path(path).with_suffix(f".{ending}")) as temporary:
            figure.savefig(temporary, format=ending)


def add_panels(figure: Figure, extents: list[tuple[float, ...]]) -> list[Axes]:
    """Add one panel per extent (left, right, bottom, top), in proportion to it: side by side, or wide ones stacked.

    Sets the height of the figure accordingly.
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


def draw_cut(axes: Axes, nodes: NodeList, cut: PlaneCut, style: Style, grains: bool = False) -> None:
    """Draw the values of the cut over the silhouette of the vessel; with ``grains``, or where room without fluid is
    known, over a grey block of solid."""
    extent, room = np.asarray(cut.extent_m) / style.unit_m, cut.shadow if cut.room is None else cut.room
    layers = [(np.ones(room.shape, dtype=bool), GRAINS)] if grains or cut.room is not None else []
    layers += [] if grains and cut.room is None else [(room, theme_of(axes).shadow)]
    for there, colour in layers:
        flat = {"cmap": ListedColormap([colour]), "interpolation": "nearest"}
        axes.imshow(np.where(there, 1.0, np.nan), origin="lower", extent=extent, **flat)
    image = axes.imshow(cut.values, origin="lower", extent=extent, interpolation="nearest")
    image.set(norm=style.colours.norm, cmap=style.colours.cmap)
    in_plane = list(cut.in_plane)
    near = _near(nodes.openings, cut, nodes.spacing_m)
    marks = [(np.asarray(o.centre_m)[in_plane] / style.unit_m, np.asarray(o.normal)[in_plane]) for o in near]
    draw_openings(axes, extent, near, marks, style)
    style_axes(axes, [f"{AXES[i]} [{style.unit}]" for i in in_plane])
    if cut.is_downwards:
        axes.invert_yaxis()


def cut_title(cut: PlaneCut, style: Style) -> str:
    """Text: the position of the cut."""
    if cut.position_m is None:
        return f"highest {style.quantity} along {AXES[cut.axis]}"
    return f"cut at {AXES[cut.axis]} = {cut.position_m / style.unit_m:.3g} {style.unit}"


def mark_mirrors(axes: Axes, nodes: NodeList, cut: PlaneCut, style: Style, mirrors: str) -> None:
    """Draw the planes in the middle of the box in which it was mirrored, as far as they cross the cut."""
    for axis in (AXES.index(name) for name in mirrors if AXES.index(name) in cut.in_plane):
        middle_m = nodes.origin_m[axis] + 0.5 * nodes.spacing_m * (nodes.shape[2 - axis] - 1)
        draw = axes.axvline if axis == cut.in_plane[0] else axes.axhline
        draw(middle_m / style.unit_m, color=theme_of(axes).foreground, linestyle="--", linewidth=1.0, alpha=0.8)


def draw_openings(axes: Axes, extent: np.ndarray, openings, marks, style: Style) -> None:
    """Set the limits of the panel around ``extent`` and mark each opening at its (centre, normal)."""
    frame(axes, extent, marks, [style.labels[opening.name] for opening in openings])
    taken: list[np.ndarray] = []
    for opening, (centre, normal) in zip(openings, marks, strict=True):
        draw_opening(axes, opening.kind, centre, normal, style.labels[opening.name], taken)
    fit_labels(axes)


def draw_scale(figure: Figure, colours: ScalarMappable, label: str, extend: str = "neither") -> Colorbar:
    """Draw the colour bar to the right of the panels, adjacent to a single one."""
    panels = figure.get_axes()
    area = _beside(panels[0]) if len(panels) == 1 else figure.add_axes(SCALE_AREA)
    bar = figure.colorbar(colours, cax=area, extend=extend)
    bar.set_label(label, color=theme_of(figure).foreground, fontsize=11)
    bar.ax.tick_params(colors=theme_of(figure).foreground, labelsize=9)
    bar.outline.set_visible(False)
    return bar


def draw_scale_in_unit(
    figure: Figure, colours: ScalarMappable, quantity: str, unit: str, extend: str = "both", remark: str = ""
) -> Colorbar:
    """Draw the colour bar of a quantity in SI, whose numbers are in a unit that suits the largest.

    Args:
        figure: see :func:`draw_scale`, as ``colours`` and ``extend``.
        quantity: name for the label.
        unit: its SI unit.
        remark: end of the label.
    """
    low, high = colours.norm.vmin, colours.norm.vmax
    name, size = shown_unit(unit, max(abs(low), abs(high)))
    bar = draw_scale(figure, colours, f"{quantity}{'' if unit == '1' else f' [{name}]'}{remark}", extend)
    ticks = np.asarray(MaxNLocator(N_TICKS).tick_values(low / size, high / size))
    digits = 2 + int(np.ceil(np.log10(np.abs(ticks).max() / (ticks[1] - ticks[0]))))
    bar.formatter = FuncFormatter(lambda value, _: f"{value / size:.{digits}g}")
    bar.set_ticks(size * ticks[(ticks * size >= low) & (ticks * size <= high)])
    return bar


def draw_heading(figure: Figure, title: str, facts: tuple[str, ...]) -> None:
    """Draw the title and one line of facts."""
    height_in = figure.get_figheight()
    left = SIDES["left"] - 0.02
    line = 1.0 - 0.4 / height_in
    below = 1.0 - 0.7 / height_in
    heading = shorten(title, MAX_TITLE_LENGTH, placeholder=" ...")
    words = figure.text(left, line, heading, color=theme_of(figure).foreground, fontsize=17, weight="bold", va="center")
    words.set_parse_math(False)
    figure.text(left, below, "   ·   ".join(facts), color=theme_of(figure).faint, fontsize=10.5, va="center")


def _beside(panel: Axes) -> Axes:
    """Axes for a colour bar adjacent to a panel, scaled by the square root of the aspect ratio."""
    stretch = float(np.sqrt(np.ptp(panel.get_ylim()) / np.ptp(panel.get_xlim())))
    left, width = 1.0 + GAP_BESIDE * stretch, SCALE_WIDTH * stretch
    return panel.inset_axes((left, 0.5 * (1.0 - SCALE_HEIGHT), width, SCALE_HEIGHT))


def _near(openings: tuple[Opening, ...], cut: PlaneCut, spacing_m: float) -> list[Opening]:
    """The openings that the plane of the cut intersects; all of them if there is no plane."""
    if cut.position_m is None:
        return list(openings)
    distances_m = [abs(opening.centre_m[cut.axis] - cut.position_m) for opening in openings]
    return [o for o, distance_m in zip(openings, distances_m, strict=True) if distance_m <= o.radius_m + spacing_m]
