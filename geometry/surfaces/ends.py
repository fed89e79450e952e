"""Ends of vessels: measurement of regions of a closed surface, and criteria for the end of a vessel."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.surfaces.triangles import area_vectors, find_edges, find_pairs, unit_vectors


@dataclass(frozen=True)
class EndRule:
    """Criteria for a region to be the end of a vessel.

    Attributes:
        slope: largest mean cosine, around the rim, between the normals of the end and of the adjacent wall (0: the wall
            is perpendicular to the end; 1: it continues in the plane of the end).
        depth: smallest free path along the normal, in outer radii of the end.
        roughness: largest distance of its vertices from its plane, in outer radii.
    """

    slope: float
    depth: float
    roughness: float


OPEN_END = EndRule(0.5, 0.5, 0.3)
"""Criteria for the cap of an open loop: lenient, as an open loop is likely to be an end."""

CLOSED_END = EndRule(0.3, 1.0, 0.05)
"""Criteria for a flat region of a closed surface: strict, as it may just be a flat wall."""


@dataclass(frozen=True)
class Faces:
    """Measures of regions of a closed surface, candidates for ends of a vessel; lengths in units of the file.

    Attributes:
        centre: (k, 3) centroid.
        normal: (k, 3) unit vectors into the vessel.
        area: (k,) area projected along the normal.
        radius: (k,) outer radius: largest distance of a vertex from the centre.
        slope: (k,) mean cosine between the normals of region and surroundings around the rim.
        depth: (k,) free path along the normal.
        roughness: (k,) largest distance of a vertex from the plane.
    """

    centre: np.ndarray
    normal: np.ndarray
    area: np.ndarray
    radius: np.ndarray
    slope: np.ndarray
    depth: np.ndarray
    roughness: np.ndarray

    def are_ends(self, rule: EndRule) -> np.ndarray:
        """(k,) bool: whether each region meets the criteria."""
        along = (np.abs(self.slope) <= rule.slope) & (self.depth >= rule.depth * self.radius)
        return along & (self.roughness <= rule.roughness * self.radius)


def measure_faces(surface: Surface, number: np.ndarray, n_faces: int) -> Faces:
    """Measure regions of a closed, outward-oriented surface; ``number`` (n,): region of each triangle, or -1."""
    triangles, points = surface.triangles, surface.points
    vectors = area_vectors(points, triangles)
    outward = unit_vectors(_sums(number, vectors, n_faces))
    chosen = number >= 0
    projected = np.einsum("ni,ni->n", vectors[chosen], outward[number[chosen]])
    area = _sums(number[chosen], projected, n_faces)
    middles = projected[:, np.newaxis] * points[triangles[chosen]].mean(axis=1)
    centre = _sums(number[chosen], middles, n_faces) / np.where(area > 0, area, 1.0)[:, np.newaxis]
    away = points[triangles[chosen]] - centre[number[chosen], np.newaxis]
    radius, roughness = np.zeros(n_faces), np.zeros(n_faces)
    np.maximum.at(radius, number[chosen], np.linalg.norm(away, axis=2).max(axis=1))
    above = np.abs(np.einsum("nji,ni->nj", away, outward[number[chosen]])).max(axis=1)
    np.maximum.at(roughness, number[chosen], above)
    slope = _rim_slopes(surface, number, outward)
    return Faces(centre, -outward, area, radius, slope, _depths(surface, centre, -outward, radius), roughness)


def _rim_slopes(surface: Surface, number: np.ndarray, outward: np.ndarray) -> np.ndarray:
    """(k,) mean cosine, weighted by edge length, between the normal of each region and those of adjacent triangles."""
    pairs = find_pairs(surface.triangles, find_edges(surface.triangles))
    normals = unit_vectors(area_vectors(surface.points, surface.triangles))
    length = np.linalg.norm(np.diff(surface.points[pairs.edge], axis=1)[:, 0], axis=1)
    total, weight = np.zeros(len(outward)), np.zeros(len(outward))
    for own, other in ((0, 1), (1, 0)):
        mine, theirs = number[pairs.triangles[:, own]], pairs.triangles[:, other]
        rim = (mine >= 0) & (mine != number[theirs]) & np.any(normals[theirs], axis=1)
        cosine = np.einsum("ni,ni->n", outward[mine[rim]], normals[theirs[rim]])
        total += np.bincount(mine[rim], length[rim] * cosine, len(outward))
        weight += np.bincount(mine[rim], length[rim], len(outward))
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), 1.0)


def _depths(surface: Surface, centre: np.ndarray, inward: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """(k,) distance from each centre along the normal to the next triangle."""
    if not len(centre):
        return np.zeros(0)
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    wall = SurfaceWall(surface.points[surface.triangles], tuple(low), size / 256)
    start = centre + 1e-3 * radius[:, np.newaxis] * inward
    start, ray = (start - low) / wall.spacing_m, inward * size / wall.spacing_m
    found = [wall.distances(start[k : k + 1], ray[k])[0] for k in range(len(centre))]
    return np.nan_to_num(found) * size


def _sums(number: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """(n, ...) sums of ``values`` (m, ...) by number 0 ... n - 1; entries with a negative number are skipped."""
    total = np.zeros((n, *values.shape[1:]))
    np.add.at(total, number[number >= 0], values[number >= 0])
    return total
