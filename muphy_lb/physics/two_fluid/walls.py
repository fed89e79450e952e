"""Normals, contact angles and curvatures of walls at the nodes beside them."""

import numpy as np

from muphy_lb.domain.links import is_wall
from muphy_lb.domain.wall_shapes import BesideWalls, wall_shapes
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.wall_areas import AXES
from muphy_lb.lattice import Lattice

NO_ROOM = 3
"""Distance of walls [voxels], the width of an interface, at which there is no room for one between them."""


def wall_normals(nodes: NodeList, lattice: Lattice, angles_deg: np.ndarray) -> BesideWalls:
    """Normals, contact angles and curvatures of walls.

    Args:
        nodes: the whole geometry.
        lattice: of the flow; a wall lies beside a node if one of its links leads there.
        angles_deg: (W + 1,) contact angles of the labelled walls, and of all others.

    Returns:
        (7, m) unit normals into the fluid, cosines of the contact angle, whose cotangent is the mean of those of all
        walls beside the node, and curvatures (:data:`muphy_lb.domain.wall_shapes.BEND`).
    """
    shapes, codes = wall_shapes(nodes, lattice)
    of_walls, cotangent = np.tan(np.deg2rad(90.0 - angles_deg)), np.zeros(codes.shape[1])
    for along in codes:
        number = np.where(along <= FIRST_WALL_LINK, FIRST_WALL_LINK - along, len(angles_deg) - 1)
        cotangent += np.where(is_wall(along), of_walls[number], 0.0)
    cotangent /= is_wall(codes).sum(axis=0)
    cosine = cotangent / np.sqrt(1.0 + cotangent * cotangent)
    return shapes._replace(rows=np.insert(shapes.rows[:6], 3, cosine, axis=0))


def narrow_share(nodes: NodeList, chosen: np.ndarray | slice) -> float:
    """Share of the ``chosen`` nodes, a mask (n,) or a slice, that lie between walls ``NO_ROOM`` voxels apart at most,
    along an axis; 0 if there are none."""
    codes, is_narrow = NeighbourSearch(nodes).table(AXES), np.zeros(nodes.n_nodes, dtype=bool)
    links = np.where(is_wall(codes), np.int8(1), np.int8(NO_ROOM + 1))  # to the wall along a vector
    for k, found in enumerate(links):
        for _ in range(NO_ROOM - 1 if nodes.shape[2 - k // 2] > 1 else 0):
            found[:] = np.minimum(found, np.where(codes[k] >= 0, found[np.maximum(codes[k], 0)] + 1, NO_ROOM + 1))
    for axis in range(3):
        if nodes.shape[2 - axis] > 1:
            is_narrow |= links[2 * axis] + links[2 * axis + 1] - 1 <= NO_ROOM
    return float(is_narrow[chosen].mean()) if is_narrow[chosen].size else 0.0
