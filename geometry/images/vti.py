"""Reader of VTK image data (``.vti``).

Values are stored x fastest. Point data lies at ``Origin + index * Spacing``, cell data half a spacing further.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, along_axes
from muphy_lb.geometry.images.stored import numbers
from muphy_lb.geometry.images.vtkxml import array_values, parse_file
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.options import check_names
from muphy_lb.geometry.quantities import metres_per_unit


def read_vti(path, unit: str, array: str | None = None, frame: str = "world") -> Image:
    """Image of a ``.vti`` file.

    Args:
        unit: length unit of ``Origin`` and ``Spacing``, which the format does not state.
        array: name of the array of point or cell data; ``None``: the only one in the file.
        frame: as in :func:`muphy_lb.geometry.images.image.along_axes`.

    Raises GeometryError for a missing, corrupt or truncated file, an unknown array, an ambiguous choice, and
    unsupported storage.
    """
    file = parse_file(path)
    image = file.root.find("ImageData")
    if image is None:
        raise GeometryError(
            f"cannot read {path}: it is a VTK file of type {shown(file.root.get('type'))}, not ImageData"
        )
    pieces = image.findall("Piece")
    extent = image.get("WholeExtent", "")
    if len(pieces) != 1 or pieces[0].get("Extent", "").split() != extent.split():
        raise GeometryError(f"{path}: it has {len(pieces)} pieces; allowed: one with the whole extent")
    lowest, n_points = _extent(path, extent)
    element, is_cells = _array(path, pieces[0], array)
    counts = np.maximum(n_points - 1, 1) if is_cells else n_points
    values = array_values(file, element, tuple(int(n) for n in counts[::-1]))
    spacing = np.array(numbers(path, "Spacing", image.get("Spacing", "1 1 1"), 3))
    origin = np.array(numbers(path, "Origin", image.get("Origin", "0 0 0"), 3))
    direction = np.reshape(numbers(path, "Direction", image.get("Direction", "1 0 0 0 1 0 0 0 1"), 9), (3, 3))
    metres = metres_per_unit(unit)
    steps = direction * np.where(counts == 1, np.where(spacing == 0.0, spacing.max(), spacing), spacing)
    origin = origin + steps @ (lowest + 0.5 * (is_cells & (n_points > 1)))
    return along_axes(values, steps * metres, origin * metres, frame)


def _extent(path, text: str) -> tuple[np.ndarray, np.ndarray]:
    """(lowest index, number of points) along x, y, z."""
    bounds = np.reshape(numbers(path, "WholeExtent", text, 6), (3, 2))
    n_points = bounds[:, 1] - bounds[:, 0] + 1
    if np.any(n_points < 1) or np.any(np.abs(bounds) > 2**31):
        raise GeometryError(f"{path}: WholeExtent is {shown(text)}; each axis must have a point")
    return bounds[:, 0], n_points.astype(np.int64)


def _array(path, piece: ElementTree.Element, name: str | None) -> tuple[ElementTree.Element, bool]:
    """The requested array, and whether it is cell data."""
    found = {}
    for group in ("PointData", "CellData"):
        for element in piece.iterfind(f"{group}/DataArray"):
            found.setdefault(element.get("Name", ""), (element, group == "CellData"))
    if name is None and len(found) != 1:
        raise GeometryError(f"{path} holds {len(found)} arrays; give array, one of: {shown(', '.join(found))}")
    if name is not None:
        check_names([name], found, f"{path}: array")
    element, is_cells = found[name] if name is not None else next(iter(found.values()))
    if element.get("NumberOfComponents", "1") not in ("0", "1"):
        raise GeometryError(
            f"{path}: array {shown(element.get('Name'))} has {shown(element.get('NumberOfComponents'))} components;"
            " allowed: one"
        )
    return element, is_cells
