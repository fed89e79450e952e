"""Preview: three orthographic views of a surface or of voxels, with the openings marked and named. Each view is a depth
map: the distance of the first wall from the front of the box, infinite where there is none, shaded by its slope. Depths
of triangles come from a depth buffer, depths of voxels from the first fluid voxel."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import prange

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.openings.find import FoundOpening
from muphy_lb.geometry.surfaces.surface import OddRows, Surface, triangles_of_planes
from muphy_lb.geometry.voxels import FLUID, Voxels

N_PIXELS = 700  # pixels along the longest edge of the box
VIEWS = ((0, 2, 1), (1, 2, 0), (0, 1, 2))  # (axis to the right, axis upwards, viewing axis) of each panel

#: Whether each view is from the lower end of the viewing axis; so chosen that no panel is a mirror image.
FROM_LOW = (True, False, False)
LIGHT = (-0.45, 0.55, 0.7)
DARKEST, LIGHTEST = 0.25, 0.95
WALL_COLOUR = (0.82, 0.85, 0.9)
DOUBTFUL_COLOUR = "#e000c0"
INLET_COLOUR, OUTLET_COLOUR = "#c03020", "#1050b0"
N_RIM = 60
LARGEST_SIZE_IN, DPI = 6.0, 110
BORDER = 0.22  # margin for names around the box, as a fraction of its longest edge
HALF_LABEL_IN = (0.5, 0.15)  # half the width and height of a label [inches]
ARROW = 0.4  # length of an arrow, as a fraction of the margin
HIDDEN = 0.015  # depth, as a fraction of the picture, by which a wall must lie before a point to hide it
FACING = 0.5  # an opening is seen from the front if the part of its normal across the line of sight is at most this

MANY_NAMES = 40
LENGTH_UNITS = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6))


@dataclass(frozen=True)
class View:
    """The input seen along an axis."""

    axes: tuple[int, int, int]  #: (axis to the right, axis upwards, viewing axis)
    from_low: bool  #: whether it is seen from the lower end of the viewing axis
    #: (h, w) distance of the first wall from the front of the box [pixels], infinite where there is none
    depth: np.ndarray
    size: float  #: length of the box along the viewing axis [pixels]
    low_m: np.ndarray  #: lowest corner (x, y, z) of the box [m]
    pixel_m: float  #: edge of a pixel [m]
    odd_rows: OddRows | None = None  #: rows of voxels that give no vote, if voxels are found by votes

    def are_visible(self, points_m: np.ndarray) -> np.ndarray:
        """(n,) bool: whether no wall lies before each of the points (n, 3), by more than HIDDEN of the picture."""
        right, up, along = ((points_m - self.low_m) / self.pixel_m)[:, list(self.axes)].T
        depth = along if self.from_low else self.size - along
        n_rows, n_columns = self.depth.shape
        row = np.clip(up.astype(np.int64), 0, n_rows - 1)
        column = np.clip(right.astype(np.int64), 0, n_columns - 1)
        return depth <= self.depth[row, column] + HIDDEN * max(n_rows, n_columns)


def draw_surface_openings(
    path: str | os.PathLike, surface: Surface, found: Sequence[FoundOpening], title="", odd: OddRows | None = None
) -> None:
    """Write a picture of a surface with its openings, and with the rows that give no vote on its voxels; GeometryError
    if that fails."""
    _write(path, openings_figure(views_of_surface(surface, odd), found, title))


def views_of_surface(surface: Surface, odd: OddRows | None = None) -> list[View]:
    """The views of a surface, and of the rows that give no vote on its voxels."""
    points = surface.points_m
    low, high = points.min(axis=0), points.max(axis=0)
    pixel = float(np.max(high - low)) / N_PIXELS
    size = np.ceil((high - low) / pixel).astype(np.int64) + 1
    views = []
    for axes, is_low in zip(VIEWS, FROM_LOW, strict=True):
        right, up, sight = axes
        corners = ((points[surface.triangles] - low) / pixel)[:, :, [right, up, sight]]
        if not is_low:
            corners[:, :, 2] = size[sight] - corners[:, :, 2]
        depth = _depth_buffer(corners, int(size[right]), int(size[up]))
        views.append(View(axes, is_low, depth, float(size[sight]), low, pixel, odd))
    return views


def draw_voxel_openings(path: str | os.PathLike, voxels: Voxels, found: Sequence[FoundOpening], title="") -> None:
    """Write a PNG of the fluid of an image with its openings; GeometryError if that fails."""
    _write(path, openings_figure(views_of_voxels(voxels), found, title))


def views_of_voxels(voxels: Voxels) -> list[View]:
    """The views of the fluid of an image."""
    first, last = _box_of_fluid(voxels.flags)
    step = -(-int(np.max(last - first)) // N_PIXELS)
    fluid = voxels.flags[tuple(slice(a, b, step) for a, b in zip(first, last, strict=True))] == FLUID
    low, pixel = np.array(voxels.origin_m) + (first[::-1] - 0.5) * voxels.spacing_m, voxels.spacing_m * step
    return [
        View(axes, is_low, _first_fluid(fluid, axes, is_low), float(fluid.shape[2 - axes[2]]), low, pixel)
        for axes, is_low in zip(VIEWS, FROM_LOW, strict=True)
    ]


def shade(depth: np.ndarray) -> np.ndarray:
    """(h, w, 4) RGBA colours of a depth map [pixels]: bright where facing the light, transparent where empty."""
    present = np.isfinite(depth)
    filled = np.where(present, depth, depth[present].max(initial=0.0))
    up, right = (np.gradient(filled, axis=i) if filled.shape[i] > 1 else np.zeros_like(filled) for i in (0, 1))
    facing = (LIGHT[0] * right + LIGHT[1] * up + LIGHT[2]) / np.sqrt(1.0 + right**2 + up**2)
    far = (filled - filled.min()) / max(float(np.ptp(filled)), 1.0)
    light = np.clip(DARKEST + (LIGHTEST - DARKEST) * facing, DARKEST, LIGHTEST) * (1.0 - 0.3 * far)
    colour = light[..., np.newaxis] * np.array(WALL_COLOUR)
    return np.concatenate([np.clip(colour, 0.0, 1.0), present[..., np.newaxis]], axis=2)


def _box_of_fluid(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and end index along (z, y, x) of the bounding box of the fluid; the whole box if there is no fluid."""
    plane = np.zeros(flags.shape[1:], dtype=bool)
    layers = np.zeros(len(flags), dtype=bool)
    for z, layer in enumerate(flags):
        fluid = layer == FLUID
        plane |= fluid
        layers[z] = fluid.any()
    if not plane.any():
        return np.zeros(3, dtype=np.int64), np.array(flags.shape)
    ranges = [np.flatnonzero(axis)[[0, -1]] for axis in (layers, plane.any(axis=1), plane.any(axis=0))]
    return np.array([r[0] for r in ranges]), np.array([r[1] + 1 for r in ranges])


