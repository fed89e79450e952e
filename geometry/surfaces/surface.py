"""Triangulated surfaces: reading, diagnosis of defects, and voxelisation of the enclosed volume.

A surface that cannot be mended is voxelised by votes. Every row of voxels along x, y or z crosses a closed surface an
even number of times, and its voxels between an odd and the next crossing are inside. Where a surface has a hole or a
triangle too many, some rows are wrong: a row with an odd number of crossings gives no vote, and of the rows of the
three axes through a voxel the majority decides. A defect in one place does not reach far, because the rows of two other
axes pass it by. Source of the idea: Nooruddin, Turk, IEEE Trans. Vis. Comput. Graph. 9 (2003) 191.
"""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numba import float64, int64, prange, types, uint8

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.kept.helpers import expected
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for, ask_for_voxels, regular_file, shown
from muphy_lb.geometry.options import LARGEST, SMALLEST, check_positive, is_whole
from muphy_lb.geometry.quantities import metres_per_unit
from muphy_lb.geometry.surfaces.readers import StoredSurface, read_obj, read_ply, read_stl, read_vtp
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.surfaces.triangles import (
    SURFACES,
    Edges,
    distinct_triangles,
    find_edges,
    is_degenerate,
    label_components,
    sides,
    signed_volumes,
)
from muphy_lb.geometry.voxels import FLAG_DTYPE, Voxels

READERS = MappingProxyType({".stl": read_stl, ".obj": read_obj, ".ply": read_ply, ".vtp": read_vtp})
FORMATS = tuple(READERS)
MIN_MARGIN = 2
MAX_VOXELS = 2**33  # largest box [voxels = bytes] accepted; a larger one indicates a wrong length unit
MAX_POSITIONS = 5  # largest number of positions listed in a message


@dataclass(frozen=True)
class Surface:
    """A triangulated surface."""

    points: np.ndarray  #: (m, 3) float64 vertices (x, y, z) in units of the file, without duplicates
    triangles: np.ndarray  #: (n, 3) int64 vertex numbers
    metres_per_unit: float  #: length of one file unit [m]
    n_collapsed: int = 0  #: number of triangles of the file that were dropped because two of their vertices are equal
    #: (n,) number of the model's face that each triangle belongs to, -1 for none; None if it is unknown
    faces: np.ndarray | None = None
    notes: tuple[str, ...] = ()  #: text: oddities of its file that were skipped
    #: (n,) for triangles of parts that overlap, wound outward, the number of their union, -1 for all others; None if no
    #: parts do
    united: np.ndarray | None = None

    def position_text(self, point: np.ndarray) -> str:
        """A point (x, y, z) as text, in units of the file and in metres."""
        return position_text(point, self.metres_per_unit)

    @property
    def points_m(self) -> np.ndarray:
        """(m, 3) vertices [m]."""
        return self.points * self.metres_per_unit


