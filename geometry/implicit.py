"""Analytic walls: spheres and cylinders, planes, level-set functions, and their unions. All lengths are in voxels and
all points are voxel coordinates (x, y, z): voxel centres have integer coordinates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.link_cuts import WallShape

ROUNDING = 1e-9  # links may overshoot a wall by this fraction; a voxel centre this close to a wall counts as solid
SAMPLES = 8  # intervals per link that are searched for the first change of sign of a level function

ROOT_TOLERANCE = 1e-12
MAX_ITERATIONS = 100

#: A cell of a grid of centres is at least the radius and this wide [voxels]: a link then touches few cells.
CELL_MARGIN = 2.0
MAX_CELLS_ALONG = 128
#: Centres this much further from a link than the radius [voxels] are still tested, against rounding.
SEARCH_MARGIN = 1e-6


class CentreGrid(NamedTuple):
    """Centres by cell: those of cell c are ``members[start[c]:start[c + 1]]``."""

    low: np.ndarray  #: (3,) lowest corner of the grid
    edge: np.ndarray  #: (3,) edge lengths of a cell
    counts: np.ndarray  #: (3,) cells along x, y, z; x fastest
    start: np.ndarray  #: (n_cells + 1,) first member of each cell
    members: np.ndarray  #: numbers of the centres, cell by cell


@dataclass(frozen=True)
class RoundWall:
    """The surfaces of spheres, or of parallel infinite cylinders; fluid may be on either side."""

    centres: np.ndarray  #: (k, 3) centre of each sphere, or a point on each cylinder's axis
    radius: float | np.ndarray  #: common radius, or (k,) that of each
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: direction of the cylinders; zero for spheres
    #: (x, y, z) periods of the arrangement; 0 along axes that are not periodic. A cylinder may be periodic only along
    #: or across the coordinate axis it follows.
    periods: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Roots of a quadratic equation; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        centres, axis, periods = self._arrays()
        if not len(centres):
            return np.full(len(start), np.nan)
        vector = np.asarray(vector, dtype=np.float64)
        bodies = centres, self._radii
        return _round_cuts(np.ascontiguousarray(start), vector, *bodies, axis, periods, self.grid)

    @cached_property
    def grid(self) -> CentreGrid:
        """The centres binned into cells; there must be at least one."""
        return bin_centres(*self._arrays(), float(self._radii.max()))

    def gaps(self, points: np.ndarray) -> np.ndarray:
        """(n,) distance of points (n, 3) from the nearest surface, positive outside, negative inside."""
        centres, axis, periods = self._arrays()
        return _round_gaps(points, centres, self._radii, axis, periods)

    @property
    def _radii(self) -> np.ndarray:
        n_bodies = np.asarray(self.centres).size // 3
        return np.ascontiguousarray(np.broadcast_to(np.asarray(self.radius, dtype=np.float64), n_bodies))

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        centres = np.ascontiguousarray(self.centres, dtype=np.float64).reshape(-1, 3)
        axis = np.array(self.axis, dtype=np.float64)
        length = np.linalg.norm(axis)
        return centres, axis / length if length > 0.0 else axis, np.array(self.periods, dtype=np.float64)


@dataclass(frozen=True)
class PlaneWall:
    """Planes ``normals[k] . x = offsets[k]`` with normals (k, 3), offsets (k,)."""

    normals: np.ndarray
    offsets: np.ndarray

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Intersection of line and plane; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        first = np.full(len(start), np.nan)
        for normal, offset in zip(np.asarray(self.normals, dtype=np.float64), self.offsets, strict=True):
            speed = float(normal @ vector)
            if speed != 0.0:
                first = np.fmin(first, _on_link((offset - start @ normal) / speed))
        return first


@dataclass(frozen=True)
class ImplicitWall:
    """The zero surface of a level function."""

    #: takes (n, 3) points, returns (n,) values, positive in the fluid, negative in solid
    level: Callable[[np.ndarray], np.ndarray]

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """First root along each link, to 1e-12 of its length; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        vector = np.asarray(vector, dtype=np.float64)
        low, high = np.zeros(len(start)), np.full(len(start), np.nan)
        low_level = self.level(start)
        found = ~(low_level > 0.0)
        high_level = np.full(len(start), np.nan)
        for fraction in np.arange(1, SAMPLES + 1) / SAMPLES:
            level = self.level(start + fraction * vector)
            crossed = ~found & (level <= 0.0)
            high[crossed], high_level[crossed] = fraction, level[crossed]
            found |= crossed
            low, low_level = np.where(found, low, fraction), np.where(found, low_level, level)
        bracketed = np.flatnonzero(~np.isnan(high))
        ends = np.stack((low, high))[:, bracketed], np.stack((low_level, high_level))[:, bracketed]
        distance = np.full(len(start), np.nan)
        distance[bracketed] = _roots(lambda t, k: self.level(start[bracketed[k]] + t[:, np.newaxis] * vector), *ends)
        return distance


