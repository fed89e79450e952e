"""Pictures of a quantity on walls: of the nodes along each axis, and shaded from the front and from behind."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from scipy.ndimage import distance_transform_edt

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.pictures import projection
from muphy_lb.output.pictures.cut import AXES
from muphy_lb.output.pictures.panels import (
    FOOTER_IN,
    HEADER_IN,
    SCALE_AREA,
    WIDTH_IN,
    Style,
    add_panels,
    draw_heading,
    draw_openings,
    draw_scale,
    draw_title,
    figure_at,
    fit_labels,
    make_style,
    style_axes,
)
from muphy_lb.output.pictures.projection import (
    CoarseGrid,
    Volume,
    Window,
    best_camera,
    is_rock,
    render,
    smoothed,
    volume_on,
)
from muphy_lb.output.pictures.theme import DARK, Theme
from muphy_lb.output.pictures.vessel import draw_view

MAX_PIXELS = 900
TOP_PERCENTILE = 99.0  # robust against single nodes at rims
COLOUR_MAP = "viridis"
UNCOUNTED = "#8a919e"
VIEWS = ((0, 2, 1, -1), (1, 2, 0, 1), (0, 1, 2, 1))  # axes to the right, upwards, of sight; side of the viewer
GAP_IN, LARGEST_HEIGHT_IN = 0.95, 5.0
LARGEST_COLUMN_IN = 8.0  # height of views that lie below each other, the gaps between them included
LARGER = 1.2  # how much larger views must come out below each other than side by side


@dataclass(frozen=True)
class Marks:
    """The marks on the walls."""

    openings: Sequence[Opening] = ()  #: those to be named
    #: (n,) bool, the nodes that the statistics count; the others are grey. All of them if None.
    counted: np.ndarray | None = None
    theme: Theme = DARK  #: the colours
    #: lowest and highest value of the colours; None: from 0 to the highest, robust against single nodes
    limits: tuple[float, float] | None = None
    sight: int | None = None  #: axis 0, 1 or 2 along which the walls are seen; None: along each


NO_MARKS = Marks()


def draw_walls(
    path: str | os.PathLike, nodes: NodeList, values: np.ndarray, what: str, marks: Marks = NO_MARKS
) -> None:
    """Write a picture with views of the walls, at one scale.

    Args:
        path: the file, a PNG unless it ends in another format.
        values: (n,) non-negative quantity; those that are not counted may be nan.
        what: name and unit of the quantity.

    Raises OutputError: the file cannot be written.
    """
    counted = np.ones(values.size, dtype=bool) if marks.counted is None else marks.counted
    known = values[counted] if counted.any() else np.zeros(1)
    top = float(np.percentile(known, TOP_PERCENTILE)) or float(known.max()) or 1.0
    scale = Normalize(*(marks.limits or (0.0, top)), clip=True)
    listed: Any = colormaps[COLOUR_MAP]
    colours = ScalarMappable(scale, ListedColormap(listed.colors))
    style = make_style(nodes, what, colours, openings=marks.openings)
    shown = np.where(counted, values, np.nan)
    sights = (2,) if nodes.shape[0] == 1 else range(3) if marks.sight is None else (marks.sight,)
    views, columns = laid_out([view for view in VIEWS if view[2] in sights], np.ptp(nodes.coordinates(), axis=0) + 1)
    with figure_at(path, marks.theme) as figure:
        panels = [figure.add_subplot(1, len(views), k + 1) for k in range(len(views))]
        for axes, view in zip(panels, views, strict=True):
            _draw_view(axes, nodes, shown, view, style)
            _mark(axes, marks.openings, view, style)
        _arrange(figure, panels, columns)
        bar = draw_scale(figure, colours, what, extend="max")
        bar.ax.set_position(SCALE_AREA)
        name = what.partition(" [")[0]
        n_left_out = int(np.count_nonzero(~counted))
        facts = [f"{counted.size:,} wall nodes"]
        facts += [f"grey: {n_left_out:,} near openings, left out of the statistics"] if n_left_out else []
        draw_heading(figure, name[:1].upper() + name[1:], tuple(facts))


def laid_out(views: list, size: np.ndarray) -> tuple[list, list[list[int]]]:
    """Views as they are, side by side, or lying on their longer sides below each other, with those of less than half
    the length beside them, whichever makes them larger; and the numbers of the views in each column. ``views``: (axis
    to the right, axis upwards, axis of sight, side of the viewer); ``size``: (3,) of what is seen."""
    lying = [(x, y, z, side) if size[x] >= size[y] else (y, x, z, -side) for x, y, z, side in views]
    in_row, in_columns = (np.array([(size[view[0]], size[view[1]]) for view in each]) for each in (views, lying))
    row, is_long = [[k] for k in range(len(views))], 2 * in_columns[:, 0] >= in_columns[:, 0].max()
    columns = [np.flatnonzero(chosen).tolist() for chosen in (is_long, ~is_long) if chosen.any()]
    is_larger = _inches(in_columns, columns) > LARGER * _inches(in_row, row)
    return (lying, columns) if is_larger else (views, row)


def _inches(sizes: np.ndarray, columns: list[list[int]]) -> float:
    """Inches for a length of 1, of panels (width, height) in columns."""
    room_in = WIDTH_IN * (SCALE_AREA[0] - 0.02) - GAP_IN * len(columns)
    heights_in = [LARGEST_HEIGHT_IN if len(each) == 1 else LARGEST_COLUMN_IN - GAP_IN * len(each) for each in columns]
    heights = [sizes[each, 1].sum() for each in columns]
    of_heights = min(room / height for room, height in zip(heights_in, heights, strict=True))
    return float(min(room_in / sum(sizes[each, 0].max() for each in columns), of_heights))


def _draw_view(axes: Axes, nodes: NodeList, values: np.ndarray, view, style: Style) -> None:
    image, there, extent_m = _front_values(nodes, values, view)
    extent: Any = np.asarray(extent_m) / style.unit_m
    grey = np.where(there & np.isnan(image), 1.0, np.nan)
    axes.imshow(grey, origin="lower", extent=extent, cmap=ListedColormap([UNCOUNTED]), interpolation="nearest")
    drawn = axes.imshow(image, origin="lower", extent=extent, interpolation="nearest")
    drawn.set(norm=style.colours.norm, cmap=style.colours.cmap)
    axes.set(xlim=extent[:2], ylim=extent[2:])
    draw_title(axes, f"seen along {AXES[view[2]]}")
    style_axes(axes, [f"{AXES[i]} [{style.unit}]" for i in view[:2]])


def _mark(axes: Axes, openings: Sequence[Opening], view, style: Style) -> None:
    """Mark the openings whose normals do not point along the line of sight."""
    in_plane = list(view[:2])
    seen = [o for o in openings if np.linalg.norm(np.asarray(o.normal)[in_plane]) > 0.3]
    marks = [(np.asarray(o.centre_m)[in_plane] / style.unit_m, np.asarray(o.normal)[in_plane]) for o in seen]
    extent = np.array([*axes.get_xlim(), *axes.get_ylim()])
    draw_openings(axes, extent, seen, marks, style)


def _arrange(figure: Figure, panels: list[Axes], columns: list[list[int]]) -> None:
    """Place the panels in columns, a length in each as long as in the others; sets the height of the figure."""
    sizes = np.array([(np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())) for axes in panels])
    sizes *= _inches(sizes, columns)
    tallest_in = max(sizes[each, 1].sum() + GAP_IN * (len(each) - 1) for each in columns)
    height_in = float(tallest_in + HEADER_IN + FOOTER_IN + 0.3)
    figure.set_size_inches(WIDTH_IN, height_in)
    left_in = GAP_IN
    for each in columns:
        bottom_in = FOOTER_IN
        for number in reversed(each):
            (width, height), place = sizes[number], (left_in / WIDTH_IN, bottom_in / height_in)
            panels[number].set_position((*place, width / WIDTH_IN, height / height_in))
            fit_labels(panels[number])
            bottom_in += height + GAP_IN
        left_in += sizes[each, 0].max() + GAP_IN


def _front_values(nodes: NodeList, values: np.ndarray, view) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """((rows, columns) values of the front nodes, nan where there is none; where there is one; left, right, bottom, top
    [m])."""
    position = nodes.coordinates()[:, view[:3]]
    low, high = position.min(axis=0), position.max(axis=0)
    stride = -(-int((high - low)[:2].max() + 1) // MAX_PIXELS)
    column, row = ((position[:, :2] - low[:2]) // stride).T
    image = np.full((row.max() + 1, column.max() + 1), np.nan)
    there = np.zeros(image.shape, dtype=bool)
    there[row, column] = True
    order = np.argsort(view[3] * position[:, 2], kind="stable")
    image[row[order], column[order]] = values[order]
    left, bottom = np.asarray(nodes.origin_m)[list(view[:2])] + nodes.spacing_m * (low[:2] - 0.5)
    height, width = stride * nodes.spacing_m * np.array(image.shape)
    return image, there, (left, left + width, bottom, bottom + height)


N_PIXELS = 1100

SIDES_SEEN = ("from the front", "from behind")


@dataclass(frozen=True)
class WallColours:
    """Presentation of a quantity on walls."""

    label: str  #: its name and unit
    #: lowest and highest value of the colours; None: from 0 to the highest, robust against single nodes
    limits: tuple[float, float] | None = None
    colour_map: str = "viridis"  #: name of matplotlib's
    facts: tuple[str, ...] = ()  #: what stands below the heading
    theme: Theme = DARK  #: the other colours


def can_be_shaded(nodes: NodeList) -> bool:
    """Whether a geometry is a vessel in three dimensions, whose walls are seen from outside."""
    return nodes.shape[0] > 1 and not is_rock(nodes)


def draw_shaded_walls(
    path: str | os.PathLike, nodes: NodeList, wall: np.ndarray, values: np.ndarray, how: WallColours
) -> None:
    """Write a picture of a vessel whose walls are coloured; parts without a value are grey.

    Args:
        path: the file, a PNG unless it ends in another format.
        nodes: the geometry, a vessel in three dimensions.
        wall: (m,) numbers of the nodes beside walls.
        values: (m,) values there, nan where there is none.

    Raises OutputError: the file cannot be written.
    """
    known = values[np.isfinite(values)]
    top = float(np.percentile(known, TOP_PERCENTILE)) if known.size else 1.0
    limits = how.limits or (0.0, top or 1.0)
    colours = ScalarMappable(Normalize(*limits, clip=True), colormaps[how.colour_map])
    volume = wall_volume(nodes, wall, values)
    front = best_camera(volume.voxels)
    views = [
        render(volume, Window.around(volume, camera), colours.to_rgba, N_PIXELS) for camera in (front, behind(front))
    ]
    style = make_style(nodes, how.label, colours)
    with figure_at(path, how.theme) as figure:
        panels = add_panels(figure, [view.extent_m for view in views])
        for axes, view, text in zip(panels, views, SIDES_SEEN, strict=True):
            draw_view(axes, nodes, view, style)
            draw_title(axes, text)
        draw_scale(figure, colours, how.label, extend="max" if known.size and known.max() > limits[1] else "neither")
        draw_heading(figure, how.label.partition(" [")[0], how.facts)


def wall_volume(nodes: NodeList, wall: np.ndarray, values: np.ndarray) -> Volume:
    """The body of a vessel whose cells have the mean value of the nearest wall nodes."""
    coordinates = nodes.coordinates()
    grid = CoarseGrid.over(coordinates.min(axis=0), coordinates.max(axis=0))
    count = np.bincount(grid.index(*coordinates.T), minlength=np.prod(grid.shape)).reshape(grid.shape)
    volume = volume_on(grid, nodes, count, rock=False)
    index, is_known = grid.index(*coordinates[wall].T), np.isfinite(values)
    each = np.bincount(index, minlength=count.size)
    of_known = np.bincount(index[is_known], minlength=count.size)
    mean = np.bincount(index[is_known], values[is_known], count.size) / np.maximum(of_known, 1)
    nearest = distance_transform_edt((each == 0).reshape(grid.shape), return_distances=False, return_indices=True)
    has_value = (of_known > 0).reshape(grid.shape)[tuple(nearest)]
    known = np.where(has_value, mean.reshape(grid.shape)[tuple(nearest)], 0.0).astype(np.float32)
    weight = np.maximum(smoothed(has_value.astype(np.float32)), np.float32(1e-6))
    volume.channels[projection.SPEED] = smoothed(known) / weight
    volume.channels[projection.GRAIN] = volume.channels[projection.BODY] * smoothed((~has_value).astype(np.float32))
    # Rays end right below the surface: what lies deeper is not of its wall.
    volume.channels[projection.WALL] = 0.0
    return volume


def behind(camera: np.ndarray) -> np.ndarray:
    """(3, 3) right, up, forward of the viewer on the other side, as high above the body."""
    right, forward = -camera[0], camera[2] * (-1.0, -1.0, 1.0)
    return np.stack((right, np.cross(right, forward), forward))
