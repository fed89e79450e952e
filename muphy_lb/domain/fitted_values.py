"""Values of a scalar beyond walls that cut links anywhere, from a parabola fitted around each node.

    T(x) = T_0 + g . x + x . H x / 2

By least squares: through the node and its neighbours in the fluid, each weighted by the inverse of its distance, and
with the condition of the boundary where each link meets it: T = T_w, or n . grad T + b T = s with n out of the fluid
(``factor`` and ``value`` of :mod:`muphy_lb.domain.scalar_boundary`: b = 2 (1 - a) / (1 + a) and 2 value / (1 + a)). n
is the normal of the plane through the points in which the node's links meet that boundary. A small weight of H keeps
the fit regular where a node has few neighbours. The temperatures are of second order, fluxes and convection through
oblique walls included.

All is computed from what lies around the node, in an order that does not depend on the ranks.
"""

from typing import NamedTuple

import numpy as np

from muphy_lb.domain.scalar_boundary import FIXED, OUTFLOW, Extrapolations, ScalarBoundary, joined
from muphy_lb.geometry.link_cuts import HALF_WAY, Cuts, cut_distances

OF_VOXELS = 1e-9
WEIGHT_OF_CURVATURE, WEIGHT_OF_SLOPE = 0.1, 1e-4
# Eigenvalues, over the largest, below which the points of a node do not determine a plane.
FLAT = 1e-6
CHUNK = 1 << 12


class Met(NamedTuple):
    """Links out of the fluid: column of their node, number of their vector, number of the boundary, and the fraction of
    the link at which it lies."""

    column: np.ndarray
    k: np.ndarray
    number: np.ndarray
    distance: np.ndarray


def met(codes: np.ndarray, voxel: np.ndarray, vectors: np.ndarray, boundary: ScalarBoundary, cuts: Cuts | None) -> Met:
    """The links out of the fluid of nodes in voxels (m,) with codes (K, m), by node and vector."""
    column, k = np.nonzero(codes.T < 0)
    number = boundary.numbers_of(codes[k, column].astype(np.int64))
    return Met(column, k, number, cut_distances(cuts, voxel[column], vectors[k]))


def fit(
    codes: np.ndarray,
    nodes: np.ndarray,
    voxel: np.ndarray,
    vectors: np.ndarray,
    boundary: ScalarBoundary,
    cuts: Cuts | None,
) -> Extrapolations:
    """The extrapolated values that the stencils of some nodes read.

    Args:
        codes: (1 + K, m) index of the node itself, then of its neighbour along each vector, or the code of a link.
        nodes, voxel: (m,) their local numbers and voxel ids.
        vectors: (K, 3).
        cuts: where links are cut.
    """
    parts = []
    for first in range(0, nodes.size, CHUNK):
        chunk = slice(first, first + CHUNK)
        links = met(codes[1:, chunk], voxel[chunk], vectors, boundary, cuts)
        weight, constant = _weights(codes[:, chunk], links, vectors, boundary)
        index = np.where(weight != 0.0, codes[:, chunk][:, links.column], codes[0, chunk][links.column])
        terms = packed(index.astype(np.int64), weight)
        parts.append(Extrapolations.plain(nodes[chunk][links.column], links.k, *terms, constant))
    return joined(parts)


def is_fitted(codes: np.ndarray, voxel: np.ndarray, vectors: np.ndarray, cuts: Cuts | None) -> np.ndarray:
    """(m,) whether one of the links of nodes with codes (K, m) is cut elsewhere than half-way."""
    found = np.zeros(voxel.size, dtype=bool)
    for row, vector in zip(codes, vectors, strict=True):
        beside = np.flatnonzero(row < 0)
        found[beside] |= np.abs(cut_distances(cuts, voxel[beside], vector) - HALF_WAY) > OF_VOXELS
    return found