@dataclass(frozen=True)
class SurfaceReport:
    """The diagnosis of a surface."""

    n_triangles: int  #: number of triangles
    n_boundary_edges: int  #: number of edges of only one triangle: rims of holes
    n_non_manifold_edges: int  #: number of edges of more than two triangles
    winding: str  #: ``"outward"``, ``"inward"`` or ``"mixed"``: the orientation of the triangles
    volume_m3: float  #: enclosed volume [m3], meaningful for a closed surface
    box_m: np.ndarray  #: (2, 3) lowest and highest corner [m]
    loop_centres: np.ndarray  #: (k, 3) mean vertex of each boundary loop, in units of the file
    metres_per_unit: float  #: length of one file unit [m]
    n_copies: int  #: number of triangles with the same three vertices as an earlier one
    n_without_area: int  #: number of degenerate triangles: vertices on a line, or two equal ones
    n_parts: int  #: number of connected components
    #: (k, 3) mean vertex of each connected set of edges of more than two triangles, in units of the file
    non_manifold_centres: np.ndarray

    @property
    def is_closed(self) -> bool:
        """Whether every edge belongs to exactly two triangles."""
        return self.n_boundary_edges == 0 and self.n_non_manifold_edges == 0

    def __str__(self):
        size = " x ".join(f"{c:.4g}" for c in self.box_m[1] - self.box_m[0])
        health = f"closed, volume {self.volume_m3:.4g} m3" if self.is_closed else f"NOT closed: {self.leaks()}"
        counts = {"parts": self.n_parts, "copies": self.n_copies, "without area": self.n_without_area}
        odd = "".join(f", {n} {what}" for what, n in counts.items() if n > (what == "parts"))
        return f"{self.n_triangles} triangles{odd}, box {size} m, winding {self.winding}, {health}"

    def leaks(self) -> str:
        """Text: where the surface is not closed."""
        text = (
            f"{self.n_boundary_edges} boundary edges and {self.n_non_manifold_edges} edges of more than two triangles"
        )
        if len(self.loop_centres):
            text += f"; {len(self.loop_centres)} boundary loops with centres {self._positions(self.loop_centres)}"
        if len(self.non_manifold_centres):
            text += f"; edges of more than two triangles at {self._positions(self.non_manifold_centres)}"
        return text

    def _positions(self, points: np.ndarray) -> str:
        shown = "; ".join(position_text(point, self.metres_per_unit) for point in points[:MAX_POSITIONS])
        return shown + f" and {len(points) - MAX_POSITIONS} more" * (len(points) > MAX_POSITIONS)


def position_text(point: np.ndarray, metres_per_unit: float) -> str:
    """A point (x, y, z) as text, in units of the file and, if these are others, in metres."""
    in_file = ", ".join(f"{round(c, 12) + 0.0:.6g}" for c in point)
    if metres_per_unit == 1.0:
        return f"({in_file}) m"
    in_metres = ", ".join(f"{round(c * metres_per_unit, 12) + 0.0:.6g}" for c in point)
    return f"({in_file}) = ({in_metres}) m"


def read_surface(path, unit: str) -> Surface:
    """Read a ``.stl``, ``.obj``, ``.ply`` or ``.vtp`` surface; ``unit`` is the length unit of the file (m, cm, mm, um).

    Equal vertices are merged, polygons triangulated, triangles with two equal vertices dropped.

    Raises GeometryError for an unknown unit or extension and for a file that is missing, corrupt or without triangles.
    """
    metres = metres_per_unit(unit)
    ending = regular_file(path).suffix.lower()
    if ending not in READERS:
        raise GeometryError(f"surface {path}: ending {ending!r}; allowed: {', '.join(FORMATS)}")
    found = READERS[ending](Path(path))
    if not len(found.triangles):
        raise GeometryError(f"cannot read {path}: it holds no triangle (broken or not a surface)")
    return merged_surface(found, metres, f"cannot read {path}")


def merged_surface(found: StoredSurface, metres: float, problem: str) -> Surface:
    """A surface of points and triangles: equal vertices are merged, triangles with two equal vertices dropped.

    Args:
        found: points (m, 3), triangles (n, 3), and the faces of the model or None.
        problem: how a message begins, such as the file that cannot be read.

    Raises GeometryError for coordinates that are none, and triangles that name points which are not there.
    """
    expected(SURFACES)
    points, corners, faces, notes = found
    if points.ndim != 2 or points.shape[1] != 3:
        raise GeometryError(f"{problem}: its points have no x, y and z")
    if not np.all(np.isfinite(points)):
        raise GeometryError(f"{problem}: {np.count_nonzero(~np.isfinite(points))} coordinates are not finite")
    if not SMALLEST <= (size := float(np.ptp(points, axis=0).max())) or np.abs(points).max() > LARGEST:
        raise GeometryError(
            f"{problem}: its coordinates reach {np.abs(points).max():g} and its box is {size:g} wide; allowed:"
            f" {SMALLEST:g} to {LARGEST:g}"
        )
    if corners.min() < 0 or corners.max() >= len(points):
        raise GeometryError(
            f"{problem}: its polygons name the points {corners.min()} to {corners.max()}; there are"
            f" {len(points)}, counted from 0"
        )
    points, merged = np.unique(points, axis=0, return_inverse=True)
    triangles = merged.reshape(-1)[corners].astype(np.int64)
    distinct = np.all(triangles != np.roll(triangles, 1, axis=1), axis=1)
    if not np.any(distinct):
        raise GeometryError(f"{problem}: all of its {len(triangles)} triangles have two equal vertices")
    faces = None if faces is None else faces[distinct]
    return Surface(points, triangles[distinct], metres, int(np.count_nonzero(~distinct)), faces, notes)


