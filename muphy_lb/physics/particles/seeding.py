"""Where particles start: spread over the fluid, or over that in a box, or where they are told to.

They are spread by stratified sampling: of n particles in order of places, one falls into each n-th part of the whole,
so that the number in a voxel differs from its share by less than two, and only the place within a part is random.
"""

import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.geometry.nodes import NodeList


def spread_over_fluid(nodes: NodeList, count: int, random, box_m=None) -> tuple[np.ndarray, np.ndarray]:
    """Voxels (count, 3) and offsets (count, 3) of places evenly spread over the fluid, or over that in a box.

    Raises:
        InputError: there is no fluid in the box.
    """
    is_thick = np.array(nodes.shape[::-1]) > 1
    centre = nodes.coordinates()
    low, high = np.full((2, nodes.n_nodes, 3), np.array([[[-0.5]], [[0.5]]]))
    if box_m is not None:
        corners = (np.asarray(box_m) - nodes.origin_m) / nodes.spacing_m
        low, high = np.maximum(low, corners[0] - centre), np.minimum(high, corners[1] - centre)
    size = np.where(is_thick, np.maximum(high - low, 0.0), 1.0)
    volume = size.prod(axis=1)
    if not volume.any():
        raise InputError(f"box_m is {[list(corner) for corner in box_m]}: there is no fluid in it")
    chosen = stratified_sample(volume, count, random)
    offset = low[chosen] + size[chosen] * random.random((count, 3))
    return centre[chosen], np.where(is_thick, offset, 0.0)


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


def stratified_sample(weight: np.ndarray, count: int, random) -> np.ndarray:
    """Indices (count,) into the weights in random order; each appears in proportion to its weight."""
    share = np.cumsum(weight) / weight.sum()
    chosen = np.searchsorted(share, (np.arange(count) + random.random(count)) / count, side="right")
    return random.permutation(np.minimum(chosen, np.flatnonzero(weight)[-1]))
