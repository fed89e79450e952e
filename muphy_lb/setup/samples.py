"""Samples: values at points of a regular grid, some of which may be missing, interpolated at other points."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

ON_POINT = 1e-6
"""Distance [spacings] within which a place is that of a sample."""
CHUNK = 1 << 17
CORNERS = (np.arange(8)[:, None] >> np.arange(3)) & 1
AROUND = np.stack(np.meshgrid(*[(-1, 0, 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


@dataclass(frozen=True)
class Samples:
    """Values at points of a grid.

    Attributes:
        place: (m, 3) int64 numbers of the points along x, y, z, in any order.
        values: (m, k).
        counts: (3,) size of the grid. Along an axis with a single layer all points have its values.
        repeats: (3,) whether the grid repeats along each axis.
    """

    place: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    repeats: np.ndarray

    def at(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Linear interpolation at (n, 3) positions in units of the spacing, from the first point of the grid.

        Returns:
            (n, k) sums of weights times the values that are there, the (n, 8) weights of all corners, and (n, 8) where
            they are missing.
        """
        parts = [self._at(position[first : first + CHUNK]) for first in range(0, max(len(position), 1), CHUNK)]
        found, weights, missing = (np.concatenate(column) for column in zip(*parts, strict=True))
        return found, weights, missing

    def near(self, position: np.ndarray) -> np.ndarray:
        """(n, k) means of the values around positions, within a spacing along each axis; where there are none, the mean
        of all."""
        centre = np.rint(self._in_layers(position)).astype(np.int64)
        index, missing = self._look_up(centre[:, None] + AROUND)
        there = ~missing[..., None]
        n_found = there.sum(axis=1)
        total = np.where(there, self.values[index], 0.0).sum(axis=1)
        return np.where(n_found > 0, total / np.maximum(n_found, 1), self.values.mean(axis=0))

    def _at(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        position = self._in_layers(position)
        nearest = np.rint(position)
        position = np.where(np.abs(position - nearest) < ON_POINT, nearest, position)
        base = np.floor(position).astype(np.int64)
        share = (position - base)[:, None]
        weights = np.where(CORNERS == 1, share, 1.0 - share).prod(axis=2)
        index, missing = self._look_up(base[:, None] + CORNERS)
        missing &= weights > 0.0
        found = np.zeros((len(position), self.values.shape[1]))
        for corner in range(len(CORNERS)):  # always in this order: the same digits on any ranks
            there = (weights[:, corner] > 0.0) & ~missing[:, corner]
            found += np.where(there, weights[:, corner], 0.0)[:, None] * self.values[index[:, corner]]
        return found, weights, missing

    def _in_layers(self, position: np.ndarray) -> np.ndarray:
        return np.where(self.counts == 1, 0.0, position)

    def _look_up(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the values at points (n, c, 3), and whether each is missing."""
        sorted_ids, order = self._ids
        place = np.where(self.repeats, place % self.counts, place)
        inside = np.all((place >= 0) & (place < self.counts), axis=-1)
        wanted = self._id(place)
        row = np.minimum(np.searchsorted(sorted_ids, wanted), sorted_ids.size - 1)
        return order[row], ~inside | (sorted_ids[row] != wanted)

    def _id(self, place: np.ndarray) -> np.ndarray:
        nx, ny, _ = self.counts
        return (place[..., 2] * ny + place[..., 1]) * nx + place[..., 0]

    @cached_property
    def _ids(self) -> tuple[np.ndarray, np.ndarray]:
        """Ascending numbers of the points, and the row of each."""
        ids = self._id(self.place)
        order = np.argsort(ids, kind="stable")
        return ids[order], order
