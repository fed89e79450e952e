"""The fluid of a box of voxels, smoothed block by block, so that a box that is mostly solid costs nothing."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

TRUNCATE = 4.0  # standard deviations beyond which the smoothing reads nothing
EDGE = 64  # of a block [voxels], where fluid fills a small share of the box
SPARSE = 16  # voxels of a box for each of its nodes above which it is divided


def edges(shape: Sequence[int], n_nodes: int) -> np.ndarray:
    """(3,) of the blocks of a box: the whole of it unless most of it is solid."""
    return np.minimum(shape, EDGE) if np.prod(shape, dtype=float) > SPARSE * n_nodes else np.array(shape)


class SmoothedFluid:
    """A box of voxels, 1 in the fluid and 0 in walls, of which blocks without fluid take no memory. Values are those of
    the whole box at once, to the last bit.

    Args:
        shape: (3,) voxels of the box (z, y, x).
        edge: (3,) of a block.
        repeats: whether the box repeats along z, y, x; beyond its other ends lies what lies there.
    """

    def __init__(self, shape: Sequence[int], edge: ArrayLike, repeats: Sequence[bool]):
        self._shape, self._edge, self._repeats = np.array(shape), np.array(edge), repeats
        self._block = np.full(-(-self._shape // self._edge), -1, dtype=np.int64)  # number of each, -1 without fluid
        self._blocks: list[np.ndarray] = []

    def fill(self, place: np.ndarray) -> None:
        """Let there be fluid at places (n, 3) z, y, x; those outside the box are left out."""
        place = place[((place >= 0) & (place < self._shape)).all(axis=1)]
        for block, members in self.blocks_of(place):
            if self._block[block] < 0:
                self._block[block] = len(self._blocks)
                self._blocks.append(np.zeros(self._edge, dtype=np.uint8))
            self._blocks[self._block[block]][tuple((place[members] % self._edge).T)] = 1

    def blocks_of(self, place: np.ndarray) -> Iterator[tuple[tuple[int, int, int], np.ndarray | slice]]:
        """Each block that holds some of the places (n, 3) z, y, x, and the numbers of these."""
        if not len(place):
            return
        if self._block.size == 1:
            yield (0, 0, 0), slice(None)
            return
        block = np.ravel_multi_index(tuple((place // self._edge).T), self._block.shape)
        order = np.argsort(block, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(block[order])) + 1):
            z, y, x = np.unravel_index(block[members[0]], self._block.shape)
            yield (int(z), int(y), int(x)), members

    def smoothed(self, place: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
        """(nz, ny, nx) the fluid smoothed over a standard deviation [voxels], at some places (n, 3) z, y, x and a voxel
        around them, and the place of the first value (z, y, x); along axes without division all of the box."""
        from scipy.ndimage import gaussian_filter

        ring = int(TRUNCATE * width + 0.5) + 1
        is_whole = np.array(self._block.shape) == 1
        first = np.where(is_whole, 0, place.min(axis=0) - ring)
        last = np.where(is_whole, self._shape, place.max(axis=0) + 1 + ring)
        mode = ["wrap" if repeats else "nearest" for repeats in self._repeats]
        return gaussian_filter(self._part(first, last), width, mode=mode, truncate=TRUNCATE), first

    def _part(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The voxels from places up to others (z, y, x), also beyond the ends of the box."""
        part, blocks = np.zeros(last - first), []
        for axis, repeats in enumerate(self._repeats):
            end, place = self._shape[axis], np.arange(first[axis], last[axis])
            place = place % end if repeats else np.clip(place, 0, end - 1)
            number, within = np.divmod(place, self._edge[axis])
            blocks.append([(k, np.flatnonzero(number == k), within[number == k]) for k in np.unique(number)])
        for along in product(*blocks):
            held, where, of_block = zip(*along, strict=True)
            if self._block[held] >= 0:
                part[np.ix_(*where)] = self._blocks[self._block[held]][np.ix_(*of_block)]
        return part
