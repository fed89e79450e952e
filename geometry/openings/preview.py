"""Preview: three orthographic views of a surface or of voxels, with the openings marked and named.

Each view is a depth map: the distance of the first wall from the front of the box, infinite where there is none,
shaded by its slope. Depths of triangles come from a depth buffer, depths of voxels from the first fluid voxel.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numba import njit, prange

from muphy_lb.files.atomic import atomic_write
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import FLUID
from muphy_lb.geometry.openings.find import FoundOpening
from muphy_lb.geometry.options import AXES
from muphy_lb.geometry.surfaces.surface import Surface, triangles_of_planes
from muphy_lb.geometry.voxels import Voxels

N_PIXELS = 700
"""Pixels along the longest edge of the box."""

VIEWS = ((0, 2, 1), (1, 2, 0), (0, 1, 2))
"""(axis to the right, axis upwards, viewing axis) of each panel."""

FROM_LOW = (True, False, False)
"""Whether each view is from the lower end of the viewing axis; so chosen that no panel is a mirror image."""

LIGHT = (-0.45, 0.55, 0.7)
DARKEST, LIGHTEST = 0.25, 0.95
WALL_COLOUR = (0.82, 0.85, 0.9)
INLET_COLOUR, OUTLET_COLOUR = "#c03020", "#1050b0"
N_RIM = 60
LARGEST_SIZE_IN, DPI = 6.0, 110
BORDER = 0.16
"""Margin for names around the box, as a fraction of its longest edge."""

MANY_NAMES = 40
LENGTH_UNITS = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6))


def draw_surface_openings(path: str | os.PathLike, surface: Surface, found: Sequence[FoundOpening], title="") -> None:
    """Write a PNG of a surface with its openings; GeometryError if that fails."""
    points = surface.points_m
    low, high = points.min(axis=0), points.max(axis=0)
    pixel = float(np.max(high - low)) / N_PIXELS
    size = np.ceil((high - low) / pixel).astype(np.int64) + 1
    maps = []
    for (right, up, sight), is_low in zip(VIEWS, FROM_LOW, strict=True):
        corners = ((points[surface.triangles] - low) / pixel)[:, :, [right, up, sight]]
        if not is_low:
            corners[:, :, 2] = size[sight] - corners[:, :, 2]
        maps.append(_depth_buffer(corners, int(size[right]), int(size[up])))
    _draw(path, maps, (low, pixel), found, title)


def draw_voxel_openings(path: str | os.PathLike, voxels: Voxels, found: Sequence[FoundOpening], title="") -> None:
    """Write a PNG of the fluid of an image with its openings; GeometryError if that fails."""
    first, last = _box_of_fluid(voxels.flags)
    step = -(-int(np.max(last - first)) // N_PIXELS)
    fluid = voxels.flags[tuple(slice(a, b, step) for a, b in zip(first, last, strict=True))] == FLUID
    maps = [_first_fluid(fluid, view, is_low) for view, is_low in zip(VIEWS, FROM_LOW, strict=True)]
    low = np.array(voxels.origin_m) + (first[::-1] - 0.5) * voxels.spacing_m
    _draw(path, maps, (low, voxels.spacing_m * step), found, title)


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


def _draw(path, maps: Sequence[np.ndarray], frame: tuple[np.ndarray, float], found, title: str) -> None:
    """Draw the panels side by side, at one scale; ``frame``: lowest corner [m] and edge of a pixel [m]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    border = BORDER * max(max(m.shape) for m in maps)
    widths, heights = [m.shape[1] + 2 * border for m in maps], [m.shape[0] + 2 * border for m in maps]
    scale = LARGEST_SIZE_IN / max(*widths, *heights)
    size = (sum(widths) * scale + 3.0, max(heights) * scale + 1.4)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(maps), width_ratios=widths, squeeze=False)[0]
    for panel, depth, view in zip(panels, maps, VIEWS, strict=True):
        _draw_panel(panel, depth, view, frame, border)
        for item in found:
            _draw_opening(panel, view, item, 0.6 * border * frame[1])
        if len(found) <= MANY_NAMES:
            _write_names(panel, view, found, 0.75 * border * frame[1])
    figure.suptitle(title or f"{len(found)} openings", parse_math=False)
    with atomic_write(path) as temporary:
        try:
            figure.savefig(temporary, format=Path(path).suffix[1:] or "png")
        except ValueError as error:
            raise GeometryError(f"cannot write the picture {path}: {error}") from error


