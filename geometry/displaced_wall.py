"""Displaced walls: the wall of an input moved by a distance, and by a random field of stated amplitude and length.

The uncertainty of a wall, such as that of a segmentation, is a displacement along its normal,

    d(x) = wall_moved_m + wall_rough_m g(x),

outwards where it is positive; g is a Gaussian random field of mean 0, variance 1 and covariance exp(-r^2 / (2 L^2))
with L = ``wall_rough_length_m``, a sum of cosines with normal wave numbers of standard deviation 1 / L (Rahimi and
Recht, NIPS 2007). It is a function of the position alone, so it does not depend on the voxel edge or on the
triangles.
"""

from dataclasses import dataclass, replace
from math import ceil, pi, sqrt

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.rule import Noted
from muphy_lb.geometry.implicit import ImplicitWall
from muphy_lb.geometry.limits import ask_for_voxels, shown
from muphy_lb.geometry.openings.find import ends_of_surface
from muphy_lb.geometry.options import check_positive, check_whole, field_names, is_number
from muphy_lb.geometry.repeats import Axes
from muphy_lb.geometry.surfaces.mend import Mended
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels

N_WAVES = 512
LARGEST_SEED = 2**63 - 1
TAILS = 4.0  # standard deviations that a displacement hardly exceeds
BYTES_PER_VOXEL = 40
MOST_TURNED = 0.05  # share of a wall whose triangles may be turned over, as at sharp edges
NOTHING_MOVED = (
    ": half-way walls stay where they were; take lattice.walls = 'bouzidi', whose walls move by any distance"
)


@dataclass(frozen=True)
class WallDisplacement:
    """A displacement of a wall; the attributes are options of every input."""

    wall_moved_m: float = 0.0  #: distance [m] by which the wall is moved outwards; negative: into the fluid
    wall_rough_m: float = 0.0  #: standard deviation [m] of a random displacement besides
    wall_rough_length_m: float | None = None  #: its correlation length [m]
    wall_rough_seed: int = 0  #: of its random numbers

    def __post_init__(self):
        for name in ("wall_moved_m", "wall_rough_m"):
            if not is_number(getattr(self, name)):
                raise GeometryError(f"{name} is {shown(getattr(self, name))}; it must be a number of metres")
        if self.wall_rough_m < 0.0:
            raise GeometryError(f"wall_rough_m is {self.wall_rough_m:g}; it must be 0 or more")
        check_whole(0, LARGEST_SEED, wall_rough_seed=self.wall_rough_seed)
        if self.wall_rough_length_m is not None:
            check_positive(wall_rough_length_m=self.wall_rough_length_m)
        if self.wall_rough_m and self.wall_rough_length_m is None:
            raise GeometryError("wall_rough_m is given without wall_rough_length_m; give the correlation length [m]")

    def __bool__(self):
        return bool(self.wall_moved_m or self.wall_rough_m)

    def __str__(self):
        rough = ""
        if self.wall_rough_m:
            rough = f", and at random by {self.wall_rough_m:g} m over {self.wall_rough_length_m:g} m"
        return f"the wall was moved outwards by {self.wall_moved_m:g} m{rough}"

    @property
    def largest_m(self) -> float:
        """The largest displacement to be expected [m]."""
        return abs(self.wall_moved_m) + TAILS * self.wall_rough_m

    def at_m(self, positions_m: np.ndarray) -> np.ndarray:
        """(n,) displacement [m] at positions (n, 3) [m]."""
        found = np.full(len(positions_m), float(self.wall_moved_m))
        if not self.wall_rough_m:
            return found
        random = np.random.default_rng(self.wall_rough_seed)
        waves = random.normal(0.0, 1.0 / float(self.wall_rough_length_m or 1.0), (N_WAVES, 3))
        phases = random.uniform(0.0, 2.0 * pi, N_WAVES)
        scale = self.wall_rough_m * sqrt(2.0 / N_WAVES)
        for wave, phase in zip(waves, phases, strict=True):
            found += scale * np.cos(
                positions_m[:, 0] * wave[0] + positions_m[:, 1] * wave[1] + positions_m[:, 2] * wave[2] + phase
            )
        return found


DISPLACEMENT_NAMES = field_names(WallDisplacement)


