"""Trees of curved, tapered tubes, and the voxels inside their smooth union."""

from dataclasses import dataclass

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.implicit import ImplicitWall
from muphy_lb.geometry.shapes.shape_parts import check_box
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels

SEGMENTS = 24  # straight segments per curved centreline
TAPER = 0.92  # radius at the end of a tube over that at its start
BOW = 0.35  # lateral deflection of a centreline's control points over its length: arteries are curved
TRUNK = 1.4  # length of the trunk over that of a branch of the same radius
TWIST = np.radians(70.0)  # angle between the planes of successive bifurcations [rad]
MARGIN = 6  # layers of solid voxels around the tree, for the opening voxels and for discs wider than the lumen


@dataclass(frozen=True)
class TreeLevel:
    """The level function of :func:`tree_voxels`: distance [m] to the wall, positive in the fluid."""

    tubes: tuple["Tube", ...]  #: the tree
    spacing_m: float  #: edge length of a voxel [m]
    width_m: float  #: width of the rounding between two tubes [m]
    first: np.ndarray  #: (3,) int64 position (x, y, z) of voxel (0, 0, 0) relative to the origin [voxels]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n,) levels of points (n, 3) in voxel coordinates."""
        positions = (points + self.first) * self.spacing_m
        distance = np.full(len(points), np.inf)
        for tube in self.tubes:
            low, high = _bounds(tube, self.width_m + MARGIN * self.spacing_m)
            near = np.flatnonzero(np.all((positions >= low) & (positions <= high), axis=1))
            distance[near] = _smooth_minimum(distance[near], _distance_at(tube, positions[near]), self.width_m)
        return -distance


@dataclass(frozen=True)
class Tube:
    """A curved tube."""

    points: np.ndarray  #: (k, 3) centreline (x, y, z) [m]
    radii: np.ndarray  #: (k,) radius at each point [m]
    #: start_direction, end_direction: unit vectors along the centreline, from start to end
    start_direction: np.ndarray
    end_direction: np.ndarray
    #: cut_start, cut_end: whether that end is cut perpendicular to the centreline; other ends are round
    cut_start: bool = False
    cut_end: bool = False

    @property
    def start(self) -> np.ndarray:
        """First point of the centreline [m]."""
        return self.points[0]

    @property
    def end(self) -> np.ndarray:
        """Last point of the centreline [m]."""
        return self.points[-1]


def grow_tree(radius_m: float, generations: int, asymmetry: float, slenderness: float) -> list[Tube]:
    """The tubes of a bifurcating tree, trunk first; the trunk starts at the origin along +z and is cut there."""
    up, side = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    trunk = _curve(np.zeros(3), (up, _unit(up + BOW * side)), radius_m, TRUNK * slenderness, cut_start=True)
    tubes, front = [trunk], [(trunk, _twisted(trunk.end_direction, side))]
    for generation in range(generations):
        shape = (asymmetry, slenderness, generation == generations - 1)
        front = [child for tube, side in front for child in _fork(tube, side, *shape)]
        tubes += [tube for tube, _ in front]
    return tubes


def murray_angles(asymmetry: float) -> tuple[float, float, float, float]:
    """(r1/r0, r2/r0, angle 1, angle 2) of a bifurcation with r2 = asymmetry * r1; angles [rad] to the parent vessel.
    Source: Murray, J. Gen. Physiol. 9 (1926) 835: cos(angle 1) = (r0^4 + r1^4 - r2^4) / (2 r0^2 r1^2)."""
    r1 = (1.0 + asymmetry**3) ** (-1.0 / 3.0)
    r2 = asymmetry * r1
    angle_1 = np.arccos((1.0 + r1**4 - r2**4) / (2.0 * r1**2))
    angle_2 = np.arccos((1.0 + r2**4 - r1**4) / (2.0 * r2**2))
    return r1, r2, float(angle_1), float(angle_2)