def diagnose(surface: Surface) -> SurfaceReport:
    """Count and locate the defects of a surface; see :class:`SurfaceReport`."""
    triangles, points = surface.triangles, surface.points_m
    edges = find_edges(triangles)
    first, second = sides(triangles).T
    is_consistent = len(np.unique(first * len(points) + second)) == len(first)
    volume = float(signed_volumes(points, triangles).sum())
    boundary = edges.vertices[edges.used == 1]
    non_manifold = edges.vertices[edges.used > 2]
    return SurfaceReport(
        n_triangles=len(triangles),
        n_boundary_edges=len(boundary),
        n_non_manifold_edges=len(non_manifold),
        winding=("outward" if volume > 0 else "inward") if is_consistent else "mixed",
        volume_m3=abs(volume),
        box_m=np.array([points.min(axis=0), points.max(axis=0)]),
        loop_centres=_component_centres(surface.points, boundary),
        metres_per_unit=surface.metres_per_unit,
        n_copies=len(triangles) - len(distinct_triangles(triangles)[0]),
        n_without_area=surface.n_collapsed + int(np.count_nonzero(is_degenerate(points, triangles))),
        n_parts=int(label_components(len(triangles), _neighbours(edges)).max()) + 1,
        non_manifold_centres=_component_centres(surface.points, non_manifold),
    )


def voxelise(surface: Surface, spacing_m: float, margin: int = MIN_MARGIN) -> Voxels:
    """Voxels whose centre lies inside a closed surface are fluid; ``margin`` (>= 2) layers of solid around its box.

    Even-odd rule: each z plane of voxel centres intersects the surface in closed polygons, and crossings with them are
    counted along each x row. Both intersections use half-open intervals, so that a vertex or edge on a plane counts
    exactly once, and both triangles of an edge compute the same point, so that no row can leak. Within parts that are
    united, the crossings are counted with their direction: what is enclosed at least once is inside.
    The voxels' ``wall_shape`` is the surface.

    Raises GeometryError for a surface that is not closed, a margin below 2, a box above MAX_VOXELS and a
    spacing at which no voxel is inside.
    """
    report = diagnose(surface)
    if not report.is_closed:
        raise GeometryError(
            f"the surface is not closed: {report.leaks()}; close the holes with flat caps (MeshLab, Blender, vmtk)"
            " and declare them as openings"
        )
    shape, origin = grid_of(surface, spacing_m, margin)
    ask_for_voxels(shape, 1, "the box of the surface")
    flags = np.zeros(shape, dtype=FLAG_DTYPE)
    corners = ((surface.points_m - origin) / spacing_m)[surface.triangles]
    if surface.united is None:
        n_odd = fill_rows(flags, corners, *triangles_of_planes(corners[:, :, 2], shape[0]))
    else:
        n_odd = sum(_fill(flags, corners[surface.united == k], bool(k >= 0)) for k in np.unique(surface.united))
    if n_odd:
        raise GeometryError(f"{n_odd} voxel rows cross the surface an odd number of times; repair the surface")
    return with_wall(surface, flags, spacing_m, origin)


