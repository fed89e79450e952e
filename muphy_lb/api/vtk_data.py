"""A flow as data of PyVista: its voxels with fields, and its walls with their shear stress."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.api.optional import optional
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.output.vtkhdf import N_CORNERS, voxel_mesh
from muphy_lb.output.vtp import on_surface

if TYPE_CHECKING:
    import pyvista

    from muphy_lb.api.records import WallShear

WHAT = "to_pyvista()"
VTK_VOXEL = 11
MAGNITUDE = "wall_shear_magnitude"
"""Name of what is coloured at first."""


def voxel_grid(nodes: NodeList, fields: Mapping[str, np.ndarray]) -> "pyvista.UnstructuredGrid":
    """A cube for every fluid voxel [m], with (n, ...) fields of the nodes as cell data.

    Raises:
        InputError: PyVista is not installed.
    """
    pyvista = optional("pyvista", WHAT)
    mesh = voxel_mesh(nodes)
    count = np.full((nodes.n_nodes, 1), N_CORNERS, dtype=mesh.connectivity.dtype)
    kinds = np.full(nodes.n_nodes, VTK_VOXEL, dtype=np.uint8)
    grid = pyvista.UnstructuredGrid(np.hstack((count, mesh.connectivity)).ravel(), kinds, mesh.points_m)
    for name, values in fields.items():
        grid.cell_data[name] = values
    return grid


def wall_data(shear: "WallShear", surface: Surface | None, spacing_m: float) -> "pyvista.PolyData":
    """The wall with the shear stress [Pa] as point data, its magnitude as active scalars: the triangles of the input
    surface where there is one, nan where no wall node is near; else the points of the wall beside the nodes, with their
    normals.

    Raises:
        InputError: PyVista is not installed.
    """
    pyvista = optional("pyvista", WHAT)
    points_m, normals, traction = (np.asarray(each) for each in (shear.points_m, shear.normals, shear.traction_pa))
    data = {"wall_shear_stress": traction, MAGNITUDE: np.linalg.norm(traction, axis=1)}
    data["counted"] = np.asarray(shear.counted, dtype=np.float64)
    if surface is None:
        wall = pyvista.PolyData(points_m)
        data["normals"] = normals
    else:
        corners = np.insert(surface.triangles, 0, 3, axis=1)
        wall = pyvista.PolyData(surface.points_m, corners.ravel())
        weights = on_surface(surface, points_m, normals, spacing_m)
        data = {name: weights.values(values) for name, values in data.items()}
    for name, values in data.items():
        wall.point_data[name] = values
    wall.set_active_scalars(MAGNITUDE)
    return wall
