"""Readers of triangulated surfaces: points, and polygons cut into triangles.

- Wavefront ``.obj``: points (``v``) and polygons (``f``); all else is skipped. Source: the object files (.obj)
  appendix of the Advanced Visualizer manual.
- Stanford ``.ply``, text or binary: the header lists elements and their properties, numbers or lists of numbers, in the
  order in which they are stored. Source: G. Turk, The PLY polygon file format (1994).
- ``.stl``, as text in any case and with any line ends, or binary. Text begins with ``solid``, and so do some binary
  files: a file is binary if its size is that of the number of triangles that its header states, or if there are zero
  bytes in its beginning. Source: the chapter on the StL format of M. Burns, Automated Fabrication (1993).
- VTK ``.vtp``, the format of vmtk and SimVascular: ``connectivity`` lists the vertices of one polygon after the other,
  ``offsets`` the end of each, strips likewise; vertices and lines belong to no surface and are skipped. Source: the VTK
  XML file formats page of docs.vtk.org.
"""

import re
import warnings
import xml.etree.ElementTree as ElementTree
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import LARGEST_RATIO, file_size, numbers, read_bytes
from muphy_lb.geometry.images.vtk import VtkFile, array_values, parse_file
from muphy_lb.geometry.limits import ask_for, shown


class StoredSurface(NamedTuple):
    """The triangles of a file."""

    points: np.ndarray  #: (m, 3) float64
    triangles: np.ndarray  #: (n, 3) int64 vertex numbers
    #: (n,) int64 number of the model's face that each triangle belongs to; None if the file does not say
    faces: np.ndarray | None = None
    notes: tuple[str, ...] = ()  #: text: oddities of the file that were skipped