@dataclass(frozen=True)
class FirstWall:
    """The union of several walls: a link ends at the first one that it intersects."""

    shapes: tuple[WallShape, ...]

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The smallest distance; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        return np.fmin.reduce([shape.distances(start, vector) for shape in self.shapes])


@dataclass(frozen=True)
class MovedWall:
    """A wall shape in a box whose voxel (0, 0, 0) was voxel ``-offset`` of the shape's own box."""

    shape: WallShape
    offset: tuple[int, int, int]

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Distances of the shifted shape; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        return self.shape.distances(start - np.asarray(self.offset, dtype=np.float64), vector)


def bin_centres(centres: np.ndarray, axis: np.ndarray, periods: np.ndarray, radius: float) -> CentreGrid:
    """Bin centres (k, 3) into cells; see :class:`RoundWall`. Along a coordinate axis along which the cylinders extend
    there is a single cell: a centre is only one point of its axis."""
    repeats = periods > 0.0
    low = np.where(repeats, 0.0, centres.min(axis=0) - 1.0)
    extent = np.where(repeats, periods, np.ptp(centres, axis=0) + 2.0)
    counts = np.where(axis == 0.0, np.clip(extent // (radius + CELL_MARGIN), 1, MAX_CELLS_ALONG), 1).astype(np.int64)
    edge = extent / counts
    x, y, z = (np.floor((centres - low) / edge).astype(np.int64) % counts).T
    number = (z * counts[1] + y) * counts[0] + x
    n_members = np.bincount(number, minlength=int(np.prod(counts)))
    start = np.concatenate(([0], np.cumsum(n_members)))
    return CentreGrid(low, edge, counts, start, np.argsort(number, kind="stable"))


def plane_pair(axis: int, low: float, high: float) -> PlaneWall:
    """Two planes across a coordinate axis (0, 1, 2)."""
    normals = np.zeros((2, 3))
    normals[:, axis] = 1.0
    return PlaneWall(normals, np.array([low, high]))


def _on_link(t: np.ndarray) -> np.ndarray:
    """The fractions that lie on a link, up to rounding; NaN for the others."""
    return np.where((t > -ROUNDING) & (t <= 1.0 + ROUNDING), np.clip(t, 0.0, 1.0), np.nan)


def _roots(level, ends: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Roots in the brackets ``ends`` (2, n), by regula falsi with halved weights (Illinois), all at once. ``level(t,
    k)`` gives the values of brackets ``k`` at ``t``; ``values`` (2, n) those at the ends, the first positive, the
    second not."""
    (a, b), (fa, fb) = ends.copy(), values.copy()
    active = np.flatnonzero(fb < 0.0)
    for _ in range(MAX_ITERATIONS):
        if not active.size:
            break
        a_k, b_k, fa_k, fb_k = a[active], b[active], fa[active], fb[active]
        t = b_k - fb_k * (b_k - a_k) / (fb_k - fa_k)
        f = level(t, active)
        changed = (f > 0.0) != (fb_k > 0.0)
        a[active], fa[active] = np.where(changed, b_k, a_k), np.where(changed, fb_k, 0.5 * fa_k)
        b[active], fb[active] = t, f
        active = active[(np.abs(t - b_k) >= ROOT_TOLERANCE) & (f != 0.0)]
    return b


@njit(cache=True)
def _image(point, centre, periods, image):
    """Set ``image`` to the periodic image of a centre that is nearest to a point."""
    for i in range(3):
        image[i] = centre[i]
        if periods[i] > 0.0:
            image[i] += periods[i] * np.rint((point[i] - centre[i]) / periods[i])


@njit(cache=True)
def _across(a, b, axis):
    """Scalar product of the components of two vectors perpendicular to an axis (a unit vector, or zero)."""
    dot, a_along, b_along = 0.0, 0.0, 0.0
    for i in range(3):
        dot += a[i] * b[i]
        a_along += a[i] * axis[i]
        b_along += b[i] * axis[i]
    return dot - a_along * b_along


@njit(cache=True)
def _first_root(offset, vector, axis, radius):
    """Smallest fraction at which a link intersects one round surface; infinite if it does not. Solves ``a t^2 + 2 b t +
    c = 0`` in the form that avoids cancellation. ``offset``: start of the link relative to the centre."""
    a, b = _across(vector, vector, axis), _across(vector, offset, axis)
    c = _across(offset, offset, axis) - radius * radius
    discriminant = b * b - a * c
    if a <= 0.0 or discriminant < 0.0 or (c >= 0.0 and b >= 0.0):
        return np.inf
    if c >= 0.0:
        return c / (np.sqrt(discriminant) - b)
    return -c / (np.sqrt(discriminant) + b) if b > 0.0 else (np.sqrt(discriminant) - b) / a


@njit(cache=True)
def _touched_cells(start, end, distance, periods, grid, box):
    """Set ``box`` (2, 3) to the first cell along each axis that may hold a centre near a link, and the cell counts."""
    for i in range(3):
        first = np.int64(np.floor((min(start[i], end[i]) - distance - grid.low[i]) / grid.edge[i]))
        last = np.int64(np.floor((max(start[i], end[i]) + distance - grid.low[i]) / grid.edge[i]))
        if grid.counts[i] == 1:
            first, last = 0, 0
        elif periods[i] == 0.0:
            first, last = max(first, 0), min(last, grid.counts[i] - 1)
        box[0, i], box[1, i] = first, max(0, min(last - first + 1, grid.counts[i]))


@njit(cache=True)
def _cell(step, box, counts):
    """Number of cell ``step`` of a box of cells, x fastest; indices wrap around the grid."""
    x = (box[0, 0] + step % box[1, 0]) % counts[0]
    y = (box[0, 1] + step // box[1, 0] % box[1, 1]) % counts[1]
    z = (box[0, 2] + step // (box[1, 0] * box[1, 1])) % counts[2]
    return (z * counts[1] + y) * counts[0] + x


@njit(cache=True)
def _first_of_body(ends, vector, centre, axis, periods, radius, offset):
    """First intersection with one body; its periodic images nearest to both ends (2, 3) of the link are tested.
    ``offset`` (3,) is scratch space."""
    first = np.inf
    for end in range(2):
        _image(ends[end], centre, periods, offset)
        for i in range(3):
            offset[i] = ends[0, i] - offset[i]
        first = min(first, _first_root(offset, vector, axis, radius))
    return first


@njit(cache=True, parallel=True)
def _round_cuts(start, vector, centres, radii, axis, periods, grid):
    """(n,) first intersection of each link; only centres in the cells near it are tested."""
    distance, reach = np.empty(len(start)), radii.max() + SEARCH_MARGIN
    for n in prange(len(start)):
        first, offset = np.inf, np.empty(3)
        ends, box = np.empty((2, 3)), np.empty((2, 3), np.int64)
        for i in range(3):
            ends[0, i], ends[1, i] = start[n, i], start[n, i] + vector[i]
        _touched_cells(ends[0], ends[1], reach, periods, grid, box)
        for step in range(box[1, 0] * box[1, 1] * box[1, 2]):
            cell = _cell(step, box, grid.counts)
            for m in range(grid.start[cell], grid.start[cell + 1]):
                body = grid.members[m]
                first = min(first, _first_of_body(ends, vector, centres[body], axis, periods, radii[body], offset))
        distance[n] = min(first, 1.0) if first <= 1.0 + ROUNDING else np.nan
    return distance


@njit(cache=True, parallel=True)
def _round_gaps(points, centres, radii, axis, periods):
    """(n,) distance of each point from the nearest surface, negative inside."""
    distance = np.empty(len(points))
    for n in prange(len(points)):
        nearest = np.inf
        image = np.empty(3)
        for k in range(len(centres)):
            _image(points[n], centres[k], periods, image)
            offset = points[n] - image
            nearest = min(nearest, np.sqrt(max(_across(offset, offset, axis), 0.0)) - radii[k])
        distance[n] = nearest
    return distance
