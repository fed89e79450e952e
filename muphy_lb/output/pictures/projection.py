"""A shaded three-dimensional image of the vessel by ray casting, without a graphics library.

A volume is a (6, nz, ny, nx) float32 array whose channels are numbered below; its outermost voxels are empty.
Positions and lengths are in voxels, columns (x, y, z).

The fluid voxels are binned to a coarse occupancy volume; rays find its smoothed surface; every surface point is
coloured by the highest speed along the inward normal as far as the middle of the vessel, so that walls display the
flow below them; the cap of an opening is coloured by the speed there. A rock is shown as a block, its grains grey,
without the octant in front.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numba import float32, float64, int64, prange, types
from scipy.ndimage import distance_transform_edt

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.pictures.cut import Sight
from muphy_lb.output.pictures.shading import (
    DEPTH,
    N_RESULTS,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PEAK,
    RAYS,
    SHADE,
    SOLID,
    shaded,
)

VECTOR, ROWS = float64[::1], float64[:, ::1]
BODY, SMOOTH, AROUND, SPEED, WALL, GRAIN = range(6)
"""Channels: occupancy; smoothed for normals; more strongly smoothed for occlusion; speed; distance of the wall; share
of grains in the body of a rock."""

SURFACE_LEVEL = 0.25  # a body one voxel thick, smoothed once, still has this occupancy
STEP = 0.5
N_BISECTIONS = 5
SPLAT_RADIUS = 2  # distance from a fluid voxel within which its smoothed body may intersect a ray
SHADE_DISTANCE = 3.0
TILT, NEAR_WALL = 0.15, 1.5  # by how much a normal may be wrong before the wall behind it counts as another one
AT_SURFACE = 1.0  # how far below a surface the cells with values may begin
CAP_DEPTH, CAP_FACING = 2.0, 0.7  # a surface near the plane of an opening is its cap if it faces the same way


@njit(cache=True)
def sample(field, x, y, z):
    """Trilinear interpolation of a (nz, ny, nx) array at a point; 0 outside."""
    nz, ny, nx = field.shape
    i, j, k = math.floor(x), math.floor(y), math.floor(z)
    if i < 0 or j < 0 or k < 0 or i >= nx - 1 or j >= ny - 1 or k >= nz - 1:
        return 0.0
    a, b, c = x - i, y - j, z - k
    low = (1 - b) * ((1 - a) * field[k, j, i] + a * field[k, j, i + 1])
    low += b * ((1 - a) * field[k, j + 1, i] + a * field[k, j + 1, i + 1])
    high = (1 - b) * ((1 - a) * field[k + 1, j, i] + a * field[k + 1, j, i + 1])
    high += b * ((1 - a) * field[k + 1, j + 1, i] + a * field[k + 1, j + 1, i + 1])
    return (1 - c) * low + c * high


@njit(cache=True)
def hit_depth(body, start, forward, near, far):
    """Depth at which the ray enters the body between ``near`` and ``far``; nan where it misses."""
    depth = near
    while depth <= far:
        x, y, z = start[0] + depth * forward[0], start[1] + depth * forward[1], start[2] + depth * forward[2]
        if sample(body, x, y, z) >= SURFACE_LEVEL:
            break
        depth += STEP
    if depth > far:
        return np.nan
    outside, inside = depth - STEP, depth
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (outside + inside)
        x, y, z = start[0] + middle * forward[0], start[1] + middle * forward[1], start[2] + middle * forward[2]
        if sample(body, x, y, z) >= SURFACE_LEVEL:
            inside = middle
        else:
            outside = middle
    return inside


@njit(cache=True)
def outward_normal(smooth, x, y, z):
    """Unit vector along the negative gradient of a smooth occupancy; (0, 0, 0) where it vanishes."""
    gx = sample(smooth, x - 1, y, z) - sample(smooth, x + 1, y, z)
    gy = sample(smooth, x, y - 1, z) - sample(smooth, x, y + 1, z)
    gz = sample(smooth, x, y, z - 1) - sample(smooth, x, y, z + 1)
    length = math.sqrt(gx * gx + gy * gy + gz * gz)
    if length == 0.0:
        return 0.0, 0.0, 0.0
    return gx / length, gy / length, gz / length


@njit(cache=True)
def peak_inwards(volume, point, normal, deepest):
    """Value of largest magnitude along the inward normal from a surface point to the middle of the body, at most
    ``deepest`` away; the value at the surface if that is 0. The middle is where the wall at the start is no longer the
    nearest one: the axis of a vessel, the centre of a sac."""
    peak = 0.0
    distance = 0.0
    while distance <= deepest:
        x, y, z = point[0] - distance * normal[0], point[1] - distance * normal[1], point[2] - distance * normal[2]
        if sample(volume[WALL], x, y, z) < (1.0 - TILT) * distance - NEAR_WALL:
            break
        value = sample(volume[SPEED], x, y, z)
        if abs(value) > abs(peak):
            peak = value
        distance += STEP
    return peak


@njit(cache=True)
def depth_allowed(point, normal, discs):
    """How far below a surface point speeds are looked for: CAP_DEPTH on the cap of an opening, elsewhere unlimited.
    ``discs`` (k, 7): centre, unit normal, radius of the openings."""
    for disc in discs:
        along = 0.0
        facing = 0.0
        square = 0.0
        for i in range(3):
            along += (point[i] - disc[i]) * disc[3 + i]
            square += (point[i] - disc[i]) ** 2
            facing -= normal[i] * disc[3 + i]
        beside = square - along * along <= (disc[6] + CAP_DEPTH) ** 2
        if beside and abs(along) <= CAP_DEPTH + 1.0 and facing > CAP_FACING:
            return CAP_DEPTH
    return np.inf


@njit(
    parallel=True,
    cache=True,
    nogil=True,
    usually=(float32[:, :, :, ::1], ROWS, VECTOR, float64, float32[:, :, ::1], ROWS, float64),
    subject=RAYS,
)
def trace(volume, camera, corner, pixel, limits, discs, deepest=np.inf):
    """Cast one ray per pixel.

    Args:
        camera: (3, 3) unit vectors right, up, forward.
        corner: (3,) point of the image plane at image position (0, 0).
        limits: (2, n_v, n_u) nearest and farthest depth of the body, from :func:`depth_limits`.
        discs: (k, 7) centre, unit normal and radius of each opening, whose cap shows the flow through it.
        deepest: how far below the surface values are looked for.

    Returns:
        (n_rows, n_columns, N_RESULTS) float32, row 0 at the bottom; depth is nan where a ray misses.
    """
    # Points are tuples: sums of arrays take Numba seconds to compile, at the first start of all.
    n_rows, n_columns = int(limits.shape[1] / pixel), int(limits.shape[2] / pixel)
    result = np.zeros((n_rows, n_columns, N_RESULTS), dtype=np.float32)
    right, up, forward = camera[0], camera[1], camera[2]
    for row in prange(n_rows):
        for column in range(n_columns):
            u, v = (column + 0.5) * pixel, (row + 0.5) * pixel
            start = (
                corner[0] + u * right[0] + v * up[0],
                corner[1] + u * right[1] + v * up[1],
                corner[2] + u * right[2] + v * up[2],
            )
            near, far = limits[0, int(v), int(u)], limits[1, int(v), int(u)]
            depth = hit_depth(volume[BODY], start, forward, near, far)
            result[row, column, DEPTH] = depth
            if not np.isnan(depth):
                point = (
                    start[0] + depth * forward[0],
                    start[1] + depth * forward[1],
                    start[2] + depth * forward[2],
                )
                describe_hit(volume, point, discs, result[row, column], deepest)
    return result


@njit(cache=True)
def describe_hit(volume, point, discs, result, deepest=np.inf):
    """Set normal, ambient occlusion (0 open to 1 enclosed), share of grains and peak speed of a surface point."""
    normal = outward_normal(volume[SMOOTH], point[0], point[1], point[2])
    result[NORMAL_X], result[NORMAL_Y], result[NORMAL_Z] = normal
    out = SHADE_DISTANCE
    result[SHADE] = sample(
        volume[AROUND], point[0] + out * normal[0], point[1] + out * normal[1], point[2] + out * normal[2]
    )
    x, y, z = point[0] - 0.5 * normal[0], point[1] - 0.5 * normal[1], point[2] - 0.5 * normal[2]
    result[SOLID] = sample(volume[GRAIN], x, y, z) / max(sample(volume[BODY], x, y, z), SURFACE_LEVEL)
    result[PEAK] = peak_inwards(volume, point, normal, min(deepest, depth_allowed(point, normal, discs)))


@njit(cache=True, nogil=True, usually=(int64[:, :], ROWS, VECTOR, types.UniTuple(int64, 2)), subject=RAYS)
def depth_limits(points, camera, corner, shape):
    """Depth range in which a ray may intersect a body around the points: a z-buffer of one cell per voxel.

    Args:
        points: (n, 3) voxels of the body.
        camera, corner: as in :func:`trace`.
        shape: (n_v, n_u) of the buffer.

    Returns:
        (2, n_v, n_u) float32; nearest is inf where empty.
    """
    limits = np.empty((2, *shape), dtype=np.float32)
    limits[0] = np.inf
    limits[1] = -np.inf
    for n in range(points.shape[0]):
        u, v, depth = 0.0, 0.0, 0.0
        for i in range(3):
            distance = points[n, i] - corner[i]
            u += distance * camera[0, i]
            v += distance * camera[1, i]
            depth += distance * camera[2, i]
        for row in range(max(int(v) - SPLAT_RADIUS, 0), min(int(v) + SPLAT_RADIUS + 1, shape[0])):
            for column in range(max(int(u) - SPLAT_RADIUS, 0), min(int(u) + SPLAT_RADIUS + 1, shape[1])):
                limits[0, row, column] = min(limits[0, row, column], depth - SPLAT_RADIUS)
                limits[1, row, column] = max(limits[1, row, column], depth + SPLAT_RADIUS)
    return limits


MARGIN = 10  # empty voxels around the volume, for smoothing and shading
BORDER = SPLAT_RADIUS + 1
MAX_VOXELS = 6_000_000
MAX_EDGE = 600
OVERSAMPLING = 2
FAR = 1e6  # a distance beyond that of any wall [cells]
AZIMUTHS_DEG = (-65.0, -40.0, -20.0, -115.0, -140.0, -160.0)
ELEVATION_DEG = 20.0
MOST_PORES, LEAST_PORES, LEAST_EDGE = 0.9, 0.03, 8
"""Of a rock: largest porosity, smallest porosity of each of its six faces, least voxels along an edge."""

UPRIGHT = np.eye(3)  # the axes as they are: z is up
INWARDS, WIDENING = 3, 1.6  # what widens more than so much, so many layers inwards, touches a face of the box only


@dataclass(frozen=True)
class Volume:
    """The vessel on a coarser grid."""

    channels: np.ndarray  #: (6, nz, ny, nx) float32, see :mod:`muphy_lb.output.pictures.projection`
    voxels: np.ndarray  #: (n, 3) int64 coordinates (x, y, z) of the cells of the body
    edge_m: float  #: edge of a cell [m]
    origin_m: np.ndarray  #: (3,) centre (x, y, z) of cell (0, 0, 0) [m]
    discs: np.ndarray  #: (k, 7) centre, normal and radius of every opening, in cells


@dataclass(frozen=True)
class View:
    """An orthographic view."""

    camera: np.ndarray  #: (3, 3) unit vectors right, up, forward
    image: np.ndarray  #: (n_rows, n_columns, 4) float RGBA in 0..1, row 0 at the bottom, transparent where empty
    #: left, right, bottom, top of the image in :meth:`project` coordinates [m]
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
    """The window through which a camera sees a volume."""

    camera: np.ndarray  #: (3, 3) unit vectors right, up, forward
    low: np.ndarray  #: (3,) smallest image coordinates (right, up) and depth in it [cells]
    size: np.ndarray  #: (2,) width and height [cells]

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
    limits = depth_limits(volume.voxels, camera, corner, buffer)
    hits = trace(volume.channels, camera, corner, pixel, limits, volume.discs, deepest)
    image = shaded(hits, camera, colours, oversampling)
    shape = np.array(image.shape[1::-1]) * oversampling * pixel
    left, bottom = low[:2] * volume.edge_m + camera[:2] @ volume.origin_m
    width, height = shape * volume.edge_m
    return View(camera, image, (left, left + width, bottom, bottom + height))


@dataclass(frozen=True)
class CoarseGrid:
    """Cells of several voxels that cover a geometry, with a margin."""

    first: np.ndarray  #: (3,) smallest voxel coordinates (x, y, z) of the geometry
    factor: int  #: voxels along the edge of a cell
    shape: tuple[int, int, int]  #: number of cells (nz, ny, nx)

    @classmethod
    def over(cls, low, high, most_cells: int = MAX_VOXELS, most_along_edge: int = MAX_EDGE) -> "CoarseGrid":
        """Cells over voxels with coordinates (x, y, z) from ``low`` to ``high``, coarse enough for their numbers."""
        extent = np.asarray(high, dtype=np.int64) - low + 1
        cells = float(np.prod(extent, dtype=np.float64))
        factor = int(max(np.ceil(extent.max() / most_along_edge), np.ceil((cells / most_cells) ** (1 / 3))))
        shape = triple(int(n) for n in (extent[::-1] - 1) // factor + 1 + 2 * MARGIN)
        return cls(np.asarray(low), factor, shape)

    def index(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(n,) flat index of the cells of voxels with these coordinates."""
        cells = ((a - low) // self.factor + MARGIN for a, low in zip((z, y, x), self.first[::-1], strict=True))
        return np.ravel_multi_index(tuple(cells), self.shape)


def coarse_volume(nodes: NodeList, speed_m_s: np.ndarray, is_block: bool | None = None) -> Volume:
    """Occupancy and mean speed on cells of several voxels, coarse enough to render any geometry in seconds.
    ``is_block``: whether the body is the block around the fluid; by default that of a rock is."""
    coordinates = nodes.coordinates()
    grid = CoarseGrid.over(coordinates.min(axis=0), coordinates.max(axis=0))
    index, size = grid.index(*coordinates.T), np.prod(grid.shape)
    count = np.bincount(index, minlength=size).reshape(grid.shape)
    volume = volume_on(grid, nodes, count, is_rock(nodes) if is_block is None else is_block)
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
        header: where its voxels and openings are.
        count: (nz, ny, nx) number of fluid voxels of every cell.
        rock: whether it is the block around the fluid.
        share: (nz, ny, nx) how much of every cell the body fills; all of those with fluid if not given. No values below
            its surface are looked for, so that distances of walls are not needed.
    """
    origin_m = np.asarray(header.origin_m) + header.spacing_m * (
        grid.first + 0.5 * (grid.factor - 1) - grid.factor * MARGIN
    )
    edge_m = grid.factor * header.spacing_m
    discs = _discs(header, origin_m, edge_m)
    body = _block(grid.shape) if rock else count > 0
    channels = _channels(body if share is None else share)
    if rock:
        channels[GRAIN] = smoothed((body & (2 * count < grid.factor**3)).astype(np.float32))
    elif share is not None:
        channels[WALL] = FAR
    else:
        channels[WALL] = _wall_distance(body, discs)
    return Volume(channels, np.argwhere(body)[:, ::-1], edge_m, origin_m, discs)


def fill_volume(volume: Volume, count: np.ndarray, total: np.ndarray) -> None:
    """Set the values of a volume to the means of sums over so many nodes of every cell, (nz, ny, nx)."""
    weight = smoothed(count.astype(np.float32))
    volume.channels[SPEED] = smoothed(total.astype(np.float32)) / np.maximum(weight, np.float32(1e-6))


def above(volume: Volume, level: float) -> Volume:
    """The part of a body whose values reach a level: it ends at the isosurface of that level, and at walls.

    Along a ray the value that falls below the level is what its occupancy is elsewhere, so a surface lies between cells
    where the level does.
    """
    values, body = volume.channels[SPEED], volume.channels[BODY]
    inside = body >= SURFACE_LEVEL
    span = max(float(np.ptp(values[inside])) if inside.any() else 0.0, np.finfo(np.float32).tiny)
    part = np.minimum(body, np.float32(SURFACE_LEVEL) + (values - np.float32(level)) / span)
    channels = np.zeros_like(volume.channels)
    channels[BODY], channels[SPEED] = part, values
    channels[SMOOTH] = smoothed(np.clip(part, 0.0, 1.0))
    channels[AROUND] = smoothed(smoothed(channels[SMOOTH], 2), 4)
    return replace(volume, channels=channels, voxels=np.argwhere(part >= SURFACE_LEVEL)[:, ::-1])


def is_rock(nodes: NodeList) -> bool:
    """Whether the fluid fills the pores of a block; see :func:`is_cut_through`."""
    coordinates = nodes.coordinates()
    return is_cut_through([np.bincount(column - column.min()) for column in coordinates.T], nodes.openings)


def is_cut_through(counts: Sequence[np.ndarray], openings: Sequence[Opening]) -> bool:
    """Whether the fluid fills the pores of a block: it is cut through by all six faces of its box, not only touches
    them as the wall of a vessel does, and much else is solid. ``counts``: number of fluid voxels in every layer of the
    box, along x, y and z."""
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
    u, v = np.floor(voxels @ camera[:2].T / 2).astype(np.int64).T
    return np.unique(u * (2 * np.ptp(v) + 1) + v).size


def _channels(body: np.ndarray) -> np.ndarray:
    """(6, nz, ny, nx) channels of the ray caster from the cells of the body; neither values, distances of walls, nor
    grains."""
    channels = np.zeros((6, *body.shape), dtype=np.float32)
    channels[BODY] = smoothed(body.astype(np.float32))
    channels[SMOOTH] = smoothed(smoothed(smoothed(channels[BODY]), 2), 2)
    channels[AROUND] = smoothed(channels[SMOOTH], 4)
    return channels


def _wall_distance(fluid: np.ndarray, discs: np.ndarray) -> np.ndarray:
    """(nz, ny, nx) float32 distance of the nearest wall from every cell; vessels continue behind their openings."""
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
    """float32 ``field`` averaged with weights 1/4, 1/2, 1/4 over neighbours ``stride`` away along each axis."""
    source = np.ascontiguousarray(field, dtype=np.float32).reshape(-1)
    for axis in range(3):
        inner = math.prod(field.shape[axis + 1 :])
        source = _averaged(source, field.shape[axis] * inner, stride * inner)
    return source.reshape(field.shape)


@njit(cache=True, nogil=True, usually=(float32[::1], int64, int64), subject=RAYS)
def _averaged(field, length, shift):
    """Averages of the numbers of lines that follow each other, each of a ``length``, with those a ``shift`` away in the
    line."""
    half, quarter, result = np.float32(0.5), np.float32(0.25), np.empty_like(field)
    for first in range(0, field.size, length):
        line, averages = field[first : first + length], result[first : first + length]
        for n in range(length):
            averages[n] = half * line[n]
        _add(averages[shift:], quarter, line)
        _add(averages, quarter, line[shift:])
    return result


@njit(cache=True, nogil=True)
def _add(sums, factor, field):
    """Add so many times the numbers of a field, as many as there are, to sums."""
    for n in range(min(sums.size, field.size)):
        sums[n] += factor * field[n]
