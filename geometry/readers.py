"""Voxel images: ``.npy``, ``.raw`` and MetaImage (``.mha``, ``.mhd``) to Voxels.

Which value is fluid is never guessed: :class:`ImageRule` says it.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from geometry.errors import GeometryError
from geometry.flags import FLAG_DTYPE, FLUID, MAX_WALLS, SOLID, opening_flag, wall_flag
from geometry.openings import with_tagged_openings
from geometry.options import metres_per_unit, periodic_axes
from geometry.voxels import Voxels

METAIMAGE_TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
SPACING_TOLERANCE = 1e-4
"""Largest relative difference of the spacings of an image that still counts as cubic voxels (rounded headers)."""

MAX_LISTED_VALUES = 6


@dataclass(frozen=True)
class ImageRule:
    """How the values of an image become voxels, and where they lie.

    Attributes:
        fluid_value: voxels of this integer value are fluid, all others solid; ``None``: the values are
            ``geometry.flags`` already.
        opening_values: value of the voxels of each opening by its tag, such as ``{"inlet:left": 2, "outlet": 3}``; they
            must lie just outside the fluid, whose links into them carry the condition.
        wall_values: value of the voxels of each labelled wall by its name, such as ``{"stent": 4}``; they are solid.
        fluid_below: if given, voxels with a value below this threshold are fluid (level sets, grey images).
        spacing_m: edge length of a voxel [m]; ``None``: that of the file, or 1 where the file has none.
        origin_m: (x, y, z) of the centre of the first voxel [m]; ``None``: that of the file, or zero.
        periodic: axis letters such as ``"xy"``, or (x, y, z) truth values.
    """

    fluid_value: int | None = 1
    fluid_below: float | None = None
    opening_values: Mapping[str, int] = field(default_factory=dict)
    wall_values: Mapping[str, int] = field(default_factory=dict)
    spacing_m: float | None = None
    origin_m: tuple[float, float, float] | None = None
    periodic: str | tuple[bool, bool, bool] = (False, False, False)

    def voxels(self, values: np.ndarray, spacing_m: float = 1.0, origin_m=(0.0, 0.0, 0.0)) -> Voxels:
        """Voxels of an image (nz, ny, nx) or (ny, nx); spacing and origin are the file's, which the rule may override.

        Raises GeometryError where :meth:`flags` does or the array has another number of axes.
        """
        if values.ndim not in (2, 3):
            raise GeometryError(f"the image has {values.ndim} axes (shape {values.shape}); allowed: 2 or 3")
        if values.size == 0:
            raise GeometryError(f"the image has shape {values.shape} and holds no voxel")
        values = values if values.ndim == 3 else values[np.newaxis]
        tags = {tag: opening_flag(k) for k, tag in enumerate(self.opening_values)}
        flags = self.flags(values)
        for tag, flag in tags.items():
            flags[values == self.opening_values[tag]] = flag
        self._label_walls(flags, values)
        voxels = Voxels(
            flags,
            spacing_m if self.spacing_m is None else float(self.spacing_m),
            tuple(float(c) for c in (origin_m if self.origin_m is None else self.origin_m)),
            periodic_axes(self.periodic),
            walls=tuple(self.wall_values),
        )
        return with_tagged_openings(voxels, tags, "the image").check_flags()

    def _label_walls(self, flags: np.ndarray, values: np.ndarray) -> None:
        if len(self.wall_values) > MAX_WALLS:
            raise GeometryError(f"wall_values names {len(self.wall_values)} walls; at most {MAX_WALLS} are supported")
        for number, (name, value) in enumerate(self.wall_values.items()):
            labelled = values == value
            if not labelled.any():
                raise GeometryError(
                    f"no voxel of the image has the value {value} of wall {name!r}; it holds {_describe(values)}:"
                    " leave the wall out or correct its value"
                )
            flags[labelled] = wall_flag(number)

    def flags(self, values: np.ndarray) -> np.ndarray:
        """(nz, ny, nx) uint8 flags of an image of the same shape.

        Raises GeometryError for NaN, for float values without a threshold, and where no voxel would be fluid.
        """
        if values.dtype == bool:
            values = values.astype(FLAG_DTYPE)
        if values.dtype.kind not in "iuf":
            raise GeometryError(f"the image has values of type {values.dtype}; allowed: integers, floats, booleans")
        _refuse_nan(values)
        if self.fluid_below is None and values.dtype.kind == "f":
            raise GeometryError(
                "the image has float values; give fluid_below, the threshold below which a voxel is fluid"
            )
        if self.fluid_below is None and self.fluid_value is None:
            return _as_flags(values)
        return self._threshold(values)

    def _threshold(self, values: np.ndarray) -> np.ndarray:
        if self.fluid_below is not None and self.fluid_value not in (None, 1):
            raise GeometryError(
                f"fluid_value = {self.fluid_value} and fluid_below = {self.fluid_below} are both given; give one"
            )
        below = self.fluid_below is not None
        fluid = values < self.fluid_below if below else values == self.fluid_value
        if not fluid.any():
            rule = f"fluid_below = {self.fluid_below}" if below else f"fluid_value = {self.fluid_value}"
            raise GeometryError(f"{rule} selects no voxel; the image holds {_describe(values)}")
        return np.where(fluid, FLAG_DTYPE(FLUID), FLAG_DTYPE(SOLID))


def read_npy(path, rule: ImageRule = ImageRule()) -> Voxels:
    """Voxels of a ``.npy`` file that holds a (nz, ny, nx) or (ny, nx) array.

    Raises GeometryError for a missing or broken file and where :meth:`ImageRule.voxels` does.
    """
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise GeometryError(f"cannot read {path}: {error}") from error
    if not isinstance(values, np.ndarray):
        raise GeometryError(f"cannot read {path}: it is an archive of several arrays; save one array as .npy")
    return rule.voxels(values)


def read_raw(path, shape_zyx, dtype: str, header_bytes: int, rule: ImageRule = ImageRule()) -> Voxels:
    """Voxels of a headerless binary file, x fastest.

    Args:
        shape_zyx: (nz, ny, nx) voxel counts.
        dtype: numpy type name, byte order included, such as ``"uint8"`` or ``">u2"``.
        header_bytes: bytes to skip at the start.

    Raises GeometryError if the file is missing or its size is not that of header and voxels.
    """
    shape, kind = _raw_layout(shape_zyx, dtype, header_bytes)
    content = read_bytes(path)
    expected = header_bytes + int(np.prod(shape)) * kind.itemsize
    if len(content) != expected:
        raise GeometryError(
            f"{path} holds {len(content)} bytes; shape_zyx = {list(shape)}, dtype = {kind.name} and"
            f" header_bytes = {header_bytes} need {expected}"
        )
    return rule.voxels(np.frombuffer(content, kind, offset=header_bytes).reshape(shape))


def read_metaimage(path, rule: ImageRule = ImageRule(), unit: str = "mm") -> Voxels:
    """Voxels of a MetaImage file, ``.mha`` or ``.mhd`` with its data file.

    ``unit`` is the length unit of ``ElementSpacing`` and ``Offset`` (medical images: mm). Axes that
    ``TransformMatrix`` reverses are reversed in the voxels. Source: the MetaIO page of the ITK documentation.

    Raises GeometryError for a missing or truncated file, an unsupported header and voxels that are not cubes.
    """
    content = read_bytes(path)
    header, start = _metaimage_header(path, content)
    values = _metaimage_values(path, header, content[start:])
    n_axes = values.ndim
    offset = _numbers(path, header, ("Offset", "Position", "Origin"), [0.0] * n_axes)
    spacing = _cubic_spacing(path, _numbers(path, header, ("ElementSpacing", "ElementSize"), [1.0] * n_axes))
    values, offset = _unreverse(path, header, values, offset, spacing)
    metres = metres_per_unit(unit)
    return rule.voxels(values, spacing * metres, [c * metres for c in (*offset, 0.0)[:3]])


def read_bytes(path) -> bytes:
    """The content of a file; GeometryError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise GeometryError(f"cannot read {path}: {error.strerror or error}") from error


