"""Arrays of VTK XML files: text, base64 or raw data, inline or appended, plain or zlib-compressed.

Source: the VTK XML file formats page of docs.vtk.org.
"""

import base64
import binascii
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from muphy_lb.geometry.errors import GeometryError
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
from muphy_lb.geometry.limits import ask_for, inflate, shown

TYPES = {f"{name}{8 * size}": f"{kind}{size}" for name, kind in (("Int", "i"), ("UInt", "u")) for size in (1, 2, 4, 8)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
COMPRESSORS = {"": False, "vtkZLibDataCompressor": True}
APPENDED = re.compile(rb"<AppendedData[^>]*>\s*_", re.DOTALL)
MAX_BLOCKS = 2**24


@dataclass(frozen=True)
class VtkFile:
    """A parse_file file: its XML tree, the start of appended data (or -1), and the storage format."""

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
        raise GeometryError(f"cannot read {path}: it is no VTK XML file, broken or truncated ({error})") from error
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
    """The values of a ``DataArray`` element, reshaped to ``shape``.

    Raises GeometryError for an unknown type or storage, and if there are fewer values or more.
    """
    if element.get("type") not in TYPES:
        raise GeometryError(
            f"{file.path}: an array is of type {shown(element.get('type'))}; allowed: {', '.join(TYPES)}"
        )
    kind = np.dtype(file.order + TYPES[element.get("type")])
    # Newer versions of VTK insert child elements (value ranges) into the text.
    form, text = element.get("format"), "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if form == "ascii":
        return _text_values(file, text, kind, shape)
    if form == "appended" and file.root.find("AppendedData") is None and file.start >= 0:
        return _appended(file, element, kind, shape)
    if form == "binary":
        return _decoded(file, text.encode("ascii", "replace"), kind, shape)
    raise GeometryError(f"{file.path}: format is {shown(form)}; allowed: ascii, binary, appended with <AppendedData>")


def _text_values(file: VtkFile, text: str, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    found = split_words(file.path, text)
    if len(found) != count(shape):
        raise GeometryError(f"{file.path} holds {len(found)} numbers; its extent needs {count(shape)}")
    return as_numbers(file.path, found, kind).reshape(shape)


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
    """The values of base64 text; the header of compressed data is encoded separately.

    An array says itself how many bytes it has; text behind them is ignored, as VTK does: some programs encode more.
    """
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
    """The first ``n_bytes`` of base64 text."""
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
