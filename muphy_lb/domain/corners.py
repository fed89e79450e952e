"""The corners of the cell of nodes around a particle: their addresses in fields of the corner layer, and weights.

``address`` of a voxel: local number of an own node; of a node of the corner layer where its value lies behind those of
the own nodes; -1 where there is no node.
"""

import numpy as np

from muphy_lb.domain.lookup import FIRST_OPENING, FIRST_REMOTE

WRAPS, LAYER = 6, 9  # positions in ``LookupArrays.size``


def addresses(lookup, voxel: np.ndarray) -> np.ndarray:
    """Addresses (n,) at voxels (3, n), periodic or not: the specification."""
    size = np.asarray(lookup.size)
    box, wraps = size[:3, None], size[WRAPS:LAYER, None] == 1
    voxel = np.where(wraps, voxel % box, voxel)
    inside = ((voxel >= 0) & (voxel < box)).all(axis=0)
    x, y, z = np.where(inside, voxel, 0)
    number = lookup.block[(z // 8 * size[4] + y // 8) * size[3] + x // 8]
    entry = lookup.entry[np.maximum(number, 0) * 512 + (z % 8 * 8 + y % 8) * 8 + x % 8].astype(np.int64)
    is_remote = (entry <= FIRST_REMOTE) & (entry > FIRST_OPENING)
    found = np.where(is_remote, size[LAYER] + FIRST_REMOTE - entry, np.maximum(entry, -1))
    return np.where(inside & (number >= 0), found, -1)


def address_node(jit):
    """Node function ``(lookup, x, y, z)`` -> address, for voxels at most one box beyond the box."""
    first_remote, first_opening, nothing = np.int64(FIRST_REMOTE), np.int64(FIRST_OPENING), np.int64(-1)

    def wrapped(x, n, wraps):
        if wraps == 1:
            if x < 0:
                return x + n
            if x >= n:
                return x - n
        return x

    wrap = jit(wrapped)

    def address(lookup, x, y, z):
        size = lookup.size
        x, y, z = wrap(x, size[0], size[6]), wrap(y, size[1], size[7]), wrap(z, size[2], size[8])
        if x < 0 or y < 0 or z < 0 or x >= size[0] or y >= size[1] or z >= size[2]:
            return nothing
        number = np.int64(lookup.block[((z >> 3) * size[4] + (y >> 3)) * size[3] + (x >> 3)])
        if number < 0:
            return nothing
        entry = np.int64(lookup.entry[number * 512 + ((z & 7) * 8 + (y & 7)) * 8 + (x & 7)])
        if entry >= 0:
            return entry
        if entry <= first_opening or entry == nothing:
            return nothing
        return size[9] + first_remote - entry

    return jit(address)


def corners(lookup, voxel: np.ndarray, offset: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and weights (2^d, n) of the corners of the cells around positions (3, n) voxel + offset: linear
    interpolation among the nodes that exist, whose weights add up to one."""
    base = np.floor(offset).astype(np.int64)
    fraction = offset - base
    found, weights = [], []
    for corner in range(1 << dimension):
        upper = np.array([corner >> k & 1 for k in range(3)])[:, None]
        found.append(addresses(lookup, voxel + base * (np.arange(3)[:, None] < dimension) + upper))
        shares = np.where(upper == 1, fraction, 1.0 - fraction)[:dimension]
        weights.append(shares.prod(axis=0))
    address, weight = np.array(found), np.array(weights)
    weight = np.where(address >= 0, weight, 0.0)
    return address, weight / weight.sum(axis=0)