def _draw_panel(panel, depth: np.ndarray, view: tuple[int, int, int], frame, border: float) -> None:
    (low, pixel), (height, width) = frame, depth.shape
    left, bottom = low[view[0]], low[view[1]]
    extent = (left, left + width * pixel, bottom, bottom + height * pixel)
    panel.imshow(shade(depth), origin="lower", extent=extent, interpolation="nearest")
    panel.set_xlim(extent[0] - border * pixel, extent[1] + border * pixel)
    panel.set_ylim(extent[2] - border * pixel, extent[3] + border * pixel)
    unit, metres = _unit(max(height, width) * pixel)
    panel.set_xlabel(f"{AXES[view[0]]} [{unit}]")
    panel.set_ylabel(f"{AXES[view[1]]} [{unit}]")
    panel.set_title(f"seen along {AXES[view[2]]}", fontsize="medium")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value / metres:.6g}")
    panel.locator_params(nbins=5)


def _draw_opening(panel, view: tuple[int, int, int], item: FoundOpening, length: float) -> None:
    """Draw the rim as a circle of the opening's area, and an arrow in the presumed direction of flow."""
    opening = item.opening
    colour, plane = _colour(item), list(view[:2])
    centre, normal = np.array(opening.centre_m), np.array(opening.normal)
    tangent_1, tangent_2 = np.linalg.svd(normal[np.newaxis])[2][1:]
    angle = np.linspace(0.0, 2.0 * np.pi, N_RIM)[:, np.newaxis]
    rim = centre + item.equivalent_radius_m * (np.cos(angle) * tangent_1 + np.sin(angle) * tangent_2)
    panel.plot(*rim[:, plane].T, color=colour, linewidth=1.5)
    outside, inside = (centre - length * normal)[plane], centre[plane]
    start, end = (outside, inside) if opening.kind == "inlet" else (inside, outside)
    if np.linalg.norm(end - start) > 0.2 * length:
        panel.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.5})


def _write_names(panel, view: tuple[int, int, int], found: Sequence[FoundOpening], distance: float) -> None:
    """Write the name and radius of each opening outside of it; labels that would overlap are shifted down."""
    taken: list[np.ndarray] = []
    for item in found:
        centre, normal = np.array(item.opening.centre_m), np.array(item.opening.normal)
        position = (centre - distance * normal)[list(view[:2])]
        while any(np.all(np.abs(position - other) < (0.9 * distance, 0.45 * distance)) for other in taken):
            position = position - (0.0, 0.5 * distance)
        taken.append(position)
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _colour(item), "alpha": 0.85}
        text = f"{item.opening.name}\n{item.opening.kind}, r = {_length(item.equivalent_radius_m)}"
        label = panel.annotate(text, position, color=_colour(item), fontsize=6.5, ha="center", va="center", bbox=box)
        label.set_parse_math(False)


def _colour(item: FoundOpening) -> str:
    return INLET_COLOUR if item.opening.kind == "inlet" else OUTLET_COLOUR


def _length(metres: float) -> str:
    """A length in a suitable unit."""
    unit, size = _unit(metres)
    return f"{metres / size:.3g} {unit}"


def _unit(metres: float) -> tuple[str, float]:
    """Name and size [m] of a suitable unit for a length."""
    return next(((unit, size) for unit, size in LENGTH_UNITS if metres >= size), LENGTH_UNITS[-1])
