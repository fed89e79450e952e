"""Values of wall nodes at the vertices of a surface."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.triangles import area_vectors, unit_vectors
from muphy_lb.output.vtp import Triangles

NEAREST, REACH = 12, 2.0
"""A point takes values of at most so many wall nodes, whose walls are at most so far away [voxels]."""

SAME_SIDE = 0.3
"""Smallest cosine between the normals of a point and of a node that lies on the same side of a wall."""


def on_surface(surface: Surface, wall_m: np.ndarray, normal: np.ndarray, spacing_m: float) -> "SurfaceWeights":
    """How values at points of the wall are carried over to the vertices of a surface.

    Args:
        surface: triangles, oriented outwards.
        wall_m: (m, 3) points of the wall [m].
        normal: (m, 3) unit vectors out of the fluid there.
        spacing_m: edge of a voxel [m].
    """
    from scipy.spatial import cKDTree

    of_points = np.zeros_like(surface.points)
    for corner in range(3):
        np.add.at(of_points, surface.triangles[:, corner], area_vectors(surface.points, surface.triangles))
    distance, index = cKDTree(wall_m).query(surface.points_m, min(NEAREST, len(wall_m)), workers=1)
    distance, index = (np.reshape(found, (len(surface.points), -1)) for found in (distance, index))
    facing = np.einsum("pi,pki->pk", unit_vectors(of_points), normal[index])
    weight = np.where((distance <= REACH * spacing_m) & (facing > SAME_SIDE), 1.0, 0.0)
    weight /= (distance / spacing_m) ** 2 + 0.25
    return SurfaceWeights(surface, index, weight)


class SurfaceWeights:
    """Weights (p, k) of wall nodes ``index`` (p, k) at the p vertices of a surface."""

    def __init__(self, surface: Surface, index: np.ndarray, weight: np.ndarray):
        self._surface, self._index = surface, index
        total = weight.sum(axis=1, keepdims=True)
        self._there = total[:, 0] > 0.0
        self._weight = weight / np.where(total > 0.0, total, 1.0)

    def values(self, of_nodes: np.ndarray) -> np.ndarray:
        """(p, ...) values at the vertices of values (m, ...) of wall nodes; nan where no wall node is near."""
        found = np.einsum("pk,pk...->p...", self._weight, of_nodes[self._index])
        found[~self._there] = np.nan
        return found

    def triangles(self, fields: Mapping[str, np.ndarray], units: Mapping[str, str], shown: str) -> Triangles:
        """The triangles whose three corners have a value, with those of (m, ...) ``fields`` of nodes.

        Args:
            fields: values by name.
            units: unit of each field by name.
            shown: name of the field that a viewer colours at first.
        """
        triangles = self._surface.triangles
        used, corners = np.unique(triangles[self._there[triangles].all(axis=1)], return_inverse=True)
        data = {name: self.values(values)[used] for name, values in fields.items()}
        return Triangles(self._surface.points_m[used], corners.reshape(-1, 3), data, units, shown)
