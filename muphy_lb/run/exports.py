"""Fields of a flow for other libraries: on the box as an xarray Dataset, voxels and walls as data of PyVista."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.output import GRADIENT, SPEED, STRESS_NAMES
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import NodeList, on_box
from muphy_lb.geometry.surfaces.surface import Surface
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.operators.viscous_stress import GRADIENT_PAIRS, PAIRS
from muphy_lb.output.vtkhdf import N_CORNERS, voxel_mesh
from muphy_lb.output.vtp import on_surface
from muphy_lb.run.records import WallShear

if TYPE_CHECKING:
    import pyvista
    import xarray

EXTRA = "notebook"  # the extra of the installation with these libraries
DIMENSIONS = ("z", "y", "x")
COMPONENTS_OF: Mapping[int, tuple[Sequence[str], tuple[str, ...]]] = {
    3: ("xyz", ("component",)),
    6: (PAIRS, ("pair",)),
    9: (GRADIENT_PAIRS, ("derivative",)),
}
"""Labels and dimension of the components of a vector, a symmetric tensor and a gradient, by their number."""
WHAT = "to_pyvista()"
VTK_VOXEL = 11
MAGNITUDE = "wall_shear_magnitude"  # name of what is coloured at first


def optional(name: str, what: str) -> ModuleType:
    """A library. Raises InputError: it is not installed; the message says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f'{what} needs the package {name}, which is not installed: pip install "muphy_lb[{EXTRA}]", or pip install'
            f" {name}"
        ) from error


def chosen_fields(view: FlowView, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, or without any those that the case writes and those of its physics. Raises InputError: there is no
    such field."""
    known = known_fields(view)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"there is no field {shown(name)} in this flow; {did_you_mean(str(name), list(known))}")
    untold = {SPEED, *STRESS_NAMES, GRADIENT}
    return names or tuple(dict.fromkeys((*view.case.output.fields, *(name for name in known if name not in untold))))


def node_values(view: FlowView, name: str) -> np.ndarray | None:
    """(n, ...) values of a field [SI] in node-list order, on rank 0; collective."""
    if name != SPEED:
        return view.field(name)
    velocity = view.velocity_m_s()
    return None if velocity is None else np.linalg.norm(velocity, axis=1)


def dataset(
    nodes: NodeList, values: Mapping[str, np.ndarray], units: Mapping[str, str], said: Mapping
) -> "xarray.Dataset":
    """An xarray Dataset with dimensions z, y, x (y, x in two dimensions), and ``component`` for vectors, ``pair`` for
    symmetric tensors, ``derivative`` for gradients. ``values``: (n, ...) values of the nodes by name; ``said``:
    attributes of the whole. Raises InputError: xarray is not installed."""
    xarray = optional("xarray", "fields()")
    is_flat = nodes.shape[0] == 1
    coordinates = {}
    for axis, name in enumerate("xyz"):
        place_m = nodes.origin_m[axis] + nodes.spacing_m * np.arange(nodes.shape[2 - axis])
        coordinates[name] = xarray.Variable(name, place_m, {"units": "m", "long_name": name})
    arrays = {}
    for name, of_nodes in values.items():
        labels, more = COMPONENTS_OF[of_nodes.shape[1]] if of_nodes.ndim == 2 else ("", ())
        coordinates |= {dimension: xarray.Variable(dimension, list(labels)) for dimension in more}
        described = {"units": units[name], "long_name": name.replace("_", " ")}
        arrays[name] = xarray.Variable((*DIMENSIONS, *more), on_box(nodes, of_nodes), described)
    found = xarray.Dataset(arrays, coordinates, dict(said))
    return found.isel(z=0) if is_flat else found


def voxel_grid(nodes: NodeList, fields: Mapping[str, np.ndarray]) -> "pyvista.UnstructuredGrid":
    """A cube for every fluid voxel [m], with (n, ...) fields of the nodes as cell data. Raises InputError: PyVista is
    not installed."""
    pyvista = optional("pyvista", WHAT)
    mesh = voxel_mesh(nodes)
    count = np.full((nodes.n_nodes, 1), N_CORNERS, dtype=mesh.connectivity.dtype)
    kinds = np.full(nodes.n_nodes, VTK_VOXEL, dtype=np.uint8)
    grid = pyvista.UnstructuredGrid(np.hstack((count, mesh.connectivity)).ravel(), kinds, mesh.points_m)
    for name, values in fields.items():
        grid.cell_data[name] = values
    return grid


def wall_data(shear: WallShear, surface: Surface | None, spacing_m: float) -> "pyvista.PolyData":
    """The wall with the shear stress [Pa] as point data, its magnitude as active scalars: the triangles of the input
    surface where there is one, nan where no wall node is near; else the points of the wall beside the nodes, with their
    normals. Raises InputError: PyVista is not installed."""
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
