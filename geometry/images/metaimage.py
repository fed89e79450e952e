"""Reader of MetaImage files (``.mha``; ``.mhd`` with its data file or files). The header consists of lines ``key =
value``; voxels follow, x fastest. ``Offset`` is the centre of the first voxel, row f of ``TransformMatrix`` the
direction of file axis f. Source: the MetaIO page of the ITK documentation."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, Planes, along_axes
from muphy_lb.geometry.images.stored import (
    MAX_HEADER,
    Layout,
    by_other_type,
    file_size,
    inflated,
    mapped,
    numbers,
    read_start,
    voxel_counts,
    words,
)
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import metres_per_unit

TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}

MAX_NAME = 255  # longest file name accepted [characters]
MAX_FILES = 2**16  # largest number of files of one image

#: File names by number: a pattern with one ``%d``, the first and the last number, the step (1).
PATTERN = r"([^%\s]*%0?[0-9]?d[^%\s]*) (-?[0-9]{1,9}) (-?[0-9]{1,9})(?: ([1-9][0-9]{0,8}))?"


def read_metaimage(path, unit: str = "mm", frame: str = "world") -> Image:
    """Image of a MetaImage file: binary or text, plain (mapped) or compressed, in one file or several.

    Args:
        unit: length unit of ``ElementSpacing`` and ``Offset`` (medical images: mm).
        frame: as in :func:`muphy_lb.geometry.images.image.along_axes`.

    Raises GeometryError for a missing or truncated file and an unsupported header.
    """
    header, start = _header(path)
    values = _values(path, header, start)
    n_axes = values.ndim if isinstance(values, np.ndarray) else 3
    metres = metres_per_unit(unit)
    keys = ("ElementSpacing", "ElementSize")
    spacing, states_edge = _entry(path, header, keys, [1.0] * n_axes), any(key in header for key in keys)
    offset = _entry(path, header, ("Offset", "Position", "Origin"), [0.0] * n_axes)
    directions = np.eye(3)
    directions[:n_axes, :n_axes] = np.reshape(
        _entry(path, header, ("TransformMatrix", "Rotation", "Orientation"), np.eye(n_axes).ravel().tolist()),
        (n_axes, n_axes),
    )
    lengths = np.array([*spacing, min(spacing)][:3]) * metres
    values = values if n_axes == 3 else values[np.newaxis]
    image = along_axes(values, directions.T * lengths, np.array([*offset, 0.0][:3]) * metres, frame)
    return image if states_edge else replace(image, spacing_m=None)


def _header(path) -> tuple[dict[str, str], int]:
    """The ``key = value`` lines up to ``ElementDataFile``, and the position after them."""
    content = read_start(path, MAX_HEADER)
    header, start = {}, 0
    while "ElementDataFile" not in header:
        end = content.find(b"\n", start)
        line = content[start:end] if end >= 0 else content[start:]
        key, equals, value = line.decode("latin-1").partition("=")
        if not equals:
            raise GeometryError(f"cannot read {path}: no MetaImage header (a line without '=' before ElementDataFile)")
        header[key.strip()] = value.strip()
        start = end + 1 if end >= 0 else len(content)
    for key in ("DimSize", "ElementType"):
        if key not in header:
            raise GeometryError(f"cannot read {path}: its MetaImage header has no {key}")
    return header, start


def _values(path, header: dict[str, str], start: int):
    """(nz, ny, nx) or (ny, nx) values of the file or files that the header names."""
    kind, shape = _type(path, header), voxel_counts(path, "DimSize", header["DimSize"])
    name = header["ElementDataFile"]
    if len(name) > MAX_NAME or "\0" in name:
        raise GeometryError(f"{path}: ElementDataFile is {shown(name)}; it must be LOCAL or the name of a file")
    if name.upper() == "LOCAL":
        return _one_file(path, header, _layout(path, header, kind, shape), start)
    files = _slice_files(path, header, shape)
    if files is None:
        return _one_file(Path(path).parent / name, header, _layout(path, header, kind, shape), 0)
    for file in {files[0], files[-1]}:
        file_size(file)
    layout = _layout(path, header, kind, shape[1:])
    return Planes(shape, kind, lambda k: _one_file(files[k], header, layout, 0))


def _layout(path, header: dict[str, str], kind: np.dtype, shape: tuple[int, ...]) -> Layout:
    counts = " ".join(map(str, shape[::-1]))
    said = f"DimSize = {counts} with ElementType = {header['ElementType']} in {Path(path).name}"
    skip = "HeaderSize = -1 above ElementDataFile"
    return Layout(kind, shape, said, by_other_type(TYPES, "ElementType = {}", shape, skip))


def _one_file(path, header: dict[str, str], layout: Layout, start: int) -> np.ndarray:
    if header.get("BinaryData", "True").lower() == "false":
        return words(path, layout, start)
    if _is_true(header, "CompressedData"):
        return inflated(path, layout, start)
    skip = int(_entry(path, header, ("HeaderSize",), [0.0])[0])
    if skip < 0:
        start = max(start, file_size(path) - layout.n_bytes)
    return mapped(path, layout, start + max(skip, 0))


def _slice_files(path, header: dict[str, str], shape: tuple[int, ...]) -> list[Path] | None:
    """The file of each layer: those below ``LIST``, or of a pattern such as ``slice%03d.raw 1 50 1``; else ``None``."""
    folder, text = Path(path).parent, header["ElementDataFile"]
    if text.upper().startswith("LIST"):
        lines = read_start(path, MAX_HEADER).decode("latin-1").splitlines()
        first = next(k for k, line in enumerate(lines) if line.partition("=")[0].strip() == "ElementDataFile")
        names = [line.strip() for line in lines[first + 1 :] if line.strip()]
    elif "%" in text:
        names = _pattern_names(path, text)
    else:
        return None
    if len(shape) != 3 or len(names) != shape[0]:
        raise GeometryError(
            f"{path}: ElementDataFile is {shown(text)} and names {len(names)} files; DimSize needs {shape[0]}"
        )
    return [folder / name for name in names]


def _pattern_names(path, text: str) -> list[str]:
    found = re.fullmatch(PATTERN, " ".join(text.split()))
    if found is None:
        raise GeometryError(f"{path}: ElementDataFile is {shown(text)}; a pattern looks like 'slice%03d.raw 1 50 1'")
    first, last, step = (int(word or 1) for word in found.groups()[1:])
    if last - first > MAX_FILES * step:
        raise GeometryError(f"{path}: ElementDataFile is {shown(text)}; its first, last and step are out of range")
    return [found.group(1) % number for number in range(first, last + 1, step)]


def _type(path, header: dict[str, str]) -> np.dtype:
    name = header["ElementType"]
    if name not in TYPES:
        raise GeometryError(f"{path}: ElementType is {shown(name)}; allowed: {', '.join(TYPES)}")
    if header.get("ElementNumberOfChannels", "1") != "1":
        raise GeometryError(
            f"{path}: ElementNumberOfChannels is {shown(header['ElementNumberOfChannels'])}; allowed: 1"
        )
    big = _is_true(header, "BinaryDataByteOrderMSB") or _is_true(header, "ElementByteOrderMSB")
    return np.dtype((">" if big else "<") + TYPES[name])


def _is_true(header: dict[str, str], key: str) -> bool:
    return header.get(key, "False").lower() == "true"


def _entry(path, header: dict[str, str], keys: tuple[str, ...], default: list[float]) -> list[float]:
    """The numbers of the first of ``keys`` that the header has, as many as in ``default``, or else ``default``."""
    text = next((header[key] for key in keys if key in header), None)
    return default if text is None else numbers(path, keys[0], text, len(default))
