"""The picture of a run, the vessel in three dimensions and the speed on a plane; and one field on a plane."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure

from muphy_lb.base.errors import InputError
from muphy_lb.case.output import SPEED
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.operators.viscous_stress import GRADIENT_PAIRS, PAIRS, contracted
from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, shown_unit, suitable_unit
from muphy_lb.output.pictures.cut import AXES, PlaneCut, Sight, best_cut, upright_raster
from muphy_lb.output.pictures.panels import (
    Style,
    add_footer,
    add_panels,
    cut_title,
    draw_cut,
    draw_directions,
    draw_heading,
    draw_length_bar,
    draw_openings,
    draw_scale_in_unit,
    draw_title,
    figure_at,
    make_style,
    mark_mirrors,
)
from muphy_lb.output.pictures.particles import Points, draw_points
from muphy_lb.output.pictures.projection import (
    AT_SURFACE,
    UPRIGHT,
    View,
    Volume,
    Window,
    above,
    best_camera,
    coarse_volume,
    is_rock,
    render,
    render_vessel,
)
from muphy_lb.output.pictures.theme import DARK, Theme

COLOUR_MAP, COLOUR_RANGE = "plasma", (0.12, 0.96)
"""Without the darkest colours, which do not contrast with the background."""
TOP_PERCENTILE = 99.7  # robust against single fast nodes
SKEWED = 0.12  # a square-root scale is used if the median is below this fraction of the top speed
N_RENDER_PIXELS = 980
BEHIND = 0.4  # opacity of the body of the fluid behind particles
ROCK = "speed at the surface of the block, without its front octant\ngrey: grains"
BELOW_SURFACE = "highest speed below the surface"  # as far as the middle of the vessel; at openings the speed itself


@dataclass(frozen=True)
class Presentation:
    """Presentation of a flow in a picture."""

    mirrors: str = ""  #: axes ("x", "y", "z") along which the geometry was mirrored
    #: (n,) values that select the cut as in :func:`muphy_lb.output.pictures.cut.best_cut`
    telling: np.ndarray | None = None
    theme: Theme = DARK  #: the colours
    #: lowest and highest speed of the colours [m/s]; None: up to the top speed, robust against single nodes
    limits: tuple[float, float] | None = None
    sight: Sight | None = None  #: what is up; None: z, and the cut that shows most
    room: NodeList | None = None  #: all nodes of the geometry, where ``sight`` is given and some are without fluid
    points: Points | None = None  #: particles, seen through the fluid


PLAIN = Presentation()


def draw_vessel(
    path: str | os.PathLike, nodes: NodeList, speed_m_s: np.ndarray, title: str = "", how: Presentation = PLAIN
) -> None:
    """Write a PNG of the vessel and the speed of the flow.

    Three dimensions: the shaded vessel, coloured by the highest speed between each point of the wall and the middle of
    the vessel, and the axis-aligned cut that shows most fluid (for a branching vessel the highest speed along an axis).
    Two dimensions (nz = 1): the speed alone.

    Args:
        nodes: the geometry; its openings are marked with arrows and labels.
        speed_m_s: (n,) speed [m/s] in the order of the nodes; non-finite values are replaced by 0.

    Raises OutputError: the file cannot be written.
    """
    with figure_at(path, how.theme) as figure:
        fill_figure(figure, nodes, speed_m_s, title, how)


def fill_figure(figure: Figure, nodes: NodeList, speed_m_s: np.ndarray, title: str, how: Presentation) -> None:
    """Draw the picture of :func:`draw_vessel` on an empty figure."""
    speed_m_s = np.nan_to_num(np.asarray(speed_m_s, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    style = make_style(nodes, SPEED, within(speed_colours(speed_m_s), how.limits))
    if how.sight is None:
        cut = best_cut(nodes, speed_m_s, how.telling)
    else:
        cut = upright_raster(nodes, how.room or nodes, how.sight).image(speed_m_s)
    rock = nodes.shape[0] > 1 and is_rock(nodes)
    if nodes.shape[0] == 1:
        (flat,) = add_panels(figure, [cut.extent_m])
    else:
        view = render_vessel(nodes, speed_m_s, style.colours.to_rgba, N_RENDER_PIXELS, how.sight)
        body, flat = add_panels(figure, [view.extent_m, cut.extent_m])
        draw_view(body, nodes, view if how.points is None else replace(view, image=faint(view.image)), style)
        draw_title(body, (ROCK if rock else BELOW_SURFACE) + (how.points.meaning() if how.points else ""))
        if how.points:
            place_m = how.points.position_m
            draw_points(body, how.points, view.project(place_m) / style.unit_m, place_m @ view.camera[2])
        draw_title(flat, cut_title(cut, style) + _meanings(cut, rock, how.mirrors))
    draw_cut(flat, nodes, cut, style, rock)
    draw_points_on(flat, cut, how.points, style)
    mark_mirrors(flat, nodes, cut, style, how.mirrors)
    draw_speed_scale(figure, style)
    draw_heading(figure, title, _facts(nodes, float(speed_m_s.max())))


def faint(image: np.ndarray) -> np.ndarray:
    """RGBA of an image behind particles."""
    return image * (1.0, 1.0, 1.0, BEHIND)


def draw_points_on(axes: Axes, cut: PlaneCut, points: Points | None, style: Style) -> None:
    """Draw all particles on a cut, whatever their distance from it."""
    if points is not None:
        draw_points(axes, points, points.position_m[:, list(cut.in_plane)] / style.unit_m)


def _meanings(cut: PlaneCut, rock: bool, mirrors: str) -> str:
    if rock:
        return "\ngrey: grains" + "; dashed: mirror plane" * any(AXES.index(name) in cut.in_plane for name in mirrors)
    if cut.room is not None:
        return "\ngrey: solid" * (not cut.room.all())
    return "\ngrey: fluid before or behind" * bool(np.any(cut.shadow & np.isnan(cut.values)))


def speed_colours(speed_m_s: np.ndarray) -> ScalarMappable:
    """The colour scale for these speeds."""
    top = float(np.percentile(speed_m_s, TOP_PERCENTILE)) or float(speed_m_s.max(initial=0.0)) or 1.0
    skewed = np.median(speed_m_s) < SKEWED * top
    scale = PowerNorm(0.5, 0.0, top, clip=True) if skewed else Normalize(0.0, top, clip=True)
    return ScalarMappable(scale, ListedColormap(colormaps[COLOUR_MAP](np.linspace(*COLOUR_RANGE, 256))))


def within(colours: ScalarMappable, limits: tuple[float, float] | None) -> ScalarMappable:
    """The same colours, evenly between two limits where they are given."""
    return colours if limits is None else ScalarMappable(Normalize(*limits, clip=True), colours.get_cmap())


def draw_view(axes: Axes, nodes: NodeList, view: View, style: Style) -> None:
    """Draw the rendered vessel with openings, scale bar and axis directions."""
    extent: Any = np.asarray(view.extent_m) / style.unit_m
    axes.imshow(view.image, origin="lower", extent=extent, interpolation="antialiased", zorder=2)
    axes.set_axis_off()
    marks = []
    for opening in nodes.openings:
        centre_m, normal = view.project(opening.centre_m), view.project(opening.normal)
        if np.isinf(opening.radius_m):  # the mark of a whole face lies outside the vessel
            centre_m = view.beyond_body(centre_m, -normal)
        marks.append((centre_m / style.unit_m, normal))
    draw_openings(axes, extent, nodes.openings, marks, style)
    add_footer(axes)
    draw_length_bar(axes, style.unit)
    draw_directions(axes, view.camera, at_top=False)


def draw_speed_scale(figure: Figure, style: Style) -> None:
    """Draw the colour bar, in a unit suitable for the top speed."""
    remark = ", square-root scale" if isinstance(style.colours.norm, PowerNorm) else ""
    draw_scale_in_unit(figure, style.colours, "speed", "m/s", "max", remark)


def _facts(nodes: NodeList, top_speed_m_s: float) -> tuple[str, ...]:
    unit, unit_m = suitable_unit(LENGTH_UNITS, nodes.spacing_m, SMALLEST_LENGTH)
    speed_unit, unit_m_s = shown_unit("m/s", top_speed_m_s)
    return (
        f"{nodes.n_nodes:,} fluid nodes",
        f"spacing {nodes.spacing_m / unit_m:.4g} {unit}",
        f"top speed {top_speed_m_s / unit_m_s:.3g} {speed_unit}",
    )


PLANE_COLOURS = "viridis"
SHARES = (0.3, 99.7)  # percentiles that the colours reach from and to: robust against single nodes


@dataclass(frozen=True)
class Shown:
    """The quantity that a slice shows."""

    name: str  #: of the quantity
    unit: str  #: its SI unit
    colours: ScalarMappable  #: of its values
    title: str = ""  #: heading
    facts: tuple[str, ...] = ()  #: the line below it
    mirrors: str = ""  #: axes ("x", "y", "z") along which the geometry was mirrored
    #: whether what is solid is that of a rock; None: it is found out, which takes a look at all nodes
    grains: bool | None = None
    points: Points | None = None  #: particles, drawn whatever their distance from the plane


def fill_slice(figure: Figure, nodes: NodeList, cut: PlaneCut, shown: Shown) -> None:
    """Draw a slice on an empty figure."""
    style = make_style(nodes, shown.name, shown.colours)
    (panel,) = add_panels(figure, [cut.extent_m])
    grains = nodes.shape[0] > 1 and is_rock(nodes) if shown.grains is None else shown.grains
    draw_cut(panel, nodes, cut, style, grains)
    draw_points_on(panel, cut, shown.points, style)
    mark_mirrors(panel, nodes, cut, style, shown.mirrors)
    meaning = shown.points.meaning() if shown.points else ""
    if nodes.shape[0] > 1 or meaning:
        draw_title(panel, (cut_title(cut, style) if nodes.shape[0] > 1 else "") + meaning)
    if shown.name == SPEED:
        draw_speed_scale(figure, style)
    else:
        draw_scale_in_unit(figure, style.colours, shown.name, shown.unit)
    draw_heading(figure, shown.title, shown.facts)


ISOSURFACES = "where the value is {}\nat walls: what lies above the level"
MOST_LEVELS, N_LEVELS = 8, 3
VEILED, GHOST = 0.45, 0.12  # opacity of all isosurfaces but the innermost, and of the geometry around them


def usual_levels(values: np.ndarray) -> tuple[float, ...]:
    """Levels of isosurfaces, evenly between the ends of the values, robust against single nodes."""
    low, high = np.nanpercentile(values, SHARES)
    return tuple((low + (high - low) * np.arange(1, N_LEVELS + 1) / (N_LEVELS + 1)).tolist())


def fill_isosurfaces(
    figure: Figure, nodes: NodeList, values: np.ndarray, levels: Sequence[float], shown: Shown, sight: Sight | None
) -> None:
    """Draw the isosurfaces of a field on an empty figure, each seen through those that enclose it.

    The part of the fluid whose value is at least a level encloses the parts of higher levels, so every ray meets the
    surfaces in the order of the levels.

    Args:
        values: (n,) values of the nodes of a geometry in three dimensions.
        levels: values of the surfaces.
        shown: its colours are those of ``values``.
        sight: what is up; None: z.
    """
    volume = coarse_volume(nodes, np.nan_to_num(values), is_block=False)
    camera = best_camera(volume.voxels, UPRIGHT if sight is None else sight.turned())
    window = Window.around(volume, camera)

    def seen(body: Volume) -> np.ndarray:
        return render(body, window, shown.colours.to_rgba, N_RENDER_PIXELS, deepest=AT_SURFACE).image

    whole = render(volume, window, shown.colours.to_rgba, N_RENDER_PIXELS)
    image, opacity = np.zeros_like(whole.image), 1.0
    for level in sorted(levels, reverse=True):
        image, opacity = over(seen(above(volume, level)), image, opacity), VEILED
    grey = whole.image.copy()
    grey[..., :3] = grey[..., :3].mean(axis=-1, keepdims=True)
    view = replace(whole, image=over(grey, image, GHOST))
    style = make_style(nodes, shown.name, shown.colours)
    (panel,) = add_panels(figure, [view.extent_m])
    draw_view(panel, nodes, view, style)
    name, size = shown_unit(shown.unit, max(map(abs, levels)))
    told = ", ".join(f"{level / size:.4g}" for level in sorted(levels))
    draw_title(panel, ISOSURFACES.format(f"{told} {name}".strip()))
    draw_scale_in_unit(figure, style.colours, shown.name, shown.unit)
    draw_heading(figure, shown.title, shown.facts)


def over(front: np.ndarray, back: np.ndarray, opacity: float) -> np.ndarray:
    """(rows, columns, 4) RGBA of an image, made translucent, in front of another."""
    alpha = opacity * front[..., 3:]
    both = alpha + (1.0 - alpha) * back[..., 3:]
    colour = alpha * front[..., :3] + (1.0 - alpha) * back[..., 3:] * back[..., :3]
    return np.concatenate((colour / np.maximum(both, 1e-9), both), axis=-1)


SHEAR = MappingProxyType({"stress": ("shear_stress", 0.5), "strain_rate": ("shear_rate", 2.0)})
"""Name of the magnitude of each tensor, and its square over T:T."""


def as_scalar(field: str, values: np.ndarray, component: str | None = None) -> tuple[str, np.ndarray]:
    """Name and (n,) values of what is drawn of a field: of vectors the magnitude, of tensors that of the fields
    ``shear_stress`` and ``shear_rate``, unless a component is chosen. Raises InputError: a component that the field
    does not have."""
    if values.ndim == 1:
        if component is not None:
            raise InputError(f"plot: {field} has no components; leave component = {component!r} out")
        return field, values
    is_tensor = values.shape[1] == len(PAIRS)
    names = {len(each): each for each in (tuple(AXES), PAIRS, GRADIENT_PAIRS)}[values.shape[1]]
    if component is not None:
        if component not in names:
            raise InputError(f"plot: component is {component!r}; allowed of {field}: {', '.join(names)}")
        told = f"{field} along {component}" if len(names) == len(AXES) else f"{field} {component}"
        return told, values[:, names.index(component)]
    if is_tensor:
        name, share = SHEAR[field]
        return name, np.sqrt(share * contracted(values.T))
    return SPEED if field == "velocity" else f"{field} (magnitude)", np.linalg.norm(values, axis=1)


def slice_colours(
    name: str, values: np.ndarray, cut: PlaneCut, limits: tuple[float, float] | None = None
) -> ScalarMappable:
    """The colours of a slice: up to the top speed of all nodes, or what the values of its own plane reach from and to.

    Args:
        values: (n,) values of all nodes.
        cut: those that are drawn.
        limits: lowest and highest value of the colours; None: robust against single nodes.
    """
    return within(speed_colours(values) if name == SPEED else _colours(cut.values), limits)


def field_colours(name: str, values: np.ndarray, limits: tuple[float, float] | None = None) -> ScalarMappable:
    """The colours of a field in space; the arguments are those of :func:`slice_colours`."""
    return within(speed_colours(values) if name == SPEED else _colours(values), limits)


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