def _first_fluid(fluid: np.ndarray, view: tuple[int, int, int], from_low: bool) -> np.ndarray:
    """(h, w) number of layers in front of the first fluid along the viewing axis, infinite where there is none."""
    right, up, sight = view
    seen = fluid.transpose(2 - up, 2 - right, 2 - sight)[:, :, :: 1 if from_low else -1]
    return np.where(seen.any(axis=2), seen.argmax(axis=2), np.inf)


def _depth_buffer(corners: np.ndarray, width: int, height: int) -> np.ndarray:
    """(height, width) smallest third coordinate of triangles (n, 3, 3) at each pixel; infinite where there is none."""
    depth = np.full((height, width), np.inf)
    _draw_rows(depth, np.ascontiguousarray(corners), *triangles_of_planes(corners[:, :, 1] - 0.5, height))
    return depth


@njit(cache=True, parallel=True)
def _draw_rows(depth, corners, start, members):
    """Render triangles into the depth buffer, row by row; ``start`` and ``members`` as in
    :func:`muphy_lb.geometry.surfaces.surface.triangles_of_planes`."""
    for row in prange(len(depth)):
        for m in range(start[row], start[row + 1]):
            _draw_row(depth[row], corners[members[m]], row)


@njit(cache=True)
def _draw_row(depth_row, triangle, row):
    """Render a triangle into one row of the depth buffer, sampled at the pixel centres."""
    a, b, c = triangle[0], triangle[1], triangle[2]
    double = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if double == 0.0:
        return
    y = row + 0.5
    for column in range(int(triangle[:, 0].min()), int(triangle[:, 0].max()) + 1):
        x = column + 0.5
        u = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / double
        v = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / double
        if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
            depth_row[column] = min(depth_row[column], u * a[2] + v * b[2] + (1.0 - u - v) * c[2])


