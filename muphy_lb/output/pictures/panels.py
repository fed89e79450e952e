"""Common parts of pictures: layout, heading, panels with a cut, marks of openings, scales, curves of a series."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.key_units import name_without_unit, unit_of
from muphy_lb.base.narrow import pair
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.charts import MOST_NAMES
from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, VECTOR_FORMATS, shown_unit, suitable_unit
from muphy_lb.output.pictures.cut import AXES, PlaneCut
from muphy_lb.output.pictures.theme import DARK, Theme, ThemedFigure, theme_of

ARROW_LENGTH = 0.07  # this and the following lengths: fractions of the longer side of the panel
GAP = 0.012
BORDER = 0.03
CHARACTER_SIZE = (0.0185, 0.054)  # width and height of a character of a label
LABEL_PT, SMALLEST_PT = 10.5, 6.0
FULL_SIZE_IN = 4.9  # longer side of a panel on which a character of a label of full size takes ``CHARACTER_SIZE``
OPENING_LABEL = "opening"
FRAMINGS = 8  # arrows and labels grow with the panel that must hold them
BAR_LENGTH, FOOTER = 0.2, 0.12
ROUND_NUMBERS = np.array([1.0, 2.0, 5.0, 10.0])


def draw_opening(
    axes: Axes, kind: str, centre: np.ndarray, normal: np.ndarray, text: str, taken: list[np.ndarray]
) -> None:
    """Draw an arrow into or out of the vessel, and a label at its outer end, or as little above or below as leaves free
    the labels that are there already.

    Args:
        axes: the panel, its limits set.
        kind: ``"inlet"`` or ``"outlet"``.
        centre: (2,) position of the opening in units of the axes.
        normal: (2,) in-plane part of the unit vector into the fluid.
        text: the label; may be empty.
        taken: (2,) positions of the labels so far; the new one is added.
    """
    size = _longer_side(axes)
    outwards = _outwards(normal)
    near, far = centre + GAP * size * outwards, centre + (GAP + ARROW_LENGTH) * size * outwards
    start, end = (far, near) if kind == "inlet" else (near, far)
    arrow = {"arrowstyle": "-|>", "color": theme_of(axes).kinds[kind], "lw": 2.2, "mutation_scale": 16}
    axes.annotate(
        "", tuple(end), tuple(start), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0}, zorder=5, annotation_clip=False
    )
    room = size * np.array([CHARACTER_SIZE[0] * len(text), 0.8 * CHARACTER_SIZE[1]])
    shifts = (sign * 0.4 * room[1] * k for k in count() for sign in (1.0, -1.0))
    at_end = far + GAP * size * outwards
    positions = (at_end + (0.0, shift) for shift in shifts)
    position = next(each for each in positions if not any(np.all(np.abs(each - other) < room) for other in taken))
    taken.append(position)
    _draw_label(axes, text, position, outwards, theme_of(axes).kinds[kind])


def frame(axes: Axes, extent: np.ndarray, openings: list[tuple[np.ndarray, np.ndarray]], texts: list[str]) -> None:
    """Set the limits of a panel so that its content and the marks of its openings fit.

    Args:
        extent: left, right, bottom, top of the content, in units of the axes.
        openings: (centre, normal) of each opening as in :func:`draw_opening`.
        texts: the label of each.
    """
    low, high = np.array(extent[::2]), np.array(extent[1::2])
    size = (high - low).max()
    for _ in range(FRAMINGS):
        corners = [low - BORDER * size, high + BORDER * size]
        for (centre, normal), text in zip(openings, texts, strict=True):
            outwards = _outwards(normal)
            label = centre + (2 * GAP + ARROW_LENGTH) * size * outwards
            room = size * np.array([CHARACTER_SIZE[0] * len(text), CHARACTER_SIZE[1]])
            across = [_is_sideways(outwards), not _is_sideways(outwards)]
            away = np.where(across, np.sign(outwards), 0.0)
            corners += [label + room * (away - 1.0) / 2, label + room * (away + 1.0) / 2]
        (left, bottom), (right, top) = np.min(corners, axis=0), np.max(corners, axis=0)
        size = max(right - left, top - bottom)
    axes.set(xlim=(left, right), ylim=(bottom, top))


def add_footer(axes: Axes) -> None:
    """Extend a panel downwards, for a scale bar and axis directions below all labels."""
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom - FOOTER * _longer_side(axes), top)


def draw_length_bar(axes: Axes, unit: str) -> None:
    """Draw a scale bar in the lower right corner, 1, 2 or 5 times a power of ten long."""
    most = BAR_LENGTH * _longer_side(axes)
    power = 10.0 ** np.floor(np.log10(most))
    length = float(ROUND_NUMBERS[ROUND_NUMBERS <= most / power].max() * power)
    right, bottom = axes.get_xlim()[1], axes.get_ylim()[0]
    line: dict[str, Any] = {"color": theme_of(axes).faint, "lw": 3, "solid_capstyle": "butt", "clip_on": False}
    axes.plot([right - length, right], [bottom, bottom], **line)
    place: dict[str, Any] = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center", "annotation_clip": False}
    axes.annotate(f"{length:g} {unit}", (right - length / 2, bottom), color=theme_of(axes).faint, **place)


def draw_directions(axes: Axes, camera: np.ndarray, at_top: bool) -> None:
    """Draw the projected x, y, z axes in the lower or upper left corner; ``camera``: (3, 3) right, up, forward."""
    size = 0.05 * _longer_side(axes)
    height = axes.get_ylim()[1] - 1.5 * size if at_top else axes.get_ylim()[0] + size
    base = np.array([axes.get_xlim()[0] + size, height])
    for name, direction in zip("xyz", camera[:2].T, strict=True):
        line = {"arrowstyle": "-", "color": theme_of(axes).faint, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", tuple(base + size * direction), tuple(base), arrowprops=line, annotation_clip=False)
        axes.text(
            *pair(base + 1.3 * size * direction), name, color=theme_of(axes).faint, fontsize=9, ha="center", va="center"
        )


def fit_labels(axes: Axes) -> None:
    """Write the labels of the openings of a small panel so small that :func:`frame` has left room for them; the panel
    is where it stays."""
    axes.apply_aspect()
    figure: Any = axes.figure
    size_in = max(axes.get_position().size * figure.get_size_inches())
    for label in axes.texts:
        if label.get_gid() == OPENING_LABEL:
            label.set_fontsize(max(SMALLEST_PT, LABEL_PT * min(1.0, size_in / FULL_SIZE_IN)))


def style_axes(axes: Axes, names: list[str]) -> None:
    """Set a thin frame, faint ticks and the names of the two axes."""
    axes.set_facecolor("none")
    axes.set_xlabel(names[0], color=theme_of(axes).faint)
    axes.set_ylabel(names[1], color=theme_of(axes).faint)
    axes.tick_params(colors=theme_of(axes).faint, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=theme_of(axes).faint, linewidth=0.8)


def _draw_label(axes: Axes, text: str, position: np.ndarray, outwards: np.ndarray, colour: str) -> None:
    sideways = _is_sideways(outwards)
    horizontal = ("left" if outwards[0] > 0 else "right") if sideways else "center"
    vertical = "center" if sideways else ("bottom" if outwards[1] > 0 else "top")
    label = axes.text(*pair(position), text, color=colour, fontsize=LABEL_PT, ha=horizontal, va=vertical, zorder=6)
    label.set(parse_math=False, gid=OPENING_LABEL)
    label.set_path_effects([withStroke(linewidth=3, foreground=theme_of(axes).background)])


def _outwards(normal: np.ndarray) -> np.ndarray:
    """Direction out of the vessel, of length at most 1: an arrow nearly along the line of sight stays short."""
    return -normal / max(np.linalg.norm(normal), 0.3)


def _is_sideways(outwards: np.ndarray) -> bool:
    return bool(abs(outwards[0]) > abs(outwards[1]))


def _longer_side(axes: Axes) -> float:
    return float(max(np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())))


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


def make_style(nodes: NodeList, quantity: str, colours: ScalarMappable, openings: Sequence[Opening] = ()) -> Style:
    """The style for a geometry; openings, by default its own, show their names unless there are many."""
    unit, unit_m = suitable_unit(LENGTH_UNITS, max(nodes.shape) * nodes.spacing_m, SMALLEST_LENGTH)
    names = [opening.name for opening in openings or nodes.openings]
    texts = {name: name if len(names) <= MANY_OPENINGS else "" for name in names}
    return Style(quantity, colours, unit, unit_m, texts)


@contextmanager
def figure_at(path: str | os.PathLike, theme: Theme = DARK) -> Iterator[Figure]:
    """An empty figure that is written when the context ends: in the format that the ending of its path names, a PNG
    without one, and in the other formats of its theme. Raises OutputError: the file cannot be written."""
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
    Sets the height of the figure accordingly."""
    aspects = np.array([(right - left) / (top - bottom) for left, right, bottom, top in extents])
    stacked = aspects.min() > WIDE
    heights_in = PANELS_WIDTH_IN / aspects if stacked else PANELS_WIDTH_IN / np.clip(aspects, 0.5, 2.0).sum()
    height_in = float(np.clip(np.sum(heights_in) + len(aspects) * stacked + 0.6, *PANELS_HEIGHT_IN))
    figure.set_size_inches(WIDTH_IN, height_in + HEADER_IN + FOOTER_IN)
    area = {"bottom": FOOTER_IN, "top": FOOTER_IN + height_in}
    area = {side: value / figure.get_figheight() for side, value in area.items()} | SIDES
    grid: Any
    if stacked:
        grid = figure.add_gridspec(len(aspects), 1, height_ratios=1 / aspects + 0.06, hspace=0.2, **area)
    else:
        grid = figure.add_gridspec(1, len(aspects), width_ratios=np.clip(aspects, 0.5, 2.0), wspace=0.14, **area)
    return [figure.add_subplot(cell) for cell in grid]