def fans(corners: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(n, 3) triangles of polygons, each a fan around its first vertex. ``corners``: vertex numbers of one polygon
    after the other; ``ends``: end of each polygon in them."""
    first, number = triangle_positions(ends)
    return corners[np.stack([first, first + number + 1, first + number + 2], axis=1)]


def triangle_positions(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each triangle, the position of its cell's first vertex and its number in the cell (k vertices: k - 2)."""
    sizes = np.diff(ends, prepend=0)
    counts = np.maximum(sizes - 2, 0)
    before = np.cumsum(counts) - counts
    return np.repeat(ends - sizes, counts), np.arange(counts.sum()) - np.repeat(before, counts)


OBJ_BYTES_OF_TEXT = 12  # memory that the lines and numbers of a file take for each of its bytes, at most

CONTINUED = re.compile(rb"\\[ \t]*(\r\n|\n|\r)")


def read_obj(path) -> StoredSurface:
    """The triangles of a ``.obj`` file.

    Corners are numbers of points from 1 on, or from the last point backwards (-1); what stands behind a slash belongs
    to texture and shading. A line that ends in a backslash continues in the next one.

    Raises GeometryError for a missing file, and a point or a polygon that is none.
    """
    content = read_bytes(path)
    ask_for(OBJ_BYTES_OF_TEXT * len(content), f"the text of {path}")
    points, corners, ends = array("d"), array("q"), array("q")
    for number, line in enumerate(CONTINUED.sub(b" ", content).splitlines(), 1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                points.extend(_point(words))
            else:
                corners.extend(_corner(word, len(points) // 3) for word in words[1:])
                ends.append(len(corners))
        except (ValueError, OverflowError) as error:
            text = shown(line.strip().decode("utf-8", "replace"))
            raise GeometryError(f"cannot read {path}: line {number} is {text}; {_meaning(words[0])}") from error
    triangles = fans(np.array(corners, np.int64), np.array(ends, np.int64))
    return StoredSurface(np.array(points, np.float64).reshape(-1, 3), triangles)


def _point(words: list[bytes]) -> list[float]:
    """The coordinates of a point; weights and colours behind them are left out. ValueError if there are not three."""
    x, y, z = (float(word) for word in words[1:4])
    return [x, y, z]


def _corner(word: bytes, n_points: int) -> int:
    """The number from 0 on of a corner; negative for one before the first point. ValueError for zero and no number."""
    number = int(word.partition(b"/")[0])
    if number == 0:
        raise ValueError
    return number - 1 if number > 0 else n_points + number


def _meaning(key: bytes) -> str:
    if key == b"v":
        return "a point must be three numbers, v x y z"
    return "the corners of a polygon must be numbers of points, counted from 1, as in f 1 2 3"


TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8", "float32": "f4", "float64": "f8"},
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
CORNERS = ("vertex_indices", "vertex_index")  # names of the list of the points of a polygon
PLY_BYTES_OF_TEXT = 8  # memory that the numbers of a text take for each of its bytes, at most
EXACT = 2.0**53  # above it not every whole number is a floating-point one


class Property(NamedTuple):
    """A property of an element: its name, its type, and the type of its length if it is a list."""

    name: str
    type: str
    length_type: str = ""


class Element(NamedTuple):
    """An element of the header."""

    name: str
    n_items: int
    properties: list[Property]


class _Words:
    """The numbers of a text, taken one after the other."""

    def __init__(self, path, content: bytes):
        ask_for(PLY_BYTES_OF_TEXT * len(content), f"the text of {path}")
        try:
            with warnings.catch_warnings(action="error", category=DeprecationWarning):  # text that is no number
                self.values = np.fromstring(content.decode("latin-1"), np.float64, sep=" ")
        except (DeprecationWarning, ValueError) as error:
            raise GeometryError(f"cannot read {path}: a value after its header is not a number") from error
        self.at = 0

    def size(self, kind: str) -> int:
        return 1

    def left(self) -> int:
        return len(self.values) - self.at

    def take(self, kind: str, n: int) -> np.ndarray:
        self.at += n
        return self.values[self.at - n : self.at]

    def table(self, kinds: Sequence[str], lengths: Sequence[int], count: int) -> list[np.ndarray]:
        table = self.values[self.at : self.at + count * sum(lengths)].reshape(count, -1)
        return np.split(table, np.cumsum(lengths)[:-1], axis=1)


class _Bytes:
    """The numbers of a binary file, taken one after the other."""

    def __init__(self, content: bytes, order: str):
        self.content, self.order, self.at = content, order, 0

    def size(self, kind: str) -> int:
        return np.dtype(kind).itemsize

    def left(self) -> int:
        return len(self.content) - self.at

    def take(self, kind: str, n: int) -> np.ndarray:
        values = np.frombuffer(self.content, self.order + kind, n, self.at)
        self.at += values.nbytes
        return values

    def table(self, kinds: Sequence[str], lengths: Sequence[int], count: int) -> list[np.ndarray]:
        columns = [(str(k), self.order + kind, (n,)) for k, (kind, n) in enumerate(zip(kinds, lengths, strict=True))]
        table = np.frombuffer(self.content, np.dtype(columns), count, self.at)
        return [table[str(k)] for k in range(len(columns))]


def read_ply(path) -> StoredSurface:
    """The triangles of a ``.ply`` file; polygons are cut into fans. Raises GeometryError for a missing, corrupt or
    truncated file, and one without points or polygons."""
    content = read_bytes(path)
    form, elements, start = _header(path, content)
    body = content[start:]
    numbers = _Words(path, body) if form == "ascii" else _Bytes(body, ORDERS[form])
    points, triangles = None, None
    for element in elements:
        names = [each.name for each in element.properties]
        found = _columns(path, numbers, element)
        if element.name == "vertex":
            if not {"x", "y", "z"} <= set(names):
                raise GeometryError(f"cannot read {path}: its points have no x, y and z")
            points = np.stack([found[names.index(axis)][0].astype(np.float64) for axis in "xyz"], axis=1)
        elif element.name == "face":
            column = next((k for k, name in enumerate(names) if name in CORNERS), None)
            if column is None:
                raise GeometryError(f"cannot read {path}: its polygons have no list {' or '.join(CORNERS)}")
            corners, ends = found[column]
            if not np.all((corners == np.floor(corners)) & (np.abs(corners) <= EXACT)):
                raise GeometryError(f"cannot read {path}: a corner of a polygon is not the number of a point")
            triangles = fans(corners.astype(np.int64), ends)
        if points is not None and triangles is not None:
            return StoredSurface(points, triangles)
    raise GeometryError(f"cannot read {path}: it has no {'polygons' if triangles is None else 'points'}")


def _header(path, content: bytes) -> tuple[str, list[Element], int]:
    """(form of the numbers, elements, start of the numbers [bytes]) of a file."""
    found = re.match(rb"ply[ \t]*(\r\n|\n|\r)", content)
    if found is None:
        raise GeometryError(f"cannot read {path}: it does not begin with a line ply, so it is not a .ply file")
    end = re.search(rb"(?<=[\r\n])end_header[ \t]*" + found[1], content)
    if end is None:
        raise GeometryError(f"cannot read {path}: it has no line end_header, so it is not a .ply file or truncated")
    form, elements = "", []
    for line in content[found.end() : end.start()].decode("latin-1").splitlines():
        match line.split():
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as form, _]:
                pass
            case ["element", name, count] if count.isascii() and count.isdecimal() and len(count) < 19:
                elements.append(Element(name, int(count), []))
            case ["property", kind, name] if kind in TYPES and elements:
                elements[-1].properties.append(Property(name, TYPES[kind]))
            case ["property", "list", length, kind, name] if {length, kind} <= TYPES.keys() and elements:
                elements[-1].properties.append(Property(name, TYPES[kind], TYPES[length]))
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise GeometryError(f"cannot read {path}: its header has the line {shown(line)}, which is none of .ply")
    if not form:
        raise GeometryError(f"cannot read {path}: its header has no line format")
    return form, elements, end.end()


def _columns(path, numbers: _Words | _Bytes, element: Element) -> list[tuple[np.ndarray, np.ndarray]]:
    """(values, end of each row in them) of every property of an element, which is consumed."""
    least = sum(numbers.size(each.length_type or each.type) for each in element.properties)
    if element.n_items * least > numbers.left():
        raise GeometryError(
            f"cannot read {path}: its header says {element.n_items} of element {shown(element.name)}, the file has room"
            f" for {numbers.left() // least} at most: it is truncated or its header is wrong"
        )
    if element.n_items == 0 or not element.properties:
        return [(np.empty(0), np.zeros(element.n_items, np.int64)) for _ in element.properties]
    start = numbers.at
    found = _columns_alike(path, numbers, element)
    if found is None:
        numbers.at = start
        rows = [[_row(path, numbers, each) for each in element.properties] for _ in range(element.n_items)]
        found = [
            (np.concatenate(column), np.cumsum([len(row) for row in column])) for column in zip(*rows, strict=True)
        ]
    return found


def _columns_alike(path, numbers: _Words | _Bytes, element: Element) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """The columns as :func:`_columns` gives them, at once, if every list is as long in all rows as in the first; else
    None."""
    start = numbers.at
    kinds, lengths = [], []
    for each in element.properties:
        row = _row(path, numbers, each)
        kinds += [each.length_type, each.type] if each.length_type else [each.type]
        lengths += [1, len(row)] if each.length_type else [1]
    n_bytes = numbers.at - start
    numbers.at = start
    if element.n_items * n_bytes > numbers.left():
        return None
    columns = iter(numbers.table(kinds, lengths, element.n_items))
    found = []
    for each in element.properties:
        if each.length_type and np.ptp(next(columns)) != 0:
            return None
        values = next(columns)
        found.append((values.reshape(-1), values.shape[1] * np.arange(1, element.n_items + 1)))
    numbers.at = start + element.n_items * n_bytes
    return found


def _row(path, numbers: _Words | _Bytes, each: Property) -> np.ndarray:
    """The values of the next property: one, or those of a list."""
    length, room = 1.0, numbers.left() // numbers.size(each.length_type or each.type)
    if each.length_type and room:
        length = float(numbers.take(each.length_type, 1)[0])
        room = numbers.left() // numbers.size(each.type)
    if not 0 <= length <= room or length != int(length):
        raise GeometryError(
            f"cannot read {path}: a list {shown(each.name)} is to have {length:g} values, and there are {room}: it is"
            " truncated or broken"
        )
    return numbers.take(each.type, int(length))


HEADER, COUNT, FACET = 80, 4, 50  # bytes of the header, of the number of triangles behind it, and of each triangle

FACET_TYPE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
MARK = b"\xef\xbb\xbf"  # bytes before a text in UTF-8 that some programs write
BEGINNING = 1024  # bytes in which text has no zero
STL_BYTES_OF_TEXT = 8  # memory that the words of a file take for each of its bytes, at most

NAMES = re.compile(rb"^[ \t]*(end[ \t]*)?solid\b.*$|^[ \t]*endsolid.*$", re.MULTILINE)
ENDS = re.compile(rb"\bend\s+(loop|facet)\b")
KEYWORDS = re.compile(rb"\b(?:facet|vertex|endfacet)\b")
VERTICES = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")
FACET_WORDS = [b"facet", b"vertex", b"vertex", b"vertex", b"endfacet"]


def read_stl(path) -> StoredSurface:
    """The triangles of a ``.stl`` file; each has three points of its own. Raises GeometryError for a missing or
    truncated file, a number of triangles that the file does not have, a facet that is no triangle, and a coordinate
    that is no number."""
    content = read_bytes(path)
    n_stated = int.from_bytes(content[HEADER : HEADER + COUNT], "little")
    is_text = content.removeprefix(MARK).lstrip()[:5].lower() == b"solid" and b"\0" not in content[:BEGINNING]
    if is_text and len(content) != HEADER + COUNT + FACET * n_stated:
        return _of_corners(_text_corners(path, content))
    return _binary(path, content, n_stated)


def _of_corners(corners: np.ndarray, notes: tuple[str, ...] = ()) -> StoredSurface:
    points = corners.reshape(-1, 3).astype(np.float64)
    return StoredSurface(points, np.arange(len(points)).reshape(-1, 3), None, notes)


def _binary(path, content: bytes, n_stated: int) -> StoredSurface:
    """The triangles of a binary file; bytes behind them, such as colours of some programs, are skipped."""
    n_bytes = len(content) - HEADER - COUNT
    if n_bytes < 0:
        raise GeometryError(f"cannot read {path}: {len(content)} bytes are not an .stl file, or it is truncated")
    n_held, n_more = n_bytes // FACET, n_bytes - FACET * n_stated
    if n_more < 0 or (n_more > 0 and n_more % FACET == 0):
        raise GeometryError(
            f"cannot read {path}: its header says {n_stated} triangles, the file has {n_held}: it is truncated, its"
            " header is wrong, or it is not an .stl file; write it again (MeshLab, Blender)"
        )
    facets = np.frombuffer(content, FACET_TYPE, n_stated, HEADER + COUNT)
    notes = (f"{n_more} bytes after the {n_stated} triangles of the file are ignored",) if n_more else ()
    return _of_corners(facets["corners"], notes)


def _text_corners(path, content: bytes) -> np.ndarray:
    ask_for(STL_BYTES_OF_TEXT * len(content), f"the text of {path}")
    text = ENDS.sub(rb"end\1", NAMES.sub(b"", content.removeprefix(MARK).lower().replace(b"\r", b"\n")))
    words = KEYWORDS.findall(text)
    n_facets = words.count(b"facet")
    if words != FACET_WORDS * n_facets:
        raise GeometryError(
            f"cannot read {path}: a facet does not have three vertices between facet and endfacet: the file is"
            " truncated or broken, or its facets are not triangles"
        )
    try:
        corners = np.array(VERTICES.findall(text), dtype="S").astype(np.float64).reshape(-1, 3, 3)
    except ValueError as error:
        raise GeometryError(
            f"cannot read {path}: a coordinate of a vertex is not a number ({shown(str(error))})"
        ) from error
    if len(corners) != n_facets:
        raise GeometryError(f"cannot read {path}: a vertex does not have three coordinates")
    return corners


#: Names of cell data that number the faces of a model, walls and caps: those of SimVascular and vmtk first.
FACE_IDS = ("ModelFaceID", "CellEntityIds", "BC_FaceID", "FaceID")


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
    told = [part for part in faces if part is not None]
    known = 0 < len(told) == len(faces)
    return StoredSurface(np.concatenate(points), np.concatenate(triangles), np.concatenate(told) if known else None)


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
