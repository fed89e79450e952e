"""Readers of VTK XML files: image data (``.vti``), and voxels that are cells of an unstructured grid (``.vtu``,
``.pvtu``).

Arrays are text, base64 or raw data, inline or appended, plain or zlib-compressed. Image data are stored x fastest:
point data lie at ``Origin + index * Spacing``, cell data half a spacing further. A cell of an unstructured grid is one
voxel at its centre; the voxel size is the shortest edge of the first cell, and voxels without a cell have the value 0.
Source: the VTK XML file formats page of docs.vtk.org.
"""

import base64
import binascii
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, along_axes
from muphy_lb.geometry.images.stored import (
    Layout,
    as_numbers,
    check_inflation,
    count,
    file_size,
    mapped,
    numbers,
    read_bytes,
    split_words,
)
from muphy_lb.geometry.limits import ask_for, ask_for_voxels, inflate, shown
from muphy_lb.geometry.options import check_names, not_one_array
from muphy_lb.geometry.quantities import metres_per_unit

TYPES = {f"{name}{8 * size}": f"{kind}{size}" for name, kind in (("Int", "i"), ("UInt", "u")) for size in (1, 2, 4, 8)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
COMPRESSORS = {"": False, "vtkZLibDataCompressor": True}
APPENDED = re.compile(rb"<AppendedData[^>]*>\s*_", re.DOTALL)
MAX_BLOCKS = 2**24

CELLS = (11, 12)  # VTK cell types: voxel and hexahedron
OFF_GRID = 0.05  # largest deviation of a cell from its position in the grid, in cells
MAX_BOX = 2**31  # largest bounding box of the cells [voxels]; a larger one is taken for a mistake


@dataclass(frozen=True)
class VtkFile:
    """A parsed file: its XML tree, the start of appended data (or -1), and the storage format."""

    path: str
    root: ElementTree.Element
    content: bytes
    start: int
    order: str
    count_type: np.dtype
    is_compressed: bool


def parse_file(path) -> VtkFile:
    """Parse a VTK XML file; GeometryError for one that is missing, corrupt, truncated or of unsupported compression."""
    content = read_bytes(path)
    found = APPENDED.search(content)
    text = content if found is None else content[: found.start()] + b"</VTKFile>"
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise GeometryError(
            f"cannot read {path}: it is not a VTK XML file, or broken or truncated ({error})"
        ) from error
    compressor, counts = root.get("compressor", ""), root.get("header_type", "UInt32")
    if root.tag != "VTKFile" or compressor not in COMPRESSORS or counts not in ("UInt32", "UInt64"):
        raise GeometryError(
            f"{path}: <{shown(root.tag)}> with compressor {shown(compressor)} and header_type {shown(counts)}; allowed:"
            " VTKFile, none or vtkZLibDataCompressor, UInt32 or UInt64"
        )
    order = ">" if root.get("byte_order") == "BigEndian" else "<"
    start = -1 if found is None else found.end()
    return VtkFile(path, root, content, start, order, np.dtype(order + TYPES[counts]), COMPRESSORS[compressor])


def array_values(file: VtkFile, element: ElementTree.Element, shape: tuple[int, ...]) -> np.ndarray:
    """The values of a ``DataArray`` element, reshaped to ``shape``. Raises GeometryError for an unknown type or
    storage, and if there are fewer values or more."""
    if (name := element.get("type")) not in TYPES:
        raise GeometryError(f"{file.path}: an array is of type {shown(name)}; allowed: {', '.join(TYPES)}")
    kind = np.dtype(file.order + TYPES[name])
    # Newer versions of VTK insert child elements (value ranges) into the text.
    form, text = element.get("format"), "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if form == "ascii":
        found = split_words(file.path, text)
        if len(found) != count(shape):
            raise GeometryError(f"{file.path} holds {len(found)} numbers; its extent needs {count(shape)}")
        return as_numbers(file.path, found, kind).reshape(shape)
    if form == "appended" and file.root.find("AppendedData") is None and file.start >= 0:
        return _appended(file, element, kind, shape)
    if form == "binary":
        return _decoded(file, text.encode("ascii", "replace"), kind, shape)
    raise GeometryError(f"{file.path}: format is {shown(form)}; allowed: ascii, binary, appended with <AppendedData>")


def _appended(file: VtkFile, element: ElementTree.Element, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    first = file.start + int(numbers(file.path, "offset", element.get("offset", ""), 1)[0])
    if not file.start <= first <= len(file.content):
        raise GeometryError(f"{file.path}: offset is {shown(element.get('offset'))}; it lies outside the appended data")
    encoding = re.search(rb"encoding\s*=\s*[\"'](\w+)", file.content[: file.start][-200:])
    if encoding is not None and encoding.group(1) == b"base64":
        return _decoded(file, file.content[first:], kind, shape)
    if file.is_compressed:
        head = _block_header(file, file.content[first : first + 3 * file.count_type.itemsize], shape, kind)
        n_head = (3 + head[0]) * file.count_type.itemsize
        if len(file.content) < first + n_head:
            raise GeometryError(f"{file.path} ends before its compressed data: it is truncated")
        return _inflated(file, file.content[first : first + n_head], file.content[first + n_head :], kind, shape)
    layout = _counted(file, file.content[first : first + file.count_type.itemsize], kind, shape)
    return mapped(file.path, layout, first + file.count_type.itemsize, is_last=False)


def _counted(file: VtkFile, head: bytes, kind: np.dtype, shape: tuple[int, ...]) -> Layout:
    """The layout of an uncompressed array whose number of bytes, with which it begins, is what its extent needs."""
    layout = Layout(kind, shape, "its extent", lambda held: "correct the extent, or the type of the array")
    held = int(np.frombuffer(head, file.count_type, 1)[0]) if len(head) >= file.count_type.itemsize else 0
    layout.check(file.path, held, what="bytes of values")
    return layout


def _decoded(file: VtkFile, text: bytes, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The values of base64 text; the header of compressed data is encoded separately. An array says itself how many
    bytes it has; text behind them is ignored, as VTK does: some programs encode more."""
    size = file.count_type.itemsize
    if not file.is_compressed:
        data = _base64(file, text, size + count(shape) * kind.itemsize)
        _counted(file, data[:size], kind, shape)
        return _as_values(file, data[size:], kind, shape)
    n_blocks = _block_header(file, _base64(file, text, 3 * size), shape, kind)[0]
    head = _base64(file, text, (3 + n_blocks) * size)
    n_packed = sum(np.frombuffer(head, file.count_type)[3:].tolist())
    n_head = _text_length(len(head))
    return _inflated(file, head, _base64(file, text[n_head:], n_packed), kind, shape)


def _text_length(n_bytes: int) -> int:
    return 4 * -(-n_bytes // 3)


def _base64(file: VtkFile, text: bytes, n_bytes: int) -> bytes:
    if len(text) < _text_length(n_bytes):
        raise GeometryError(
            f"{file.path} holds {len(text)} characters of base64; {_text_length(n_bytes)} are needed: truncated"
        )
    try:
        return base64.b64decode(text[: _text_length(n_bytes)], validate=True)[:n_bytes]
    except binascii.Error as error:
        raise GeometryError(f"cannot read {file.path}: its base64 data are broken ({error})") from error


def _block_header(file: VtkFile, head: bytes, shape: tuple[int, ...], kind: np.dtype) -> list[int]:
    """[number of blocks, size of a block, size of the last block], sizes in bytes before compression."""
    if len(head) < 3 * file.count_type.itemsize:
        raise GeometryError(f"{file.path} ends before its compressed data: it is truncated")
    n_blocks, n_block, n_last = (int(n) for n in np.frombuffer(head, file.count_type))
    total = (n_blocks - (n_last > 0)) * n_block + n_last
    if n_blocks > MAX_BLOCKS or total != count(shape) * kind.itemsize:
        raise GeometryError(
            f"{file.path}: its blocks hold {total} bytes; its extent needs {count(shape) * kind.itemsize}"
        )
    return [n_blocks, n_block, n_last]


def _inflated(file: VtkFile, head: bytes, data: bytes, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The values in compressed blocks: ``head`` says how large each is, before and after compression."""
    n_bytes = count(shape) * kind.itemsize
    check_inflation(file.path, file_size(file.path), n_bytes)
    ask_for(2 * n_bytes, f"{file.path}: an array of {n_bytes} bytes")
    n_blocks, n_block, n_last, *packed = np.frombuffer(head, file.count_type).tolist()
    plain = [n_block] * (n_blocks - (n_last > 0)) + [n_last] * (n_last > 0)
    ends = list(accumulate(packed, initial=0))
    blocks = [inflate(file.path, data[a:b], n) for (a, b), n in zip(pairwise(ends), plain, strict=False)]
    return _as_values(file, b"".join(blocks), kind, shape)


def _as_values(file: VtkFile, data: bytes, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    needed = count(shape) * kind.itemsize
    if len(data) < needed:
        raise GeometryError(
            f"{file.path} holds {len(data)} bytes of values; its extent needs {needed}: it is truncated"
        )
    return np.frombuffer(data, kind, count(shape)).reshape(shape)


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
    ``array``: name of the array; if there is none of that name, the only one in the file. Raises GeometryError as
    :func:`read_vti`, and for axes that are not those of the box."""
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
    bounds = np.reshape(numbers(path, "WholeExtent", extent, 6), (3, 2))
    n_points = bounds[:, 1] - bounds[:, 0] + 1
    if np.any(n_points < 1) or np.any(np.abs(bounds) > 2**31):
        raise GeometryError(f"{path}: WholeExtent is {shown(extent)}; each axis must have a point")
    lowest, n_points = bounds[:, 0], n_points.astype(np.int64)
    element, is_cells, k = _array(path, pieces[0], array, components, may_be_only)
    counts = np.maximum(n_points - 1, 1) if is_cells else n_points
    values = array_values(file, element, (*(int(n) for n in counts[::-1]), *((k,) if k > 1 else ())))
    spacing = np.array(numbers(path, "Spacing", image.get("Spacing", "1 1 1"), 3))
    origin = np.array(numbers(path, "Origin", image.get("Origin", "0 0 0"), 3))
    direction = np.reshape(numbers(path, "Direction", image.get("Direction", "1 0 0 0 1 0 0 0 1"), 9), (3, 3))
    steps = direction * np.where(counts == 1, np.where(spacing == 0.0, spacing.max(), spacing), spacing)
    first = origin + steps @ (lowest + 0.5 * (is_cells & (n_points > 1)))
    return values, steps, first, "Spacing" in image.keys()


def _array(
    path, piece: ElementTree.Element, name: str | None, components: tuple[int, ...], may_be_only: bool
) -> tuple[ElementTree.Element, bool, int]:
    """The requested array, whether it is cell data, and its number of components, one of those allowed."""
    found: dict[str, tuple[ElementTree.Element, bool]] = {}
    for group in ("PointData", "CellData"):
        for element in piece.iterfind(f"{group}/DataArray"):
            found.setdefault(element.get("Name", ""), (element, group == "CellData"))
    if may_be_only and len(found) == 1:
        name = None
    if name is None and len(found) != 1:
        raise GeometryError(not_one_array(path, list(found)))
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
    """The parsed file itself, or the files listed in a ``.pvtu``."""
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
    found = {element.get("Name", ""): element for element in piece.iterfind(f"{group}/DataArray")}
    check_names([name], found, f"{file.path}: array of {group}")
    return found[name]
