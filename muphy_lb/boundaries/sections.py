"""Cross-sections of the fluid: shares of voxels in a plane, and gaps between their faces and walls that cut links."""

from itertools import product
from math import factorial

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.boundaries.opening_walls import nodes_between
from muphy_lb.boundaries.wall_balance import wall_planes
from muphy_lb.boundaries.wall_motion import HALF
from muphy_lb.domain.part import cuts_of
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.lattice import Lattice

ALONG_AXES = 1e-4  # largest component of a normal that counts as 0
TOUCHING = 1e-7  # largest share of a voxel that counts as 0: round-off is smaller
PLANES = 4  # in the voxel behind the first plane that no opening cuts
MOST_DIFFERENT = 0.2  # of the area of the voxels of an opening, up to which that behind it is its own


def shares_near_plane(across: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(m,) shares of voxels within half a voxel of a plane.

    The share of a unit cube with corner 0 below the plane n.x = s is the sum over its corners v of (-1)^|v| (s - n.v)^k
    where that is positive, over k! times the product of the k components of n that are not 0, taken positive.

    Args:
        across: (m,) distances of the middles of the voxels from the plane, in voxels.
        normal: (3,) unit normal of the plane.
    """
    n = np.abs(normal)
    n = n[n > ALONG_AXES]
    if n.size == 1:
        return np.maximum(0.0, 1.0 - np.abs(across))
    near = np.abs(across) < 0.5 * (1.0 + n.sum())
    corners, found = np.array(list(product((0, 1), repeat=n.size))), np.zeros(across.shape)
    for sign, face in ((1.0, 0.5), (-1.0, -0.5)):
        below = 0.5 * n.sum() + face + across[near, None] - corners @ n
        found[near] += sign * (np.maximum(below, 0.0) ** n.size @ (-1.0) ** corners.sum(axis=1))
    found /= factorial(n.size) * n.prod()
    return np.where(found > TOUCHING, found, 0.0)


def gap_areas(lattice: Lattice, cuts: Cuts, voxel: np.ndarray, holds: np.ndarray) -> np.ndarray:
    """(n,) cross-section of the fluid between the faces of voxels and walls, negative where these cut into the voxels.

    A link along axis i meets the wall at the distance d: the column around it reaches by d - 1/2 beyond its face. All
    columns of one axis make up the whole; the axes count by n_i^2, which add up to 1.

    Args:
        lattice: the velocity set.
        cuts: of at least these voxels.
        voxel: (n,) voxel ids.
        holds: (2 D, n) which of their links along the axes, in the lattice's order, lead into walls that count.
    """
    _, normal = wall_planes(voxel, cuts, lattice)
    area = np.zeros(voxel.size)
    for vector, is_held in zip(lattice.c[np.abs(lattice.c).sum(axis=1) == 1], holds, strict=True):
        gap = np.where(is_held, cuts.of(voxel, vector) - HALF, 0.0)
        area += (normal @ vector) ** 2 * np.nan_to_num(gap)
    return area


def area_behind(nodes: NodeList, lattice: Lattice, frame) -> float:
    """Cross-section, up to where walls cut links, of the vessel behind an oblique opening in planes parallel to it: the
    links through its own plane scatter by some per cent. Where the vessel changes its width there, or ends before, the
    result is the area of the opening itself.

    Args:
        nodes: the whole geometry, or its datasets in a file.
        lattice: the velocity set.
        frame: measures of the opening.
    """
    normal, reach = frame.normal, 1.0 + np.abs(frame.normal).sum()
    start, aside = float(frame.centre @ normal), frame.half_widths + 2.0
    corners = frame.middle - aside - 2.0 * reach, frame.middle + aside + 2.0 * reach
    near = nodes_between(nodes, corners, normal, (start, start + 1.5 + reach))
    place = voxel_coordinates(near, nodes.shape)
    depth = place @ normal - start
    inside = (np.abs(place - np.multiply.outer(depth / frame.cosine, frame.along) - frame.middle) <= aside).all(axis=1)
    if not inside.any():
        return float(frame.area)
    inside[inside] = nearest_piece(near[inside], nodes.shape, np.linalg.norm(place[inside] - frame.centroid, axis=1))
    near, depth = near[inside], depth[inside]
    holds = np.ones((2 * lattice.dimension, near.size), dtype=bool)
    whole = 1.0 + gap_areas(lattice, cuts_of(known(nodes.cuts), near), near, holds)
    places = 0.5 * (1.0 + reach) + np.arange(PLANES) / PLANES
    area = float(np.mean([shares_near_plane(depth - each, normal) @ whole for each in places]))
    return area if abs(area - frame.of_voxels) < MOST_DIFFERENT * frame.of_voxels else float(frame.area)


def nearest_piece(voxel: np.ndarray, shape: tuple[int, int, int], distance: np.ndarray) -> np.ndarray:
    """(m,) mask of those of (m,) ascending voxels that are linked, face to face, to the one at the least distance. A
    slab of two voxels' thickness is linked by faces whatever its direction."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place, pairs = voxel_coordinates(voxel, shape), []
    for axis, step in enumerate((1, shape[2], shape[2] * shape[1])):
        first = np.flatnonzero(place[:, axis] < shape[::-1][axis] - 1)
        second = np.minimum(np.searchsorted(voxel, voxel[first] + step), voxel.size - 1)
        is_there = voxel[second] == voxel[first] + step
        pairs.append((first[is_there], second[is_there]))
    rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
    links = coo_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(voxel.size, voxel.size))
    _, piece = connected_components(links, directed=False)
    return piece == piece[distance.argmin()]
