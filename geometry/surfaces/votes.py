"""The volume inside a surface that cannot be mended: votes along the three axes.

Every row of voxels along x, y or z crosses a closed surface an even number of times, and its voxels between an odd and
the next crossing are inside. Where a surface has a hole or a triangle too many, some rows are wrong: a row with an odd
number of crossings gives no vote, and of the rows of the three axes through a voxel the majority decides. A defect in
one place does not reach far, because the rows of two other axes pass it by.
Source of the idea: Nooruddin, Turk, IEEE Trans. Vis. Comput. Graph. 9 (2003) 191.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for_voxels
from muphy_lb.geometry.surfaces.surface import MIN_MARGIN, Surface, fill_rows, grid_of, triangles_of_planes, with_wall
from muphy_lb.geometry.voxels import FLAG_DTYPE, Voxels

MOST_DOUBTFUL = 0.2
"""Largest share of the rows through the volume that may be doubtful."""


N_ROWS = 256
"""Rows along the longest edge of a surface in a picture of the doubtful ones."""


@dataclass(frozen=True)
class OddRows:
    """The rows of voxels that cross a surface an odd number of times, and so give no vote.

    Attributes:
        spacing_m: voxel edge [m].
        origin_m: (x, y, z) centre of the first voxel [m].
        odd: for the rows along x, y and z: bool (nz, ny, nx) with length 1 along that axis.
    """

    spacing_m: float
    origin_m: np.ndarray
    odd: tuple[np.ndarray, ...]

    @property
    def count(self) -> int:
        """How many they are."""
        return sum(int(np.count_nonzero(odd)) for odd in self.odd)

    def seen(self, axes: tuple[int, int, int]) -> np.ndarray:
        """(h, w) bool: those along the third of the axes (right, up, sight), of which each is a point."""
        right, up, sight = axes
        return self.odd[sight].transpose(2 - up, 2 - right, 2 - sight)[:, :, 0]


def odd_rows(surface: Surface, spacing_m: float | None = None) -> OddRows:
    """The rows of a surface that give no vote; without a voxel edge those of a grid that is fine enough for a picture.

    Raises GeometryError as :func:`voxelise_by_votes`, whatever the number of the rows.
    """
    spacing_m = spacing_m or float(np.ptp(surface.points_m, axis=0).max()) / N_ROWS
    shape, origin, corners = _grid(surface, spacing_m, MIN_MARGIN)
    return OddRows(spacing_m, np.asarray(origin), tuple(_rows_along(corners, shape, axis)[1] for axis in range(3)))


def _grid(surface: Surface, spacing_m: float, margin: int):
    """(shape of the box, its origin [m], (n, 3, 3) corners of the triangles [voxels])."""
    shape, origin = grid_of(surface, spacing_m, margin)
    ask_for_voxels(shape, 4, "the box of the surface")
    return shape, origin, ((surface.points_m - origin) / spacing_m)[surface.triangles]


def voxelise_by_votes(surface: Surface, spacing_m: float, margin: int = MIN_MARGIN) -> tuple[Voxels, str]:
    """(voxels whose centre lies inside by the majority of three axes, note: text on what was doubtful).

    Raises GeometryError as :func:`muphy_lb.geometry.surfaces.surface.voxelise`, but for surfaces that are not closed
    only where more than MOST_DOUBTFUL of the rows are doubtful.
    """
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
