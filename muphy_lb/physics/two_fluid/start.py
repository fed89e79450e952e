"""A start at a given saturation, in the widest pores or from another state.

The fluid that does not wet the walls fills the widest pores.

A pore is as wide as the largest sphere that covers it without touching a wall: pores wider than r are the opening of
the fluid by spheres of radius r, which is where a fluid that does not wet is found behind drainage to the capillary
pressure 2 sigma / r (Hilpert, Miller, Adv. Water Resour. 24, 243 (2001)).

From another state one fluid advances at the interface, layer by layer, and where the last layer is more than enough, in
its widest pores if the fluid does not wet, else in its narrowest: what was connected stays connected, what was apart
meets where it does so in the rock.
"""

import numpy as np
from scipy.ndimage import distance_transform_edt

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.neighbours import neighbour_table
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.porous.pores import pore_widths
from muphy_lb.geometry.wall_areas import AXES


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


def exchanged(nodes: NodeList, phase: np.ndarray, saturation: float, first_wets: bool) -> np.ndarray:
    """(n,) phase with another saturation of the second fluid, from that of a state (n,). Raises InputError: the fluid
    that gains is nowhere, or too little of the other is within its reach."""
    missing = saturation * nodes.n_nodes - (0.5 - 0.5 * phase).sum()
    sign = 1.0 if missing < 0.0 else -1.0  # of the fluid that gains
    gaining, phase, missing = sign * phase > 0.0, phase.copy(), abs(missing)
    neighbours, width = neighbour_table(nodes, AXES), pore_widths(nodes)
    width = width if first_wets == (sign > 0.0) else -width
    while missing > 0.0:
        layer = np.flatnonzero(~gaining & (gaining[np.maximum(neighbours, 0)] & (neighbours >= 0)).any(axis=0))
        if not layer.size:
            raise InputError(
                f"two_fluid.second_saturation is {saturation:.4g}, which the state of two_fluid.initial_file cannot"
                f" reach: {missing / nodes.n_nodes:.3g} of the pores lie beyond the reach of the fluid that advances;"
                " give a saturation nearer to that of the file"
            )
        layer = layer[np.argsort(width[layer], kind="stable")]
        gains = np.cumsum(0.5 - 0.5 * sign * phase[layer])
        taken = layer[: np.searchsorted(gains, missing) + 1]
        missing -= gains[taken.size - 1]
        gaining[taken], phase[taken] = True, sign
    return phase