def draw_cut(axes: Axes, nodes: NodeList, cut: PlaneCut, style: Style, grains: bool = False) -> None:
    """Draw the values of the cut over the silhouette of the vessel; with ``grains``, or where room without fluid is
    known, over a grey block of solid."""
    extent: Any = np.asarray(cut.extent_m) / style.unit_m
    room = cut.shadow if cut.room is None else cut.room
    layers = [(np.ones(room.shape, dtype=bool), GRAINS)] if grains or cut.room is not None else []
    layers += [] if grains and cut.room is None else [(room, theme_of(axes).shadow)]
    for there, colour in layers:
        flat: dict[str, Any] = {"cmap": ListedColormap([colour]), "interpolation": "nearest"}
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


def draw_title(axes: Axes, text: str) -> None:
    """Write a line above a panel."""
    axes.set_title(text, color=theme_of(axes).faint, fontsize=10, loc="left")


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
    """Draw the colour bar of a quantity in SI, whose numbers are in a unit that suits the largest. ``figure``: see
    :func:`draw_scale`, as ``colours`` and ``extend``; ``remark``: end of the label."""
    norm: Any = colours.norm
    low, high = norm.vmin, norm.vmax
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


PANEL_IN, FOOT_IN = 2.8, 0.7
CURVE_SIDES = {"left": 0.08, "right": 0.8, "hspace": 0.25}


