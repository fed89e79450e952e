"""Cut links of a node list, as points."""

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates


def cut_vectors(nodes):
    """(m, 3) vectors (x, y, z) of the cut links."""
    return nodes.cuts.direction.astype(np.int64)[:, np.newaxis] // np.array([1, 3, 9]) % 3 - 1


def cut_points(nodes):
    """(m, 3) points (x, y, z) at which the wall cuts them, in voxel coordinates."""
    start = voxel_coordinates(nodes.cuts.voxel, nodes.shape)
    return start + nodes.cuts.distance[:, np.newaxis] * cut_vectors(nodes)
