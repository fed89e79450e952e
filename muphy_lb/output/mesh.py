"""Unstructured mesh of the fluid voxels: one cube per node, corners shared."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates

N_CORNERS = 8
FLOAT32_MAX_VOXELS = 2**15  # beyond this distance float32 no longer resolves 1/256 of a voxel


@dataclass(frozen=True)
class VoxelMesh:
    """Cubes in node order.

    Attributes:
        points_m: (n_points, 3) corner coordinates (x, y, z) [m], sorted by (z, y, x); float32 where precise enough.
        connectivity: (n, 8) corner numbers of each cube, x fastest, then y, then z (the order of VTK_VOXEL);
            int32 when it fits, else int64.
    """

    points_m: np.ndarray
    connectivity: np.ndarray


def voxel_mesh(nodes: NodeList) -> VoxelMesh:
    """Mesh of cubes of edge ``spacing_m`` centred on the nodes."""
    nz, ny, nx = nodes.shape
    corner_shape = (nz + 1, ny + 1, nx + 1)
    steps = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    offset = ((np.arange(N_CORNERS)[:, None] >> np.arange(3)) & 1) @ steps
    first = nodes.coordinates() @ steps
    order = np.argsort(first, kind="stable")
    fits = N_CORNERS * nodes.n_nodes <= np.iinfo(np.int32).max
    connectivity = np.empty((nodes.n_nodes, N_CORNERS), dtype=np.int32 if fits else np.int64)
    n_points = number_corners(first[order], order, offset, connectivity)
    corner = np.empty(n_points, dtype=np.int64)
    for c in range(N_CORNERS):
        corner[connectivity[:, c]] = first + offset[c]
    return VoxelMesh(_corner_positions(nodes, voxel_coordinates(corner, corner_shape)), connectivity)


@njit(cache=True)
def number_corners(first, order, offset, connectivity):
    """Number the distinct corner ids ``first[k] + offset[c]`` in ascending order by merging the sorted streams.

    Args:
        first: (n,) ascending int64 id of corner 0 of each cube.
        order: (n,) row of ``connectivity`` that belongs to each entry of ``first``.
        offset: (8,) distance of corner c from corner 0.
        connectivity: (n, 8) filled with the number of every corner.

    Returns:
        The number of distinct corners.
    """
    n_cubes = first.size
    head = np.zeros(offset.size, dtype=np.int64)
    number = 0
    while head[0] < n_cubes or head[-1] < n_cubes:
        lowest = np.iinfo(np.int64).max
        for c in range(offset.size):
            if head[c] < n_cubes:
                lowest = min(lowest, first[head[c]] + offset[c])
        for c in range(offset.size):
            if head[c] < n_cubes and first[head[c]] + offset[c] == lowest:
                connectivity[order[head[c]], c] = number
                head[c] += 1
        number += 1
    return number


def _corner_positions(nodes: NodeList, coordinates: np.ndarray) -> np.ndarray:
    """(n_points, 3) positions [m] of corner coordinates; corner (0, 0, 0) lies half a voxel before the origin."""
    origin_m = np.asarray(nodes.origin_m) - 0.5 * nodes.spacing_m
    points_m = origin_m + nodes.spacing_m * coordinates
    far = np.abs(points_m).max(initial=0.0) > FLOAT32_MAX_VOXELS * nodes.spacing_m
    return points_m if far else points_m.astype(np.float32)
