"""A solid whose surface moves: the share of every voxel that it fills, the wall that follows from the shares, and what
they gain or lose through the links into that wall.

The wall is where the shares, smoothed by (1, 2, 1) / 4 along every axis, are 1/2; of a plane along the axes that is its
place to rounding, since the smoothed shares give the distance from it up to 3/2 voxels. Volume leaves the voxels along
a link into the wall one after another, from the fluid inwards, and joins them in the opposite order, so that a surface
stays as sharp as voxels are (own derivation). Sums of shares are the volume, to rounding.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.link_cuts import WallShape
from muphy_lb.geometry.nodes import box_told
from muphy_lb.geometry.solid_place import SolidPlace
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag

SAMPLES = 16  # points along each axis at which a voxel at the surface of a sphere is sampled
FIRST = 0.25
SECOND = -(FIRST + 1.0 / 24.0) / 4.0
MIDDLE = 1.0 - 2.0 * (FIRST + SECOND)
SMOOTHING = np.array([SECOND, FIRST, MIDDLE, FIRST, SECOND])
FARTHEST = 1.5  # voxels from a plane up to which smoothed shares give the distance
ALONG = (-1, 0, 1, 2)
"""Voxels along a link, in the order in which they lose volume: behind its node, the node's, the solid one, the next."""


