"""A field on a plane, as a figure: what scripts, the command ``plot`` and films draw."""

import os
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from muphy_lb.base.errors import InputError
from muphy_lb.case.output import SPEED
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.pictures.cut import AXES, PlaneCut
from muphy_lb.output.pictures.panels import (
    add_panels,
    cut_title,
    draw_cut,
    draw_heading,
    draw_scale_in_unit,
    figure_at,
    make_style,
    mark_mirrors,
)
from muphy_lb.output.pictures.projection import is_rock
from muphy_lb.output.pictures.theme import Theme, theme_of
from muphy_lb.output.pictures.vessel import draw_speed_scale, speed_colours, within

PLANE_COLOURS = "viridis"
SHARES = (0.3, 99.7)
"""Percentiles that the colours reach from and to: robust against single nodes."""


@dataclass(frozen=True)
class Shown:
    """What a slice shows.

    Attributes:
        name: of the quantity.
        unit: its SI unit.
        colours: of its values.
        title: heading.
        facts: the line below it.
        mirrors: axes ("x", "y", "z") along which the geometry was mirrored.
        grains: whether what is solid is that of a rock; None: it is found out, which takes a look at all nodes.
    """

    name: str
    unit: str
    colours: ScalarMappable
    title: str = ""
    facts: tuple[str, ...] = ()
    mirrors: str = ""
    grains: bool | None = None


def draw_slice(path: str | os.PathLike, nodes: NodeList, cut: PlaneCut, shown: Shown, theme: Theme) -> None:
    """Write a slice as a picture.

    Raises:
        OutputError: the file cannot be written.
    """
    with figure_at(path, theme) as figure:
        fill_slice(figure, nodes, cut, shown)


def fill_slice(figure: Figure, nodes: NodeList, cut: PlaneCut, shown: Shown) -> None:
    """Draw a slice on an empty figure."""
    style = make_style(nodes, shown.name, shown.colours)
    (panel,) = add_panels(figure, [cut.extent_m])
    grains = nodes.shape[0] > 1 and is_rock(nodes) if shown.grains is None else shown.grains
    draw_cut(panel, nodes, cut, style, grains)
    mark_mirrors(panel, nodes, cut, style, shown.mirrors)
    if nodes.shape[0] > 1:
        panel.set_title(cut_title(cut, style), color=theme_of(panel).faint, fontsize=10, loc="left")
    if shown.name == SPEED:
        draw_speed_scale(figure, style)
    else:
        draw_scale_in_unit(figure, style.colours, shown.name, shown.unit)
    draw_heading(figure, shown.title, shown.facts)


def as_scalar(field: str, values: np.ndarray, component: str | None = None) -> tuple[str, np.ndarray]:
    """Name and (n,) values of what is drawn of a field: of vectors the magnitude, unless a component is chosen.

    Raises:
        InputError: a component of a scalar.
    """
    if component is not None and values.ndim == 1:
        raise InputError(f"plot.slice: {field} has no components; leave component = {component!r} out")
    if values.ndim == 1:
        return field, values
    if component is not None:
        return f"{field} along {component}", values[:, AXES.index(component)]
    return SPEED if field == "velocity" else f"{field} (magnitude)", np.linalg.norm(values, axis=1)


def slice_colours(
    name: str, values: np.ndarray, cut: PlaneCut, limits: tuple[float, float] | None = None
) -> ScalarMappable:
    """The colours of a slice: up to the top speed of all nodes, or what the values of its own plane reach from and to.

    Args:
        name: of the quantity.
        values: (n,) values of all nodes.
        cut: those that are drawn.
        limits: lowest and highest value of the colours; None: robust against single nodes.
    """
    return within(speed_colours(values) if name == SPEED else _colours(cut.values), limits)


def one_scale(name: str, limits: tuple[float, float]) -> ScalarMappable:
    """The colours of all slices of a film, evenly between two limits."""
    return within(speed_colours(np.ones(1)) if name == SPEED else _colours(np.ones(1)), limits)


def reach(name: str, values: np.ndarray) -> tuple[float, float]:
    """Lowest and highest value, robust against single nodes; speed begins at 0."""
    low, high = (float(value) for value in np.nanpercentile(values, SHARES))
    return (0.0 if name == SPEED else low), high


def _colours(values: np.ndarray) -> ScalarMappable:
    low, high = np.nanpercentile(values, SHARES)
    room = 0.0 if high > low else abs(low) or 1.0
    return ScalarMappable(Normalize(low - room, high + room, clip=True), colormaps[PLANE_COLOURS])