def _refuse_nan(values: np.ndarray) -> None:
    if values.dtype.kind != "f":
        return
    nan = np.isnan(values)
    if nan.any():
        z, y, x = np.unravel_index(np.argmax(nan), nan.shape)
        raise GeometryError(
            f"the image holds {np.count_nonzero(nan)} NaN values, the first at (x, y, z) = ({x}, {y}, {z});"
            " replace them before reading"
        )


def _as_flags(values: np.ndarray) -> np.ndarray:
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > np.iinfo(FLAG_DTYPE).max:
        raise GeometryError(f"the values {low} to {high} are not geometry flags (0 to 255); give fluid_value")
    return values.astype(FLAG_DTYPE)


def _describe(values: np.ndarray) -> str:
    """The few values of an image with their shares, or its range."""
    found, counts = np.unique(values, return_counts=True)
    if found.size > MAX_LISTED_VALUES:
        return f"values from {found[0]} to {found[-1]}"
    return ", ".join(f"{v} ({c / values.size:.1%})" for v, c in zip(found, counts, strict=True))


def _raw_layout(shape_zyx, dtype: str, header_bytes: int) -> tuple[tuple[int, ...], np.dtype]:
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise GeometryError(f"dtype is {dtype!r}; give a numpy type name such as 'uint8' or '>u2'") from error
    shape = tuple(int(n) for n in shape_zyx)
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise GeometryError(f"shape_zyx is {list(shape_zyx)}; give the voxel counts nz ny nx, each above zero")
    if header_bytes < 0:
        raise GeometryError(f"header_bytes is {header_bytes}; it must be 0 or more")
    return shape, kind


