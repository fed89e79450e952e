"""Where particles are, and where they start: spread over the fluid, or over that in a box, or where they are told to.

They are spread by stratified sampling: of n particles in order of places, one falls into each n-th part of the whole,
so that the number in a voxel differs from its share by less than two, and only the place within a part is random.
"""

from collections.abc import Mapping

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.model.model import POSITION


class FluidPlaces:
    """Places evenly spread over the fluid, or over that in a box.

    Args:
        nodes: the geometry.
        box_m: lowest and highest corner of the box [m]; without it all of the fluid.
        name: of the set of particles, for messages.

    Raises:
        InputError: there is no fluid in the box.
    """

    def __init__(self, nodes: NodeList, box_m, name: str):
        self._is_thick = np.array(nodes.shape[::-1]) > 1
        self._centre = nodes.coordinates()
        low, high = np.full((2, nodes.n_nodes, 3), np.array([[[-0.5]], [[0.5]]]))
        if box_m is not None:
            corners = (np.asarray(box_m) - nodes.origin_m) / nodes.spacing_m
            low, high = np.maximum(low, corners[0] - self._centre), np.minimum(high, corners[1] - self._centre)
        self._low, self._size = low, np.where(self._is_thick, np.maximum(high - low, 0.0), 1.0)
        volume = self._size.prod(axis=1)
        if not volume.any():
            box = [list(corner) for corner in box_m]
            raise InputError(f"particles.{name}.box_m is {box}: there is no fluid in it; move or enlarge it")
        self._sample = StratifiedSample(volume)

    def draw(self, count: int, random) -> tuple[np.ndarray, np.ndarray]:
        """Voxels (count, 3) and offsets (count, 3) of places."""
        chosen = self._sample.draw(count, random)
        offset = self._low[chosen] + self._size[chosen] * random.random((count, 3))
        return self._centre[chosen], np.where(self._is_thick, offset, 0.0)


def places_in_fluid(nodes: NodeList, position_m: np.ndarray, location) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and offsets of given places (n, 3) [m]; ``location(row)`` says where they are listed, for messages.

    Raises:
        InputError: one is not in the fluid.
    """
    at = (position_m - nodes.origin_m) / nodes.spacing_m
    size = np.array(nodes.shape[::-1])
    voxel = np.floor(at + 0.5).astype(np.int64)
    offset = np.where(size > 1, at - voxel, 0.0)
    voxel = np.where(nodes.periodic, voxel % size, voxel)
    x, y, z = voxel.T
    inside = ((voxel >= 0) & (voxel < size)).all(axis=1)
    solid = np.flatnonzero(~inside | ~np.isin((z * size[1] + y) * size[0] + x, nodes.voxel))
    if solid.size:
        row = solid[0]
        raise InputError(
            f"{location(row)}: there is no fluid at {position_m[row].tolist()} m, where a particle is to start"
            f" ({solid.size} of {len(at)} lie like that); move it, or leave it out"
        )
    return voxel, offset


def positions_m(header: GeometryHeader, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n, 3) places [m] of particles with these columns."""
    voxel, offset = (np.stack([columns[name] for name in names], axis=1) for names in POSITION)
    return np.asarray(header.origin_m) + header.spacing_m * (voxel + offset)


class StratifiedSample:
    """Draws indices into weights, each in proportion to its weight."""

    def __init__(self, weight: np.ndarray):
        self._share = np.cumsum(weight) / weight.sum()
        self._last = np.flatnonzero(weight)[-1]

    def draw(self, count: int, random) -> np.ndarray:
        """Indices (count,) in random order."""
        chosen = np.searchsorted(self._share, (np.arange(count) + random.random(count)) / count, side="right")
        return random.permutation(np.minimum(chosen, self._last))
