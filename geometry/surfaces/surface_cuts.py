"""Intersection of links with a triangulated wall.

Triangles are binned into cells of a coarse grid; a link is tested against those of the cells in its bounding box.
The segment-triangle test is watertight: the side of an edge on which a segment passes is the sign of one expression,
which both triangles of the edge evaluate from the same numbers, so that no segment passes between them.
Source of the idea: Woop, Benthin, Wald, J. Comput. Graph. Tech. 2 (2013) 65.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import float64, int64, prange, types

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.limits import ask_for
from muphy_lb.geometry.surfaces.surface_areas import areas_around
from muphy_lb.geometry.surfaces.triangles import SURFACES

MIN_CELL = 3.0  # edge length of a cell [voxels], unless the box is so large that it would hold more than MAX_CELLS

MAX_CELLS = 2**22

#: An edge that meets a triangle within this fraction of its ends, or at an angle whose sine is below this, touches it
#: but does not pass through it.
CLEAR = 1e-4
OVERSHOOT = 1e-6  # fraction by which a link is extended at both ends: rounding in the voxelisation may differ there


class TriangleGrid(NamedTuple):
    """Triangles by cell: those of cell c are ``members[start[c]:start[c + 1]]``."""

    corners: np.ndarray  #: (n, 3, 3) vertices (x, y, z) of the triangles in voxel coordinates
    low: np.ndarray  #: (3,) lowest corner of the grid
    cell: float  #: edge length of a cell
    counts: np.ndarray  #: (3,) cells along x, y, z; x fastest
    start: np.ndarray  #: (n_cells + 1,) first member of each cell
    members: np.ndarray  #: numbers of the triangles, cell by cell


POINTS, PAIRS, NUMBERS = float64[:, ::1], int64[:, ::1], int64[::1]
GRID = types.NamedTuple((float64[:, :, ::1], float64[::1], float64, NUMBERS, NUMBERS, NUMBERS), TriangleGrid)


@dataclass(frozen=True)
class SurfaceWall:
    """The wall given by a triangulated surface; the cell grid is built on first use."""

    corners_m: np.ndarray  #: (n, 3, 3) vertices (x, y, z) of the triangles [m]
    origin_m: tuple[float, float, float]  #: (x, y, z) of the centre of voxel (0, 0, 0) [m]
    spacing_m: float  #: edge length of a voxel [m]

    @cached_property
    def grid(self) -> TriangleGrid:
        """The triangles in voxel coordinates, binned into cells."""
        return bin_triangles((self.corners_m - np.asarray(self.origin_m)) / self.spacing_m)

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """First intersection with a triangle; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        return _surface_cuts(np.ascontiguousarray(start), np.asarray(vector, dtype=np.float64), self.grid)

    def areas(self, points: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Area around points of the surface; see :class:`muphy_lb.geometry.link_cuts.MeasuredWall`."""
        return areas_around(points, self.grid.corners, size)


def crossed_parts(points: np.ndarray, triangles: np.ndarray, edges: np.ndarray, part: np.ndarray) -> np.ndarray:
    """(m, 2) lowest and highest part of the triangles that each edge (m, 2) passes through and shares no vertex with;
    -1 where there are none.

    ``part`` (n,) is the number of the part of each triangle; ``points`` should be scaled such that edges are about
    MIN_CELL long.
    """
    return _crossed(points, triangles, edges, part, bin_triangles(points[triangles]))


def bin_triangles(corners: np.ndarray) -> TriangleGrid:
    """Bin triangles (n, 3, 3) [voxels] into the cells that they may touch: a counting pass, then a filling pass."""
    low, high = corners.min(axis=(0, 1)) - 1.0, corners.max(axis=(0, 1)) + 1.0
    cell = max(MIN_CELL, float(np.prod(high - low) / MAX_CELLS) ** (1.0 / 3.0))
    counts = np.ceil((high - low) / cell).astype(np.int64)
    n_members = np.zeros(int(np.prod(counts)), dtype=np.int64)
    _visit_cells(corners, low, cell, counts, n_members, np.empty(0, dtype=np.int64))
    start = np.concatenate(([0], np.cumsum(n_members)))
    ask_for(8 * int(start[-1]), f"the search for {len(corners)} triangles")
    members = np.empty(start[-1], dtype=np.int64)
    _visit_cells(corners, low, cell, counts, start[:-1].copy(), members)
    return TriangleGrid(corners, low, cell, counts, start, members)


@njit(cache=True, usually=(float64[:, :, ::1], float64[::1], float64, NUMBERS, NUMBERS, NUMBERS), subject=SURFACES)
def _visit_cells(corners, low, cell, counts, position, members):
    """For every triangle and cell that it may touch, store the triangle at ``position`` of the cell and advance it.
    With empty ``members`` triangles are only counted."""
    first, last = np.empty(3, np.int64), np.empty(3, np.int64)
    for n in range(len(corners)):
        a, b, c = corners[n, 0], corners[n, 1], corners[n, 2]
        for i in range(3):
            first[i] = np.int64((min(a[i], b[i], c[i]) - OVERSHOOT - low[i]) / cell)
            last[i] = np.int64((max(a[i], b[i], c[i]) + OVERSHOOT - low[i]) / cell)
        normal = _normal(corners[n])
        half_width = (0.5 * cell + OVERSHOOT) * (abs(normal[0]) + abs(normal[1]) + abs(normal[2]))
        nx, ny, nz = last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1
        for k in range(nx * ny * nz):
            x, y, z = first[0] + k % nx, first[1] + k // nx % ny, first[2] + k // (nx * ny)
            number = (z * counts[1] + y) * counts[0] + x
            near = abs(_dot(normal, _from_middle(low, cell, (x, y, z), a))) <= half_width
            if near and members.size:
                members[position[number]] = n
            position[number] += near


@njit(cache=True)
def _from_middle(low, cell, place, corner):
    """Vector from a corner to the middle of a cell."""
    return (
        low[0] + (place[0] + 0.5) * cell - corner[0],
        low[1] + (place[1] + 0.5) * cell - corner[1],
        low[2] + (place[2] + 0.5) * cell - corner[2],
    )


@njit(cache=True)
def _normal(triangle):
    """Normal of a triangle, as long as twice its area. Vectors are tuples here and below: Numba compiles sums of arrays
    for seconds."""
    start = triangle[0]
    ax, ay, az = triangle[1, 0] - start[0], triangle[1, 1] - start[1], triangle[1, 2] - start[2]
    bx, by, bz = triangle[2, 0] - start[0], triangle[2, 1] - start[1], triangle[2, 2] - start[2]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def _side(start, vector, a, b):
    """Signed volume: the side of the directed edge a -> b on which the line of a link passes; exactly -1 times for b ->
    a."""
    ax, ay, az = a[0] - start[0], a[1] - start[1], a[2] - start[2]
    bx, by, bz = b[0] - start[0], b[1] - start[1], b[2] - start[2]
    return vector[0] * (ay * bz - az * by) + vector[1] * (az * bx - ax * bz) + vector[2] * (ax * by - ay * bx)


@njit(cache=True)
def _hit(start, vector, triangle):
    """Fraction at which the line of a link intersects a triangle, edges included; infinite if it does not."""
    u = _side(start, vector, triangle[1], triangle[2])
    v = _side(start, vector, triangle[2], triangle[0])
    w = _side(start, vector, triangle[0], triangle[1])
    total = u + v + w
    if total == 0.0 or (min(u, v, w) < 0.0 and max(u, v, w) > 0.0):
        return np.inf
    position = 0.0
    weight = (u / total, v / total, w / total)
    for corner in range(3):
        for i in range(3):
            position += weight[corner] * (triangle[corner, i] - start[i]) * vector[i]
    return position / _dot(vector, vector)


@njit(cache=True)
def _first_hit(start, vector, box, grid):
    """Smallest fraction at which a link intersects a triangle of the cells in its box."""
    counts, members = grid.counts, grid.members
    nearest = np.inf
    for z in range(box[0, 2], box[1, 2] + 1):
        for y in range(box[0, 1], box[1, 1] + 1):
            first = (z * counts[1] + y) * counts[0]
            for m in range(grid.start[first + box[0, 0]], grid.start[first + box[1, 0] + 1]):
                t = _hit(start, vector, grid.corners[members[m]])
                nearest = min(nearest, t if t > -OVERSHOOT else np.inf)
    return nearest


@njit(cache=True, parallel=True, usually=(POINTS, float64[::1], GRID), subject=SURFACES)
def _surface_cuts(start, vector, grid):
    """(n,) first intersection of each link in [0, 1]; NaN where there is none."""
    distance = np.full(len(start), np.nan)
    for n in prange(len(start)):
        box = np.empty((2, 3), np.int64)
        inside = True
        for i in range(3):
            ends = (start[n, i] - grid.low[i], start[n, i] + vector[i] - grid.low[i])
            box[0, i] = max(0, np.int64(np.floor((min(ends) - OVERSHOOT) / grid.cell)))
            box[1, i] = min(grid.counts[i] - 1, np.int64(np.floor((max(ends) + OVERSHOOT) / grid.cell)))
            inside &= box[0, i] <= box[1, i]
        if inside:
            t = _first_hit(start[n], vector, box, grid)
            distance[n] = min(max(t, 0.0), 1.0) if t <= 1.0 + OVERSHOOT else np.nan
    return distance


@njit(cache=True)
def _pierces(start, vector, triangle, own, edge):
    """Whether an edge passes through the triangle with vertices ``own``; false if they share a vertex."""
    for vertex in own:
        if vertex == edge[0] or vertex == edge[1]:
            return False
    normal = _normal(triangle)
    steepness = _dot(vector, normal) ** 2
    if steepness <= CLEAR**2 * _dot(vector, vector) * _dot(normal, normal):
        return False
    return CLEAR < _hit(start, vector, triangle) < 1.0 - CLEAR


@njit(cache=True, parallel=True, usually=(POINTS, PAIRS, PAIRS, NUMBERS, GRID), subject=SURFACES)
def _crossed(points, triangles, edges, part, grid):
    """(m, 2) lowest and highest part of the triangles of the cells in its box that each edge passes through, or -1."""
    counts, found, mesh = grid.counts, np.full((len(edges), 2), -1), (grid.corners, triangles, part)
    for n in prange(len(edges)):
        a, b = points[edges[n, 0]], points[edges[n, 1]]
        line = a, (b[0] - a[0], b[1] - a[1], b[2] - a[2])
        first, last = np.empty(3, np.int64), np.empty(3, np.int64)
        for i in range(3):
            first[i] = np.int64((min(a[i], b[i]) - grid.low[i]) / grid.cell)
            last[i] = np.int64((max(a[i], b[i]) - grid.low[i]) / grid.cell)
        for z in range(first[2], last[2] + 1):
            for y in range(first[1], last[1] + 1):
                row = (z * counts[1] + y) * counts[0]
                begin, end = grid.start[row + first[0]], grid.start[row + last[0] + 1]
                _widen(found[n], grid.members[begin:end], line, edges[n], mesh)
    return found


@njit(cache=True)
def _widen(found, members, line, edge, mesh):
    """Widen the range ``found`` of parts by those of the triangles ``members`` that an edge passes through."""
    corners, triangles, part = mesh
    for m in members:
        if _pierces(line[0], line[1], corners[m], triangles[m], edge):
            found[0] = part[m] if found[0] < 0 else min(found[0], part[m])
            found[1] = max(found[1], part[m])
