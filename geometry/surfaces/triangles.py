"""Meshes of triangles: edges, neighbours, connected parts, areas. Triangles are (n, 3) vertex numbers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

NO_AREA = 1e-9
"""Triangles whose height is a smaller part of their longest side have no area."""


class Edges(NamedTuple):
    """The edges of a mesh of n triangles; side j of triangle t is number ``j * n + t``.

    Attributes:
        vertices: (m, 2) vertex numbers of each edge, the lower first.
        of_side: (3 n,) edge of each side.
        used: (m,) number of sides that lie on each edge.
    """

    vertices: np.ndarray
    of_side: np.ndarray
    used: np.ndarray


class Pairs(NamedTuple):
    """Pairs of triangles across the edges that exactly two sides lie on.

    Attributes:
        triangles: (p, 2) triangle numbers.
        edge: (p, 2) vertex numbers.
        alike: (p,) whether both run through the edge in the same direction: they are wound against each other.
    """

    triangles: np.ndarray
    edge: np.ndarray
    alike: np.ndarray


def sides(triangles: np.ndarray) -> np.ndarray:
    """(3 n, 2) directed sides of the triangles."""
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def find_edges(triangles: np.ndarray) -> Edges:
    """The edges of a mesh."""
    ends = np.sort(sides(triangles), axis=1)
    n_vertices = int(triangles.max(initial=0)) + 1
    key, of_side, used = np.unique(ends[:, 0] * n_vertices + ends[:, 1], return_inverse=True, return_counts=True)
    return Edges(np.stack(np.divmod(key, n_vertices), axis=1), of_side.reshape(-1), used)


def find_pairs(triangles: np.ndarray, edges: Edges) -> Pairs:
    """The pairs of neighbours in a mesh."""
    order = np.argsort(edges.of_side, kind="stable")
    both = order[edges.used[edges.of_side[order]] == 2].reshape(-1, 2)
    first = sides(triangles)[:, 0]
    return Pairs(
        both % len(triangles), edges.vertices[edges.of_side[both[:, 0]]], first[both[:, 0]] == first[both[:, 1]]
    )


def distinct_triangles(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k,) the first triangle of every set of three vertices, and (k,) how many triangles have these vertices."""
    ordered = np.sort(triangles, axis=1)
    order = np.lexsort(ordered.T)
    changes = np.any(ordered[order[1:]] != ordered[order[:-1]], axis=1)
    begin = np.concatenate(([0], np.flatnonzero(changes) + 1))
    return order[begin], np.diff(begin, append=len(triangles))


def area_vectors(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n, 3) normal of each triangle times its area."""
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    return 0.5 * np.cross(b - a, c - a)


def without_area(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) whether each triangle has no area, as far as its coordinates tell."""
    corners = points[triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    return 2.0 * np.linalg.norm(area_vectors(points, triangles), axis=1) <= NO_AREA * longest**2


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) of length one; zero stays zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def volume_parts(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) share of each triangle in the enclosed volume, positive for outward winding; offset to the middle."""
    a, b, c = np.moveaxis((points - points.mean(axis=0))[triangles], 1, 0)
    return np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0


def number_parts(n: int, links: np.ndarray) -> np.ndarray:
    """(n,) number, from 0, of the connected part of each of n things; ``links`` (m, 2) connect them."""
    parent, turned = np.arange(n), np.zeros(n, dtype=bool)
    _unite(parent, turned, links, np.zeros(len(links), dtype=bool))
    return np.unique(parent, return_inverse=True)[1].reshape(-1)


def turn_alike(n: int, pairs: Pairs) -> tuple[np.ndarray, int]:
    """(n,) which triangles to turn so that all of a part are wound alike, and the first pair for which that fails.

    The pair is -1 if it never fails; otherwise the surface has one side only.
    """
    parent, turned = np.arange(n), np.zeros(n, dtype=bool)
    failed = _unite(parent, turned, pairs.triangles, pairs.alike)
    return turned, failed


@njit(cache=True)
def _unite(parent, turned, links, differ):
    """Unite what links connect; ``turned`` follows ``differ`` from the root. Returns the first contradiction or -1."""
    failed = -1
    for k in range(len(links)):
        a, turned_a = _root(parent, turned, links[k, 0])
        b, turned_b = _root(parent, turned, links[k, 1])
        if a != b:
            parent[max(a, b)] = min(a, b)
            turned[max(a, b)] = turned_a ^ turned_b ^ differ[k]
        elif failed < 0 and (turned_a ^ turned_b) != differ[k]:
            failed = k
    for n in range(len(parent)):
        _root(parent, turned, n)
    return failed


@njit(cache=True)
def _root(parent, turned, n):
    """The root of n and whether n is turned against it; the path becomes one step."""
    root, total = n, False
    while parent[root] != root:
        total ^= turned[root]
        root = parent[root]
    rest = total
    while parent[n] != n and n != root:
        above, own = parent[n], turned[n]
        parent[n], turned[n] = root, rest
        rest ^= own
        n = above
    return root, total


def trace_loops(directed: np.ndarray) -> list[np.ndarray]:
    """Closed loops of vertices, in order, of directed edges (m, 2); where loops touch, the shorter is taken first.

    Edges that lead to no loop (of a mesh not wound alike) are left out.
    """
    onward: dict[int, list[int]] = {}
    for a, b in directed.tolist():
        onward.setdefault(a, []).append(b)
    return [loop for start in list(onward) for loop in _loops_from(start, onward)]


def _loops_from(start: int, onward: dict[int, list[int]]) -> Iterator[np.ndarray]:
    """The loops on a walk from a vertex along edges that are then used up."""
    path, place = [start], {start: 0}
    while onward.get(path[-1]):
        vertex = onward[path[-1]].pop()
        if vertex not in place:
            place[vertex] = len(path)
            path.append(vertex)
            continue
        yield np.array(path[place[vertex] :])
        for gone in path[place[vertex] + 1 :]:
            del place[gone]
        del path[place[vertex] + 1 :]
