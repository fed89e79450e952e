"""Reader of VTK image data (``.vti``).

Values are stored x fastest. Point data lies at ``Origin + index * Spacing``, cell data half a spacing further.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

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
    values, steps, origin, states_edge = _grid(path, array, (1,))
    metres = metres_per_unit(unit)
    image = along_axes(values, steps * metres, origin * metres, frame)
    return image if states_edge else replace(image, spacing_m=None)


def read_vti_points(path, array: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (nz, ny, nx, k) of a ``.vti`` file whose lengths are metres, spacings (3,) and first point (3,) [m].

    Args:
        array: name of the array; if there is none of that name, the only one in the file.

    Raises GeometryError as :func:`read_vti`, and for axes that are not those of the box.
    """
    values, steps, origin, states_edge = _grid(path, array, (1, 3), may_be_only=True)
    if not states_edge:
        raise GeometryError(f'{path}: its ImageData has no Spacing; write it, such as Spacing="5e-6 5e-6 5e-6" [m]')
    if not np.array_equal(steps, np.diag(np.diag(steps))) or np.any(np.diag(steps) <= 0.0):
        raise GeometryError(f"{path}: its axes are turned to {steps.T.tolist()}; give a field along x, y, z")
    return values if values.ndim == 4 else values[..., None], np.diag(steps).copy(), origin


def _grid(path, array: str | None, components, may_be_only: bool = False):
    """Values (nz, ny, nx) or (nz, ny, nx, k) of an array; (3, 3) steps along the axes, columns, and first point, in the
    unit of the file; whether it states the spacing."""
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
    element, is_cells, k = _array(path, pieces[0], array, components, may_be_only)
    counts = np.maximum(n_points - 1, 1) if is_cells else n_points
    values = array_values(file, element, (*(int(n) for n in counts[::-1]), *((k,) if k > 1 else ())))
    spacing = np.array(numbers(path, "Spacing", image.get("Spacing", "1 1 1"), 3))
    origin = np.array(numbers(path, "Origin", image.get("Origin", "0 0 0"), 3))
    direction = np.reshape(numbers(path, "Direction", image.get("Direction", "1 0 0 0 1 0 0 0 1"), 9), (3, 3))
    steps = direction * np.where(counts == 1, np.where(spacing == 0.0, spacing.max(), spacing), spacing)
    first = origin + steps @ (lowest + 0.5 * (is_cells & (n_points > 1)))
    return values, steps, first, "Spacing" in image.keys()


def _extent(path, text: str) -> tuple[np.ndarray, np.ndarray]:
    """(lowest index, number of points) along x, y, z."""
    bounds = np.reshape(numbers(path, "WholeExtent", text, 6), (3, 2))
    n_points = bounds[:, 1] - bounds[:, 0] + 1
    if np.any(n_points < 1) or np.any(np.abs(bounds) > 2**31):
        raise GeometryError(f"{path}: WholeExtent is {shown(text)}; each axis must have a point")
    return bounds[:, 0], n_points.astype(np.int64)


def _array(
    path, piece: ElementTree.Element, name: str | None, components: tuple[int, ...], may_be_only: bool
) -> tuple[ElementTree.Element, bool, int]:
    """The requested array, whether it is cell data, and its number of components, one of those allowed."""
    found = {}
    for group in ("PointData", "CellData"):
        for element in piece.iterfind(f"{group}/DataArray"):
            found.setdefault(element.get("Name", ""), (element, group == "CellData"))
    if may_be_only and len(found) == 1:
        name = None
    if name is None and len(found) != 1:
        raise GeometryError(f"{path} holds {len(found)} arrays; give array, one of: {shown(', '.join(found))}")
    if name is not None:
        check_names([name], found, f"{path}: array")
    element, is_cells = found[name] if name is not None else next(iter(found.values()))
    given = element.get("NumberOfComponents", "1")
    if given not in ("0", *map(str, components)):
        raise GeometryError(
            f"{path}: array {shown(element.get('Name'))} has {shown(given)} components; allowed:"
            f" {'one' if components == (1,) else ' or '.join(map(str, components))}"
        )
    return element, is_cells, max(int(given), 1)
