"""Numbers stored in image files: memory-mapped if uncompressed, decompressed otherwise; sizes are checked against the
file before memory is allocated."""

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for, regular_file, shown
from muphy_lb.geometry.slabs import empty_array

LARGEST_RATIO = 1032  # Largest compression ratio of deflate. Source: the zlib technical details.
GZIP_OR_ZLIB = 47  # window bits with which zlib detects which of the two headers a stream has

#: Largest number of voxels along an axis: beyond it a header is wrong, and products are no numbers to print.
MAX_COUNT = 2**40
BYTES_OF_TEXT = 40  # memory that the words of a text and their numbers take for each of its bytes, at most
MAX_COUNTED = 2**16  # bytes of a text in which numbers are counted that are too few anyway
READ_BYTES = 2**22  # bytes read and decompressed at a time
MAX_HEADER = 2**20  # largest text header of an image [bytes]


def read_bytes(path) -> bytes:
    """The content of a regular file; GeometryError if it cannot be read."""
    ask_for(file_size(path), f"the content of {path}")
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise GeometryError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def read_start(path, n_bytes: int) -> bytes:
    """The first bytes of a regular file, fewer if it is shorter; GeometryError if it cannot be read."""
    try:
        with open(regular_file(path), "rb") as file:
            return file.read(n_bytes)
    except (OSError, ValueError) as error:
        raise GeometryError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def file_size(path) -> int:
    """Size of a regular file [bytes]; GeometryError if there is none."""
    return regular_file(path).stat().st_size


def count(shape: tuple[int, ...] | np.ndarray) -> int:
    """Number of elements of a shape, without integer overflow."""
    return int(np.prod(shape, dtype=object))


def _correct_header(held: int | None) -> str:
    return "correct the header, or take what does not belong to the image out of the file"


@dataclass(frozen=True)
class Layout:
    """The numbers that a file holds, as its header says."""

    dtype: np.dtype  #: their type
    shape: tuple[int, ...]  #: their counts, the last axis fastest
    said: str = "its header"  #: the words of the header that say so, for messages
    #: called with the bytes that the file holds in their place, None if these were not counted; returns how to correct
    #: a header that says less
    remedy: Callable[[int | None], str] = _correct_header

    @property
    def n_bytes(self) -> int:
        """Size of the values [bytes]."""
        return count(self.shape) * np.dtype(self.dtype).itemsize

    def check(self, path, held: int, n_needed: int | None = None, what: str = "bytes of voxels") -> None:
        """Raise GeometryError unless a file holds what the header says: neither less nor more.

        Args:
            held: number of bytes, or of what else is counted.
            n_needed: the number that it should be; None for ``n_bytes``.
            what: is counted.
        """
        needed = self.n_bytes if n_needed is None else n_needed
        if held < needed:
            raise GeometryError(f"{path} holds {max(held, 0)} {what}; {self.said} needs {needed}: it is truncated")
        if held > needed:
            counted = held if n_needed is None else None
            raise GeometryError(f"{path} holds {held} {what}; {self.said} needs {needed}: {self.remedy(counted)}")

    def too_long(self, path) -> GeometryError:
        """The error of compressed data with more numbers than expected."""
        return GeometryError(
            f"{path} inflates to more bytes of voxels than the {self.n_bytes} that {self.said} needs:"
            f" {self.remedy(None)}"
        )


def by_other_type(types: Mapping[str, str], entry: str, shape: tuple[int, ...], skip: str) -> Callable:
    """The remedy of :class:`Layout` for a header with an entry for the type and one for what precedes the voxels.

    Args:
        types: numpy type by its name in the header.
        entry: how the header gives a type, ``{}`` for its name.
        shape: of the voxels.
        skip: the entry that skips what precedes them.
    """

    def remedy(held: int | None) -> str:
        size, rest = divmod(held or 0, count(shape))
        sizes = {kind: name for name, kind in reversed(list(types.items())) if np.dtype(kind).itemsize == size}
        fitting = sizes if size > 1 and not rest else {}
        words = " or ".join(entry.format(name) for name in fitting.values())
        other = f"write {words} if each voxel has {size} bytes, or " if fitting else "write "
        return f"{other}{skip} if other bytes precede the voxels"

    return remedy


def mapped(path, layout: Layout, offset: int = 0, order: Literal["C", "F"] = "C", is_last: bool = True) -> np.ndarray:
    """The uncompressed numbers of a file from byte ``offset``, memory-mapped read-only. Raises GeometryError for a
    missing or truncated file, and for one with further data, unless they need not be the last of the file."""
    held = file_size(path) - offset
    layout.check(path, held if is_last else min(held, layout.n_bytes))
    try:
        return np.memmap(path, layout.dtype, "r", offset, tuple(layout.shape), order)
    except (OSError, ValueError, OverflowError) as error:
        raise GeometryError(f"cannot read {path}: {error}") from error


