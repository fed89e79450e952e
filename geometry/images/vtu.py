"""Reader of voxels stored as cells of a VTK unstructured grid (``.vtu``, or the pieces of a ``.pvtu``).

Each cell is one voxel at the cell's centre; the voxel size is the shortest edge of the first cell. Voxels without a
cell have the value 0.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.stored import count, file_size, numbers
from muphy_lb.geometry.images.vtkxml import VtkFile, array_values, parse_file
from muphy_lb.geometry.limits import ask_for_voxels
from muphy_lb.geometry.options import check_names
from muphy_lb.geometry.quantities import metres_per_unit

CELLS = (11, 12)
"""VTK cell types: voxel and hexahedron."""

OFF_GRID = 0.05
"""Largest deviation of a cell from its position in the grid, in cells."""

MAX_BOX = 2**31
"""Largest bounding box of the cells [voxels]; a larger one is taken for a mistake."""


def read_vtu(path, unit: str, array: str | None = None) -> Image:
    """Image of the cells of a ``.vtu`` or ``.pvtu`` file: 1 in each cell, or the value of a cell array.

    Args:
        unit: length unit of the points, which the format does not state.
        array: name of the cell array whose values are read; ``None``: the values are 1.

    Raises GeometryError for a missing, corrupt or truncated file, and for cells that do not form one regular grid.
    """
    pieces = [
        _cells(file, piece, array) for file in _files(path) for piece in file.root.iterfind("UnstructuredGrid/Piece")
    ]
    pieces = [piece for piece in pieces if len(piece[0])]
    if not pieces:
        raise GeometryError(f"{path} holds no cell of an UnstructuredGrid")
    middle, values = (np.concatenate(column) for column in list(zip(*pieces, strict=True))[:2])
    edge = pieces[0][2]
    if not (np.isfinite(edge) and edge > 0.0 and np.all(np.isfinite(middle))):
        raise GeometryError(f"{path}: its cells have no size or no finite position (edge {edge})")
    lowest = middle.min(axis=0)
    index = (middle - lowest) / edge
    shape = tuple(int(n) + 1 for n in np.rint(index.max(axis=0))[::-1])
    if np.abs(index - np.rint(index)).max() > OFF_GRID or count(shape) > MAX_BOX:
        raise GeometryError(f"{path}: its cells are not the voxels of one grid of spacing {edge:g} (box {shape[::-1]})")
    ask_for_voxels(shape, values.dtype.itemsize, f"the box of the cells of {path}")
    result = np.zeros(shape, values.dtype)
    x, y, z = np.rint(index).astype(np.int64).T
    result[z, y, x] = values
    metres = metres_per_unit(unit)
    return Image(result, (edge * metres,) * 3, tuple(lowest * metres))


def _files(path) -> list[VtkFile]:
    """The parse_file file itself, or the files listed in a ``.pvtu``."""
    file = parse_file(path)
    sources = [piece.get("Source", "") for piece in file.root.iterfind("PUnstructuredGrid/Piece")]
    return [parse_file(Path(path).parent / source) for source in sources] or [file]


def _cells(file: VtkFile, piece: ElementTree.Element, array: str | None) -> tuple[np.ndarray, np.ndarray, float]:
    """((n, 3) centres, (n,) values, shortest edge of the first cell) of a piece."""
    n_points, n_cells = (
        int(numbers(file.path, key, piece.get(key, ""), 1)[0]) for key in ("NumberOfPoints", "NumberOfCells")
    )
    if not 0 <= max(n_points, n_cells) <= 1032 * file_size(file.path):
        raise GeometryError(f"{file.path}: {n_points} points and {n_cells} cells are more than the file can hold")
    if n_cells <= 0 or n_points <= 0:
        return np.empty((0, 3)), np.empty(0), 0.0
    kinds = array_values(file, _element(file, piece, "Cells", "types"), (n_cells,))
    if not np.isin(kinds, CELLS).all():
        raise GeometryError(f"{file.path}: its cells are of VTK types {np.unique(kinds).tolist()}; allowed: {CELLS}")
    element = piece.find("Points/DataArray")
    if element is None:
        raise GeometryError(f"{file.path} has no points")
    points = array_values(file, element, (n_points, 3))
    corners = array_values(file, _element(file, piece, "Cells", "connectivity"), (n_cells, 8))
    if corners.min() < 0 or corners.max() >= n_points:
        raise GeometryError(f"{file.path}: its cells name points up to {corners.max()}; there are {n_points}")
    first = points[corners[0]].astype(float)
    edge = float(np.linalg.norm(first[1:] - first[0], axis=1).min())
    values = np.ones(n_cells, np.uint8)
    if array is not None:
        values = array_values(file, _element(file, piece, "CellData", array), (n_cells,))
    return points[corners].mean(axis=1, dtype=float), values, edge


def _element(file: VtkFile, piece: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    """The ``DataArray`` of that name in a group."""
    found = {element.get("Name", ""): element for element in piece.iterfind(f"{group}/DataArray")}
    check_names([name], found, f"{file.path}: array of {group}")
    return found[name]