def _metaimage_header(path, content: bytes) -> tuple[dict[str, str], int]:
    """The ``key = value`` lines up to ``ElementDataFile``, and the position behind them."""
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


def _metaimage_values(path, header: dict[str, str], local: bytes) -> np.ndarray:
    kind = _metaimage_type(path, header)
    n_axes = len(header["DimSize"].split())
    shape = tuple(int(n) for n in reversed(_numbers(path, header, ("DimSize",), [0.0] * n_axes)))
    if n_axes not in (2, 3) or min(shape) < 1:
        raise GeometryError(f"{path}: DimSize is {header['DimSize']!r}; allowed: two or three counts above zero")
    name = header["ElementDataFile"]
    data = local if name.upper() == "LOCAL" else read_bytes(Path(path).parent / name)
    if _is_true(header, "CompressedData"):
        try:
            data = zlib.decompress(data)
        except zlib.error as error:
            raise GeometryError(f"cannot read {path}: its compressed data are broken or truncated ({error})") from error
    expected = int(np.prod(shape)) * kind.itemsize
    skip = int(_numbers(path, header, ("HeaderSize",), [0.0])[0])
    data = data[len(data) - expected if skip < 0 else skip :]
    if len(data) < expected:
        raise GeometryError(f"{path} holds {len(data)} bytes of voxels; its header needs {expected}: it is truncated")
    return np.frombuffer(data, kind, int(np.prod(shape))).reshape(shape)


def _metaimage_type(path, header: dict[str, str]) -> np.dtype:
    name = header["ElementType"]
    if name not in METAIMAGE_TYPES:
        raise GeometryError(f"{path}: ElementType is {name}; allowed: {', '.join(METAIMAGE_TYPES)}")
    if header.get("ElementNumberOfChannels", "1") != "1":
        raise GeometryError(f"{path}: ElementNumberOfChannels is {header['ElementNumberOfChannels']}; allowed: 1")
    if header.get("BinaryData", "True").lower() == "false" or header["ElementDataFile"].upper().startswith("LIST"):
        raise GeometryError(f"{path}: text data and lists of slices are not supported; store one binary file")
    big = _is_true(header, "BinaryDataByteOrderMSB") or _is_true(header, "ElementByteOrderMSB")
    return np.dtype((">" if big else "<") + METAIMAGE_TYPES[name])


def _is_true(header: dict[str, str], key: str) -> bool:
    return header.get(key, "False").lower() == "true"


def _numbers(path, header: dict[str, str], keys: tuple[str, ...], default: list[float]) -> list[float]:
    """The numbers behind the first of ``keys`` that the header has, as many as in ``default``."""
    text = next((header[key] for key in keys if key in header), None)
    if text is None:
        return default
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != len(default):
        raise GeometryError(f"{path}: {keys[0]} is {text!r}; it must be {len(default)} numbers")
    return numbers


def _cubic_spacing(path, spacing: list[float]) -> float:
    if max(spacing) - min(spacing) > SPACING_TOLERANCE * max(spacing):
        raise GeometryError(
            f"{path}: ElementSpacing is {' x '.join(map(str, spacing))}; voxels must be cubes and resampling is not"
            " supported yet: resample the image to one spacing before reading"
        )
    return spacing[0]


def _unreverse(path, header: dict[str, str], values: np.ndarray, offset: list[float], spacing: float):
    """(values, offset) with the axes turned around that ``TransformMatrix`` reverses."""
    identity = np.eye(values.ndim).ravel().tolist()
    matrix = np.reshape(_numbers(path, header, ("TransformMatrix", "Rotation"), identity), (values.ndim, values.ndim))
    if not np.array_equal(np.abs(matrix), np.eye(values.ndim)):
        raise GeometryError(
            f"{path}: TransformMatrix {matrix.ravel().tolist()} rotates the axes; only reversed axes are supported:"
            " resample the image along its axes before reading"
        )
    for i in np.flatnonzero(np.diag(matrix) < 0):
        array_axis = values.ndim - 1 - i
        offset[i] -= (values.shape[array_axis] - 1) * spacing
        values = np.flip(values, array_axis)
    return values, offset
