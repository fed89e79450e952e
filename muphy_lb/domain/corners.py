"""The corners of the cell of nodes around a particle: their addresses in fields of the corner layer, and weights."""

import numpy as np

from muphy_lb.domain.lookup import look_up


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
    return address, weight / weight.sum(axis=0)
