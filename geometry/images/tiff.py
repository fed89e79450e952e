"""Reader of TIFF stacks: one file of many pages, or a folder of single-page files.

A page is a layer z; its rows are y from the first down, its columns x. The files of a folder are sorted by the numbers
in their names. Pages are read on access. Voxel lengths are taken from files of ImageJ, which states their unit; others
get unit spacing. Values are those stored, even if 0 is to be displayed as white.
"""

import re
import struct
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from PIL import TiffImagePlugin

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, Planes
from muphy_lb.geometry.images.stored import count, file_size, reading
from muphy_lb.geometry.limits import ask_for_voxels, regular_file
from muphy_lb.geometry.quantities import METRES_PER_UNIT

KIND = "TIFF file of numbers of up to 32 bits"
ENDINGS = (".tif", ".tiff")
TYPES = {"1": "?", "L": "u1", "I;16": "u2", "I;16L": "u2", "I;16B": "u2", "I": "i4", "F": "f4"}
"""Type of the values by Pillow's image mode; colour modes are not supported."""

UNITS = {"micron": "um", "\\u00B5m": "um", "µm": "um", "microns": "um"}
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


def read_tiff(path) -> Image:
    """Image of a TIFF file or of a folder of them.

    Raises GeometryError for a missing, corrupt or truncated file, colour pages, and pages of differing size or type.
    """
    path = Path(path)
    if path.is_dir():
        files = _files(path)
        shape, kind, spacing = _first_page(files[0])
        planes = Planes((len(files), *shape), kind, partial(_page_of_files, files, shape, kind))
        return Image(planes, spacing, notes=_gap_notes(files))
    shape, kind, spacing = _first_page(path)
    pages = _Pages(path, shape, kind)
    return Image(Planes((pages.count, *shape), kind, pages), spacing)


class _Pages:
    """The pages of one file, which is kept open."""

    def __init__(self, path, shape: tuple[int, int], dtype: np.dtype):
        self._path = path
        self._shape = shape
        self._dtype = dtype
        self._picture = _opened(path)
        with reading(path, KIND, READ_ERRORS):
            _walk_directories(path)
            self.count = self._picture.n_frames

    def __call__(self, k: int) -> np.ndarray:
        with reading(f"{self._path}, page {k + 1} of {self.count}", KIND, READ_ERRORS):
            self._picture.seek(k)
            values = _stored_values(self._picture)
        return _checked(f"{self._path}, page {k + 1}", self._picture, values, self._shape, self._dtype)


def _stored_values(picture) -> np.ndarray:
    """The values of the page that a picture stands at; ValueError for a page without data, in whose place Pillow would
    return those of the page before."""
    if not picture.tile or not PLACES_OF_VALUES & set(picture.tag_v2):
        raise ValueError("it says nowhere where its values are")
    return np.asarray(picture)


def _page_of_files(files: list[Path], shape: tuple[int, int], dtype: np.dtype, k: int) -> np.ndarray:
    with _opened(files[k]) as picture:
        with reading(files[k], KIND, READ_ERRORS):
            n_pages, values = picture.n_frames, _stored_values(picture)
        if n_pages > 1:
            raise GeometryError(f"{files[k]} holds {n_pages} pages; in a folder each file must hold one")
        return _checked(files[k], picture, values, shape, dtype)


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


def _first_page(path) -> tuple[tuple[int, int], np.dtype, tuple[float, float, float]]:
    """((ny, nx), type, spacing [m]) of the first page."""
    with _opened(path) as picture, reading(path, KIND, READ_ERRORS):
        if picture.mode not in TYPES:
            raise GeometryError(
                f"{path}: its pages have the mode {picture.mode!r}; allowed: one grey or label value per pixel"
            )
        shape, kind = picture.size[::-1], np.dtype(TYPES[picture.mode])
        if kind.kind != "b" and count(shape) * kind.itemsize > LARGEST_RATIO * file_size(path):
            raise GeometryError(f"{path} is too small for pages of {shape[1]} x {shape[0]}: its header is wrong")
        ask_for_voxels(shape, kind.itemsize, f"a page of {path}")
        return shape, kind, _imagej_spacing(picture)


def _checked(where, picture, values: np.ndarray, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    if values.shape != shape or np.dtype(TYPES.get(picture.mode, "V")) != dtype:
        raise GeometryError(
            f"{where}: {values.shape[1]} x {values.shape[0]} pixels of mode {picture.mode!r}; the first page has"
            f" {shape[1]} x {shape[0]} of {dtype.name}: all pages must be equal in size and type"
        )
    if picture.mode in ("1", "L") and picture.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        return ~values
    return values


def _imagej_spacing(picture) -> tuple[float, float, float]:
    """(x, y, z) spacing [m] as stated by ImageJ; 1 for other files, whose resolution tags refer to printing."""
    tags = picture.tag_v2
    text = str(tags.get(DESCRIPTION, ""))
    entries = dict(line.partition("=")[::2] for line in text.splitlines())
    unit = UNITS.get(entries.get("unit", ""), entries.get("unit", ""))
    try:
        pixels = [float(tags[X_RESOLUTION]), float(tags[Y_RESOLUTION])]
        x, y = (METRES_PER_UNIT[unit] / n for n in pixels)
        return x, y, float(entries.get("spacing", "nan")) * METRES_PER_UNIT[unit] if "spacing" in entries else x
    except (KeyError, ValueError, ZeroDivisionError, TypeError):
        return 1.0, 1.0, 1.0