def fill_curves(
    figure: Figure, series: Mapping[str, np.ndarray], title: str, facts: tuple[str, ...] = (), over: str = "time_s"
) -> None:
    """Draw the columns of a series over one of them on an empty figure.

    Args:
        series: columns by name, which ends in the unit; ``step`` and those without a finite value are left out.
        title, facts: heading, and the line below it.
        over: the column, a time in seconds, over which the others are drawn.
    """
    told = {name: y for name, y in series.items() if name not in ("step", over) and np.isfinite(y).any()}
    groups: dict[str, list[str]] = {}
    for name in told:
        groups.setdefault(unit_of(name, {}) or "1", []).append(name)
    height_in = PANEL_IN * len(groups) + HEADER_IN + FOOT_IN
    figure.set_size_inches(WIDTH_IN, height_in)
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    figure.subplots_adjust(bottom=FOOT_IN / height_in, top=1.0 - HEADER_IN / height_in, **CURVE_SIDES)
    across = f"{name_without_unit(over).replace('_', ' ')} [s]"
    for axes, (unit, names) in zip(panels, groups.items(), strict=True):
        shown, size = shown_unit(unit, max(float(np.nanmax(np.abs(told[name]))) for name in names))
        quantity, labels = _worded(names)
        for name, label in zip(names, labels, strict=True):
            axes.plot(series[over], told[name] / size, label=label, linewidth=1.5)
        of_unit = "" if unit == "1" else f" [{shown}]"
        style_axes(axes, [across if axes is panels[-1] else "", f"{quantity}{of_unit}".strip()])
        axes.grid(color=theme_of(axes).shadow, linewidth=0.8)
        if len(names) <= MOST_NAMES:
            words = {"labelcolor": theme_of(axes).foreground, "frameon": False, "fontsize": 9}
            legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), **words)
            for text in legend.get_texts():
                text.set_parse_math(False)
    draw_heading(figure, title, facts)


def _worded(names: Sequence[str]) -> tuple[str, list[str]]:
    """The common words of columns of one unit, and those by which they differ: ``inlet_flow_rate_m3_s`` and
    ``outlet_flow_rate_m3_s`` are flow rates of inlet and outlet."""
    words = [name_without_unit(name).split("_") for name in names]
    n_common = 0
    while all(len(each) > n_common + 1 for each in words) and len({each[-1 - n_common] for each in words}) == 1:
        n_common += 1
    split = [len(each) - n_common for each in words]
    labels = ["_".join(each[:n]) for each, n in zip(words, split, strict=True)]
    return " ".join(words[0][split[0] :]), labels
