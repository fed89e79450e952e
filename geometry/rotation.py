"""Rotated inputs: the geometry is turned about the origin of its coordinates, so the grid lies in it at another angle.

The share of an answer that depends on the angle between grid and vessel is an error as any other; it shows in runs of
one vessel at several angles. A surface is turned by its vertices. Voxels are drawn again: the distance from the wall,
positive in the fluid, is interpolated linearly between the voxels of the input.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.displaced_wall import levels_of
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.rule import Noted
from muphy_lb.geometry.implicit import ROUNDING, ImplicitWall
from muphy_lb.geometry.limits import ask_for_voxels, shown
from muphy_lb.geometry.options import check_whole, field_names, is_number, vector
from muphy_lb.geometry.surfaces.mend import Mended
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels

LARGEST_SEED = 2**63 - 1
BYTES_PER_VOXEL = 2
MARGIN = 1  # layers of solid around the fluid of a rotated image


@dataclass(frozen=True)
class Rotation:
    """A rotation of a geometry about the origin of its coordinates; the attributes are options of every input."""

    rotation_deg: float = 0.0  #: angle [degrees], counterclockwise seen from the tip of the axis
    rotation_axis: Sequence[float] = (0.0, 0.0, 1.0)  #: direction (x, y, z) of the axis
    #: instead of both: seed of a random rotation, all of which are equally likely
    rotation_seed: int | None = None

    def __post_init__(self):
        if not is_number(self.rotation_deg):
            raise GeometryError(f"rotation_deg is {shown(self.rotation_deg)}; it must be a number of degrees")
        if not np.linalg.norm(vector("rotation_axis", self.rotation_axis, 3)) > 0.0:
            raise GeometryError(f"rotation_axis is {shown(self.rotation_axis)}; give a direction x, y, z")
        if self.rotation_seed is not None:
            check_whole(0, LARGEST_SEED, rotation_seed=self.rotation_seed)
            if self.rotation_deg:
                raise GeometryError("rotation_seed is that of a random rotation, and rotation_deg is given; take one")

    def __bool__(self):
        return bool(self.rotation_deg) or self.rotation_seed is not None

    def __str__(self):
        if self.rotation_seed is not None:
            return f"the geometry was rotated at random (seed {self.rotation_seed})"
        axis = ", ".join(f"{c:g}" for c in self.rotation_axis)
        return f"the geometry was rotated by {self.rotation_deg:g} degrees about ({axis})"

    @cached_property
    def matrix(self) -> np.ndarray:
        """(3, 3) matrix R: a point x goes to R x.

        A random one is that of a quaternion of four normal numbers, whose direction is uniform on its sphere
        (Marsaglia, Ann. Math. Stat. 43, 645 (1972)).
        """
        if self.rotation_seed is not None:
            real, *imaginary = np.random.default_rng(self.rotation_seed).normal(size=4)
        else:
            half = 0.5 * np.deg2rad(self.rotation_deg)
            axis = np.array(self.rotation_axis, dtype=np.float64)
            real, imaginary = np.cos(half), np.sin(half) * axis / np.linalg.norm(axis)
        w, (x, y, z) = real, imaginary
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.eye(3) + 2.0 * (w * cross + cross @ cross) / (w * w + x * x + y * y + z * z)

    def turned(self, vectors: np.ndarray) -> np.ndarray:
        """(n, 3) points or vectors of the input, as they are in the rotated geometry."""
        return vectors @ self.matrix.T

    def turned_back(self, vectors: np.ndarray) -> np.ndarray:
        """(n, 3) points or vectors of the rotated geometry, as they are in the input."""
        return vectors @ self.matrix

    def opening(self, opening: Opening) -> Opening:
        """An opening of the input, as it is in the rotated geometry."""
        if not self:
            return opening
        centre, normal = self.turned(np.array([opening.centre_m, opening.normal]))
        return replace(opening, centre_m=triple(centre.tolist()), normal=triple(normal.tolist()))

    def surface(self, surface: Surface) -> Surface:
        """A surface with its vertices turned."""
        return replace(surface, points=self.turned(surface.points)) if self else surface


ROTATION_NAMES = field_names(Rotation)


def rotated_surface(mended: Mended, rotation: Rotation) -> Mended:
    """A closed surface with its vertices turned, and a note on it."""
    if not rotation:
        return mended
    return replace(mended, surface=rotation.surface(mended.surface), notes=(*mended.notes, str(rotation)))


def rotated_voxels(loaded: Noted, rotation: Rotation) -> Noted:
    """Voxels of the rotated geometry, in the smallest box around the old one; a wall is at the faces of that.

    Raises GeometryError: the box repeats, is a plane image, or has openings, which lie along its axes; no fluid is
    left.
    """
    voxels = loaded.voxels
    if not rotation:
        return loaded
    _refuse(voxels)
    level, edge_m = _level_of(voxels), voxels.spacing_m
    low = np.array(voxels.origin_m) - 0.5 * edge_m
    size_m = edge_m * np.array(voxels.shape[::-1])
    corners_m = rotation.turned(low + size_m * np.stack(np.meshgrid(*[[0, 1]] * 3), axis=-1).reshape(-1, 3))
    first_m = corners_m.min(axis=0) + (0.5 - MARGIN) * edge_m  # quarter turns take centres to centres
    counts = np.ceil(np.ptp(corners_m, axis=0) / edge_m - ROUNDING).astype(int) + 2 * MARGIN
    shape = tuple(counts[::-1].tolist())
    ask_for_voxels(shape, BYTES_PER_VOXEL, "the rotated image")

    def input_voxel(points: np.ndarray) -> np.ndarray:
        return (rotation.turned_back(first_m + edge_m * points) - np.array(voxels.origin_m)) / edge_m

    flags = np.zeros(shape, dtype=FLAG_DTYPE)
    y, x = np.indices(shape[1:])
    for z in range(shape[0]):  # one layer after the other: positions take more than the image
        points = input_voxel(np.stack((x, y, np.full_like(x, z)), axis=-1).reshape(-1, 3))
        flags[z] = np.where(level(points) > 0.0, FLUID, _solids(voxels, points)).reshape(shape[1:])
    if not np.any(flags == FLUID):
        raise GeometryError(f"no fluid is left: {rotation}; give a smaller spacing")
    turned = replace(
        voxels,
        flags=flags,
        origin_m=triple(first_m.tolist()),
        wall_shape=ImplicitWall(lambda points: level(input_voxel(points))),
        ends=(),
    )
    return Noted(turned, (*loaded.notes, f"{rotation}; the faces of its box are walls"))


def _refuse(voxels: Voxels) -> None:
    remedy = "rotate a surface, whose ends turn with it, or an image whose openings are cut in the case"
    if voxels.openings:
        names = ", ".join(opening.name for opening in voxels.openings)
        raise GeometryError(f"a rotation needs an input without openings, and this one has {names}; {remedy}")
    if any(voxels.periodic) or 1 in voxels.shape:
        what = "repeats" if any(voxels.periodic) else "is a plane"
        raise GeometryError(f"a rotation needs a box that can be turned, and this one {what}; {remedy}")


def _level_of(voxels: Voxels):
    """The function of points (n, 3) in voxel coordinates that is positive in the fluid, the faces of the box being
    walls."""
    inner = voxels.wall_shape.level if isinstance(voxels.wall_shape, ImplicitWall) else levels_of(voxels)
    last = np.array(voxels.shape[::-1]) - 0.5

    def level(points: np.ndarray) -> np.ndarray:
        return np.minimum(inner(points), np.minimum(points + 0.5, last - points).min(axis=1))

    return level


def _solids(voxels: Voxels, points: np.ndarray) -> np.ndarray:
    """(n,) flags of the nearest solid voxels, so that walls keep their names."""
    at = np.rint(points).astype(np.int64)
    inside = np.all((at >= 0) & (at < voxels.shape[::-1]), axis=1)
    x, y, z = np.where(inside[:, None], at, 0).T
    found = voxels.flags[z, y, x]
    return np.where(inside & (found != FLUID), found, FLAG_DTYPE(SOLID))
