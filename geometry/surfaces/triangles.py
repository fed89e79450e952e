"""Triangle meshes: edges, adjacency, connected components, areas. Triangles are (n, 3) vertex numbers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from muphy_lb.base.kept.functions import njit

SURFACES = "surfaces"  # subject of the kernels that are compiled ahead where there is one
DEGENERATE = 1e-9  # triangles whose height is below this fraction of their longest side are degenerate


class Edges(NamedTuple):
    """The edges of a mesh of n triangles; side j of triangle t is number ``j * n + t``."""

    vertices: np.ndarray  #: (m, 2) vertex numbers of each edge, the lower first
    of_side: np.ndarray  #: (3 n,) edge of each side
    used: np.ndarray  #: (m,) number of sides that lie on each edge


class Pairs(NamedTuple):
    """Pairs of triangles that share an edge of exactly two triangles."""

    triangles: np.ndarray  #: (p, 2) triangle numbers
    edge: np.ndarray  #: (p, 2) vertex numbers
    #: (p,) whether both traverse the edge in the same direction: their orientations are inconsistent
    is_opposed: np.ndarray


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
    """The pairs of adjacent triangles of a mesh."""
    order = np.argsort(edges.of_side, kind="stable")
    both = order[edges.used[edges.of_side[order]] == 2].reshape(-1, 2)
    first = sides(triangles)[:, 0]
    return Pairs(
        both % len(triangles), edges.vertices[edges.of_side[both[:, 0]]], first[both[:, 0]] == first[both[:, 1]]
    )


def distinct_triangles(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((k,) first triangle of every distinct set of three vertices, (k,) number of triangles with these vertices)."""
    ordered = np.sort(triangles, axis=1)
    order = np.lexsort(ordered.T)
    changes = np.any(ordered[order[1:]] != ordered[order[:-1]], axis=1)
    begin = np.concatenate(([0], np.flatnonzero(changes) + 1))
    return order[begin], np.diff(begin, append=len(triangles))


def area_vectors(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n, 3) normal of each triangle times its area."""
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    return 0.5 * np.cross(b - a, c - a)


def is_degenerate(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) bool: whether each triangle has no area, within rounding."""
    corners = points[triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    return 2.0 * np.linalg.norm(area_vectors(points, triangles), axis=1) <= DEGENERATE * longest**2


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Normalised vectors (n, 3); zero vectors stay zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def signed_volumes(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) signed volume of the tetrahedron of each triangle and the mean vertex; their sum is the enclosed volume,
    positive for outward orientation."""
    a, b, c = np.moveaxis((points - points.mean(axis=0))[triangles], 1, 0)
    return np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0


def label_components(n: int, links: np.ndarray) -> np.ndarray:
    """(n,) component number, from 0, of each of n items connected by ``links`` (m, 2)."""
    parent, flipped = np.arange(n), np.zeros(n, dtype=bool)
    _unite(parent, flipped, links, np.zeros(len(links), dtype=bool))
    return np.unique(parent, return_inverse=True)[1].reshape(-1)


def orient_consistently(n: int, pairs: Pairs) -> tuple[np.ndarray, int]:
    """((n,) mask of triangles to reverse so that each component is oriented consistently, first contradictory pair).
    The pair is -1 if there is no contradiction; otherwise the surface is not orientable."""
    parent, flipped = np.arange(n), np.zeros(n, dtype=bool)
    failed = _unite(parent, flipped, pairs.triangles, pairs.is_opposed)
    return flipped, failed


@njit(cache=True, usually="(int64[::1], boolean[::1], int64[:,::1], boolean[::1])", subject=SURFACES)
def _unite(parent, flipped, links, differ):
    """Union-find with parity: ``flipped`` is the parity of ``differ`` along the path to the root. Returns the first
    contradictory link or -1."""
    failed = -1
    for k in range(len(links)):
        a, flipped_a = _root(parent, flipped, links[k, 0])
        b, flipped_b = _root(parent, flipped, links[k, 1])
        if a != b:
            parent[max(a, b)] = min(a, b)
            flipped[max(a, b)] = flipped_a ^ flipped_b ^ differ[k]
        elif failed < 0 and (flipped_a ^ flipped_b) != differ[k]:
            failed = k
    for n in range(len(parent)):
        _root(parent, flipped, n)
    return failed


@njit(cache=True)
def _root(parent, flipped, n):
    """The root of n and whether n is flipped relative to it; compresses the path to one step."""
    root, total = n, False
    while parent[root] != root:
        total ^= flipped[root]
        root = parent[root]
    rest = total
    while parent[n] != n and n != root:
        above, own = parent[n], flipped[n]
        parent[n], flipped[n] = root, rest
        rest ^= own
        n = above
    return root, total


def trace_loops(directed: np.ndarray) -> list[np.ndarray]:
    """Closed loops of vertices, in order, of directed edges (m, 2); where loops touch, the inner loop comes first.
    Edges that belong to no loop (of an inconsistently oriented mesh) are skipped."""
    onward: dict[int, list[int]] = {}
    for a, b in directed.tolist():
        onward.setdefault(a, []).append(b)
    return [loop for start in list(onward) for loop in _loops_from(start, onward)]


def _loops_from(start: int, onward: dict[int, list[int]]) -> Iterator[np.ndarray]:
    """The loops found on a walk from a vertex; edges are removed from ``onward`` as they are passed."""
    path, position = [start], {start: 0}
    while onward.get(path[-1]):
        vertex = onward[path[-1]].pop()
        if vertex not in position:
            position[vertex] = len(path)
            path.append(vertex)
            continue
        yield np.array(path[position[vertex] :])
        for gone in path[position[vertex] + 1 :]:
            del position[gone]
        del path[position[vertex] + 1 :]
