"""A shaded three-dimensional image of the vessel by ray casting, without a graphics library.

The fluid voxels are binned to a coarse occupancy volume; rays find its smoothed surface; every surface point is
coloured by the highest speed along the inward normal as far as the middle of the vessel, so that walls display the
flow below them; the cap of an opening is coloured by the speed there. A rock is shown as a block, its grains grey,
without the octant in front.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.ndimage import distance_transform_edt

from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.pictures import rays
from muphy_lb.output.pictures.cut import Sight

MARGIN = 10  # empty voxels around the volume, for smoothing and shading
BORDER = rays.SPLAT_RADIUS + 1
MAX_VOXELS = 6_000_000
MAX_EDGE = 600
OVERSAMPLING = 2
AZIMUTHS_DEG = (-65.0, -40.0, -20.0, -115.0, -140.0, -160.0)
ELEVATION_DEG = 20.0
LIGHT = (-0.45, 0.65, -0.75)  # direction of the light (right, up, forward): from the upper left, in front
FILL_LIGHT = (0.8, 0.1, -0.4)
AMBIENT, DIFFUSE, FILL, SPECULAR, SHININESS = 0.52, 0.50, 0.16, 0.22, 40.0
RIM, RIM_COLOUR = 0.16, (0.55, 0.70, 1.0)  # rim light, visible at grazing angles
SHADE_STRENGTH = 1.1
OUTLINE_STRENGTH = 0.5
GRAIN_COLOUR = (0.42, 0.44, 0.48)
MOST_PORES, LEAST_PORES, LEAST_EDGE = 0.9, 0.03, 8
"""Of a rock: largest porosity, smallest porosity of each of its six faces, least voxels along an edge."""

UPRIGHT = np.eye(3)
"""The axes as they are: z is up."""

INWARDS, WIDENING = 3, 1.6
"""What widens more than so much, so many layers inwards, touches a face of the box only."""


@dataclass(frozen=True)
class Volume:
    """The vessel on a coarser grid.

    Attributes:
        channels: (6, nz, ny, nx) float32, see :mod:`muphy_lb.output.pictures.rays`.
        voxels: (n, 3) int64 coordinates (x, y, z) of the cells of the body.
        edge_m: edge of a cell [m].
        origin_m: (3,) centre (x, y, z) of cell (0, 0, 0) [m].
        discs: (k, 7) centre, normal and radius of every opening, in cells.
    """

    channels: np.ndarray
    voxels: np.ndarray
    edge_m: float
    origin_m: np.ndarray
    discs: np.ndarray


@dataclass(frozen=True)
class View:
    """An orthographic view.

    Attributes:
        camera: (3, 3) unit vectors right, up, forward.
        image: (n_rows, n_columns, 4) float RGBA in 0..1, row 0 at the bottom, transparent where empty.
        extent_m: left, right, bottom, top of the image in :meth:`project` coordinates [m].
    """

    camera: np.ndarray
    image: np.ndarray
    extent_m: tuple[float, float, float, float]

    def project(self, points_m) -> np.ndarray:
        """(n, 2) image coordinates [m] of (n, 3) points."""
        return np.asarray(points_m) @ self.camera[:2].T

    def beyond_body(self, start_m: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """(2,) last point [m] on the line from ``start_m`` along ``direction`` (2,) that the vessel covers."""
        left, right, bottom, top = self.extent_m
        n_rows, n_columns = self.image.shape[:2]
        length_m = np.hypot(right - left, top - bottom)
        distance_m = np.linspace(0.0, length_m, 2 * (n_rows + n_columns))
        path_m = start_m + distance_m[:, None] * direction / max(np.linalg.norm(direction), 1e-9)
        pixel = np.floor((path_m - (left, bottom)) / (right - left, top - bottom) * (n_columns, n_rows)).astype(int)
        on_image = np.all((pixel >= 0) & (pixel < (n_columns, n_rows)), axis=1)
        column, row = pixel[on_image].T
        covered = np.flatnonzero(self.image[row, column, 3])
        return path_m[on_image][covered[-1]] if covered.size else np.asarray(start_m)


def render_vessel(nodes: NodeList, speed_m_s: np.ndarray, colours, n_pixels: int, sight: Sight | None = None) -> View:
    """Render the whole vessel.

    Args:
        nodes: the geometry, three-dimensional.
        speed_m_s: (n,) speed [m/s].
        colours: function from (...,) speeds to (..., 4) RGBA, for instance a matplotlib ``ScalarMappable.to_rgba``.
        n_pixels: length of the longer side of the image.
        sight: what is up; None: z.
    """
    volume = coarse_volume(nodes, speed_m_s)
    camera = best_camera(volume.voxels, UPRIGHT if sight is None else sight.turned())
    return render(volume, Window.around(volume, camera), colours, n_pixels)


@dataclass(frozen=True)
class Window:
    """What a camera sees of a volume.

    Attributes:
        camera: (3, 3) unit vectors right, up, forward.
        low: (3,) smallest image coordinates (right, up) and depth in it [cells].
        size: (2,) width and height [cells].
    """

    camera: np.ndarray
    low: np.ndarray
    size: np.ndarray

    @classmethod
    def around(cls, volume: Volume, camera: np.ndarray) -> "Window":
        """The smallest window with all of the body."""
        plane = volume.voxels @ camera.T
        low, high = plane.min(axis=0) - BORDER, plane.max(axis=0) + BORDER
        return cls(camera, low, (high - low)[:2])


def render(
    volume: Volume, window: Window, colours, n_pixels: int, oversampling: int = OVERSAMPLING, deepest: float = inf
) -> View:
    """Render what is seen in a window.

    Args:
        volume: the body and the values in it.
        window: which part of it, from where.
        colours: function from (...,) values to (..., 4) RGBA.
        n_pixels: length of the longer side of the image.
        oversampling: rays along the edge of a pixel.
        deepest: how far below the surface the value of largest magnitude is looked for [cells].
    """
    camera, low = window.camera, window.low
    corner = low @ camera
    pixel = window.size.max() / (oversampling * n_pixels)
    buffer = tuple(int(np.ceil(edge)) + 1 for edge in window.size[::-1])
    limits = rays.depth_limits(volume.voxels, camera, corner, buffer)
    hits = rays.trace(volume.channels, camera, corner, pixel, limits, volume.discs, deepest)
    image = _downsample(_shade(hits, camera, colours), oversampling)
    shape = np.array(image.shape[1::-1]) * oversampling * pixel
    left, bottom = low[:2] * volume.edge_m + camera[:2] @ volume.origin_m
    width, height = shape * volume.edge_m
    return View(camera, image, (left, left + width, bottom, bottom + height))


@dataclass(frozen=True)
class CoarseGrid:
    """Cells of several voxels that cover a geometry, with a margin.

    Attributes:
        first: (3,) smallest voxel coordinates (x, y, z) of the geometry.
        factor: voxels along the edge of a cell.
        shape: number of cells (nz, ny, nx).
    """

    first: np.ndarray
    factor: int
    shape: tuple[int, int, int]

    @classmethod
    def over(cls, low, high, most_cells: int = MAX_VOXELS, most_along_edge: int = MAX_EDGE) -> "CoarseGrid":
        """Cells over voxels with coordinates (x, y, z) from ``low`` to ``high``, coarse enough for their numbers."""
        extent = np.asarray(high, dtype=np.int64) - low + 1
        cells = float(np.prod(extent, dtype=np.float64))
        factor = int(max(np.ceil(extent.max() / most_along_edge), np.ceil((cells / most_cells) ** (1 / 3))))
        shape = tuple(int(n) for n in (extent[::-1] - 1) // factor + 1 + 2 * MARGIN)
        return cls(np.asarray(low), factor, shape)

    def index(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(n,) flat index of the cells of voxels with these coordinates."""
        cells = ((a - low) // self.factor + MARGIN for a, low in zip((z, y, x), self.first[::-1], strict=True))
        return np.ravel_multi_index(tuple(cells), self.shape)


def coarse_volume(nodes: NodeList, speed_m_s: np.ndarray) -> Volume:
    """Occupancy and mean speed on cells of several voxels, coarse enough to render any geometry in seconds."""
    coordinates = nodes.coordinates()
    grid = CoarseGrid.over(coordinates.min(axis=0), coordinates.max(axis=0))
    index, size = grid.index(*coordinates.T), np.prod(grid.shape)
    count = np.bincount(index, minlength=size).reshape(grid.shape)
    volume = volume_on(grid, nodes, count, is_rock(nodes))
    fill_volume(volume, count, np.bincount(index, weights=speed_m_s, minlength=size).reshape(grid.shape))
    return volume


def volume_on(
    grid: CoarseGrid,
    header: GeometryHeader | NodeList,
    count: np.ndarray,
    rock: bool,
    share: np.ndarray | None = None,
) -> Volume:
    """The body of a geometry, without values.

    Args:
        grid: its cells.
        header: where its voxels and openings are.
        count: (nz, ny, nx) number of fluid voxels of every cell.
        rock: whether it is the block around the fluid.
        share: (nz, ny, nx) how much of every cell the body fills; all of those with fluid if not given.
    """
    origin_m = np.asarray(header.origin_m) + header.spacing_m * (
        grid.first + 0.5 * (grid.factor - 1) - grid.factor * MARGIN
    )
    edge_m = grid.factor * header.spacing_m
    discs = _discs(header, origin_m, edge_m)
    body = _block(grid.shape) if rock else count > 0
    channels = _channels(body if share is None else share)
    if rock:
        channels[rays.GRAIN] = smoothed((body & (2 * count < grid.factor**3)).astype(np.float32))
    else:
        channels[rays.WALL] = _wall_distance(body, discs)
    return Volume(channels, np.argwhere(body)[:, ::-1], edge_m, origin_m, discs)


def fill_volume(volume: Volume, count: np.ndarray, total: np.ndarray) -> None:
    """Set the values of a volume to the means of sums over so many nodes of every cell, (nz, ny, nx)."""
    weight = smoothed(count.astype(np.float32))
    volume.channels[rays.SPEED] = smoothed(total.astype(np.float32)) / np.maximum(weight, np.float32(1e-6))


def is_rock(nodes: NodeList) -> bool:
    """Whether the fluid fills the pores of a block; see :func:`is_cut_through`."""
    coordinates = nodes.coordinates()
    return is_cut_through([np.bincount(column - column.min()) for column in coordinates.T], nodes.openings)


def is_cut_through(counts: Sequence[np.ndarray], openings: Sequence[Opening]) -> bool:
    """Whether the fluid fills the pores of a block: it is cut through by all six faces of its box, not only touches
    them as the wall of a vessel does, and much else is solid.

    Args:
        counts: number of fluid voxels in every layer of the box, along x, y and z.
        openings: its openings.
    """
    n_nodes, size = counts[0].sum(), np.array([layers.size for layers in counts])
    ends = any(np.isfinite(opening.radius_m) for opening in openings)
    if ends or n_nodes > MOST_PORES * size.prod() or size.min() < LEAST_EDGE:
        return False
    for axis, layers in enumerate(counts):
        outer, inner = layers[[0, -1]], layers[[INWARDS, -1 - INWARDS]]
        if np.any(outer < LEAST_PORES * size.prod() / size[axis]) or np.any(inner > WIDENING * outer):
            return False
    return True


def _block(shape: tuple[int, int, int]) -> np.ndarray:
    """The body of a rock: the whole block without the octant towards the viewer."""
    body = np.zeros(shape, dtype=bool)
    inner = body[(slice(MARGIN, -MARGIN),) * 3]
    inner[...] = True
    towards = best_camera(np.argwhere(body)[:, ::-1])[2][::-1] < 0.0
    octant = [slice(n // 2, None) if high else slice(n // 2) for n, high in zip(inner.shape, towards, strict=True)]
    inner[tuple(octant)] = False
    return body


def _discs(nodes: GeometryHeader | NodeList, origin_m: np.ndarray, edge_m: float) -> np.ndarray:
    """(k, 7) centre, normal and radius of every opening, in cells of a volume."""
    discs = np.empty((len(nodes.openings), 7))
    for disc, opening in zip(discs, nodes.openings, strict=True):
        disc[:3] = (np.array(opening.centre_m) - origin_m) / edge_m
        disc[3:6], disc[6] = opening.normal, opening.radius_m / edge_m
    return discs


def best_camera(voxels: np.ndarray, turned: np.ndarray = UPRIGHT) -> np.ndarray:
    """(3, 3) right, up, forward of the oblique view with the largest projected area (least occlusion); upwards is the
    last row of a turn of the axes, (3, 3), or z."""
    few = voxels[:: max(len(voxels) // 50_000, 1)]
    cameras = [oblique_camera(azimuth, ELEVATION_DEG) @ turned for azimuth in AZIMUTHS_DEG]
    return max(cameras, key=lambda camera: _covered_area(few, camera))


def oblique_camera(azimuth_deg: float, elevation_deg: float) -> np.ndarray:
    """(3, 3) right, up, forward of a viewer at this azimuth (from x towards y) and elevation, looking inwards."""
    a, e = np.deg2rad(azimuth_deg), np.deg2rad(elevation_deg)
    forward = -np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack((right, np.cross(right, forward), forward))


def _covered_area(voxels: np.ndarray, camera: np.ndarray) -> int:
    """Number of image cells that the voxels cover."""
    u, v = np.floor(voxels @ camera[:2].T / 2).astype(np.int64).T
    return np.unique(u * (2 * np.ptp(v) + 1) + v).size


def _channels(body: np.ndarray) -> np.ndarray:
    """(6, nz, ny, nx) channels of the ray caster from the cells of the body; neither values, distances of walls, nor
    grains."""
    channels = np.zeros((6, *body.shape), dtype=np.float32)
    channels[rays.BODY] = smoothed(body.astype(np.float32))
    channels[rays.SMOOTH] = smoothed(smoothed(smoothed(channels[rays.BODY]), 2), 2)
    channels[rays.AROUND] = smoothed(channels[rays.SMOOTH], 4)
    return channels


def _wall_distance(fluid: np.ndarray, discs: np.ndarray) -> np.ndarray:
    """(nz, ny, nx) float32 distance of the nearest wall from every cell; vessels go on behind their openings."""
    longer = fluid.copy()
    for x, y, z, *normal, radius in discs[np.isfinite(discs[:, 6])]:
        low = [max(int(c - 2.0 * radius), 0) for c in (z, y, x)]
        part = longer[tuple(slice(a, int(c + 2.0 * radius) + 1) for a, c in zip(low, (z, y, x), strict=True))]
        away = [np.arange(a, a + n) - c for a, n, c in zip(low, part.shape, (z, y, x), strict=True)]
        dz, dy, dx = np.meshgrid(*away, indexing="ij", sparse=True)
        along = normal[0] * dx + normal[1] * dy + normal[2] * dz
        square = dx * dx + dy * dy + dz * dz
        part |= (along <= 0.5) & (along >= -radius) & (square - along * along <= radius * radius)
    return distance_transform_edt(longer).astype(np.float32)


def smoothed(field: np.ndarray, stride: int = 1) -> np.ndarray:
    """``field`` averaged with weights 1/4, 1/2, 1/4 over neighbours ``stride`` away along each axis."""
    for axis in range(3):
        source = np.moveaxis(field, axis, 0)
        result = 0.5 * source
        result[stride:] += 0.25 * source[:-stride]
        result[:-stride] += 0.25 * source[stride:]
        field = np.moveaxis(result, 0, axis)
    return np.ascontiguousarray(field)


def _shade(hits: np.ndarray, camera: np.ndarray, colours) -> np.ndarray:
    """(n_rows, n_columns, 4) RGBA of ray results: colour of the speed, lights, shade, outlines."""
    seen = np.isfinite(hits[..., rays.DEPTH])
    found = hits[seen]
    normal = found[:, rays.NORMAL_X : rays.NORMAL_Z + 1] @ camera.T
    light, fill, half = _unit(LIGHT), _unit(FILL_LIGHT), _unit(_unit(LIGHT) + np.array([0.0, 0.0, -1.0]))
    bright = AMBIENT + DIFFUSE * np.maximum(normal @ light, 0.0) + FILL * np.maximum(normal @ fill, 0.0)
    bright *= 1.0 - SHADE_STRENGTH * np.clip(found[:, rays.SHADE] - 0.15, 0.0, 0.7)
    bright *= 1.0 - OUTLINE_STRENGTH * _outline(hits[..., rays.DEPTH])[seen]
    highlight = SPECULAR * np.maximum(normal @ half, 0.0) ** SHININESS
    rim = RIM * np.clip(1.0 + normal[:, 2], 0.0, 1.0) ** 3
    colour = np.where(found[:, rays.SOLID, None] > 0.5, GRAIN_COLOUR, colours(found[:, rays.PEAK])[:, :3])
    lit = colour * bright[:, None] + highlight[:, None] + np.outer(rim, RIM_COLOUR)
    image = np.zeros((*seen.shape, 4))
    image[seen, :3] = np.clip(lit, 0.0, 1.0)
    image[seen, 3] = 1.0
    return image


def _outline(depth: np.ndarray) -> np.ndarray:
    """0..1, high just behind a depth discontinuity: separates a branch from one in front of it."""
    width, full_jump = 3, 12.0
    behind = np.zeros(depth.shape)
    for axis in (0, 1):
        for shift in (-width, width):
            jump = np.nan_to_num(depth - np.roll(depth, shift, axis))
            behind = np.maximum(behind, np.clip(jump / full_jump, 0.0, 1.0))
    return behind


def _downsample(image: np.ndarray, s: int) -> np.ndarray:
    """Mean over squares of ``s`` pixels, colours weighted by opacity."""
    if s == 1:
        return image
    n_rows, n_columns = image.shape[0] // s, image.shape[1] // s
    blocks = image[: n_rows * s, : n_columns * s].reshape(n_rows, s, n_columns, s, 4)
    alpha = blocks[..., 3:].mean(axis=(1, 3))
    colour = (blocks[..., :3] * blocks[..., 3:]).mean(axis=(1, 3)) / np.maximum(alpha, 1e-9)
    return np.concatenate((colour, alpha), axis=-1)


def _unit(vector) -> np.ndarray:
    """The normalised vector."""
    return np.asarray(vector) / np.linalg.norm(vector)