def openings_figure(views: Sequence[View], found: Sequence[FoundOpening], title: str = ""):
    """A matplotlib figure of some views side by side, at one scale, with the openings."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shapes = np.array([view.depth.shape for view in views])
    border = BORDER * shapes.max()
    heights, widths = (shapes + 2 * border).T
    scale = LARGEST_SIZE_IN / max(*widths, *heights)
    figure = Figure(figsize=(sum(widths) * scale + 3.0, max(heights) * scale + 1.4), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(views), width_ratios=widths, squeeze=False)[0]
    for panel, view in zip(panels, views, strict=True):
        _draw_panel(panel, view, border)
        for item in found:
            _draw_opening(panel, view, item, ARROW * border * view.pixel_m)
        if len(found) <= MANY_NAMES:
            _write_names(panel, view, found, (ARROW * border * view.pixel_m, view.pixel_m / scale))
    figure.suptitle(title or f"{len(found)} openings", y=1.02, va="bottom", parse_math=False)
    return figure


def _write(path, figure) -> None:
    with atomic_write(path) as temporary:
        try:
            figure.savefig(temporary, format=Path(path).suffix[1:] or "png", bbox_inches="tight", pad_inches=0.15)
        except ValueError as error:
            raise GeometryError(f"cannot write the picture {path}: {error}") from error


def _draw_panel(panel, view: View, border: float) -> None:
    (height, width), pixel = view.depth.shape, view.pixel_m
    right, up, sight = view.axes
    left, bottom = view.low_m[right], view.low_m[up]
    extent = (left, left + width * pixel, bottom, bottom + height * pixel)
    panel.imshow(shade(view.depth), origin="lower", extent=extent, interpolation="nearest")
    panel.set_xlim(extent[0] - border * pixel, extent[1] + border * pixel)
    panel.set_ylim(extent[2] - border * pixel, extent[3] + border * pixel)
    unit, metres = _unit(max(height, width) * pixel)
    panel.set_xlabel(f"{AXES[right]} [{unit}]")
    panel.set_ylabel(f"{AXES[up]} [{unit}]")
    panel.set_title(f"seen along {AXES[sight]}{_draw_odd_rows(panel, view)}", fontsize="medium")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value / metres:.6g}")
    panel.locator_params(nbins=5)


def _draw_odd_rows(panel, view: View) -> str:
    """Mark the rows along the line of sight that give no vote; returns what the title says of them."""
    from matplotlib.colors import to_rgba

    if view.odd_rows is None:
        return ""
    odd, edge_m = view.odd_rows.seen(view.axes), view.odd_rows.spacing_m
    low = view.odd_rows.origin_m[list(view.axes[:2])] - 0.5 * edge_m
    high = low + edge_m * np.array(odd.shape[::-1])
    image = np.where(odd[..., np.newaxis], to_rgba(DOUBTFUL_COLOUR), 0.0)
    panel.imshow(image, origin="lower", extent=(low[0], high[0], low[1], high[1]), interpolation="nearest", zorder=3)
    return f"\n{np.count_nonzero(odd)} doubtful rows of voxels (magenta)"


def _draw_opening(panel, view: View, item: FoundOpening, length: float) -> None:
    """Draw the rim as a circle of the opening's area, dotted where a wall hides it, and an arrow in the presumed
    direction of flow."""
    opening = item.opening
    colour, plane = _colour(item), list(view.axes[:2])
    centre, normal = np.array(opening.centre_m), np.array(opening.normal)
    tangent_1, tangent_2 = np.linalg.svd(normal[np.newaxis])[2][1:]
    angle = np.linspace(0.0, 2.0 * np.pi, N_RIM)[:, np.newaxis]
    rim = centre + item.equivalent_radius_m * (np.cos(angle) * tangent_1 + np.sin(angle) * tangent_2)
    visible = view.are_visible(rim)[:, np.newaxis]
    panel.plot(*np.where(visible, rim[:, plane], np.nan).T, color=colour, linewidth=1.5)
    panel.plot(*rim[:, plane].T, color=colour, linewidth=0.8, linestyle=":", alpha=0.7)
    outside, inside = (centre - length * normal)[plane], centre[plane]
    start, end = (outside, inside) if opening.kind == "inlet" else (inside, outside)
    if np.linalg.norm(end - start) > 0.2 * length:
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
        panel.annotate("", end, start, arrowprops=arrow)


def _write_names(panel, view: View, found: Sequence[FoundOpening], scale: tuple[float, float]) -> None:
    """Write the name and radius of each opening beside it; labels that would overlap are shifted outwards. ``scale``:
    length of an arrow [m], and of an inch of the picture [m]."""
    limits = np.array([panel.get_xlim(), panel.get_ylim()]).T
    half = scale[1] * np.array(HALF_LABEL_IN)
    taken: list[np.ndarray] = []
    for item in found:
        plane, normal = list(view.axes[:2]), np.array(item.opening.normal)
        centre, outwards = np.array(item.opening.centre_m)[plane], -normal[plane]
        if np.linalg.norm(outwards) <= FACING:
            outwards = centre - limits.mean(axis=0)
        away = outwards / np.linalg.norm(outwards) if np.any(outwards) else np.array((0.0, 1.0))
        space = max(1.1 * scale[0], 1.1 * item.equivalent_radius_m * abs(normal[view.axes[2]]))  # beyond arrow and rim
        position = centre + away * (space + np.abs(away) @ half)
        position = np.clip(position, limits[0] + half, limits[1] - half)
        shift = (0.0, 0.5 * half[1] * (1.0 if position[1] > limits[:, 1].mean() else -1.0))
        while any(np.all(np.abs(position - other) < 2.0 * half) for other in taken):
            position = position + shift
        taken.append(position)
        colour = _colour(item)
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": colour, "alpha": 0.85}
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "linestyle": ":"}
        text = f"{item.opening.name}\n{item.opening.kind}, r = {_length(item.equivalent_radius_m)}"
        place = {"xytext": position, "ha": "center", "va": "center", "annotation_clip": False}
        label = panel.annotate(text, centre, color=colour, fontsize=6.5, bbox=box, arrowprops=line, **place)
        label.set_parse_math(False)


def _colour(item: FoundOpening) -> str:
    return INLET_COLOUR if item.opening.kind == "inlet" else OUTLET_COLOUR


def _length(metres: float) -> str:
    unit, size = _unit(metres)
    return f"{metres / size:.3g} {unit}"


def _unit(metres: float) -> tuple[str, float]:
    """Name and size [m] of a suitable unit for a length."""
    return next(((unit, size) for unit, size in LENGTH_UNITS if metres >= size), LENGTH_UNITS[-1])
