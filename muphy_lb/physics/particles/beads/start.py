"""Where beads start: alone, in chains, or as a file says."""

from collections.abc import Callable

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList

CLEARANCE = 0.45
"""Distance along every axis, in voxels, within which there must be fluid around a bead: nearer, walls push it away with
a force that grows like the inverse of the distance to the 13th power."""

TRIALS, TRIALS_OF_LINE, TRIALS_OF_STEP = 2000, 20, 100
"""Chains on random walks and in lines that are tried before they are given up, and directions for the next bead of a
chain before it starts anew."""
TRIALS_OF_BEAD = 48
"""Times that the place of a single bead in its voxel is drawn again before it starts in the middle."""


class AccessibleVolume:
    """The places where beads may start: in the fluid, and not nearer to a wall than ``CLEARANCE``.

    Args:
        nodes: the geometry.
        dimension: of the lattice.

    Attributes:
        axes: (3,) along which of them beads move.
        size: (3,) voxels of the box along x, y and z.
    """

    def __init__(self, nodes: NodeList, dimension: int):
        self.axes, self.size = np.arange(3) < dimension, np.array(nodes.shape[::-1])
        self._periodic, self._fluid = np.array(nodes.periodic), np.zeros(tuple(self.size), dtype=bool)
        self._fluid[tuple(nodes.coordinates().T)] = True
        around = np.array(np.meshgrid(*[(-CLEARANCE, 0.0, CLEARANCE)] * 3)).reshape(3, -1).T
        self._around = np.unique(around * self.axes, axis=0)

    def nearest_image(self, apart: np.ndarray) -> np.ndarray:
        """Differences (n, 3) of places, to the nearest image of one of them where the box repeats."""
        return apart - np.where(self._periodic, self.size * np.rint(apart / self.size), 0.0)

    def contains(self, voxel, offset: np.ndarray) -> np.ndarray:
        """(...) whether the places voxel + offset (..., 3) are in it."""
        there = np.asarray(voxel)[..., None, :] + np.floor(offset[..., None, :] + self._around + 0.5).astype(int)
        there = np.where(self._periodic, there % self.size, there)
        inside = ((there >= 0) & (there < self.size)).all(axis=-1)
        x, y, z = np.moveaxis(np.clip(there, 0, self.size - 1), -1, 0)
        return (inside & self._fluid[x, y, z]).all(axis=-1)


class ChainBuilder:
    """Builds chains.

    Args:
        volume: where their beads may be.
        bond: length of the bonds, voxels.
        apart: smallest distance of beads that are not neighbours, voxels.
        random: a generator.
    """

    def __init__(self, volume: AccessibleVolume, bond: float, apart: float, random: np.random.Generator):
        self._volume, self._bond, self._apart, self._random = volume, bond, apart, random

    def walk(self, first: Callable[[], np.ndarray], length: int) -> np.ndarray:
        """(length, 3) places [voxels] of a chain on a random walk; ``first`` proposes where it begins.

        Raises:
            InputError: there is not enough room for it.
        """
        places = np.empty((length, 3))
        for _ in range(TRIALS):
            places[0], n = first(), 1
            while n < length and self._is_free(places[n - 1]):
                step = self._step(places[:n])
                if step is None:
                    break
                places[n], n = places[n - 1] + step, n + 1
            if n == length:
                return places
        raise InputError(
            f"no place was found for a chain of {length} beads; give more room, or fewer and shorter chains"
        )

    def line(self, first: Callable[[], np.ndarray], length: int) -> np.ndarray:
        """(length, 3) places of a chain along x, folded back where there is no fluid ahead; ``first`` proposes where it
        begins.

        Raises:
            InputError: there is not enough room for it.
        """
        for _ in range(TRIALS_OF_LINE):
            places = self._line_from(first(), length)
            if places is not None:
                return places
        raise InputError(f"no place was found for a chain of {length} beads in a line; start it elsewhere")

    def _line_from(self, first: np.ndarray, length: int) -> np.ndarray | None:
        places, ahead = np.empty((length, 3)), np.array([self._bond, 0.0, 0.0])
        places[0] = first
        sideways = np.array([[0.0, self._bond, 0.0], [0.0, 0.0, self._bond]])[: 1 + bool(self._volume.axes[2])]
        for n in range(1, length):
            options = [ahead, *sideways, *-sideways]
            step = next((step for step in options if self._fits(places[:n], places[n - 1] + step)), None)
            if step is None:
                return None
            if step is not ahead:
                ahead = -ahead
            places[n] = places[n - 1] + step
        return places

    def _step(self, places: np.ndarray) -> np.ndarray | None:
        for _ in range(TRIALS_OF_STEP):
            direction = self._random.standard_normal(3) * self._volume.axes
            step = self._bond * direction / np.linalg.norm(direction)
            if self._fits(places, places[-1] + step):
                return step
        return None

    def _fits(self, places: np.ndarray, there: np.ndarray) -> bool:
        apart = self._volume.nearest_image(places[:-1] - there)
        is_apart = not len(apart) or (apart**2).sum(axis=1).min() > self._apart**2
        return is_apart and self._is_free(there)

    def _is_free(self, place: np.ndarray) -> bool:
        return bool(self._volume.contains(np.zeros(3, int), place))


def keep_clear(volume: AccessibleVolume, voxel: np.ndarray, offset: np.ndarray, random) -> np.ndarray:
    """Offsets (n, 3) of beads in their voxels, those outside the volume drawn again; in passages of one voxel they
    start in the middle."""
    offset, near = offset.copy(), np.arange(len(voxel))
    for _ in range(TRIALS_OF_BEAD):
        near = near[~volume.contains(voxel[near], offset[near])]
        offset[near] = random.uniform(-0.5, 0.5, (near.size, 3)) * (volume.size > 1)
    offset[near[~volume.contains(voxel[near], offset[near])]] = 0.0
    return offset


def bond_tables(count: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Partners of every id: ``partner[start[i]:start[i + 1]]``, in the order of the bonds (m, 2)."""
    ends = np.concatenate((pairs, pairs[:, ::-1]))
    order = np.lexsort((np.tile(np.arange(len(pairs)), 2), ends[:, 0]))
    start = np.concatenate(([0], np.cumsum(np.bincount(ends[:, 0], minlength=count))))
    return start.astype(np.int64), ends[order, 1].astype(np.int64)


def angle_tables(count: int, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (k, 3) in which every id takes part, flattened: those of id i are number ``start[i]`` to
    ``start[i + 1]``."""
    ids, number = triples.reshape(-1), np.repeat(np.arange(len(triples)), 3)
    order = np.lexsort((number, ids))
    start = np.concatenate(([0], np.cumsum(np.bincount(ids, minlength=count))))
    return start.astype(np.int64), triples[number[order]].reshape(-1).astype(np.int64)


def chain_bonds(n_chains: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Bonds (m, 2) and angles (k, 3) of chains whose ids follow each other."""
    ids = np.arange(n_chains * length).reshape(n_chains, length)
    pairs = np.stack((ids[:, :-1], ids[:, 1:]), axis=-1).reshape(-1, 2)
    return pairs, angles_along(ids)


def angles_along(ids: np.ndarray) -> np.ndarray:
    """(k, 3) ids of the angles between bonds that follow each other, of chains with the ids (n_chains, length)."""
    return np.stack((ids[:, :-2], ids[:, 1:-1], ids[:, 2:]), axis=-1).reshape(-1, 3)
