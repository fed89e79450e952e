"""Reader of surfaces in Stanford ``.ply`` files: the points and the polygons of text or binary files, whatever other
properties they have.

A header lists the elements of a file and their properties, numbers or lists of numbers, in the order in which they are
stored. Source: G. Turk, The PLY polygon file format (1994).
"""

import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import read_bytes
from muphy_lb.geometry.limits import ask_for, shown
from muphy_lb.geometry.surfaces.stored import StoredSurface, fans

TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8", "float32": "f4", "float64": "f8"},
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
CORNERS = ("vertex_indices", "vertex_index")
"""Names of the list of the points of a polygon."""

BYTES_OF_TEXT = 8
"""Memory that the numbers of a text take for each of its bytes, at most."""

EXACT = 2.0**53
"""Above it not every whole number is a floating-point one."""


class Property(NamedTuple):
    """A property of an element: its name, its type, and the type of its length if it is a list."""

    name: str
    type: str
    length_type: str = ""


class Element(NamedTuple):
    """An element of the header."""

    name: str
    count: int
    properties: Sequence[Property]


class _Words:
    """The numbers of a text, taken one after the other."""

    def __init__(self, path, content: bytes):
        ask_for(BYTES_OF_TEXT * len(content), f"the text of {path}")
        try:
            with warnings.catch_warnings(action="error", category=DeprecationWarning):  # text that is no number
                self.values = np.fromstring(content.decode("latin-1"), np.float64, sep=" ")
        except (DeprecationWarning, ValueError) as error:
            raise GeometryError(f"cannot read {path}: a value behind its header is no number") from error
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
    """The triangles of a ``.ply`` file; polygons are cut into fans.

    Raises GeometryError for a missing, corrupt or truncated file, and one without points or polygons.
    """
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
                raise GeometryError(f"cannot read {path}: a corner of a polygon is no number of a point")
            triangles = fans(corners.astype(np.int64), ends)
        if points is not None and triangles is not None:
            return StoredSurface(points, triangles)
    raise GeometryError(f"cannot read {path}: it has no {'polygons' if triangles is None else 'points'}")


def _header(path, content: bytes) -> tuple[str, list[Element], int]:
    """(form of the numbers, elements, start of the numbers [bytes]) of a file."""
    found = re.match(rb"ply[ \t]*(\r\n|\n|\r)", content)
    if found is None:
        raise GeometryError(f"cannot read {path}: it does not begin with a line ply, so it is no .ply file")
    end = re.search(rb"(?<=[\r\n])end_header[ \t]*" + found[1], content)
    if end is None:
        raise GeometryError(f"cannot read {path}: it has no line end_header, so it is no .ply file or truncated")
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
    if element.count * least > numbers.left():
        raise GeometryError(
            f"cannot read {path}: its header says {element.count} of element {shown(element.name)}, the file has room"
            f" for {numbers.left() // least} at most: it is truncated or its header is wrong"
        )
    if element.count == 0 or not element.properties:
        return [(np.empty(0), np.zeros(element.count, np.int64)) for _ in element.properties]
    start = numbers.at
    found = _columns_alike(path, numbers, element)
    if found is None:
        numbers.at = start
        rows = [[_row(path, numbers, each) for each in element.properties] for _ in range(element.count)]
        found = [
            (np.concatenate(column), np.cumsum([len(row) for row in column])) for column in zip(*rows, strict=True)
        ]
    return found


def _columns_alike(path, numbers: _Words | _Bytes, element: Element) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """What :func:`_columns` gives, at once, if every list is as long in all rows as in the first; else None."""
    start = numbers.at
    kinds, lengths = [], []
    for each in element.properties:
        row = _row(path, numbers, each)
        kinds += [each.length_type, each.type] if each.length_type else [each.type]
        lengths += [1, len(row)] if each.length_type else [1]
    n_bytes = numbers.at - start
    numbers.at = start
    if element.count * n_bytes > numbers.left():
        return None
    columns = iter(numbers.table(kinds, lengths, element.count))
    found = []
    for each in element.properties:
        if each.length_type and np.ptp(next(columns)) != 0:
            return None
        values = next(columns)
        found.append((values.reshape(-1), values.shape[1] * np.arange(1, element.count + 1)))
    numbers.at = start + element.count * n_bytes
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
