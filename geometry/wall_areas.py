"""The area of the true wall that belongs to each link along an axis.

It is the part of the wall that its normals carry to the face half-way along the link,

    A = |n . c| / (1 - d div n),

n the unit normal out of the fluid and d the distance of the wall from the face along it, so that what crosses the wall
along its normals crosses those faces of voxels (own derivation; exact for planes and circles). The normals are those of
the polygons in which the wall cuts the cells between eight voxel centres, whose corners lie where it cuts the cells'
edges (Lorensen, Cline, Comput. Graph. 21, 163 (1987)); a linear field is fitted to those of the eight cells around the
node, each weighted by its area. The areas of all links add up to that of a pipe of 6, 12, 24 voxels radius within 0.22,
0.06, 0.02 %, and single ones are as near to those of the circle as 0.4, 0.04, 0.03 % of a face. Cells that reach into
an opening or to another wall, whose edge they would cut off, count for nothing.
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
FACING = 0.5  # cosine to the mean normal around a link of the polygons that count
LEAST_TURN = 0.006  # weight that keeps the change of the normal small where few polygons determine it


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
        polygons = np.empty((8, 6))
        for cell in range(8):
            _polygon(state[n], edges[n], cell, polygons[cell])
        for k in range(len(AXES)):
            axis, forward = k // 2, 1 - 2 * (k % 2)
            if state[n, 13 + forward * STRIDES[axis]] > FLUID:
                cut = edges[n, axis, 13 + min(0, forward) * STRIDES[axis]]
                areas[n, k] = _of_link(polygons, axis, forward, cut if forward > 0 else 1.0 - cut)
    return areas


@njit(cache=True)
def _of_link(polygons, axis, forward, cut):
    """Area of the wall that the normals carry to the face half-way along a link; 1 if no polygon around it is known, or
    none faces the mean of all."""
    mean = np.zeros(3)
    for cell in range(8):
        if (cell >> axis & 1) == (forward + 1) // 2:
            mean += polygons[cell, :3]
    length = np.sqrt((mean**2).sum())
    if forward * mean[axis] <= 0.0 or length == 0.0:
        return 1.0
    moments, normals = LEAST_TURN * np.eye(4), np.zeros((4, 3))
    moments[0, 0] = 0.0
    for cell in range(8):
        vector, place = polygons[cell, :3], np.ones(4)
        area = np.sqrt((vector**2).sum())
        if (vector * mean).sum() > FACING * area * length:
            place[1:] = polygons[cell, 3:]
            moments += area * np.outer(place, place)
            normals += np.outer(place, vector)
    if moments[0, 0] == 0.0:  # as around a voxel of fluid in a solid: their sum is that of none of them
        return 1.0
    turn, foot = np.linalg.solve(moments, normals), np.zeros(3)
    foot[axis] = 0.5 * forward
    normal, gap = mean / length, 0.0
    for _ in range(2):
        normal = turn[0] + foot[0] * turn[1] + foot[1] * turn[2] + foot[2] * turn[3]
        normal /= np.sqrt((normal**2).sum())
        gap = (cut - 0.5) * forward * normal[axis]
        foot = gap * normal
        foot[axis] += 0.5 * forward
    divergence = turn[1, 0] + turn[2, 1] + turn[3, 2]
    return max(forward * normal[axis], 0.0) / max(1.0 - gap * divergence, 0.5)


@njit(cache=True)
def _polygon(state, edges, cell, found):
    """Vector into the wall, as long as its area, and middle of the polygon in a cell around the node, whose bits say on
    which sides of it; zeros where there is none or it is unknown."""
    base, wall, length = 0, FLUID, 0.0
    found[:] = 0.0
    vector, middle, centre = np.zeros(3), np.zeros(3), np.zeros(3)
    for axis in range(3):
        base += STRIDES[axis] * (cell >> axis & 1)
        centre[axis] = (cell >> axis & 1) - 0.5
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
            enters = _crossing(edges, base, face[i], face[(i + 1) % 4])
            leaves = _crossing(edges, base, face[j % 4], face[(j + 1) % 4])
            vector += 0.5 * np.cross(leaves, enters)
            along = np.sqrt(((leaves - enters) ** 2).sum())
            middle += 0.5 * along * (enters + leaves)
            length += along
    if length > 0.0:
        found[:3], found[3:] = vector, centre + middle / length


@njit(cache=True)
def _at(base, corner):
    """Voxel of the cube at a corner of a cell."""
    return base + (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2)


@njit(cache=True)
def _crossing(edges, base, first, second):
    """Intersection of the edge between two corners of a cell with the wall, seen from the centre of the cell."""
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
