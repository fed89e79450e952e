"""The nodes adjacent to walls: direction and distance of the wall, from the intersections of their links."""

from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList

AROUND = np.array([vector for vector in product((-1, 0, 1), repeat=3) if any(vector)])
HALF = 0.5
CHUNK = 1 << 20
LEAST_SPREAD = 1e-3  # second largest variance of a patch [voxel^2] below which it is a line, not a plane
MOST_DISTANCE = 1.5
LEAST_ALIGNED = 0.6  # cosine between the way inwards and the link to the next node


@dataclass(frozen=True)
class WallSurface:
    """Nodes with a link into a wall and none into an opening's surroundings, m of them, by ascending voxel id.

    Attributes:
        voxel: (m,) int64 voxel ids.
        normal: (m, 3) unit vectors out of the fluid.
        distance: (m,) distance of the wall along the normal [voxels].
        inner: (m,) voxel id of the next node inwards, -1 where there is none.
        depth: (m,) distance between the two along the normal [voxels]; 1 where there is none.
    """

    voxel: np.ndarray
    normal: np.ndarray
    distance: np.ndarray
    inner: np.ndarray
    depth: np.ndarray

    def chosen(self, numbers: np.ndarray) -> "WallSurface":
        """Some of the nodes, by ascending number."""
        return WallSurface(*(getattr(self, each.name)[numbers] for each in fields(self)))


def wall_surface(nodes: NodeList, vectors: np.ndarray) -> WallSurface:
    """Fit a plane to the points where the links of each node and of its neighbours meet the wall.

    Nodes that touch an opening are left out. Where the distance of the wall along a link is unknown, one half is
    used, and the fitted patch is one voxel wider, since those points form a staircase.

    Args:
        nodes: the whole geometry.
        vectors: (Q, 3) lattice vectors (x, y, z) along which nodes have links.
    """
    search = NeighbourSearch(nodes)
    vectors = vectors[vectors.any(axis=1)]
    node = _beside_walls(nodes, vectors, search)
    hits = _hits(nodes, vectors, node, search)
    around = AROUND[~(AROUND[:, np.array(nodes.shape[::-1]) == 1]).any(axis=1)]
    near = _neighbours_in(node, nodes.n_nodes, around, search)
    outward = _unit(hits.first)
    for _ in range(1 if nodes.cuts is not None else 2):
        hits = hits.with_neighbours(near, around, outward)
    normal, distance = hits.planes(outward, flat=nodes.shape[0] == 1)
    inner, depth = _inwards(nodes, node, normal, around, search)
    return WallSurface(nodes.voxel[node], normal, distance, inner, depth)


@dataclass(frozen=True)
class _Hits:
    """Moments of the points where links meet the wall, seen from each node: (m,), (m, 3), (m, 3, 3)."""

    count: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def with_neighbours(self, near, around, outward) -> "_Hits":
        """The moments with those of the neighbours, nearer ones weighted more; walls that face the other way, across a
        narrow gap, do not count."""
        count, first, second = self.count.copy(), self.first.copy(), self.second.copy()
        for vector, index in zip(around, near, strict=True):
            mine = np.flatnonzero(index >= 0)
            mine = mine[(outward[mine] * outward[index[mine]]).sum(axis=1) > 0.0]
            moved, weight = self._moved(index[mine], vector), 1.0 / (1.0 + vector @ vector)
            count[mine] += weight * moved.count
            first[mine] += weight * moved.first
            second[mine] += weight * moved.second
        return _Hits(count, first, second)

    def _moved(self, index, vector) -> "_Hits":
        """Moments of some nodes, seen from nodes that lie ``vector`` before them."""
        count, first = self.count[index], self.first[index]
        cross = first[:, :, None] * vector
        second = self.second[index] + cross + cross.transpose(0, 2, 1) + count[:, None, None] * np.outer(vector, vector)
        return _Hits(count, first + count[:, None] * vector, second)

    def planes(self, outward: np.ndarray, flat: bool) -> tuple[np.ndarray, np.ndarray]:
        """Normal of the plane through the points, and its distance from the node; the mean direction of the links where
        the points lie on a line."""
        mean = self.first / self.count[:, None]
        spread = self.second / self.count[:, None, None] - mean[:, :, None] * mean[:, None, :]
        if flat:
            spread[:, 2, 2] += 1.0  # a plane flow has no normal along z
        variance, axes = np.linalg.eigh(spread)
        normal = np.where((variance[:, 1] > LEAST_SPREAD)[:, None], axes[:, :, 0], outward)
        normal = normal * np.where((normal * outward).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
        return normal, np.clip((normal * mean).sum(axis=1), 0.0, MOST_DISTANCE)


def _beside_walls(nodes: NodeList, vectors, search) -> np.ndarray:
    """Ascending numbers of the fluid nodes with a link into a wall that touch no opening."""
    found = [np.empty(0, dtype=np.int64)]
    last = int(nodes.group_start[1])
    for first in range(0, last, CHUNK):
        table = search.table(vectors, slice(first, min(first + CHUNK, last)))
        beside = is_wall(table).any(axis=0)
        if search.solid is not None:
            beside &= search.solid[first : first + beside.size] < 0
        found.append(first + np.flatnonzero(beside))
    return np.concatenate(found)


def is_wall(table: np.ndarray) -> np.ndarray:
    """Whether links lead into walls, labelled ones or others, by what a search finds at their ends."""
    return (table == WALL_LINK) | (table <= FIRST_WALL_LINK)


def _hits(nodes: NodeList, vectors, node, search) -> _Hits:
    count, first, second = np.zeros(node.size), np.zeros((node.size, 3)), np.zeros((node.size, 3, 3))
    for vector in vectors:
        mine = np.flatnonzero(is_wall(search.table([vector], node)[0]))
        distance = np.full(mine.size, HALF)
        if nodes.cuts is not None and mine.size:
            known = nodes.cuts.of(nodes.voxel[node[mine]], vector)
            distance = np.where(np.isnan(known), HALF, known)
        count[mine] += 1.0
        first[mine] += distance[:, None] * vector
        second[mine] += (distance**2)[:, None, None] * np.outer(vector, vector)
    return _Hits(count, first, second)


def _neighbours_in(node, n_nodes: int, around, search) -> np.ndarray:
    """(K, m) index in ``node`` of the neighbour along each vector, -1 where it is not among them."""
    index = np.full(n_nodes + 1, -1, dtype=np.int64)
    index[node] = np.arange(node.size)
    return index[np.maximum(search.table(around, node), -1)]


def _inwards(nodes: NodeList, node, normal, around, search) -> tuple[np.ndarray, np.ndarray]:
    """Voxel and depth of the neighbour that lies best along the way inwards and touches no opening."""
    best, inner, depth = np.full(node.size, LEAST_ALIGNED), np.full(node.size, -1), np.ones(node.size)
    for vector in around:
        along = -(normal @ vector)
        far = search.table([vector], node)[0]
        better = (far >= 0) & (far < nodes.group_start[1]) & (along / np.linalg.norm(vector) > best)
        best[better] = along[better] / np.linalg.norm(vector)
        inner[better], depth[better] = nodes.voxel[far[better]], along[better]
    return inner, depth


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