def _fill(flags: np.ndarray, corners: np.ndarray, is_union: bool) -> int:
    """Turn the voxels inside some triangles (n, 3, 3) [voxels] over; the number of rows that these cross an odd number
    of times."""
    size = np.array(flags.shape[::-1])
    low = np.clip(np.floor(corners.min(axis=(0, 1))).astype(np.int64) - 1, 0, size)
    high = np.clip(np.ceil(corners.max(axis=(0, 1))).astype(np.int64) + 2, low, size)
    there = flags[tuple(slice(*ends) for ends in zip(low[::-1], high[::-1], strict=True))]
    ask_for_voxels(there.shape, 1, "the box of a part of the surface")
    part, corners = np.zeros(there.shape, dtype=FLAG_DTYPE), corners - low
    n_odd = fill_rows(part, corners, *triangles_of_planes(corners[:, :, 2], len(part)), is_union)
    there ^= part
    return n_odd


def with_wall(surface: Surface, flags: np.ndarray, spacing_m: float, origin: np.ndarray) -> Voxels:
    """Voxels with the surface as their wall; GeometryError if no voxel is fluid."""
    if not flags.any():
        size = " x ".join(f"{c:.4g}" for c in np.ptp(surface.points_m, axis=0))
        raise GeometryError(
            f"spacing_m = {spacing_m:g} gives no fluid voxel in a surface of {size} m; refine it or check the unit"
        )
    origin_m = tuple(origin.tolist())
    wall = SurfaceWall(surface.points_m[surface.triangles], origin_m, float(spacing_m))
    return Voxels(flags, float(spacing_m), origin_m, wall_shape=wall)


