"""A quantity on the walls of a vessel in three dimensions: shaded, seen from the front and from behind."""

import os
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from scipy.ndimage import distance_transform_edt

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.pictures import projection
from muphy_lb.output.pictures.panels import add_panels, draw_heading, draw_scale, figure_at, make_style
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
from muphy_lb.output.pictures.theme import DARK, Theme, theme_of
from muphy_lb.output.pictures.vessel import draw_view
from muphy_lb.output.pictures.wall import TOP_PERCENTILE

N_PIXELS = 1100

SIDES_SEEN = ("from the front", "from behind")


@dataclass(frozen=True)
class WallColours:
    """How a quantity on walls is shown.

    Attributes:
        label: its name and unit.
        limits: lowest and highest value of the colours; None: from 0 to the highest, robust against single nodes.
        colour_map: name of matplotlib's.
        facts: what stands below the heading.
        theme: the other colours.
    """

    label: str
    limits: tuple[float, float] | None = None
    colour_map: str = "viridis"
    facts: tuple[str, ...] = ()
    theme: Theme = DARK


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
        how: how it is shown.

    Raises:
        OutputError: the file cannot be written.
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
            axes.set_title(text, color=theme_of(axes).faint, fontsize=10, loc="left")
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
    volume.channels[projection.SPEED] = _smoothed_where(mean.reshape(grid.shape)[tuple(nearest)], has_value)
    volume.channels[projection.GRAIN] = volume.channels[projection.BODY] * smoothed((~has_value).astype(np.float32))
    # Rays end right below the surface: what lies deeper is not of its wall.
    volume.channels[projection.WALL] = 0.0
    return volume


def behind(camera: np.ndarray) -> np.ndarray:
    """(3, 3) right, up, forward of the viewer on the other side, as high above the body."""
    right, forward = -camera[0], camera[2] * (-1.0, -1.0, 1.0)
    return np.stack((right, np.cross(right, forward), forward))


def _smoothed_where(field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A field averaged over neighbours that have a value."""
    weight = smoothed(mask.astype(np.float32))
    return smoothed(np.where(mask, field, 0.0).astype(np.float32)) / np.maximum(weight, np.float32(1e-6))
