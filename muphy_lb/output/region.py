"""Parts of a geometry as geometries of their own, for files and pictures."""

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList


def chosen_nodes(nodes: NodeList, voxel: np.ndarray) -> NodeList:
    """Bare nodes with some of the voxel ids of a geometry, in that order, in its box."""
    none = np.empty(0, dtype=np.int64)
    frame = {name: getattr(nodes, name) for name in ("shape", "spacing_m", "origin_m", "periodic")}
    start = np.array([0, voxel.size])
    return NodeList(voxel, start, **frame, openings=(), label_voxel=none, label_number=none.astype(np.uint8))


def nodes_in_box(nodes: NodeList, corners_m) -> np.ndarray:
    """Ascending numbers of the nodes in a box, given by its lowest and highest corner (x, y, z) [m].

    Raises:
        InputError: there is none.
    """
    low, high = (np.array(corner) for corner in corners_m)
    inside = np.ones(nodes.n_nodes, dtype=bool)
    for axis, place in enumerate(nodes.coordinates().T):
        place_m = nodes.origin_m[axis] + nodes.spacing_m * place
        inside &= (place_m >= low[axis]) & (place_m <= high[axis])
    if not inside.any():
        last_m = np.array(nodes.origin_m) + nodes.spacing_m * (np.array(nodes.shape[::-1]) - 1)
        raise InputError(
            f"output.region_m is {[list(corner) for corner in corners_m]}, which holds no fluid node; voxels lie from"
            f" {[f'{x:.4g}' for x in nodes.origin_m]} to {[f'{x:.4g}' for x in last_m]} m"
        )
    return np.flatnonzero(inside)
