"""Readers of arrays without spatial metadata: ``.npy``, ``.npz`` and headerless ``.raw`` files; unit spacing. Arrays
are (nz, ny, nx) or (ny, nx), x last; a Fortran-ordered ``.npy`` keeps its index order."""

import tokenize
import zipfile
import zlib
from itertools import permutations

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.stored import READ_BYTES, Layout, check_inflation, count, file_size, mapped
from muphy_lb.geometry.limits import regular_file, shown
from muphy_lb.geometry.options import check_names, not_one_array
from muphy_lb.geometry.slabs import empty_array

READ_ERRORS: tuple[type[Exception], ...]
READ_ERRORS = (OSError, ValueError, EOFError, SyntaxError, TypeError, KeyError, MemoryError, RuntimeError)
READ_ERRORS += (OverflowError, tokenize.TokenError)
"""Exceptions that NumPy and zipfile raise for damaged files."""


def read_npy(path) -> Image:
    """Image of a ``.npy`` file, memory-mapped. Raises GeometryError for a missing, corrupt or truncated file, for one
    with data after its array, and for arrays of objects."""
    try:
        with open(regular_file(path), "rb") as file:
            shape, is_fortran, kind = _npy_header(file)
            offset = file.tell()
    except GeometryError:
        raise
    except READ_ERRORS as error:
        raise GeometryError(f"cannot read {path}: {_one_line(error)}") from error
    _check_kind(path, kind)
    if 0 in shape:
        return Image(np.empty(shape, kind))
    return Image(mapped(path, Layout(kind, shape, remedy=_one_array), offset, "F" if is_fortran else "C"))


def read_npz(path, array: str | None = None) -> Image:
    """Image of the array named ``array`` of a ``.npz`` file; ``None``: of its only array. Raises GeometryError for a
    missing, corrupt or truncated file, an unknown array, and an ambiguous choice."""
    try:
        with zipfile.ZipFile(regular_file(path)) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            if array is not None:
                check_names([array], names, f"{path}: array")
            elif len(names) != 1:
                raise GeometryError(not_one_array(path, list(names)))
            info = archive.getinfo(f"{array or names[0]}.npy")
            check_inflation(path, min(info.compress_size, file_size(path)), info.file_size)
            with archive.open(info) as file:
                return Image(_npz_values(path, file, info))
    except GeometryError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise GeometryError(
            f"cannot read {path}: it is not an .npz archive, or broken or truncated ({error})"
        ) from error
    except READ_ERRORS as error:
        raise GeometryError(f"cannot read {path}: {_one_line(error)}") from error


def read_raw(path, shape_zyx, dtype: str, header_bytes: int = 0) -> Image:
    """Image of a headerless binary file, x fastest, memory-mapped: files larger than memory are read slab by slab.

    Args:
        shape_zyx: (nz, ny, nx) voxel counts.
        dtype: numpy type name, byte order included, such as ``"uint8"`` or ``">u2"``.
        header_bytes: bytes to skip at the start.

    Raises GeometryError if the file is missing or its size does not match header and voxels.
    """
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError, KeyError) as error:
        raise GeometryError(f"dtype is {shown(dtype)}; give a numpy type name such as 'uint8' or '>u2'") from error
    if kind.kind not in "iufb":
        raise GeometryError(f"dtype is {shown(dtype)}; allowed: integers, floats, booleans, such as 'uint8' or '>u2'")
    try:
        shape = tuple(int(n) for n in shape_zyx)
    except (TypeError, ValueError, OverflowError):
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise GeometryError(f"shape_zyx is {shown(shape_zyx)}; give the voxel counts nz ny nx, each above zero")
    if not isinstance(header_bytes, int) or header_bytes < 0:
        raise GeometryError(f"header_bytes is {shown(header_bytes)}; it must be a whole number, 0 or more")

    held, expected = file_size(path), header_bytes + count(shape) * kind.itemsize
    if held != expected:
        raise GeometryError(
            f"{path} holds {held} bytes; shape_zyx = {list(shape)}, dtype = {kind.name} and"
            f" header_bytes = {header_bytes} need {expected}"
        )
    values = mapped(path, Layout(kind, shape), header_bytes)
    likelier = likelier_order(values)
    if likelier == shape:
        return Image(values)
    note = (
        f"warning: rows and layers of {path} do not fit together with shape_zyx = {list(shape)}, as they"
        f" would with {list(likelier)}: check the order of the voxel counts (nz, ny, nx, x fastest)"
    )
    return Image(values, notes=(note,))


