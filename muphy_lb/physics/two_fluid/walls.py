"""Normals and contact angles of walls at the nodes beside them."""

import numpy as np
from scipy.ndimage import gaussian_filter

from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import Lattice

SMOOTHING = 1.5
"""Standard deviation [voxels] over which the voxels of walls are smoothed before their gradient is taken."""


def wall_normals(nodes: NodeList, lattice: Lattice, angles_deg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes beside walls, their normals and contact angles.

    Args:
        nodes: the whole geometry.
        lattice: of the flow; a wall lies beside a node if one of its links leads there.
        angles_deg: (W + 1,) contact angles of the labelled walls, and of all others.

    Returns:
        (m,) numbers of the nodes, and (4, m) unit normals into the fluid and cosines of the contact angle, whose
        cotangent is the mean of those of all walls beside the node.
    """
    codes = NeighbourSearch(nodes).table(lattice.c[1:])
    of_wall = (codes == WALL_LINK) | (codes <= FIRST_WALL_LINK)
    beside = np.flatnonzero(of_wall.any(axis=0))
    codes, of_wall = codes[:, beside], of_wall[:, beside]
    number = np.where(codes <= FIRST_WALL_LINK, FIRST_WALL_LINK - codes, len(angles_deg) - 1)
    cotangents = np.tan(np.deg2rad(90.0 - angles_deg))[np.where(of_wall, number, 0)]
    cotangent = np.where(of_wall, cotangents, 0.0).sum(axis=0) / of_wall.sum(axis=0)
    own = -np.einsum("k,ka,kn->an", lattice.w[1:], lattice.c[1:], of_wall)
    normal = _smoothed(nodes, beside)
    size = np.linalg.norm(normal, axis=0)
    normal = np.where(size > 1e-6, normal, own)
    cosine = cotangent / np.sqrt(1.0 + cotangent * cotangent)
    return beside, np.stack([*(normal / np.maximum(np.linalg.norm(normal, axis=0), 1e-30)), cosine])


def _smoothed(nodes: NodeList, chosen: np.ndarray) -> np.ndarray:
    """(3, m) gradients of the smoothed fluid at some nodes."""
    fluid = np.zeros(nodes.shape)
    fluid.reshape(-1)[nodes.voxel] = 1.0
    mode = ["wrap" if periodic else "nearest" for periodic in nodes.periodic[::-1]]
    smooth, found = gaussian_filter(fluid, SMOOTHING, mode=mode), np.zeros((3, chosen.size))
    place = nodes.coordinates(chosen)
    for axis in range(3):
        size = nodes.shape[2 - axis]
        if size == 1:
            continue
        ends = []
        for step in (1, -1):
            moved = place.copy()
            moved[:, axis] += step
            moved[:, axis] = moved[:, axis] % size if nodes.periodic[axis] else np.clip(moved[:, axis], 0, size - 1)
            ends.append(smooth[moved[:, 2], moved[:, 1], moved[:, 0]])
        found[axis] = 0.5 * (ends[0] - ends[1])
    return found
