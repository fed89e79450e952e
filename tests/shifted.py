"""The voxel that lies one lattice vector away, found without any table."""

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates


def shifted_voxels(voxel, vector, shape, periodic) -> np.ndarray:
    """(n,) int64 ids of the voxels one lattice ``vector`` (x, y, z) away; -1 outside a non-periodic box."""
    target = voxel_coordinates(voxel, shape) + vector
    size = np.array(shape[::-1])
    wraps = np.array(periodic)
    inside = np.all(((target >= 0) & (target < size)) | wraps, axis=-1)
    target %= size
    return np.where(inside, (target[:, 2] * shape[1] + target[:, 1]) * shape[2] + target[:, 0], -1)