FEWEST_LAYERS = 4
N_SAMPLES = 1 << 12  # voxels that are compared with others
ALIKE = 0.7  # score of an order of voxel counts below which it is one
TURNED = 0.5  # score of such an order over that of the given one, below which this is doubted


def likelier_order(values: np.ndarray) -> tuple[int, ...]:
    """The voxel counts of an image that was read from a flat file, in the order in which neighbouring rows and layers
    are similar; as they are, unless another order is far better. An order scores by the difference of values a row, or
    a layer, apart over that of values aside from there, the larger of both: 1 without any likeness."""
    shape, size = values.shape, values.size
    orders = sorted(set(permutations(shape)))
    if len(orders) == 1 or min(shape) < FEWEST_LAYERS:
        return shape
    held = min(size, FEWEST_LAYERS * size // min(shape))  # enough layers of any order, side by side in the file
    flat = np.asarray(values.reshape(-1)[(size - held) // 2 : (size + held) // 2])
    place = np.arange(1, N_SAMPLES + 1) * (0.5 * (5.0**0.5 - 1.0)) % 1.0

    def difference(step: int) -> float:
        start = (place * (flat.size - step)).astype(np.int64)
        return float(np.abs(flat[start + step].astype(np.float64) - flat[start]).mean())

    def score(order: tuple[int, ...]) -> float:
        found = []
        for step in np.cumprod(order[::-1])[:-1].tolist():
            aside = 0.5 * sum(difference(step + turn * max(1, order[-1] // 3)) for turn in (-1, 1))
            found.append(difference(step) / aside if aside > 0.0 else 1.0)
        return max(found, default=1.0)

    given, (best, order) = score(shape), min((score(order), order) for order in orders)
    return order if best < ALIKE and best < TURNED * given else shape


def _npy_header(file) -> tuple[tuple[int, ...], bool, np.dtype]:
    """(shape, whether Fortran-ordered, type) of the array that follows in an open file."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its .npy version is {version}; allowed: (1, 0), (2, 0)")
    header = readers[version](file)
    if any(type(n) is not int or n < 0 for n in header[0]):
        raise ValueError(f"its header says shape {header[0]}; counts must be whole numbers, none below zero")
    return header


def _one_array(held: int | None) -> str:
    """The remedy for a file with data after its array."""
    return "write one array into it, np.save(path, array), or several into an .npz, np.savez(path, a=..., b=...)"


def _npz_values(path, file, info: zipfile.ZipInfo) -> np.ndarray:
    shape, is_fortran, kind = _npy_header(file)
    _check_kind(path, kind)
    needed, held = count(shape) * kind.itemsize, info.file_size - file.tell()
    Layout(kind, shape, remedy=_one_array).check(f"{path}: {info.filename}", held)
    content, found = empty_array((needed,), np.uint8), 0
    while found < needed:
        part = file.read(min(READ_BYTES, needed - found))
        if not part:
            raise GeometryError(f"{path}: {info.filename} ends after {found} of {needed} bytes: it is truncated")
        content[found : found + len(part)] = np.frombuffer(part, np.uint8)
        found += len(part)
    return content.view(kind).reshape(shape, order="F" if is_fortran else "C")


def _check_kind(path, kind: np.dtype) -> None:
    if kind.hasobject or kind.kind not in "iufb":
        raise GeometryError(f"cannot read {path}: it holds values of type {kind}; allowed: integers, floats, booleans")


def _one_line(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
