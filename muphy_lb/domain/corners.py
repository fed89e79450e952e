"""The nodes around a particle: the corners of the cell that it is in, their addresses in fields of the corner layer and
their weights; or the node nearest to it."""

from functools import cache

import numpy as np

from muphy_lb.domain.lookup import look_around_nodes, look_up


def corners(lookup, voxel: np.ndarray, offset: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and weights (2^d, n) of the corners of the cells around positions (3, n) voxel + offset: linear
    interpolation among the nodes that exist, whose weights add up to one."""
    base = np.floor(offset).astype(np.int64)
    fraction = offset - base
    found, weights = [], []
    for corner in range(1 << dimension):
        upper = np.array([corner >> k & 1 for k in range(3)])[:, None]
        found.append(look_up(lookup, *(voxel + base * (np.arange(3)[:, None] < dimension) + upper)))
        shares = np.where(upper == 1, fraction, 1.0 - fraction)[:dimension]
        weights.append(shares.prod(axis=0))
    address, weight = np.array(found), np.array(weights)
    weight = np.where(address >= 0, weight, 0.0)
    with np.errstate(invalid="ignore"):  # no node around: the particle is lost, which is told behind the step
        return address, weight / weight.sum(axis=0)


def nearest_node(lookup, voxel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Address and weight (1, n) of the nodes at some voxels (3, n), as :func:`corners` returns them."""
    return look_up(lookup, *voxel)[None], np.ones((1, voxel.shape[1]))


@cache
def corner_node(jit, dimension: int, nearest: bool):
    """Node function ``(lookup, voxel, offset, c)`` -> address and weight of one corner of the cell around a position,
    or, if it is the ``nearest`` node, of that. Weights of corners without a node are 0, and are still to be divided by
    the sum of all.
    """
    place, at = look_around_nodes(jit)
    zero, one, whole, nowhere, behind = np.float64(0.0), np.float64(1.0), np.int32, np.int32(0), np.int32(-1)
    has_z = dimension == 3

    def own(lookup, voxel, offset, c):
        return at(lookup, place(lookup, *voxel), nowhere, nowhere, nowhere), one

    def corner(lookup, voxel, offset, c):
        ux, uy, uz = whole(c & 1), whole(c >> 1 & 1), whole(c >> 2 & 1)
        bx = behind if offset[0] < zero else nowhere
        by = behind if offset[1] < zero else nowhere
        bz = behind if has_z and offset[2] < zero else nowhere
        fx, fy, fz = offset[0] - bx, offset[1] - by, (offset[2] - bz if has_z else zero)
        address = at(lookup, place(lookup, *voxel), bx + ux, by + uy, bz + uz)
        weight = (fx if ux else one - fx) * (fy if uy else one - fy) * (fz if uz else one - fz)
        return address, weight if address >= 0 else zero

    return jit(own if nearest else corner)


def n_corners(dimension: int, nearest: bool) -> int:
    """Number of nodes that a particle is coupled to."""
    return 1 if nearest else 1 << dimension
