"""Records of walls: their names, where along a link the true wall lies, and what can tell that."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

N_DIRECTIONS = 27


class WallShape(Protocol):
    """Something that knows where the true wall lies between voxel centres."""

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Where links meet the true wall.

        Args:
            start: (n, 3) float64 voxel coordinates (x, y, z) of fluid nodes; voxel centres are whole numbers.
            vector: (3,) integer lattice vector (x, y, z).

        Returns:
            (n,) float64: the fraction in (0, 1] of the link ``start -> start + vector`` at which it first meets the
            wall; NaN where it meets none.
        """


@dataclass(frozen=True)
class Wall:
    """A labelled wall.

    Attributes:
        name: in case files.
        n_voxels: of that label in the image (its volume).
        is_solid: whether its voxels are nodes as well (:mod:`muphy_lb.geometry.solids`).
    """

    name: str
    n_voxels: int
    is_solid: bool = False


@dataclass(frozen=True)
class Cuts:
    """Where the true wall cuts links, sorted by voxel and direction.

    Attributes:
        voxel: (m,) int64 voxel id of the fluid node that the link starts from.
        direction: (m,) uint8 :func:`direction_code` of the link.
        distance: (m,) float64 fraction in (0, 1] of the link at which the wall lies.
        n_missed: links into solid that meet no wall; their distance is one half.
    """

    voxel: np.ndarray
    direction: np.ndarray
    distance: np.ndarray
    n_missed: int = 0

    @property
    def n_links(self) -> int:
        """Number of links with a distance."""
        return int(self.voxel.size)

    @cached_property
    def keys(self) -> np.ndarray:
        """(m,) int64 ascending :func:`link_keys` of the links."""
        return link_keys(self.voxel, self.direction)

    def of(self, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(n,) float64 distances of the links from voxel ids (n,) along vectors (n, 3) or (3,); NaN where absent."""
        wanted = link_keys(voxel, direction_code(vector))
        if not self.n_links:
            return np.full(wanted.shape, np.nan)
        place = np.minimum(np.searchsorted(self.keys, wanted), self.n_links - 1)
        return np.where(self.keys[place] == wanted, self.distance[place], np.nan)

    def of_nodes(self, voxel: np.ndarray) -> "Cuts":
        """The cuts of the nodes with these voxel ids only."""
        kept = np.isin(self.voxel, voxel)
        return replace(self, voxel=self.voxel[kept], direction=self.direction[kept], distance=self.distance[kept])


def direction_code(vector: np.ndarray) -> np.ndarray:
    """Code ``(dx + 1) + 3 (dy + 1) + 9 (dz + 1)``, 0 to 26, of lattice vectors (..., 3)."""
    return (np.asarray(vector, dtype=np.int64) + 1) @ np.array([1, 3, 9])


def link_keys(voxel: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """int64 keys that order links by voxel id, then by direction code."""
    return np.asarray(voxel, dtype=np.int64) * N_DIRECTIONS + direction