def _weights(codes, links: Met, vectors, boundary: ScalarBoundary) -> tuple[np.ndarray, np.ndarray]:
    """(1 + K, S) weights of the node and its neighbours in the values at the ends of links, and (S,) constants."""
    n_nodes, n_vectors = codes.shape[1], len(vectors)
    at_nodes = _terms(np.concatenate((np.zeros((1, 3)), vectors)))
    length = np.linalg.norm(vectors, axis=1)
    squared = np.where(codes.T >= 0, np.append(1.0, 1.0 / length**2), 0.0)
    row, value = _conditions(links, vectors, boundary)
    at_walls, values = np.zeros((n_nodes, n_vectors, at_nodes.shape[1])), np.zeros((n_nodes, n_vectors))
    at_walls[links.column, links.k], values[links.column, links.k] = row, value
    regular = np.repeat((0.0, WEIGHT_OF_SLOPE, WEIGHT_OF_CURVATURE), (1, 3, 6)) ** 2
    of_nodes = squared[:, :, None] * at_nodes
    matrix = at_nodes.T @ of_nodes + at_walls.transpose(0, 2, 1) @ at_walls + np.diag(regular)
    known = (at_walls * values[:, :, None]).sum(axis=1)
    solved = np.linalg.solve(matrix, np.concatenate((of_nodes, known[:, None]), axis=1).transpose(0, 2, 1))
    found = (at_nodes[1 + links.k][:, None, :] @ solved[links.column])[:, 0].T
    return found[:-1], found[-1]


def _conditions(links: Met, vectors, boundary: ScalarBoundary) -> tuple[np.ndarray, np.ndarray]:
    """(S, 10) coefficients of the parabola in the conditions where links end, and (S,) their values."""
    position = links.distance[:, None] * vectors[links.k]
    normal = _normals(links, position, boundary.kind.size)
    kind, factor = boundary.kind[links.number], boundary.factors[links.number]
    is_free = kind == OUTFLOW
    conductance = np.where(is_free, 0.0, 2.0 * (1.0 - factor) / (1.0 + factor))
    value = np.where(is_free, 0.0, 2.0 * boundary.value[links.number] / (1.0 + factor)) / (1.0 + conductance)
    flux = (_slopes(position, normal) + conductance[:, None] * _terms(position)) / (1.0 + conductance)[:, None]
    is_fixed = kind == FIXED
    row = np.where(is_fixed[:, None], _terms(position), flux)
    return row, np.where(is_fixed, boundary.value[links.number], value)


def _normals(links: Met, position: np.ndarray, n_boundaries: int) -> np.ndarray:
    """(S, 3) normals, out of the fluid, of the planes through the points in which a node meets a boundary; points on
    the other side of the node than the nearest one belong to another plane."""
    _, met = np.unique(links.column * n_boundaries + links.number, return_inverse=True)
    order = np.lexsort((np.linalg.norm(position, axis=1), met))
    nearest = order[np.searchsorted(met[order], met)]
    is_across = (position * position[nearest]).sum(axis=1) < 0.0
    _, plane = np.unique(2 * met + is_across, return_inverse=True)
    n_planes = int(plane.max(initial=-1)) + 1
    moments = [np.bincount(plane, row, n_planes) for row in position.T]
    products = (position[:, :, None] * position[:, None, :]).reshape(-1, 9).T
    matrix = np.stack([np.bincount(plane, row, n_planes) for row in products], axis=1).reshape(-1, 3, 3)
    inverse = np.linalg.pinv(matrix, rcond=FLAT, hermitian=True)
    normal = (inverse @ np.stack(moments, axis=1)[:, :, None])[:, :, 0]
    return (normal / np.linalg.norm(normal, axis=1, keepdims=True))[plane]


def _terms(x: np.ndarray) -> np.ndarray:
    """(n, 10) factors of T_0, g and H at points (n, 3)."""
    x, y, z = x.T.astype(float)
    return np.stack((np.ones_like(x), x, y, z, x * x / 2, y * y / 2, z * z / 2, x * y, y * z, z * x), axis=1)


def _slopes(x: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(n, 10) factors of the slope along normals (n, 3) at points (n, 3)."""
    x, y, z = x.T
    a, b, c = normal.T
    zero = np.zeros_like(x)
    return np.stack((zero, a, b, c, a * x, b * y, c * z, a * y + b * x, b * z + c * y, c * x + a * z), axis=1)


def packed(index: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The terms that count, ahead of the others, as many rows as are needed."""
    order = np.argsort(weight == 0.0, axis=0, kind="stable")
    n_terms = int((weight != 0.0).sum(axis=0).max(initial=1))
    return np.take_along_axis(index, order[:n_terms], axis=0), np.take_along_axis(weight, order[:n_terms], axis=0)