def displaced_surface(mended: Mended, displacement: WallDisplacement) -> Mended:
    """A closed surface whose vertices are moved along the normals of its wall; ends and flat caps stay in their planes,
    of which only the rim moves. Raises GeometryError: the wall would pass through itself."""
    surface = mended.surface
    is_wall = np.ones(len(surface.triangles), dtype=bool)
    for _, triangles in ends_of_surface(mended):
        is_wall[triangles] = False
    corners = surface.points_m[surface.triangles[is_wall]]
    weighted = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal = np.zeros_like(surface.points_m)
    for k in range(3):
        np.add.at(normal, surface.triangles[is_wall][:, k], weighted)
    length = np.linalg.norm(normal, axis=1)
    normal = np.divide(normal, length[:, None], out=np.zeros_like(normal), where=length[:, None] > 0.0)
    moved_m = surface.points_m + displacement.at_m(surface.points_m)[:, None] * normal
    corners = moved_m[surface.triangles[is_wall]]
    turned = (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * weighted).sum(axis=1) < 0.0
    area = np.linalg.norm(weighted, axis=1)
    share = area[turned].sum() / area.sum() if area.any() else 0.0
    if share > MOST_TURNED or _volume(moved_m, surface) * _volume(surface.points_m, surface) < 0.0:
        raise GeometryError(
            f"{displacement}: farther than the vessel is wide, so that the wall passes through itself"
            f" ({share:.0%} of it); give a smaller displacement"
        )
    return replace(mended, surface=replace(surface, points=moved_m / surface.metres_per_unit))


def _volume(points_m: np.ndarray, surface) -> float:
    """Six times the signed volume within a closed surface [m3]."""
    a, b, c = np.moveaxis((points_m - points_m.mean(axis=0))[surface.triangles], 1, 0)
    return float((a * np.cross(b, c)).sum())


def displaced_voxels(loaded: Noted, displacement: WallDisplacement, repeats: Axes) -> Noted:
    """Voxels whose wall, half-way between those of fluid and the others, is moved; labels of solid that stays are kept.

    The distance from the wall is that from the nearest voxel of the other kind less half a voxel, so a wall at faces of
    voxels moves by whole voxels, and one that cuts links (``lattice.walls``) by any distance. Along the axes (x, y, z)
    where ``repeats`` is true, the wall of the next box counts, too.

    Raises GeometryError: the voxels have openings; nothing is left of the fluid.
    """
    voxels = loaded.voxels
    if voxels.openings:
        raise GeometryError(
            f"wall_moved_m and wall_rough_m move the walls of images and surfaces, and this input has openings already"
            f" ({', '.join(opening.name for opening in voxels.openings)}); change its own size, or cut its openings in"
            " the case"
        )
    level = _levels(voxels, displacement, repeats)
    is_fluid = level > 0.0
    if not is_fluid.any():
        raise GeometryError(f"no fluid is left: {displacement}; give a smaller displacement")
    flags = np.where(is_fluid, FLAG_DTYPE(FLUID), np.where(voxels.flags == FLUID, FLAG_DTYPE(SOLID), voxels.flags))
    moved = replace(voxels, flags=flags.astype(FLAG_DTYPE), wall_shape=ImplicitWall(_interpolated(level, repeats)))
    n_changed = np.count_nonzero(is_fluid != (voxels.flags == FLUID))
    note = f"{displacement}; {n_changed:,} voxels changed sides" + ("" if n_changed else NOTHING_MOVED)
    return Noted(moved, (*loaded.notes, note))


def levels_of(voxels: Voxels):
    """The function of points (n, 3) in voxel coordinates that is the distance from the wall, positive in the fluid."""
    still = (False, False, False)
    return _interpolated(_levels(voxels, WallDisplacement(), still), still)


def _levels(voxels: Voxels, displacement: WallDisplacement, repeats: Axes) -> np.ndarray:
    """(nz, ny, nx) distance of each voxel from the moved wall [voxels], positive in the fluid."""
    from scipy.ndimage import distance_transform_edt

    n = ceil(displacement.largest_m / voxels.spacing_m) + 2
    ask_for_voxels([size + 2 * n for size in voxels.shape], BYTES_PER_VOXEL, "the distance from the wall")
    fluid = voxels.flags == FLUID
    for axis in range(3):
        widths = [(n, n) if axis == other else (0, 0) for other in range(3)]
        fluid = np.pad(fluid, widths, mode="wrap" if repeats[2 - axis] else "edge")
    distance = [
        distance_transform_edt(side) if not side.all() else np.full(side.shape, np.inf) for side in (fluid, ~fluid)
    ]
    level = np.where(fluid, distance[0] - 0.5, 0.5 - distance[1])[n:-n, n:-n, n:-n]
    for z, layer in enumerate(level):  # one layer after the other: positions take more than the image
        near = np.abs(layer) <= displacement.largest_m / voxels.spacing_m + 2.0
        y, x = np.nonzero(near)
        position_m = np.asarray(voxels.origin_m) + voxels.spacing_m * np.stack((x, y, np.full_like(x, z)), axis=-1)
        layer[near] += displacement.at_m(position_m) / voxels.spacing_m
    return level


def _interpolated(level: np.ndarray, repeats: Axes):
    """The function of points (n, 3) in voxel coordinates that interpolates linearly between voxels."""
    from scipy.ndimage import map_coordinates

    size = np.array(level.shape[::-1])
    level = np.pad(level, [(0, int(wraps)) for wraps in repeats[::-1]], mode="wrap")

    def at(points: np.ndarray) -> np.ndarray:
        wrapped = np.where(repeats, np.mod(points, size), points)
        return map_coordinates(level, wrapped[:, ::-1].T, order=1, mode="nearest")

    return at
