"""Ray casting of a voxel volume: intersection with the body, surface normal, ambient occlusion, and peak speed below.

A volume is a (6, nz, ny, nx) float32 array whose channels are numbered below; its outermost voxels are empty.
Positions and lengths are in voxels, columns (x, y, z).
"""

import math

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit

BODY, SMOOTH, AROUND, SPEED, WALL, GRAIN = range(6)
"""Channels: occupancy; smoothed for normals; more strongly smoothed for occlusion; speed; distance of the wall; share
of grains in the body of a rock."""

DEPTH, NORMAL_X, NORMAL_Y, NORMAL_Z, SHADE, PEAK, SOLID = range(7)  # results of a ray
N_RESULTS = 7
SURFACE_LEVEL = 0.25  # a body one voxel thick, smoothed once, still has this occupancy
STEP = 0.5
N_BISECTIONS = 5
SPLAT_RADIUS = 2  # distance from a fluid voxel within which its smoothed body may intersect a ray
SHADE_DISTANCE = 3.0
TILT, NEAR_WALL = 0.15, 1.5  # by how much a normal may be wrong before the wall behind it counts as another one
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
    ``deepest`` away; the value at the surface if that is 0.

    The middle is where the wall at the start is no longer the nearest one: the axis of a vessel, the centre of a sac.
    """
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

    ``discs`` (k, 7): centre, unit normal, radius of the openings.
    """
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


@njit(parallel=True, cache=True)
def trace(volume, camera, corner, pixel, limits, discs, deepest=np.inf):
    """Cast one ray per pixel.

    Args:
        volume: (6, nz, ny, nx) channels.
        camera: (3, 3) unit vectors right, up, forward.
        corner: (3,) point of the image plane at image position (0, 0).
        pixel: edge of a pixel.
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


@njit(cache=True)
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
