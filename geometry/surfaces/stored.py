"""Surfaces as files store them: points, and polygons cut into triangles."""

from typing import NamedTuple

import numpy as np


class StoredSurface(NamedTuple):
    """The triangles of a file.

    Attributes:
        points: (m, 3) float64.
        triangles: (n, 3) int64 vertex numbers.
        faces: (n,) int64 number of the model's face that each triangle belongs to; None if the file does not say.
        notes: text: oddities of the file that were passed over.
    """

    points: np.ndarray
    triangles: np.ndarray
    faces: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def fans(corners: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(n, 3) triangles of polygons, each a fan around its first vertex.

    Args:
        corners: vertex numbers of one polygon after the other.
        ends: end of each polygon in them.
    """
    first, number = triangle_positions(ends)
    return corners[np.stack([first, first + number + 1, first + number + 2], axis=1)]


def triangle_positions(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each triangle, the position of its cell's first vertex and its number in the cell (k vertices: k - 2)."""
    sizes = np.diff(ends, prepend=0)
    counts = np.maximum(sizes - 2, 0)
    before = np.cumsum(counts) - counts
    return np.repeat(ends - sizes, counts), np.arange(counts.sum()) - np.repeat(before, counts)
