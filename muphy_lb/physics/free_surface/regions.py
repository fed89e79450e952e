"""Regions that are liquid at the start."""

from dataclasses import dataclass

import numpy as np

FAR = 8.0
"""Distance [voxels] from spheres beyond which it is not told."""


@dataclass(frozen=True)
class Region:
    """A region of liquid, in voxels from the centre of the first one.

    Attributes:
        velocity: (3,) lattice units.
    """

    velocity: np.ndarray

    def distance(self, place: np.ndarray) -> np.ndarray:
        """(m,) distance of places (m, 3) from the surface, negative inside; at least in sign and up to a voxel."""
        raise NotImplementedError

    def depth(self, place: np.ndarray, up: np.ndarray) -> np.ndarray:
        """(m,) depth of places below the highest point of the region; 0 if it has no weight of its own."""
        raise NotImplementedError

    def holds(self, place: np.ndarray) -> np.ndarray:
        """(m,) whether liquid of the region may be in voxels (m, 3)."""
        return self.distance(place) < 1.0

    def curvature(self, place: np.ndarray, dimension: int) -> np.ndarray:
        """(m,) mean curvature of its surface nearest to places (m, 3), where it is curved."""
        return np.zeros(len(place))

    def span(self, up: np.ndarray) -> tuple[float, float]:
        """Lowest and highest point along ``up`` (3,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class BoxRegion(Region):
    """All between two corners (3,)."""

    low: np.ndarray
    high: np.ndarray

    def distance(self, place):
        """Largest distance beyond a face."""
        beyond = [np.maximum(self.low[k] - place[:, k], place[:, k] - self.high[k]) for k in range(3)]
        return np.maximum(np.maximum(*beyond[:2]), beyond[2])

    def depth(self, place, up):
        """Below the highest corner."""
        return self.span(up)[1] - place @ up

    def span(self, up):
        """Of the corners."""
        ends = self.low * up, self.high * up
        return float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum())


@dataclass(frozen=True)
class SpheresRegion(Region):
    """All within some spheres: their centres (k, 3) and radii (k,)."""

    centres: np.ndarray
    radii: np.ndarray

    def distance(self, place):
        """Distance from the nearest sphere."""
        return self._nearest(place)[0]

    def depth(self, place, up):
        """None: drops fall freely."""
        return np.zeros(len(place))

    def curvature(self, place, dimension):
        """That of the nearest sphere, or circle."""
        return (dimension - 1) / 2.0 / self._nearest(place)[1]

    def span(self, up):
        """From the lowest point to the highest."""
        middle = self.centres @ up
        return float((middle - self.radii).min()), float((middle + self.radii).max())

    def _nearest(self, place) -> tuple[np.ndarray, np.ndarray]:
        """(m,) distance from the nearest sphere, up to about ``FAR``, and its radius."""
        from scipy.spatial import cKDTree

        distance, nearest = np.full(len(place), FAR), np.full(len(place), self.radii[0])
        for radius in np.unique(self.radii):
            tree = cKDTree(self.centres[self.radii == radius])
            found = tree.query(place, distance_upper_bound=radius + FAR)[0] - radius
            nearest = np.where(found < distance, radius, nearest)
            distance = np.minimum(distance, found)
        return distance, nearest


def sphere_region(velocity: np.ndarray, centre: np.ndarray, radius: float) -> SpheresRegion:
    """All within one sphere around ``centre`` (3,)."""
    return SpheresRegion(velocity, centre[None], np.array([radius]))


@dataclass(frozen=True)
class LevelRegion(Region):
    """All below a height along ``up`` (3,)."""

    height: float
    up: np.ndarray

    def distance(self, place):
        """Height above the level."""
        return place @ self.up - self.height

    def depth(self, place, up):
        """Below the level."""
        return self.height - place @ up

    def span(self, up):
        """All below the level."""
        return -np.inf, self.height


@dataclass(frozen=True)
class ImageRegion(Region):
    """The share of every voxel that is liquid: (nz, ny, nx)."""

    shares: np.ndarray

    def distance(self, place):
        """Not told by an image."""
        return np.full(len(place), np.inf)

    def share(self, place: np.ndarray) -> np.ndarray:
        """(m,) share of voxels (m, 3), 0 outside the image."""
        x, y, z = place.astype(np.int64).T
        return self.shares[z, y, x].astype(float)

    def holds(self, place):
        """Where the share is not 0."""
        return self.share(place) > 0.0

    def depth(self, place, up):
        """Below the highest voxel with liquid."""
        return self.span(up)[1] - place @ up

    def span(self, up):
        """Of the voxels with liquid."""
        height = np.argwhere(self.shares)[:, ::-1] @ up
        return (float(height.min()), float(height.max())) if height.size else (0.0, 0.0)
