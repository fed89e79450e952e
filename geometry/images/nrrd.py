"""Reader of NRRD files (``.nrrd``; ``.nhdr`` with its data file).

The header consists of lines ``field: value`` up to an empty line; voxels follow, first axis fastest. ``space origin``
is the centre of the first voxel, ``space directions`` holds the step along each axis. Anatomical spaces are converted
to x to the left, y to the back and z to the head, as ITK and 3D Slicer do. Source: the definition of the NRRD file
format, teem.sourceforge.net/nrrd/format.html.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, along_axes
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
from muphy_lb.geometry.quantities import METRES_PER_UNIT, metres_per_unit

TYPES = {
    "i1": ("signed char", "int8", "int8_t"),
    "u1": ("uchar", "unsigned char", "uint8", "uint8_t"),
    "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
    "u2": ("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"),
    "i4": ("int", "signed int", "int32", "int32_t"),
    "u4": ("uint", "unsigned int", "uint32", "uint32_t"),
    "i8": ("longlong", "long long", "long long int", "signed long long", "signed long long int", "int64", "int64_t"),
    "u8": ("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"),
    "f4": ("float",),
    "f8": ("double",),
}
DTYPE_BY_NAME = {name: kind for kind, names in TYPES.items() for name in names}
#: Type by the name that messages give it.
NAMES = {names[-2] if len(names) > 1 else names[0]: kind for kind, names in TYPES.items()}
#: Signs of x, y, z that turn a space into left-posterior-superior.
SIGNS = {
    ("right-anterior-superior", "ras"): (-1.0, -1.0, 1.0),
    ("left-anterior-superior", "las"): (1.0, -1.0, 1.0),
}
LEFT_HANDED = ("3d-left-handed", "3dlh")
ENCODINGS = {"raw": "raw", "gzip": "gzip", "gz": "gzip", "text": "text", "txt": "text", "ascii": "text"}
UNITS = {"µm": "um", "micron": "um", "microns": "um", "micrometer": "um", "millimeter": "mm", "meter": "m"}


def read_nrrd(path, unit: str | None = None, frame: str = "world") -> Image:
    """Image of an NRRD file: raw (memory-mapped), gzip or text, with its data attached or in one separate file.

    Args:
        unit: length unit of the header; ``None``: the one stated as ``space units`` or ``units``, else mm.
        frame: as in :func:`muphy_lb.geometry.images.image.along_axes`.

    Raises GeometryError for a missing or truncated file and an unsupported header.
    """
    header, start = _header(path)
    kind, shape = _layout(path, header)
    values = _values(path, header, kind, shape, start)
    space = header.get("space", "").lower()
    if space in LEFT_HANDED and frame == "world":
        raise GeometryError(
            f"{path}: space is {shown(header['space'])}, in which x, y, z mirror the image; give frame = 'image' to"
            " keep the image's own axes, or write the space that the image is in"
        )
    steps, origin = _axes_and_origin(path, header, len(shape))
    signs = next((np.array(signs) for names, signs in SIGNS.items() if space in names), np.ones(3))
    if "space directions" in header:
        steps, origin = signs[:, np.newaxis] * steps, signs * origin
    metres = metres_per_unit(unit or _stated_unit(header))
    values = values if values.ndim == 3 else values[np.newaxis]
    image = along_axes(values, steps * metres, origin * metres, frame)
    if signs.min() < 0.0 and frame == "world":
        note = f"space: {shown(header['space'])} converted to x to the left, y to the back, z to the head"
        image = replace(image, notes=(note, *image.notes))
    states_edge = "space directions" in header or "spacings" in header
    return image if states_edge else replace(image, spacing_m=None)


def _header(path) -> tuple[dict[str, str], int]:
    """The fields, in lower case, and the position after the empty line (of attached data)."""
    content = read_start(path, MAX_HEADER)
    if not content.startswith(b"NRRD"):
        raise GeometryError(f"cannot read {path}: it does not start with NRRD, so it is not an NRRD file")
    end = re.search(rb"\r?\n\r?\n", content)
    text = content[: end.start() if end else len(content)].decode("utf-8", "replace")
    header = {}
    for line in text.splitlines()[1:]:
        key, colon, value = line.partition(": ")
        if colon and not line.startswith("#"):
            header[key.strip().lower().replace("datafile", "data file")] = value.strip()
    for key in ("dimension", "sizes", "type", "encoding"):
        if key not in header:
            raise GeometryError(f"cannot read {path}: its NRRD header has no {key!r}")
    if end is None and "data file" not in header:
        raise GeometryError(f"cannot read {path}: its NRRD header does not end with an empty line; it is truncated")
    return header, end.end() if end else len(content)


def _layout(path, header: dict[str, str]) -> tuple[np.dtype, tuple[int, ...]]:
    """Type of the voxels and (nz, ny, nx) or (ny, nx)."""
    if header["type"].lower() not in DTYPE_BY_NAME:
        raise GeometryError(f"{path}: type is {shown(header['type'])}; allowed: {', '.join(DTYPE_BY_NAME)}")
    if header["encoding"].lower() not in ENCODINGS:
        raise GeometryError(f"{path}: encoding is {shown(header['encoding'])}; allowed: {', '.join(ENCODINGS)}")
    endian = header.get("endian", "little").lower()
    if endian not in ("little", "big"):
        raise GeometryError(f"{path}: endian is {shown(endian)}; allowed: little, big")
    if header["dimension"].strip() not in ("2", "3"):
        raise GeometryError(
            f"{path}: dimension is {shown(header['dimension'])}; allowed: 2 or 3 (one component, one layer of segments)"
        )
    shape = voxel_counts(path, "sizes", header["sizes"])
    if len(shape) != int(header["dimension"]):
        raise GeometryError(f"{path}: sizes is {shown(header['sizes'])}; dimension is {header['dimension']}")
    return np.dtype((">" if endian == "big" else "<") + DTYPE_BY_NAME[header["type"].lower()]), shape


def _values(path, header: dict[str, str], kind: np.dtype, shape: tuple[int, ...], start: int) -> np.ndarray:
    name, header_path = header.get("data file"), Path(path)
    if name is not None and (name.upper().startswith("LIST") or "%" in name):
        raise GeometryError(
            f"{path}: data file is {shown(name)}; allowed: one file (stacks of files are not supported)"
        )
    if name is not None:
        path, start = header_path.parent / name, 0
    encoding = ENCODINGS[header["encoding"].lower()]
    said = f"sizes: {' '.join(map(str, shape[::-1]))} with type: {header['type']} in {header_path.name}"
    skip = "byte skip: -1" if encoding == "raw" else "byte skip: NUMBER"
    layout = Layout(kind, shape, said, by_other_type(NAMES, "type: {}", shape, skip))
    start = _skip_lines(path, start, int(numbers(path, "line skip", header.get("line skip", "0"), 1)[0]))
    n_skipped = int(numbers(path, "byte skip", header.get("byte skip", "0"), 1)[0])
    if encoding == "text":
        return words(path, layout, start)
    if encoding == "gzip":
        return inflated(path, layout, start, n_skipped)
    if n_skipped < 0:
        start, n_skipped = max(start, file_size(path) - layout.n_bytes), 0
    return mapped(path, layout, start + n_skipped)


def _skip_lines(path, start: int, n_lines: int) -> int:
    """The position after ``n_lines`` further lines."""
    if n_lines <= 0:
        return start
    content = read_start(path, start + MAX_HEADER)
    for _ in range(min(n_lines, MAX_HEADER)):
        start = content.find(b"\n", start) + 1
        if start == 0:
            raise GeometryError(f"{path}: line skip is {n_lines}; the data file has fewer lines")
    return start


def _axes_and_origin(path, header: dict[str, str], n_axes: int) -> tuple[np.ndarray, np.ndarray]:
    """((3, 3) steps along the file axes as columns, (3,) origin), in the unit of the header."""
    steps = np.eye(3)
    if "space directions" in header:
        vectors = _vectors(path, "space directions", header["space directions"], n_axes)
        steps[:n_axes, :n_axes] = np.transpose(vectors)
    elif "spacings" in header:
        np.fill_diagonal(steps, [*numbers(path, "spacings", header["spacings"], n_axes), 1.0][:3])
    if n_axes == 2:
        steps[2, 2] = np.linalg.norm(steps[:2, :2], axis=0).min()
    origin = np.zeros(3)
    if "space origin" in header:
        origin[:n_axes] = _vectors(path, "space origin", header["space origin"], 1, n_axes)[0]
    return steps, origin


def _vectors(path, key: str, text: str, n: int, n_axes: int | None = None) -> list[list[float]]:
    """The ``n`` vectors ``(a,b,c)`` of a field."""
    found = re.findall(r"\(([^)]*)\)", text)
    if len(found) != n:
        raise GeometryError(f"{path}: {key} is {shown(text)}; it must be {n} vector{'s'[: n > 1]} such as (1,0,0)")
    return [numbers(path, key, vector.replace(",", " "), n_axes or n) for vector in found]


def _stated_unit(header: dict[str, str]) -> str:
    """The unit stated in the header if it is a known length unit, else mm."""
    text = header.get("space units", header.get("units", ""))
    names = [UNITS.get(name.lower(), name) for name in re.findall(r'"([^"]*)"', text)]
    return names[0] if names and names[0] in METRES_PER_UNIT and len(set(names)) == 1 else "mm"
