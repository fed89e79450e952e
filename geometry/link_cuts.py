"""Records of labelled walls and of link cuts, and the interface of the shapes from which cuts are computed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

N_DIRECTIONS = 27


class WallShape(Protocol):
    """Interface: the true position of a wall between voxel centres."""

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Fractions at which links intersect the true wall.

        Args:
            start: (n, 3) float64 voxel coordinates (x, y, z) of fluid nodes; voxel centres have integer coordinates.
            vector: (3,) integer lattice vector (x, y, z).

        Returns:
            (n,) float64: the fraction in (0, 1] of the link ``start -> start + vector`` at which it first
            intersects the wall; NaN where it does not.
        """


@runtime_checkable
class MeasuredWall(WallShape, Protocol):
    """Interface: a wall that knows its area."""

    def areas(self, points: np.ndarray, size: np.ndarray) -> np.ndarray:
        """(n,) area [voxel faces] around each of some points (n, 3) of the wall; ``size``: (3,) voxels of the box along
        x, y, z, outside which it does not count."""


@dataclass(frozen=True)
class Wall:
    """A labelled wall."""

    name: str  #: name of the wall in case files
    n_voxels: int  #: number of voxels with that label in the image (its volume)
    #: whether its voxels are nodes too, as those of a solid that conducts (:mod:`muphy_lb.geometry.labels`)
    is_solid: bool = False


@dataclass(frozen=True)
class Cuts:
    """Positions at which the true wall cuts links, sorted by voxel and direction."""

    voxel: np.ndarray  #: (m,) int64 voxel id of the fluid node that the link starts from
    direction: np.ndarray  #: (m,) uint8 :func:`direction_code` of the link
    distance: np.ndarray  #: (m,) float64 fraction in (0, 1] of the link at which the wall lies
    n_missed: int = 0  #: number of links into solid that do not intersect the wall; their distance is 1/2
    #: (m,) area of the wall around the point where each link along an axis meets it [voxel faces], 0 of other links;
    #: None where it is not known
    area: np.ndarray | None = None

    @property
    def n_links(self) -> int:
        """Number of cut links."""
        return int(self.voxel.size)

    @cached_property
    def keys(self) -> np.ndarray:
        """(m,) int64 ascending :func:`link_keys` of the links."""
        return link_keys(self.voxel, self.direction)

    def of(self, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(n,) float64 distances of the links from voxel ids (n,) along vectors (n, 3) or (3,); NaN where absent."""
        return self._of(self.distance, voxel, vector)

    def area_of(self, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(n,) float64 areas of such links; NaN where absent or not known."""
        return self._of(np.full(self.n_links, np.nan) if self.area is None else self.area, voxel, vector)

    def _of(self, values: np.ndarray, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
        wanted = link_keys(voxel, direction_code(vector))
        if not self.n_links:
            return np.full(wanted.shape, np.nan)
        index = np.minimum(np.searchsorted(self.keys, wanted), self.n_links - 1)
        return np.where(self.keys[index] == wanted, values[index], np.nan)

    def of_nodes(self, voxel: np.ndarray) -> "Cuts":
        """Only the cuts of the nodes with these voxel ids."""
        kept = np.isin(self.voxel, voxel)
        return replace(
            self,
            voxel=self.voxel[kept],
            direction=self.direction[kept],
            distance=self.distance[kept],
            area=None if self.area is None else self.area[kept],
        )


HALF_WAY = 0.5  # distance of a link into solid that does not intersect the wall


def cut_distances(cuts: Cuts | None, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """(n,) distances as of :meth:`Cuts.of`, half-way where they are unknown."""
    found = np.full(voxel.size, np.nan) if cuts is None else cuts.of(voxel, vector)
    return np.where(np.isnan(found), HALF_WAY, found)


def direction_code(vector: np.ndarray) -> np.ndarray:
    """Code ``(dx + 1) + 3 (dy + 1) + 9 (dz + 1)``, 0 to 26, of lattice vectors (..., 3)."""
    return (np.asarray(vector, dtype=np.int64) + 1) @ np.array([1, 3, 9])


def link_keys(voxel: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """int64 keys that order links by voxel id, then by direction code."""
    return np.asarray(voxel, dtype=np.int64) * N_DIRECTIONS + direction
