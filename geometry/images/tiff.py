"""Reader of TIFF stacks: one file of many pages, or a folder of single-page files.

A page is a layer z; its rows are y from the first down, its columns x. Of pages of several channels or times, one is
chosen (:mod:`muphy_lb.geometry.images.tiff_axes`). The files of a folder are sorted by the numbers in their names.
Pages are read on access. Voxel lengths are taken from descriptions of ImageJ and OME-TIFF, which state their unit;
resolutions of other files refer to printing. Values are those stored, even if 0 is to be displayed as white; of pages
with a palette, they are the indices of the colours.
"""

import re
import struct
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image as Picture
from PIL import TiffImagePlugin

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, Planes
from muphy_lb.geometry.images.stored import count, file_size, reading
from muphy_lb.geometry.images.tiff_axes import Axes, axes_of
from muphy_lb.geometry.limits import ask_for_voxels, regular_file

KIND = "TIFF file of numbers of up to 32 bits"
ENDINGS = (".tif", ".tiff")
PALETTE = "P"
TYPES = {"1": "?", "L": "u1", PALETTE: "u1", "I;16": "u2", "I;16L": "u2", "I;16B": "u2", "I": "i4", "F": "f4"}
"""Type of the values by Pillow's image mode; colour modes are not supported."""

PHOTOMETRIC, WHITE_IS_ZERO = 262, 0
"""Tag by which Pillow inverts pages of 1 and 8 bits, and the value for which it does."""

PLACES_OF_VALUES = {273, 324}
"""Tags that say where strips or tiles of values are."""

X_RESOLUTION, Y_RESOLUTION, DESCRIPTION = 282, 283, 270
LARGEST_RATIO = 4096
"""Bound on the compression ratio of LZW and deflate pages."""

READ_ERRORS = (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, IndexError, MemoryError, struct.error)
READ_ERRORS += (OverflowError, ZeroDivisionError, AttributeError, RuntimeError, Picture.DecompressionBombError)
"""Exceptions that Pillow raises for damaged files."""


def read_tiff(path, channel: int | None = None, time: int | None = None) -> Image:
    """Image of a TIFF file or of a folder of them.

    Args:
        path: the file or the folder.
        channel: which channel of a file is read, counted from 0; ``None``: the only one.
        time: likewise, of its times.

    Raises GeometryError for a missing, corrupt or truncated file, colour pages, pages of differing size or type,
    several channels or times of which none is chosen, and another number of pages than the description says.
    """
    path = Path(path)
    if path.is_dir():
        files = _files(path)
        first = _first_page(files[0], 1)
        planes = Planes((len(files), *first.shape), first.dtype, partial(_page_of_files, files, first))
        return Image(planes, first.axes.spacing_m(len(files)), notes=(*_gap_notes(files), *first.notes))
    with _opened(path) as picture, reading(path, KIND, READ_ERRORS):
        n_pages = picture.n_frames
    first = _first_page(path, n_pages)
    numbers = first.axes.chosen(path, n_pages, channel=channel, time=time)
    planes = Planes((len(numbers), *first.shape), first.dtype, _Pages(path, first, numbers))
    return Image(planes, first.axes.spacing_m(len(numbers)), notes=first.notes)


class _First(NamedTuple):
    """What the first page says of all: (ny, nx) and type of the values, axes of the pages, notes to the user."""

    shape: tuple[int, int]
    dtype: np.dtype
    axes: Axes
    notes: tuple[str, ...]


class _Pages:
    """Some pages of one file, which is kept open."""

    def __init__(self, path, first: _First, numbers: list[int]):
        self._path = path
        self._first = first
        self._numbers = numbers
        self._picture = _opened(path)
        with reading(path, KIND, READ_ERRORS):
            _walk_directories(path)

    def __call__(self, k: int) -> np.ndarray:
        number = self._numbers[k]
        with reading(f"{self._path}, page {number + 1}", KIND, READ_ERRORS):
            self._picture.seek(number)
            values = _stored_values(self._picture)
        return _checked(f"{self._path}, page {number + 1}", self._picture, values, self._first)


def _stored_values(picture) -> np.ndarray:
    """The values of the page that a picture stands at; ValueError for a page without data, in whose place Pillow would
    return those of the page before."""
    if not picture.tile or not PLACES_OF_VALUES & set(picture.tag_v2):
        raise ValueError("it says nowhere where its values are")
    return np.asarray(picture)


