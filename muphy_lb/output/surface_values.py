"""Values of wall nodes on the triangles of a surface, for ParaView, PyVista and vmtk: a ``.vtu`` file of point data."""

import os
from collections.abc import Mapping

import numpy as np

from muphy_lb.files.atomic import atomic_write
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.geometry.surfaces.triangles import area_vectors, unit_vectors

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

    def write(self, path: str | os.PathLike, fields: Mapping[str, np.ndarray]) -> None:
        """Write the triangles of which at least a corner has a value, with point data of (m, ...) ``fields`` of nodes.

        Raises:
            OutputError: the file cannot be written.
        """
        import meshio

        triangles = self._surface.triangles
        seen = triangles[self._there[triangles].any(axis=1)]
        used, corners = np.unique(seen, return_inverse=True)
        data = {name: self.values(values)[used] for name, values in fields.items()}
        mesh = meshio.Mesh(self._surface.points_m[used], [("triangle", corners.reshape(-1, 3))], point_data=data)
        with atomic_write(path) as temporary:
            meshio.write(temporary, mesh, file_format="vtu")
