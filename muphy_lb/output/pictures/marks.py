"""Annotations of a panel: arrows and labels of openings, scale bar, axis directions, limits."""

from itertools import count

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from muphy_lb.output.pictures.theme import theme_of

ARROW_LENGTH = 0.07  # this and the following lengths: fractions of the longer side of the panel
GAP = 0.012
BORDER = 0.03
CHARACTER_SIZE = (0.0185, 0.054)  # width and height of a character of a label
LABEL_PT, SMALLEST_PT = 10.5, 6.0
FULL_SIZE_IN = 4.9
"""Longer side of a panel on which a character of a label of full size takes ``CHARACTER_SIZE``."""
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
    axes.annotate("", end, start, arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0}, zorder=5, annotation_clip=False)
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
        axes: the panel.
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
    """Draw a scale bar of a round length in the lower right corner."""
    length = _round_below(BAR_LENGTH * _longer_side(axes))
    right, bottom = axes.get_xlim()[1], axes.get_ylim()[0]
    axes.plot(
        [right - length, right],
        [bottom, bottom],
        color=theme_of(axes).faint,
        lw=3,
        solid_capstyle="butt",
        clip_on=False,
    )
    place = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center", "annotation_clip": False}
    axes.annotate(f"{length:g} {unit}", (right - length / 2, bottom), color=theme_of(axes).faint, **place)


def draw_directions(axes: Axes, camera: np.ndarray, at_top: bool) -> None:
    """Draw the projected x, y, z axes in the lower or upper left corner; ``camera``: (3, 3) right, up, forward."""
    size = 0.05 * _longer_side(axes)
    height = axes.get_ylim()[1] - 1.5 * size if at_top else axes.get_ylim()[0] + size
    base = np.array([axes.get_xlim()[0] + size, height])
    for name, direction in zip("xyz", camera[:2].T, strict=True):
        line = {"arrowstyle": "-", "color": theme_of(axes).faint, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", base + size * direction, base, arrowprops=line, annotation_clip=False)
        axes.text(
            *(base + 1.3 * size * direction), name, color=theme_of(axes).faint, fontsize=9, ha="center", va="center"
        )


def fit_labels(axes: Axes) -> None:
    """Write the labels of the openings of a small panel so small that :func:`frame` has left room for them; the panel
    is where it stays."""
    axes.apply_aspect()
    size_in = max(axes.get_position().size * axes.figure.get_size_inches())
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
    """Write text that starts at ``position`` and extends away from the vessel."""
    sideways = _is_sideways(outwards)
    horizontal = ("left" if outwards[0] > 0 else "right") if sideways else "center"
    vertical = "center" if sideways else ("bottom" if outwards[1] > 0 else "top")
    label = axes.text(*position, text, color=colour, fontsize=LABEL_PT, ha=horizontal, va=vertical, zorder=6)
    label.set(parse_math=False, gid=OPENING_LABEL)
    label.set_path_effects([withStroke(linewidth=3, foreground=theme_of(axes).background)])


def _outwards(normal: np.ndarray) -> np.ndarray:
    """Direction out of the vessel, of length at most 1: an arrow nearly along the line of sight stays short."""
    return -normal / max(np.linalg.norm(normal), 0.3)


def _is_sideways(outwards: np.ndarray) -> bool:
    return bool(abs(outwards[0]) > abs(outwards[1]))


def _longer_side(axes: Axes) -> float:
    """Length of the longer side of a panel in units of its axes."""
    return float(max(np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())))


def _round_below(length: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that does not exceed ``length``."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(ROUND_NUMBERS[ROUND_NUMBERS <= length / power].max() * power)
