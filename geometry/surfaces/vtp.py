"""Reader of surfaces in VTK polygonal data files (``.vtp``), the format of vmtk and SimVascular.

Each piece has points and polygons: ``connectivity`` lists the vertices of one polygon after the other, ``offsets`` the
end of each. Strips are stored likewise; vertices and lines do not belong to a surface and are skipped.
Source: the VTK XML file formats page of docs.vtk.org.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import LARGEST_RATIO, file_size, numbers
from muphy_lb.geometry.images.vtk import VtkFile, array_values, parse_file
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.surfaces.stored import StoredSurface, fans, triangle_positions

FACE_IDS = ("ModelFaceID", "CellEntityIds", "BC_FaceID", "FaceID")
"""Names of cell data that number the faces of a model, walls and caps: those of SimVascular and vmtk first."""


def read_vtp(path) -> StoredSurface:
    """The triangles of a ``.vtp`` file, all of its pieces together.

    Polygons are cut into fans around their first vertex, strips into their triangles.

    Raises GeometryError for a missing, corrupt or truncated file, another type of VTK file, and polygons that refer to
    points that do not exist.
    """
    file = parse_file(path)
    if file.root.get("type") != "PolyData" or file.root.find("PolyData") is None:
        raise GeometryError(
            f"cannot read {path}: it is a VTK file of type {shown(file.root.get('type'))}, not PolyData"
        )
    points, triangles, faces, n_before = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], [], 0
    for piece in file.root.iterfind("PolyData/Piece"):
        points.append(_points(file, piece))
        ids = _face_ids(file, piece)
        for group, cut in (("Polys", fans), ("Strips", _strips)):
            corners, ends = _cells(file, piece, group, len(points[-1]))
            triangles.append(n_before + cut(corners, ends))
            counts = np.maximum(np.diff(ends, prepend=0) - 2, 0)
            faces.append(None if ids is None else np.repeat(ids[group], counts))
        n_before += len(points[-1])
    known = bool(faces) and all(part is not None for part in faces)
    return StoredSurface(np.concatenate(points), np.concatenate(triangles), np.concatenate(faces) if known else None)


def _face_ids(file: VtkFile, piece: ElementTree.Element) -> dict[str, np.ndarray] | None:
    """The number of the model's face of every polygon and strip; None without such cell data."""
    arrays = {element.get("Name"): element for element in piece.iterfind("CellData/DataArray")}
    name = next((name for name in FACE_IDS if name in arrays), None)
    if name is None or not arrays[name].get("type", "").lstrip("U").startswith("Int"):
        return None
    counts = [_count(file, piece, f"NumberOf{group}") for group in ("Verts", "Lines", "Strips", "Polys")]
    before, n_strips, n_polys = sum(counts[:2]), counts[2], counts[3]
    ids = array_values(file, arrays[name], (sum(counts),)).astype(np.int64)
    polys = slice(before, before + n_polys)
    return {"Polys": ids[polys], "Strips": ids[polys.stop : polys.stop + n_strips]}


def _count(file: VtkFile, piece: ElementTree.Element, key: str) -> int:
    """The number of points or cells stated in the file, checked against the size of the file."""
    n = numbers(file.path, key, piece.get(key, "0"), 1)[0]
    if n != int(n) or not 0 <= n <= LARGEST_RATIO * file_size(file.path):
        raise GeometryError(f"{file.path}: {key} is {shown(piece.get(key))}; it must be a count that the file can hold")
    return int(n)


def _points(file: VtkFile, piece: ElementTree.Element) -> np.ndarray:
    n_points, element = _count(file, piece, "NumberOfPoints"), piece.find("Points/DataArray")
    if n_points == 0:
        return np.empty((0, 3))
    if element is None:
        raise GeometryError(f"{file.path}: a piece states {n_points} points but has no array of them")
    return array_values(file, element, (n_points, 3)).astype(np.float64)


def _cells(file: VtkFile, piece: ElementTree.Element, group: str, n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """(concatenated vertices of all cells of a group, end of each cell in them)."""
    n_cells = _count(file, piece, f"NumberOf{group}")
    if n_cells == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    arrays = {element.get("Name"): element for element in piece.iterfind(f"{group}/DataArray")}
    if not {"connectivity", "offsets"} <= arrays.keys():
        raise GeometryError(f"{file.path}: {group} has no connectivity or no offsets")
    ends = array_values(file, arrays["offsets"], (n_cells,)).astype(np.int64)
    if ends[0] < 0 or np.any(np.diff(ends) < 0):
        raise GeometryError(f"{file.path}: the offsets of {group} do not increase")
    corners = array_values(file, arrays["connectivity"], (int(ends[-1]),)).astype(np.int64)
    if corners.size and (corners.min() < 0 or corners.max() >= n_points):
        raise GeometryError(
            f"{file.path}: {group} names the points {corners.min()} to {corners.max()}; there are {n_points}, counted"
            " from 0"
        )
    return corners, ends


def _strips(corners: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(n, 3) triangles of strips, every second one reversed so that all are oriented consistently."""
    first, number = triangle_positions(ends)
    position, odd = first + number, number % 2
    return corners[np.stack([position, position + 1 + odd, position + 2 - odd], axis=1)]