def _page_of_files(files: list[Path], first: _First, k: int) -> np.ndarray:
    with _opened(files[k]) as picture:
        with reading(files[k], KIND, READ_ERRORS):
            n_pages, values = picture.n_frames, _stored_values(picture)
        if n_pages > 1:
            raise GeometryError(f"{files[k]} holds {n_pages} pages; in a folder each file must hold one")
        return _checked(files[k], picture, values, first)


def _files(folder: Path) -> list[Path]:
    """The TIFF files of a folder in the order of the numbers in their names."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in ENDINGS]
    if not files:
        raise GeometryError(
            f"the folder {folder} holds no file that ends with {' or '.join(ENDINGS)}, and no DICOM file"
        )
    return sorted(files, key=lambda file: [int(w) if w.isdecimal() else w for w in re.split(r"(\d+)", file.name)])


def _gap_notes(files: list[Path]) -> tuple[str, ...]:
    """A note if the numbers in the file names do not increase evenly."""
    found = [re.findall(r"\d+", file.stem) for file in files]
    if len(files) < 3 or not all(found):
        return ()
    steps = [int(b[-1]) - int(a[-1]) for a, b in pairwise(found)]
    k = steps.index(max(steps))
    if steps[k] == min(steps):
        return ()
    jump = f"from {files[k].name} to {files[k + 1].name} by {steps[k]}"
    return (f"doubtful: the numbers of the files increase by {min(steps)}, but {jump}: are pages missing?",)


def _opened(path) -> TiffImagePlugin.TiffImageFile:
    with reading(path, KIND, READ_ERRORS):
        return Picture.open(regular_file(path), formats=("TIFF",))


def _walk_directories(path) -> None:
    """Follow the linked list of pages to its end; struct.error if it leads out of the file, which Pillow ignores.

    Source: TIFF 6.0, section 2; BigTIFF (version 43) has 8-byte words.
    """
    with open(path, "rb") as file:
        head = file.read(16)
        order = ">" if head.startswith(b"MM") else "<"
        is_big = struct.unpack_from(order + "H", head, 2)[0] == 43
        (word, n_entries, entry), first = (("Q", "Q", 20), 8) if is_big else (("I", "H", 12), 4)
        offset, seen = struct.unpack_from(order + word, head, first)[0], set()
        while offset and offset not in seen:
            seen.add(offset)
            file.seek(offset)
            n = struct.unpack(order + n_entries, file.read(struct.calcsize(n_entries)))[0]
            file.seek(n * entry, 1)
            offset = struct.unpack(order + word, file.read(struct.calcsize(word)))[0]


def _first_page(path, n_pages: int) -> _First:
    """The first page of a file of ``n_pages``."""
    with _opened(path) as picture, reading(path, KIND, READ_ERRORS):
        if picture.mode not in TYPES:
            raise GeometryError(
                f"{path}: its pages have the mode {picture.mode!r}; allowed: one grey or label value per pixel"
            )
        shape, kind = picture.size[::-1], np.dtype(TYPES[picture.mode])
        if kind.kind != "b" and count(shape) * kind.itemsize > LARGEST_RATIO * file_size(path):
            raise GeometryError(f"{path} is too small for pages of {shape[1]} x {shape[0]}: its header is wrong")
        ask_for_voxels(shape, kind.itemsize, f"a page of {path}")
        axes = axes_of(path, _description(picture), _resolution(picture), n_pages)
    notes = ("the pages have a palette: the indices of its colours are taken",) if picture.mode == PALETTE else ()
    return _First(shape, kind, axes, notes)


def _checked(where, picture, values: np.ndarray, first: _First) -> np.ndarray:
    shape, dtype = first.shape, first.dtype
    if values.shape != shape or np.dtype(TYPES.get(picture.mode, "V")) != dtype:
        raise GeometryError(
            f"{where}: {values.shape[1]} x {values.shape[0]} pixels of mode {picture.mode!r}; the first page has"
            f" {shape[1]} x {shape[0]} of {dtype.name}: all pages must be equal in size and type"
        )
    if picture.mode in ("1", "L") and picture.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        return ~values
    return values


def _description(picture) -> str:
    """The description of a page, which Pillow takes for Latin-1."""
    text = str(picture.tag_v2.get(DESCRIPTION, ""))
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _resolution(picture) -> tuple[float, float] | None:
    """Pixels for each unit along x and y."""
    try:
        return float(picture.tag_v2[X_RESOLUTION]), float(picture.tag_v2[Y_RESOLUTION])
    except (KeyError, ValueError, ZeroDivisionError, TypeError):
        return None
