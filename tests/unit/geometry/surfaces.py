"""Closed surfaces for tests."""

import itertools

import numpy as np

from muphy_lb.geometry.surfaces.surface import Surface

FACES = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6]]
    + [[1, 3, 5], [3, 7, 5]]
)


def box(size=(1.0, 2.0, 3.0), metres_per_unit=1.0):
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=3)))[:, ::-1] * size
    return Surface(corners, FACES, metres_per_unit)


def octahedron(radius):
    points = radius * np.vstack((np.eye(3), -np.eye(3)))
    triangles = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return Surface(points, np.array(triangles), 1.0)


def sphere(radius, n_refinements=4):
    surface = octahedron(1.0)
    points, triangles = surface.points, surface.triangles
    for _ in range(n_refinements):
        a, b, c = (points[triangles[:, j]] for j in range(3))
        ab, bc, ca = ((p + q) / np.linalg.norm(p + q, axis=1, keepdims=True) for p, q in ((a, b), (b, c), (c, a)))
        corners = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        points, triangles = np.unique(np.round(corners.reshape(-1, 3), 12), axis=0, return_inverse=True)
        triangles = triangles.reshape(-1, 3)
    return Surface(radius * points, triangles, 1.0)


def rotated(surface, axis=(1.0, 2.0, 3.0), angle=0.7):
    k = np.array(axis) / np.linalg.norm(axis)
    cross = np.cross(np.eye(3), k)
    rotation = np.eye(3) - np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return Surface(surface.points @ rotation.T, surface.triangles, surface.metres_per_unit), rotation


def tube(radius=1.0, length=6.0, n_sides=24, ends=("flat", "flat"), n_rings=12):
    """A tube along z from 0 to ``length``, wound outward; each end ``"flat"`` (a fan) or ``"open"``."""
    angle = 2.0 * np.pi * np.arange(n_sides) / n_sides
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    heights = np.linspace(0.0, length, n_rings + 1)
    points = np.concatenate([np.insert(ring, 2, z, axis=1) for z in heights] + [[(0, 0, 0), (0, 0, length)]])
    k = np.arange(n_sides)
    triangles = []
    for r in range(n_rings):
        a, b = r * n_sides + k, r * n_sides + np.roll(k, -1)
        triangles += [np.stack([a, b, a + n_sides], axis=1), np.stack([b, b + n_sides, a + n_sides], axis=1)]
    low, high = len(points) - 2, len(points) - 1
    top = n_rings * n_sides
    if ends[0] == "flat":
        triangles.append(np.stack([np.roll(k, -1), k, np.full(n_sides, low)], axis=1))
    if ends[1] == "flat":
        triangles.append(np.stack([top + k, top + np.roll(k, -1), np.full(n_sides, high)], axis=1))
    return Surface(points, np.concatenate(triangles), 1.0)
