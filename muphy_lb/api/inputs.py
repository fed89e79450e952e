"""What a user hands over in place of a case file: a case, and a geometry that may be in memory."""

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from os import PathLike
from pathlib import Path

from muphy_lb.case.case import Case, as_case, case_from_dict
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.source import Geometry, read
from muphy_lb.setup.geometry import load_nodes

KEPT = ("keep", "periodic", "spacing_m")
"""Keys of a case's geometry that hold for another one that is handed over beside it."""


def completed(
    case: Case | str | PathLike | Mapping, geometry=None, spacing_m: float | None = None, fluid_value=None
) -> tuple[Case, Geometry | None]:
    """The checked case, and the geometry if that was handed over beside it.

    Args:
        case: a case, the path of its file, or its tables; tables need no ``file`` or ``shape`` beside a geometry.
        geometry: see :func:`muphy_lb.geometry.source.read`; it takes the place of that of the case, of which tables
            keep ``unit`` and ``options``, and all keep ``keep``, ``periodic`` and ``spacing_m``.
        spacing_m: edge of a voxel [m].
        fluid_value: which values of an image or array are fluid.

    Raises:
        InputError: they are not valid.
    """
    if geometry is None and spacing_m is None and fluid_value is None:
        return as_case(case), None
    if isinstance(case, Mapping):
        table, folder = deepcopy(dict(case)), Path()
        given = dict(table.get("geometry", {}))
    else:
        checked = as_case(case)
        table, folder = checked.model_dump(exclude_none=True), checked.folder
        given = {key: value for key, value in table["geometry"].items() if geometry is None or key in KEPT}
    if spacing_m is not None:
        given["spacing_m"] = spacing_m
    if fluid_value is not None:
        given["options"] = {**given.get("options", {}), "fluid_value": fluid_value}
    if geometry is None:
        return case_from_dict(table | {"geometry": given}, folder), None
    options = dict(given.pop("options", {}))
    read_with = {key: given[key] for key in ("unit", "spacing_m") if key in given}
    found = read(geometry, **read_with, **options)
    said = {key: value for key, value in given.items() if key not in ("file", "shape", "unit")} | dict(found.table)
    if "file" in said and found.content is None:
        said["file"] = str(Path(said["file"]).absolute())
    if isinstance(said.get("periodic"), str):
        said["periodic"] = list(said["periodic"])
    return case_from_dict(table | {"geometry": said}, folder), found


def nodes_of(case: Case, geometry: Geometry | None) -> NodeList | None:
    """The nodes of a geometry in memory; None where the case names a file or a shape."""
    if geometry is None or geometry.content is None:
        return None
    return load_nodes(case, geometry.content)[0]


def moved_into(folder: Path, case: Case, geometry: Geometry | None) -> Case:
    """The case as it is to be written to a folder, where the file of a geometry in memory will lie."""
    if geometry is None or geometry.content is None:
        return case
    table = tomllib.loads(case.to_toml(folder))
    table["geometry"]["file"] = geometry.table["file"]
    return case_from_dict(table, folder)
