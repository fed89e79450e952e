"""The area of the true wall that belongs to each link along an axis.

The wall cuts the cells between eight voxel centres in polygons, whose corners lie where it cuts the cells' edges
(Lorensen, Cline, Comput. Graph. 21, 163 (1987)). Each of these edges is a link, and gets of the polygons around it a
share in proportion to the normal's component along it: so the areas of all links add up to that of the polygons, which
is that of the wall but for the square of its curvature, and on a plane each link carries about what crosses the face of
its voxel. Where the cell reaches into an opening or to another wall, whose edge it would cut off, the cells on the
other side of the link stand for it.
"""

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.link_cuts import HALF_WAY, Cuts, cut_distances
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList

AXES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
CUBE = np.array([(x, y, z) for z in (-1, 0, 1) for y in (-1, 0, 1) for x in (-1, 0, 1)])
"""The voxels around a node, by :func:`muphy_lb.geometry.link_cuts.direction_code`."""
STRIDES = np.array([1, 3, 9])
FACES = np.array(
    [(0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)],
)
"""Corners x + 2 y + 4 z of each face of a cell, anticlockwise seen from outside."""
FLUID, UNKNOWN = 0, -1
UNLABELLED, FIRST_LABELLED = 1, 2
CHUNK = 1 << 16
LEAST = 1e-300


def link_areas(nodes: NodeList, search: NeighbourSearch, node: np.ndarray) -> np.ndarray:
    """(6, m) area [voxel faces] of the wall of the links along ``AXES`` from some nodes; 1, as of walls of voxels, for
    links that meet no wall, and for all without cuts.

    Args:
        nodes: a geometry that is complete around these nodes.
        search: a search in it.
        node: (m,) their numbers.
    """
    areas = np.ones((len(AXES), node.size))
    cuts = nodes.cuts
    if cuts is None:
        return areas
    for first in range(0, node.size, CHUNK):
        chunk = node[first : first + CHUNK]
        vectors = CUBE * (np.array(nodes.shape[::-1]) > 1)
        codes = search.table_through_solids(vectors, chunk)
        state = np.where(codes >= 0, FLUID, UNKNOWN)
        state[codes == WALL_LINK] = UNLABELLED
        labelled = codes <= FIRST_WALL_LINK
        state[labelled] = FIRST_LABELLED + FIRST_WALL_LINK - codes[labelled]
        edges = _edges(cuts, nodes.voxel, codes, state)
        areas[:, first : first + CHUNK] = _areas(np.ascontiguousarray(state.T), edges).T
    return areas


def areas_of_links(nodes: NodeList, search: NeighbourSearch, node: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(S,) :func:`link_areas` of links from nodes (S,) along vectors (S, 3) of ``AXES``."""
    own, column = np.unique(node, return_inverse=True)
    return link_areas(nodes, search, own)[(vectors[:, None, :] == AXES).all(axis=2).argmax(axis=1), column]


def _edges(cuts: Cuts, voxel: np.ndarray, codes: np.ndarray, state: np.ndarray) -> np.ndarray:
    """(m, 3, 27) where the wall cuts the edge from each voxel of the cube along each axis, as a fraction of it."""
    found = np.full((codes.shape[1], 3, len(CUBE)), HALF_WAY)
    for axis in range(3):
        step = np.eye(3, dtype=np.int64)[axis]
        for low in np.flatnonzero(CUBE[:, axis] < 1):
            high = low + STRIDES[axis]
            for start, end, vector in ((low, high, step), (high, low, -step)):
                met = np.flatnonzero((state[start] == FLUID) & (state[end] > FLUID))
                distance = cut_distances(cuts, voxel[codes[start, met]], vector)
                found[met, axis, low] = distance if start == low else 1.0 - distance
    return found


@njit(parallel=True, cache=True)
def _areas(state, edges):
    """(m, 6) areas of links."""
    areas = np.ones((len(state), len(AXES)))
    for n in prange(len(state)):
        shares = np.empty((8, 3))
        for cell in range(8):
            _share(state[n], edges[n], cell, shares[cell])
        for k in range(len(AXES)):
            if state[n, 13 + (1 - 2 * (k % 2)) * STRIDES[k // 2]] > FLUID:
                areas[n, k] = _of_link(shares, k)
    return areas


@njit(cache=True)
def _of_link(shares, k):
    """Sum of the shares of the four cells around a link, from those that are known; 1 if none is."""
    total, n_known = 0.0, 0
    for cell in range(8):
        is_beside = (cell >> k // 2 & 1) == 1 - k % 2
        if is_beside and shares[cell, k // 2] >= 0.0:
            total += shares[cell, k // 2]
            n_known += 1
    return 4.0 * total / n_known if n_known else 1.0


@njit(cache=True)
def _share(state, edges, cell, share):
    """Share of an edge along each axis in the polygon in a cell around the node, whose bits say on which sides of it;
    negative where unknown."""
    base, share[:] = 0, -1.0
    for axis in range(3):
        base += STRIDES[axis] * (cell >> axis & 1)
    wall, n_crossed, normal = FLUID, np.zeros(3), np.zeros(3)
    for face in FACES:
        for i in range(4):
            here, there = _at(base, face[i]), _at(base, face[(i + 1) % 4])
            if state[here] == UNKNOWN:
                return
            if state[here] != FLUID or state[there] == FLUID:
                continue
            if wall not in (FLUID, state[there]):
                return
            wall, j = state[there], i + 1
            while state[_at(base, face[(j + 1) % 4])] > FLUID:
                j += 1
            if state[_at(base, face[j % 4])] != wall:
                return
            n_crossed[_axis(face[i], face[(i + 1) % 4])] += 1.0
            enters = _crossing(edges, base, face[i], face[(i + 1) % 4])
            leaves = _crossing(edges, base, face[j % 4], face[(j + 1) % 4])
            normal += 0.5 * np.cross(enters, leaves)
    area = np.sqrt((normal**2).sum())
    along = np.abs(normal) if area > 0.0 else np.ones(3)
    share[:] = area * along / max((n_crossed * along).sum(), LEAST)


@njit(cache=True)
def _at(base, corner):
    """Voxel of the cube at a corner of a cell."""
    return base + (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2)


@njit(cache=True)
def _crossing(edges, base, first, second):
    """Where the edge between two corners of a cell is cut, seen from the centre of the cell."""
    low, axis = min(first, second), _axis(first, second)
    position = np.array([low & 1, low >> 1 & 1, low >> 2]) - 0.5
    position[axis] += edges[axis, _at(base, low)]
    return position


@njit(cache=True)
def _axis(first, second):
    """Along which the edge between two corners of a cell lies."""
    axis = 0
    while (first ^ second) >> axis != 1:
        axis += 1
    return axis