def inflated(path, layout: Layout, offset: int = 0, skip: int = 0) -> np.ndarray:
    """The zlib- or gzip-compressed numbers from byte ``offset`` on, C-ordered, after ``skip`` decompressed bytes.
    Raises GeometryError for a missing file, for corrupt or truncated data, for data with more numbers and,
    before memory is allocated, if the file is too small to hold that much."""
    skip = max(skip, 0)
    check_inflation(path, file_size(path) - offset, skip + layout.n_bytes)
    target = empty_array((skip + layout.n_bytes,), np.uint8)
    with open(path, "rb") as file:
        file.seek(offset)
        _inflate(path, file, target, layout)
    return target[skip:].view(layout.dtype).reshape(layout.shape)


def _inflate(path, file, target: np.ndarray, layout: Layout) -> None:
    """Inflate a file, member after member, into ``target``, which it fills; zeros may follow (padding of archives)."""
    inflater, found, rest = zlib.decompressobj(GZIP_OR_ZLIB), 0, b""
    while chunk := rest or file.read(READ_BYTES):
        if inflater.eof:
            rest = chunk = chunk.lstrip(b"\0")
            if not chunk:
                continue
            inflater = zlib.decompressobj(GZIP_OR_ZLIB)
        try:
            inflated_bytes = inflater.decompress(chunk, max(1, min(READ_BYTES, target.size - found)))
        except zlib.error as error:
            raise GeometryError(f"cannot read {path}: its compressed data are broken or truncated ({error})") from error
        if inflated_bytes and found == target.size:
            raise layout.too_long(path)
        target[found : found + len(inflated_bytes)] = np.frombuffer(inflated_bytes, np.uint8)
        found += len(inflated_bytes)
        rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if found < target.size or not inflater.eof:
        raise GeometryError(
            f"{path} inflates to {found} bytes of voxels; {layout.said} needs {target.size}: it is truncated"
        )


def check_inflation(path, held: int, needed: int) -> None:
    """Raise GeometryError if ``held`` compressed bytes cannot inflate to ``needed`` bytes."""
    if max(held, 0) * LARGEST_RATIO < needed:
        raise GeometryError(
            f"{path} holds {max(held, 0)} compressed bytes; its header needs {needed}, more than they can inflate to:"
            " it is truncated or its header is wrong"
        )


def words(path, layout: Layout, offset: int = 0) -> np.ndarray:
    """The numbers written as text in a file from byte ``offset`` on. Raises GeometryError if it holds fewer or more, or
    a word that is not a number of this type."""
    needed = count(layout.shape)
    text = read_bytes(path)[offset:]
    found = split_words(path, text) if needed <= (len(text) + 1) // 2 else text[:MAX_COUNTED].split()
    layout.check(path, len(found), needed, "numbers")
    return as_numbers(path, found, layout.dtype).reshape(layout.shape)


def split_words(path, text: str | bytes) -> list:
    """The words of a text, for whose objects memory is asked for first."""
    ask_for(BYTES_OF_TEXT * len(text), f"the text of {path}")
    return text.split()


def as_numbers(path, found: list[str] | list[bytes], dtype) -> np.ndarray:
    """Words converted to numbers; GeometryError for a word that is not a number of this type."""
    try:
        values = np.array([float(word) for word in found])
    except ValueError as error:
        raise GeometryError(f"cannot read {path}: its voxels are not text numbers ({shown(str(error))})") from error
    with np.errstate(invalid="ignore", over="ignore"):
        result = values.astype(dtype)
    if result.dtype.kind != "f" and not np.array_equal(result, values):
        raise GeometryError(f"cannot read {path}: its text holds numbers that are not of type {result.dtype.name}")
    return result


@contextmanager
def reading(where, what: str, failures: type[Exception] | tuple = Exception) -> Iterator[None]:
    """Convert exceptions of a library that reads a file into a GeometryError naming ``where`` and ``what`` is expected.
    Warnings are suppressed: libraries warn of many harmless deviations."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except GeometryError:
        raise
    except failures as error:
        text = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise GeometryError(
            f"cannot read {where}: it is not a readable {what}, broken or truncated ({shown(text)})"
        ) from error


def numbers(path, key: str, text: str, n: int) -> list[float]:
    """The ``n`` finite numbers of header entry ``key``; GeometryError otherwise."""
    try:
        found = [float(word) for word in text.split()]
    except ValueError:
        found = []
    if len(found) != n or not np.all(np.isfinite(found)):
        raise GeometryError(f"{path}: {key} is {shown(text)}; it must be {n} number{'s'[: n > 1]}")
    return found


def voxel_counts(path, key: str, text: str) -> tuple[int, ...]:
    """(nz, ny, nx) or (ny, nx) of a header entry that lists x first; trailing axes of length 1 beyond three are
    dropped. Raises GeometryError unless these are two or three positive integers."""
    try:
        shape = [int(word) for word in text.split()]
    except ValueError:
        shape = []
    while len(shape) > 3 and shape[-1] == 1:
        shape.pop()
    if len(shape) not in (2, 3) or not all(1 <= n <= MAX_COUNT for n in shape):
        raise GeometryError(f"{path}: {key} is {shown(text)}; allowed: two or three counts above zero")
    return tuple(reversed(shape))
