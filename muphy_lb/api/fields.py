"""Fields of a flow on the box of its geometry, as NumPy arrays and as an xarray Dataset."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.api.optional import optional
from muphy_lb.base.errors import InputError
from muphy_lb.case.output import FLOW_FIELDS, SPEED
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.nodes import NodeList, on_box
from muphy_lb.measure.field_snapshots import UNITS

if TYPE_CHECKING:
    import xarray

    from muphy_lb.run.solver import Solver

DIMENSIONS = ("z", "y", "x")


def known_fields(core: "Solver") -> dict[str, str]:
    """The unit of every field that the flow and its physics have, by name."""
    own = {name: field.unit for physics in core.physics for name, field in physics.output_fields.items()}
    return {name: UNITS[name] for name in FLOW_FIELDS} | {SPEED: "m/s"} | own


def chosen_fields(core: "Solver", names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, or without any those that the case writes and those of its physics.

    Raises:
        InputError: there is no such field.
    """
    known = known_fields(core)
    for name in names:
        if name not in known:
            raise InputError(f"there is no field {name!r} in this flow; {did_you_mean(str(name), list(known))}")
    return names or tuple(dict.fromkeys(name for name in (*core.case.output.fields, *known) if name != SPEED))


def node_values(core: "Solver", name: str) -> np.ndarray | None:
    """(n, ...) values of a field [SI] in node-list order, on rank 0; collective."""
    if name != SPEED:
        return core.field(name)
    velocity = core.velocity_m_s()
    return None if velocity is None else np.linalg.norm(velocity, axis=1)


def dataset(
    nodes: NodeList, values: Mapping[str, np.ndarray], units: Mapping[str, str], said: Mapping
) -> "xarray.Dataset":
    """An xarray Dataset with dimensions z, y, x (y, x in two dimensions), and ``component`` for vectors.

    Args:
        nodes: the geometry.
        values: (n, ...) values of the nodes by name.
        units: unit of each.
        said: attributes of the whole.

    Raises:
        InputError: xarray is not installed.
    """
    xarray = optional("xarray", "fields()")
    is_flat = nodes.shape[0] == 1
    coordinates = {}
    for axis, name in enumerate("xyz"):
        place_m = nodes.origin_m[axis] + nodes.spacing_m * np.arange(nodes.shape[2 - axis])
        coordinates[name] = xarray.Variable(name, place_m, {"units": "m", "long_name": name})
    arrays = {}
    for name, of_nodes in values.items():
        more = ("component",) if of_nodes.ndim == 2 else ()
        described = {"units": units[name], "long_name": name.replace("_", " ")}
        arrays[name] = xarray.Variable((*DIMENSIONS, *more), on_box(nodes, of_nodes), described)
        if more:
            coordinates["component"] = xarray.Variable("component", list("xyz"))
    found = xarray.Dataset(arrays, coordinates, dict(said))
    return found.isel(z=0) if is_flat else found