@dataclass(frozen=True)
class MovingSolid:
    """The room of a solid that moves, in a geometry without it.

    Args:
        voxels: that geometry; fluid voxels may become solid.
        start: (nz, ny, nx) share of each voxel that is solid at the start, 0 where there is no room.
    """

    voxels: Voxels
    wall: str
    start: np.ndarray

    @classmethod
    def of(cls, voxels: Voxels, place: SolidPlace) -> "MovingSolid":
        """The solid of a case in its geometry. Raises GeometryError: there is none, or its file does not fit."""
        is_drawn = place.centre_m is not None or place.box_m is not None or place.shares_file is not None
        if not is_drawn and place.wall not in voxels.walls:
            raise GeometryError(
                f"no wall is named {place.wall!r}; the walls are {', '.join(voxels.walls) or 'none'}: name one of them,"
                " or say where the solid is, by a sphere, a box or a file of shares"
            )
        walls = voxels.walls if place.wall in voxels.walls else (*voxels.walls, place.wall)
        is_labelled = voxels.flags == wall_flag(walls.index(place.wall))
        room = replace(voxels, flags=np.where(is_labelled, FLAG_DTYPE(FLUID), voxels.flags), walls=walls)
        shares = np.where(is_labelled, 1.0, np.where(room.flags == FLUID, _drawn(voxels, place), 0.0))
        if not shares.any() or np.all(shares[room.flags == FLUID] == 1.0):
            filled, size = ("every", "smaller") if shares.any() else ("no", "larger")
            where = box_told(voxels)
            raise GeometryError(f"the solid {place.wall!r} fills {filled} voxel; {where}: move it, or make it {size}")
        return cls(room, place.wall, shares)

    @cached_property
    def has_room(self) -> np.ndarray:
        """(nz, ny, nx) whether the solid may fill a voxel."""
        return self.voxels.flags == FLUID

    @cached_property
    def _nearest(self) -> tuple[np.ndarray, ...]:
        from scipy.ndimage import distance_transform_edt

        return tuple(distance_transform_edt(~self.has_room, return_distances=False, return_indices=True))

    def levels(self, shares: np.ndarray) -> np.ndarray:
        """(nz, ny, nx) distance of each voxel from the surface of the solid [voxels], positive outside, bounded to
        ``FARTHEST``. Beside other walls the shares continue as they are."""
        from scipy.ndimage import correlate1d

        found = shares[self._nearest]
        for axis, repeats in zip((2, 1, 0), self.voxels.periodic, strict=True):
            if found.shape[axis] > 1:
                found = correlate1d(found, SMOOTHING, axis, mode="wrap" if repeats else "nearest")
        outer = np.minimum(found, 1.0 - found)
        far = np.minimum(FARTHEST - (outer - SECOND) / FIRST, FARTHEST)
        return np.where(outer < FIRST + SECOND, np.sign(0.5 - found) * far, (0.5 - found) / MIDDLE)

    def is_gone(self, shares: np.ndarray) -> bool:
        """Whether no voxel is solid."""
        return not self._is_solid(self.levels(shares)).any()

    def _is_solid(self, levels: np.ndarray) -> np.ndarray:
        return self.has_room & (levels <= 0.0)

    def filled(self, shares: np.ndarray) -> Voxels:
        """The geometry with the solid."""
        levels = self.levels(shares)
        solid = self._is_solid(levels)
        number = self.voxels.walls.index(self.wall)
        flags = np.where(solid, FLAG_DTYPE(wall_flag(number)), self.voxels.flags)
        shape = MovedSurface(levels, solid, self.voxels.periodic, self.voxels.wall_shape)
        return replace(self.voxels, flags=flags, wall_shape=shape)

    def volume_m3(self, shares: np.ndarray) -> float:
        """The volume of the solid."""
        return float(shares.sum()) * self.voxels.spacing_m**3

    def porosity(self, shares: np.ndarray) -> float:
        """The share of the box that is neither this solid nor another."""
        return float((self.has_room - shares).sum() / shares.size)

    def without_crumbs(self, shares: np.ndarray) -> np.ndarray:
        """The shares without those that no link into the wall reaches: rests thinner than a voxel, which dissolve at
        once."""
        near = self._is_solid(self.levels(shares))
        for axis, repeats in zip((2, 1, 0), self.voxels.periodic, strict=True):
            near = _spread(_spread(near, axis, repeats), axis, repeats)
        return np.where(near, shares, 0.0)

    def moved(
        self, shares: np.ndarray, voxel: np.ndarray, vector: np.ndarray, lost: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """The shares after volume has gone through links along axes.

        Args:
            voxel, vector: (S,) ids of the voxels from which links start, (S, 3) their vectors (x, y, z) into the wall.
            lost: (S,) volume that the solid loses through each [voxels], negative where it grows.

        Returns:
            The shares, and the volume that none of the voxels along the links had, less what none had room for.
        """
        solid, beyond = self._is_solid(self.levels(shares)), 0.0
        places = [self._along(voxel, vector, offset, solid) for offset in ALONG]
        far, exists = places[-1]
        within = [*places[:-1], (far, exists & solid.flat[far])]  # behind a thin solid is another surface's fluid
        for sign, order in ((1.0, places), (-1.0, within[::-1])):
            stock = shares if sign > 0.0 else np.where(self.has_room, 1.0 - shares, 0.0)
            rest, left = np.maximum(sign * lost, 0.0), stock.reshape(-1).copy()
            for there, exists in order:
                chosen = np.flatnonzero((rest > 0.0) & exists)
                rest[chosen] -= _taken(left, there[chosen], rest[chosen])
            shares = np.clip(shares - sign * (stock - left.reshape(stock.shape)), 0.0, 1.0)
            beyond += sign * float(rest.sum())
        return shares, beyond

    def _along(self, voxel, vector, offset: int, solid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(S,) ids of the voxels at an offset along links, and whether they belong to the same surface."""
        place = np.array(np.unravel_index(voxel, solid.shape)) + offset * vector[:, ::-1].T
        size, repeats = np.array(solid.shape)[:, None], np.array(self.voxels.periodic[::-1])[:, None]
        place, is_there = np.where(repeats, place % size, place), ((place >= 0) & (place < size) | repeats).all(axis=0)
        there = np.ravel_multi_index(place, solid.shape, mode="clip")
        return there, is_there & ~(solid.flat[there] & (offset < 0))


@dataclass(frozen=True)
class MovedSurface:
    """The surface of a moving solid as a :class:`muphy_lb.geometry.link_cuts.WallShape`, straight between levels."""

    levels: np.ndarray  #: (nz, ny, nx) of :meth:`MovingSolid.levels`
    solid: np.ndarray  #: (nz, ny, nx) whether a voxel belongs to the solid
    periodic: tuple[bool, bool, bool]  #: axes along which the box repeats
    beside: WallShape | None  #: the true place of the other walls, if known

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Distances to the surface of level 0; other walls as they are."""
        found = np.full(len(start), np.nan) if self.beside is None else 1.0 * self.beside.distances(start, vector)
        size = np.array(self.solid.shape)[::-1]
        first, last = (np.rint(place).astype(np.int64) for place in (start, start + np.asarray(vector)))
        is_there = (((last >= 0) & (last < size)) | np.array(self.periodic)).all(axis=1)
        here, there = (tuple((place % size).T[::-1]) for place in (first, last))
        is_met = is_there & self.solid[there]
        outside, inside = (self.levels[place][is_met] for place in (here, there))
        found[is_met] = outside / (outside - inside)
        return found


def _taken(left: np.ndarray, there: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(k,) how much of what is left (n,) at voxels goes where so much is wanted; takes it away."""
    demand = np.bincount(there, wanted, left.size)
    asked = demand > 0.0
    share = np.minimum(left[asked] / demand[asked], 1.0)
    left[asked] = np.where(share < 1.0, 0.0, left[asked] - demand[asked])
    granted = np.zeros(left.size)
    granted[asked] = share
    return granted[there] * wanted


def _spread(flags: np.ndarray, axis: int, repeats: bool) -> np.ndarray:
    """Flags that are set where a neighbour along the axis is."""
    width = [(1, 1) if k == axis else (0, 0) for k in range(3)]
    wide = np.pad(flags, width, mode="wrap") if repeats else np.pad(flags, width)
    n = flags.shape[axis]
    return np.logical_or.reduce([np.take(wide, range(k, k + n), axis) for k in range(3)])


def _drawn(voxels: Voxels, place: SolidPlace) -> np.ndarray:
    """(nz, ny, nx) share of each voxel within a sphere, a box, or as a file has it; 0 without one."""
    if place.shares_file is not None:
        return _read_shares(place.shares_file, voxels.shape)
    grids = [np.arange(n) for n in voxels.shape[::-1]]
    if place.box_m is not None:
        low, high = ((np.array(corner) - voxels.origin_m) / voxels.spacing_m for corner in place.box_m)
        parts = [
            np.clip(np.minimum(grid + 0.5, b) - np.maximum(grid - 0.5, a), 0.0, 1.0) if grid.size > 1 else np.ones(1)
            for grid, a, b in zip(grids, low, high, strict=True)
        ]
        return parts[2][:, None, None] * parts[1][:, None] * parts[0]
    if place.centre_m is None or place.radius_m is None:
        return np.zeros(voxels.shape)
    centre, radius = (np.array(place.centre_m) - voxels.origin_m) / voxels.spacing_m, place.radius_m / voxels.spacing_m
    fine = (np.arange(SAMPLES) + 0.5) / SAMPLES - 0.5
    offsets = [grid[:, None] + (fine if grid.size > 1 else 0.0) - c for grid, c in zip(grids, centre, strict=True)]
    squares = [offset**2 if len(offset) > 1 else 0.0 * offset[:, :1] for offset in offsets]
    shares = np.empty(voxels.shape)
    for z, y in np.ndindex(voxels.shape[:2]):
        across = squares[2][z][:, None] + squares[1][y]
        inside = across[None, :, :, None] + squares[0][:, None, None, :] <= radius**2
        shares[z, y] = inside.mean(axis=(1, 2, 3))
    return shares


def _read_shares(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise GeometryError(f"{path} cannot be read as a .npy file of shares: {error}") from error
    found = found[None] if found.ndim == 2 else found
    if found.shape != shape:
        raise GeometryError(f"{path} has an array of shape {found.shape}; the geometry has {shape} (nz, ny, nx)")
    wrong = found[~((found >= 0.0) & (found <= 1.0))]
    if wrong.size:
        raise GeometryError(f"{path} has a share of {wrong.flat[0]:g}; allowed: 0, no solid, to 1, all solid")
    return found.astype(np.float64)