def tree_voxels(tubes: list[Tube], spacing_m: float, blend: float) -> Voxels:
    """Voxels whose centre lies in the smooth union of the tubes are fluid. ``blend``: width of the rounding between two
    tubes over the smallest radius in the tree."""
    width = blend * min(tube.radii.min() for tube in tubes)
    bounds = [_bounds(tube, width + MARGIN * spacing_m) for tube in tubes]
    first = np.floor(np.min([low for low, _ in bounds], axis=0) / spacing_m)
    last = np.ceil(np.max([high for _, high in bounds], axis=0) / spacing_m)
    check_box((last - first + 1)[::-1])
    first, last = first.astype(np.int64), last.astype(np.int64)
    distance = np.full((last - first + 1)[::-1], np.inf)
    for tube, (low, high) in zip(tubes, bounds, strict=True):
        start = np.floor(low / spacing_m).astype(np.int64) - first
        stop = np.ceil(high / spacing_m).astype(np.int64) - first + 1
        near = distance[tuple(slice(*ends) for ends in zip(start[::-1], stop[::-1], strict=True))]
        near[...] = _smooth_minimum(
            near, _tube_distance(tube, near.shape, (start + first) * spacing_m, spacing_m), width
        )
    flags = np.where(distance < 0.0, FLAG_DTYPE(FLUID), FLAG_DTYPE(SOLID))
    wall = ImplicitWall(TreeLevel(tuple(tubes), spacing_m, width, first))
    return Voxels(flags, spacing_m, tuple((first * spacing_m).tolist()), wall_shape=wall)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def _twisted(direction: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Unit vector perpendicular to ``direction``: ``side`` rotated about it by TWIST."""
    side = np.cos(TWIST) * side + np.sin(TWIST) * np.cross(direction, side)
    return _unit(side - (side @ direction) * direction)


def _curve(start: np.ndarray, directions, radius: float, slenderness: float, **cuts) -> Tube:
    """A tube along a cubic Bezier curve from ``start``, with the first direction there and the second at its end."""
    leave, arrive = directions
    step = radius * slenderness / 3.0
    control = start + step * np.cumsum([np.zeros(3), leave, _unit(leave + arrive), arrive], axis=0)
    t = np.linspace(0.0, 1.0, SEGMENTS + 1)[:, np.newaxis]
    weights = np.hstack(((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3))
    return Tube(weights @ control, np.linspace(radius, TAPER * radius, SEGMENTS + 1), leave, arrive, **cuts)


def _fork(tube: Tube, side: np.ndarray, asymmetry: float, slenderness: float, last: bool) -> list:
    """The two daughters of a tube, each with the side direction of its own bifurcation."""
    ratio_1, ratio_2, angle_1, angle_2 = murray_angles(asymmetry)
    ahead = tube.end_direction
    bow = BOW * np.cross(ahead, side)
    children = []
    for ratio, angle in ((ratio_1, angle_1), (ratio_2, -angle_2)):
        leave = np.cos(angle) * ahead + np.sin(angle) * side
        directions = (leave, _unit(leave + bow))
        child = _curve(tube.end, directions, ratio * tube.radii[-1], slenderness, cut_end=last)
        children.append((child, _twisted(child.end_direction, side)))
    return children


def _bounds(tube: Tube, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner [m] of the bounding box of a tube, with a margin."""
    padding = tube.radii.max() + margin
    return tube.points.min(axis=0) - padding, tube.points.max(axis=0) + padding


def _tube_distance(tube: Tube, shape, origin_m: np.ndarray, spacing_m: float) -> np.ndarray:
    """(nz, ny, nx) distance [m] to the wall of a tube, negative inside, with the tube's flat ends."""
    distance = np.empty(shape)
    _chain_distance(distance, origin_m, spacing_m, tube.points, tube.radii)
    z, y, x = np.ix_(*(origin_m[i] + spacing_m * np.arange(shape[2 - i]) for i in (2, 1, 0)))
    for point, outward in _flat_ends(tube):
        beyond = (x - point[0]) * outward[0] + (y - point[1]) * outward[1] + (z - point[2]) * outward[2]
        np.maximum(distance, beyond, out=distance)
    return distance


def _distance_at(tube: Tube, positions: np.ndarray) -> np.ndarray:
    """(n,) distance [m] as in :func:`_tube_distance`, at positions (n, 3) [m]."""
    distance = _chain_distance_at(positions, tube.points, tube.radii)
    for point, outward in _flat_ends(tube):
        np.maximum(distance, (positions - point) @ outward, out=distance)
    return distance


def _flat_ends(tube: Tube) -> list[tuple[np.ndarray, np.ndarray]]:
    """(centre, outward normal) of the flat ends of a tube."""
    ends = ((tube.cut_start, tube.start, -tube.start_direction), (tube.cut_end, tube.end, tube.end_direction))
    return [(point, outward) for cut, point, outward in ends if cut]


def _smooth_minimum(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """Minimum with a parabolic blend of the given width (the quadratic smooth union of distance fields)."""
    overlap = np.abs(a - b)  # in one array, as a box may be large
    np.maximum(np.subtract(width, overlap, out=overlap), 0.0, out=overlap)
    overlap /= width
    overlap *= overlap
    overlap *= 0.25 * width
    return np.subtract(np.minimum(a, b), overlap, out=overlap)


BLOCK = 256  # positions for which the nearest segment is found side by side


@njit(cache=True, parallel=True, usually="(float64[:,:,::1], float64[::1], float64, float64[:,::1], float64[::1])")
def _chain_distance(distance, origin, spacing, points, radii):
    """Distance to a chain of tapered capsules at every voxel centre."""
    nz, ny, nx = distance.shape
    for row in prange(nz * ny):
        z, y = row // ny, row % ny
        position = np.empty((3, nx))
        for x in range(nx):
            position[0, x] = origin[0] + spacing * x
        position[1], position[2] = origin[1] + spacing * y, origin[2] + spacing * z
        _nearest_segment(position, points, radii, distance[z, y])


@njit(cache=True, parallel=True)
def _chain_distance_at(positions, points, radii):
    """Distance to a chain of tapered capsules at positions (n, 3)."""
    distance = np.empty(len(positions))
    for block in prange(-(-len(positions) // BLOCK)):
        own = slice(block * BLOCK, min((block + 1) * BLOCK, len(positions)))
        _nearest_segment(positions[own].T.copy(), points, radii, distance[own])
    return distance


@njit(cache=True, error_model="numpy")
def _nearest_segment(position, points, radii, nearest):
    """Distance to the nearest segment at (3, m) positions; the loop over these is vectorised."""
    nearest[:] = np.inf
    for k in range(len(radii) - 1):
        x, y, z = points[k]
        along_x, along_y, along_z = points[k + 1] - points[k]
        length2 = along_x * along_x + along_y * along_y + along_z * along_z
        radius, widening = radii[k], radii[k + 1] - radii[k]
        for n in range(nearest.size):
            from_x, from_y, from_z = position[0, n] - x, position[1, n] - y, position[2, n] - z
            t = min(max((from_x * along_x + from_y * along_y + from_z * along_z) / length2, 0.0), 1.0)
            from_x, from_y, from_z = from_x - t * along_x, from_y - t * along_y, from_z - t * along_z
            gap = np.sqrt(from_x * from_x + from_y * from_y + from_z * from_z)
            nearest[n] = min(nearest[n], gap - radius - t * widening)
