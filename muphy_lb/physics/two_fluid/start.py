"""A start at a given saturation: the fluid that does not wet the walls fills the widest pores.

A pore is as wide as the largest sphere that covers it without touching a wall: pores wider than r are the opening of
the fluid by spheres of radius r, which is where a fluid that does not wet is found behind drainage to the capillary
pressure 2 sigma / r (Hilpert, Miller, Adv. Water Resour. 24, 243 (2001)).
"""

import numpy as np
from scipy.ndimage import distance_transform_edt

from muphy_lb.geometry.nodes import NodeList


def widest_pores(nodes: NodeList, n_wanted: int) -> np.ndarray:
    """(n,) whether each node is one of ``n_wanted`` in the widest pores; of pores as wide as each other those nearest
    to wider ones, of these the first."""
    box = np.zeros(nodes.shape, dtype=bool)
    box.reshape(-1)[nodes.voxel] = True
    if box.all():
        return np.arange(nodes.n_nodes) < n_wanted
    widths = [(0, 0)] * 3
    for axis, repeats in enumerate(nodes.periodic[::-1]):
        if repeats and box.shape[axis] > 1:
            beyond = min(box.shape[axis], int(distance_transform_edt(box).max()) + 1)
            widths[axis] = (beyond, beyond)
    inside = tuple(slice(low, low + size) for (low, _), size in zip(widths, box.shape, strict=True))
    depth = distance_transform_edt(np.pad(box, widths, mode="wrap"))[inside]
    radii = np.unique(depth[box])
    depth = np.pad(depth, widths, mode="wrap")  # walls beyond what was padded are near what lies there

    def beyond_spheres(radius: float) -> np.ndarray:
        """(n,) distances from the nearest centre of a sphere; below ``radius`` it covers the node."""
        if not (depth >= radius).any():
            return np.full(nodes.n_nodes, np.inf)
        return distance_transform_edt(depth < radius)[inside].reshape(-1)[nodes.voxel]

    low, high = 0, radii.size  # pores as wide as radii[low] are enough, those as wide as radii[high] are too few
    while high - low > 1:
        middle = (low + high) // 2
        if np.count_nonzero(beyond_spheres(radii[middle]) < radii[middle]) >= n_wanted:
            low = middle
        else:
            high = middle
    covered = beyond_spheres(radii[low]) < radii[low]
    from_wider = np.zeros(nodes.n_nodes) if high == radii.size else beyond_spheres(radii[high])
    order = np.argsort(np.where(covered, from_wider, np.inf), kind="stable")
    chosen = np.zeros(nodes.n_nodes, dtype=bool)
    chosen[order[:n_wanted]] = True
    return chosen