def _neighbours(edges: Edges) -> np.ndarray:
    """(m, 2) triangles that share an edge: each side and the next one on the same edge."""
    order = np.argsort(edges.of_side, kind="stable")
    same = edges.of_side[order[1:]] == edges.of_side[order[:-1]]
    return np.stack([order[:-1][same], order[1:][same]], axis=1) % (len(order) // 3)


def _component_centres(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(k, 3) mean vertex of each connected set of edges (m, 2)."""
    vertices, ends = np.unique(edges, return_inverse=True)
    component = label_components(len(vertices), ends.reshape(-1, 2))
    count = np.bincount(component)
    sums = [np.bincount(component, points[vertices, i], len(count)) for i in range(3)]
    return np.stack(sums, axis=1) / count[:, np.newaxis]


def grid_of(surface: Surface, spacing_m: float, margin: int) -> tuple[tuple[int, int, int], np.ndarray]:
    """((nz, ny, nx), origin [m]); voxel faces, not centres, lie on the lower corner of the box of the surface."""
    check_positive(spacing_m=spacing_m)
    if not is_whole(margin) or margin < MIN_MARGIN:
        raise GeometryError(
            f"margin is {shown(margin)}; at least {MIN_MARGIN} voxels are needed for the opening voxels"
        )
    box_m = np.array([surface.points_m.min(axis=0), surface.points_m.max(axis=0)])
    counts = np.ceil((box_m[1] - box_m[0]) / spacing_m) + 2 * margin
    if np.prod(counts) > MAX_VOXELS:
        raise GeometryError(
            f"spacing_m = {spacing_m:g} divides the surface's box into {' x '.join(f'{c:.0f}' for c in counts)} voxels;"
            f" at most {MAX_VOXELS:.1e} are allowed: check the unit of the surface or coarsen"
        )
    nx, ny, nz = (int(c) for c in counts)
    return (nz, ny, nx), box_m[0] + (0.5 - margin) * spacing_m


def triangles_of_planes(z: np.ndarray, n_planes: int) -> tuple[np.ndarray, np.ndarray]:
    """(start, members): the triangles that cross plane z = k are ``members[start[k]:start[k + 1]]``; ``z`` (n, 3) in
    voxels."""
    first = np.clip(np.floor(z.min(axis=1)) + 1, 0, n_planes).astype(np.int64)
    count = np.clip(np.floor(z.max(axis=1)) + 1, 0, n_planes).astype(np.int64) - first
    ask_for(4 * 8 * int(count.sum()), f"the sections of {len(z)} triangles with {n_planes} layers of voxels")
    owner = np.repeat(np.arange(len(z)), count)
    plane = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + first[owner]
    start = np.concatenate(([0], np.cumsum(np.bincount(plane, minlength=n_planes))))
    return start, owner[np.argsort(plane, kind="stable")]


@njit(
    cache=True,
    parallel=True,
    usually=(uint8[:, :, ::1], float64[:, :, ::1], int64[::1], int64[::1], types.Omitted(False)),
    subject=SURFACES,
)
def fill_rows(flags, corners, start, members, is_union=False):
    """Set the flags inside the surface to 1; returns the number of rows with an odd number of crossings.

    ``corners`` (n, 3, 3) are vertices (x, y, z) of the triangles in voxel coordinates, start and members those of
    :func:`triangles_of_planes`. Inside is what an odd number of crossings lies before; of a union, whose triangles are
    wound outward, where more lead in than out.
    """
    nz, ny, nx = flags.shape
    n_odd = 0
    for z in prange(nz):
        for m in range(start[z], start[z + 1]):
            _count_crossings(flags[z], corners[members[m]], z)
        for y in range(ny):
            depth = np.uint8(0)
            for x in range(nx):
                depth = np.uint8(depth + flags[z, y, x])
                flags[z, y, x] = depth != 0 if is_union else depth & 1
            n_odd += depth & 1
    return n_odd


@njit(cache=True)
def _count_crossings(plane, triangle, z):
    """Count, in each row y of a plane, the crossing with the triangle's section at height z at the first voxel behind
    it: 1 if it leads in, 255 (-1 of 8 bits) if it leads out."""
    cut = np.empty((2, 2))  # where an edge goes up through the plane, and where one goes down
    found = 0
    for j in range(3):
        a, b = triangle[j], triangle[(j + 1) % 3]
        if (a[2] < z) != (b[2] < z):
            low, high = (a, b) if a[2] < z else (b, a)
            t = (z - low[2]) / (high[2] - low[2])
            side = 0 if a[2] < z else 1
            cut[side, 0] = low[0] + t * (high[0] - low[0])
            cut[side, 1] = low[1] + t * (high[1] - low[1])
            found += 1
    if found == 2:
        leads_in = cut[0, 1] < cut[1, 1]
        low, high = (cut[0], cut[1]) if leads_in else (cut[1], cut[0])
        for y in range(int(np.ceil(low[1])), int(np.ceil(high[1]))):
            x = low[0] + (y - low[1]) / (high[1] - low[1]) * (high[0] - low[0])
            plane[y, min(max(int(np.ceil(x)), 0), plane.shape[1] - 1)] += np.uint8(1 if leads_in else 255)


MOST_DOUBTFUL = 0.2  # largest share of the rows through the volume that may be doubtful


N_ROWS = 256  # rows along the longest edge of a surface in a picture of the doubtful ones


@dataclass(frozen=True)
class OddRows:
    """The rows of voxels that cross a surface an odd number of times, and so give no vote."""

    spacing_m: float  #: voxel edge [m]
    origin_m: np.ndarray  #: (x, y, z) centre of the first voxel [m]
    odd: tuple[np.ndarray, ...]  #: for the rows along x, y and z: bool (nz, ny, nx) with length 1 along that axis

    @property
    def count(self) -> int:
        """Number of samples."""
        return sum(int(np.count_nonzero(odd)) for odd in self.odd)

    def seen(self, axes: tuple[int, int, int]) -> np.ndarray:
        """(h, w) bool: those along the third of the axes (right, up, sight), of which each is a point."""
        right, up, sight = axes
        return self.odd[sight].transpose(2 - up, 2 - right, 2 - sight)[:, :, 0]


def odd_rows(surface: Surface, spacing_m: float | None = None) -> OddRows:
    """The rows of a surface that give no vote; without a voxel edge those of a grid that is fine enough for a picture.
    Raises GeometryError as :func:`voxelise_by_votes`, whatever the number of the rows."""
    spacing_m = spacing_m or float(np.ptp(surface.points_m, axis=0).max()) / N_ROWS
    shape, origin, corners = _grid(surface, spacing_m, MIN_MARGIN)
    return OddRows(spacing_m, np.asarray(origin), tuple(_rows_along(corners, shape, axis)[1] for axis in range(3)))


def _grid(surface: Surface, spacing_m: float, margin: int):
    """(shape of the box, its origin [m], (n, 3, 3) corners of the triangles [voxels])."""
    shape, origin = grid_of(surface, spacing_m, margin)
    ask_for_voxels(shape, 4, "the box of the surface")
    return shape, origin, ((surface.points_m - origin) / spacing_m)[surface.triangles]


def voxelise_by_votes(surface: Surface, spacing_m: float, margin: int = MIN_MARGIN) -> tuple[Voxels, str]:
    """(voxels whose centre lies inside by the majority of three axes, note: text on what was doubtful). Raises
    GeometryError as :func:`muphy_lb.geometry.surfaces.surface.voxelise`, but for surfaces that are not closed only
    where more than MOST_DOUBTFUL of the rows are doubtful."""
    shape, origin, corners = _grid(surface, spacing_m, margin)
    inside, voters = np.zeros(shape, dtype=np.uint8), np.zeros(shape, dtype=np.uint8)
    n_odd, n_rows = 0, 0
    for axis in range(3):
        rows, is_odd = _rows_along(corners, shape, axis)
        inside += rows & ~is_odd
        voters += ~is_odd
        n_odd += int(np.count_nonzero(is_odd))
        n_rows += int(np.count_nonzero(rows.any(axis=2 - axis)))
    flags = (2 * inside > voters).astype(FLAG_DTYPE)
    n_split = int(np.count_nonzero((inside > 0) & (inside < voters)))
    share = n_odd / max(1, n_rows)
    if share > MOST_DOUBTFUL:
        raise GeometryError(
            f"{n_odd} of the {n_rows} rows of voxels through the surface ({share:.1%}) cross it an odd number of"
            f" times; at most {MOST_DOUBTFUL:.0%} may: repair the surface (MeshLab, Blender)"
        )
    note = (
        f"doubtful: voxels by votes along three axes, as asked: {n_odd} of {n_rows} rows ({share:.2%}) cross the"
        f" surface an odd number of times and give no vote; in {n_split} voxels of {int(np.count_nonzero(flags))} the"
        " axes disagree"
    )
    return with_wall(surface, flags, spacing_m, origin), note


def _rows_along(corners: np.ndarray, shape: tuple[int, int, int], axis: int) -> tuple[np.ndarray, np.ndarray]:
    """(bool (nz, ny, nx) inside by the rows along an axis, bool of the same number of dimensions with length 1 along
    it: rows with an odd number of crossings)."""
    order = [axis, (axis + 1) % 3, (axis + 2) % 3]  # the axis of the rows becomes x
    flags = np.zeros([shape[2 - i] for i in reversed(order)], dtype=FLAG_DTYPE)
    turned = np.ascontiguousarray(corners[:, :, order])
    fill_rows(flags, turned, *triangles_of_planes(turned[:, :, 2], len(flags)))
    there = list(reversed(order))
    rows = flags.transpose([there.index(i) for i in (2, 1, 0)]).astype(bool)
    last = [slice(None)] * 3
    last[2 - axis] = slice(-1, None)
    return rows, rows[tuple(last)]
