"""Reader of TIFF stacks: one file of many pages, or a folder of single-page files.

A page is a layer z; its rows are y from the first down, its columns x. Of pages of several channels or times, one is
chosen; descriptions of ImageJ, of OME-TIFF and of the Python library tifffile say which page is which. The files of a
folder are sorted by the numbers in their names. Pages are read on access. Voxel lengths are taken from descriptions of
ImageJ and OME-TIFF, which state their unit; resolutions of other files refer to printing. Values are those stored, even
if 0 is to be displayed as white; of pages with a palette, they are the indices of the colours.
Sources: the class TiffEncoder of ImageJ; the OME-TIFF specification, docs.openmicroscopy.org; the documentation of
tifffile.
"""

import json
import re
import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image as Picture
from PIL import TiffImagePlugin

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.images.image import Image, Planes
from muphy_lb.geometry.images.stored import count, file_size, reading
from muphy_lb.geometry.limits import ask_for_voxels, regular_file, shown
from muphy_lb.geometry.options import check_whole
from muphy_lb.geometry.quantities import METRES_PER_UNIT

UNITS = {"micron": "um", "microns": "um", "\\u00B5m": "um", "µm": "um", "μm": "um", "micrometer": "um"}
METRES = METRES_PER_UNIT | {"nm": 1e-9, "Å": 1e-10, "pm": 1e-12}
LAYERS, CHANNELS, TIMES = "ZCT"
OPTIONS = {"channel": CHANNELS, "time": TIMES}
NAMES = {CHANNELS: "channels", TIMES: "times"}
#: Entries of ImageJ, the axis whose pages follow each other first.
IMAGEJ = {"channels": CHANNELS, "slices": LAYERS, "frames": TIMES}
#: Letters of tifffile for axes that are not named: pages of a sequence, samples.
OTHER_AXES = {"Q": LAYERS, "I": LAYERS, "S": CHANNELS}
OME = "{*}"

KIND = "TIFF file of numbers of up to 32 bits"
ENDINGS = (".tif", ".tiff")
PALETTE = "P"
#: Type of the values by Pillow's image mode; colour modes are not supported.
TYPES = {"1": "?", "L": "u1", PALETTE: "u1", "I;16": "u2", "I;16L": "u2", "I;16B": "u2", "I": "i4", "F": "f4"}
#: Tag by which Pillow inverts pages of 1 and 8 bits, and the value for which it does.
PHOTOMETRIC, WHITE_IS_ZERO = 262, 0
PLACES_OF_VALUES = {273, 324}  # tags that say where strips or tiles of values are

X_RESOLUTION, Y_RESOLUTION, DESCRIPTION = 282, 283, 270
LARGEST_RATIO = 4096  # bound on the compression ratio of LZW and deflate pages

READ_ERRORS: tuple[type[Exception], ...]
READ_ERRORS = (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, IndexError, MemoryError, struct.error)
READ_ERRORS += (OverflowError, ZeroDivisionError, AttributeError, RuntimeError, Picture.DecompressionBombError)
"""Exceptions that Pillow raises for damaged files."""


@dataclass(frozen=True)
class _Axes:
    """The pages of a stack."""

    counts: Mapping[str, int]  #: number of pages along each of the axes Z, C, T, the slowest first
    #: (x, y, z) edge of a voxel [m], as far as it is stated
    edges_m: tuple[float | None, float | None, float | None] = (None, None, None)
    #: number of the page at each place (order of ``counts``); None if they follow each other
    page: np.ndarray | None = None

    def chosen(self, path, n_pages: int, **options: int | None) -> list[int]:
        """Numbers of the pages of the layers, in their order.

        Args:
            n_pages: that it holds.
            options: ``channel`` and ``time``, counted from 0; None for the only one.

        Raises GeometryError: the description is of another number of pages; several channels or times of which none is
        chosen; one that is not there.
        """
        if prod(self.counts.values()) != n_pages:
            said = " x ".join(f"{n} {NAMES.get(axis, 'layers')}" for axis, n in self.counts.items())
            raise GeometryError(
                f"{path} holds {n_pages} pages; its description says {said}: write it again with every page in the list"
                " of the file (tifffile, or BigTIFF of Bio-Formats), or its values as .raw"
            )
        several = {option: self.counts.get(letter, 1) for option, letter in OPTIONS.items()}
        missing = [option for option, n in several.items() if n > 1 and options[option] is None]
        if missing:
            raise MissingOptionError(self._problem(path, missing), missing)
        place = {}
        for option, n in several.items():
            check_whole(0, n - 1, **{option: options[option] or 0})
            place[OPTIONS[option]] = options[option] or 0
        index = [slice(None) if axis == LAYERS else place[axis] for axis in self.counts]
        pages = np.arange(n_pages).reshape(tuple(self.counts.values())) if self.page is None else self.page
        return np.atleast_1d(pages[tuple(index)]).tolist()

    def _problem(self, path, options: list[str]) -> str:
        """The error of several volumes, with another meaning of many times of a single layer."""
        said = " and ".join(f"{self.counts[OPTIONS[option]]} {NAMES[OPTIONS[option]]}" for option in options)
        is_flat = options == ["time"] and self.counts.get(LAYERS, 1) == 1
        hint = "; if these are its layers, exchange them in ImageJ (Image > Properties)" if is_flat else ""
        return f"{path} holds several volumes, {said}, of which one is read (counted from 0){hint}"

    def spacing_m(self, n_layers: int) -> tuple[float, float, float] | None:
        """(x, y, z) edges [m]; None unless all that matter are stated."""
        x, y, z = self.edges_m
        if n_layers == 1 and z is None:
            z = x
        return None if x is None or y is None or z is None else (x, y, z)


def _axes_of(path, description: str, pixels_per_unit: tuple[float, float] | None, n_pages: int) -> _Axes:
    """The axes that a description says; layers alone if it says nothing of them. ImageJ states the unit in which there
    are ``pixels_per_unit`` along x and y. GeometryError for one that contradicts itself, or of several images."""
    text = description.strip()
    if re.match(r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<(\w+:)?OME\b", text, re.DOTALL):
        return _ome(path, text, n_pages)
    if text.startswith("ImageJ="):
        return _imagej(path, text, pixels_per_unit, n_pages)
    if text.startswith("{"):
        return _tifffile(path, text, n_pages)
    return _Axes({LAYERS: n_pages})


def _imagej(path, text: str, pixels_per_unit, n_pages: int) -> _Axes:
    entries = dict(line.strip().partition("=")[::2] for line in text.splitlines())
    counts = {axis: _count(path, entries, key) for key, axis in reversed(IMAGEJ.items()) if key in entries}
    n_said = _count(path, entries, "images") if "images" in entries else prod(counts.values()) if counts else n_pages
    if prod(counts.values()) != n_said or LAYERS not in counts:
        counts[LAYERS] = n_said // max(1, prod(n for axis, n in counts.items() if axis != LAYERS))
    counts = {axis: counts[axis] for axis in (TIMES, LAYERS, CHANNELS) if axis in counts}  # the slowest of ImageJ first
    unit = METRES.get(UNITS.get(entries.get("unit", ""), entries.get("unit", "")))
    if unit is None or pixels_per_unit is None or min(pixels_per_unit) <= 0.0:
        return _Axes(counts)
    x, y = (1.0 / n for n in pixels_per_unit)
    # ImageJ leaves the distance of layers out where it is 1, other programs where they do not know it.
    z = _length(entries["spacing"]) if "spacing" in entries else 1.0 if x == y == 1.0 else None
    return _Axes(counts, (x * unit, y * unit, None if z is None else z * unit))


def _count(path, entries: Mapping[str, str], key: str) -> int:
    text = entries[key]
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text.strip()):
        raise GeometryError(f"{path}: its description has {key} = {shown(text)}; it must be a count above zero")
    return int(text)


def _length(text: str) -> float | None:
    try:
        value = abs(float(text))
    except ValueError:
        return None
    return value if 0.0 < value < float("inf") else None


def _tifffile(path, text: str, n_pages: int) -> _Axes:
    """The axes of a shape that tifffile writes: of three, the first is that of layers unless it is named."""
    try:
        entries = json.loads(text)
        shape = [int(n) for n in entries["shape"]]
        letters = str(entries.get("axes", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return _Axes({LAYERS: n_pages})
    if len(letters) != len(shape):
        letters = {2: "YX", 3: "ZYX", 4: "CZYX", 5: "TCZYX"}.get(len(shape), "")
    axes = [OTHER_AXES.get(letter, letter) for letter in letters]
    if len(axes) != len(shape) or len(set(axes)) != len(axes) or not set(axes) <= set("TCZYX") or min(shape) < 1:
        raise GeometryError(
            f"{path}: its description has the shape {shown(shape)} and the axes {shown(letters)}; allowed: counts above"
            " zero along T, C, Z, Y, X"
        )
    return _Axes({axis: n for axis, n in zip(axes, shape, strict=True) if axis not in "YX"} or {LAYERS: 1})


def _ome(path, text: str, n_pages: int) -> _Axes:
    try:
        root = ElementTree.fromstring(text.encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise GeometryError(f"{path}: its description is not OME-XML ({shown(str(error))})") from error
    found = root.findall(f"{OME}Image/{OME}Pixels")
    if len(found) != 1:
        raise GeometryError(f"{path} holds several volumes ({len(found)} images of OME-TIFF); write one of them alone")
    pixels = found[0]
    order = pixels.get("DimensionOrder", "XYCZT")
    if not re.fullmatch("XY[ZCT]{3}", order) or len(set(order)) != len(order):
        raise GeometryError(f"{path}: DimensionOrder is {shown(order)}; allowed: XYZCT and other orders of Z, C, T")
    sizes = {f"Size{axis}": pixels.get(f"Size{axis}", "1") for axis in order[2:]}
    counts = {axis: _count(path, sizes, f"Size{axis}") for axis in reversed(order[2:])}
    edges = triple(_ome_edge(pixels, axis) for axis in "XYZ")
    return _Axes(counts, edges, _ome_pages(path, pixels, counts, n_pages))


def _ome_edge(pixels: ElementTree.Element, axis: str) -> float | None:
    """A voxel edge [m], if it is stated in a unit of length."""
    length, unit = _length(pixels.get(f"PhysicalSize{axis}", "")), pixels.get(f"PhysicalSize{axis}Unit", "µm")
    metres = METRES.get(UNITS.get(unit, unit))
    return None if length is None or metres is None else float(f"{length * metres:.15g}")


def _ome_pages(path, pixels: ElementTree.Element, counts: Mapping[str, int], n_pages: int) -> np.ndarray | None:
    """The page at each place, where the elements TiffData say; None if they follow each other."""
    elements = [element for element in pixels.iterfind(f"{OME}TiffData") if element.keys()]
    n_places = prod(counts.values())
    if not elements or n_places != n_pages:
        return None
    page = np.full(n_places, -1)
    for element in elements:
        n_planes = element.get("PlaneCount", "1" if element.get("IFD") else str(n_places))
        entries = {key: element.get(key, "0") for key in ("IFD", *(f"First{axis}" for axis in counts))}
        entries["PlaneCount"] = n_planes
        if not all(re.fullmatch("[0-9]{1,9}", text) for text in entries.values()):
            raise GeometryError(f"{path}: TiffData has {shown(entries)}; these must be numbers of pages and places")
        start = [int(entries[f"First{axis}"]) for axis in counts]
        if any(a >= n for a, n in zip(start, counts.values(), strict=True)):
            raise GeometryError(f"{path}: TiffData begins at {shown(entries)}, beyond its sizes {dict(counts)}")
        first = int(np.ravel_multi_index(start, tuple(counts.values())))
        n = min(int(n_planes), n_places - first)
        page[first : first + n] = np.arange(int(entries["IFD"]), int(entries["IFD"]) + n)
    if sorted(page.tolist()) != list(range(n_pages)):
        raise GeometryError(f"{path}: its elements TiffData do not name each of its {n_pages} pages once")
    return page.reshape(tuple(counts.values()))


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
        files = [file for file in path.iterdir() if file.suffix.lower() in ENDINGS]
        if not files:
            raise GeometryError(
                f"the folder {path} holds no file that ends with {' or '.join(ENDINGS)}, and no DICOM file"
            )
        files = sorted(files, key=lambda file: [int(w) if w.isdecimal() else w for w in re.split(r"(\d+)", file.name)])
        first = _first_page(files[0], 1)
        planes = Planes((len(files), *first.shape), first.dtype, partial(_page_of_files, files, first))
        return Image(planes, first.axes.spacing_m(len(files)), notes=(*_gap_notes(files), *first.notes))
    with _opened(path) as picture, reading(path, KIND, READ_ERRORS):
        n_pages = picture.n_frames
    first = _first_page(path, n_pages)
    numbers = first.axes.chosen(path, n_pages, channel=channel, time=time)
    planes = Planes((len(numbers), *first.shape), first.dtype, _pages(path, first, numbers))
    return Image(planes, first.axes.spacing_m(len(numbers)), notes=first.notes)


class _First(NamedTuple):
    """The first page, which stands for all: (ny, nx) and type of the values, axes of the pages, notes to the user."""

    shape: tuple[int, int]
    dtype: np.dtype
    axes: _Axes
    notes: tuple[str, ...]


def _pages(path, first: _First, numbers: list[int]) -> Callable[[int], np.ndarray]:
    """The reader of some pages of one file, which is kept open."""
    picture = _opened(path)
    with reading(path, KIND, READ_ERRORS):
        _walk_directories(path)

    def page(k: int) -> np.ndarray:
        where = f"{path}, page {numbers[k] + 1}"
        with reading(where, KIND, READ_ERRORS):
            picture.seek(numbers[k])
            values = _stored_values(picture)
        return _checked(where, picture, values, first)

    return page


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
        picture: Any = Picture.open(regular_file(path), formats=("TIFF",))
    return picture


def _walk_directories(path) -> None:
    """Follow the linked list of pages to its end; struct.error if it leads out of the file, which Pillow ignores.
    Source: TIFF 6.0, section 2; BigTIFF (version 43) has 8-byte words."""
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
    with _opened(path) as picture, reading(path, KIND, READ_ERRORS):
        if picture.mode not in TYPES:
            raise GeometryError(
                f"{path}: its pages have the mode {picture.mode!r}; allowed: one grey or label value per pixel"
            )
        shape, kind = picture.size[::-1], np.dtype(TYPES[picture.mode])
        if kind.kind != "b" and count(shape) * kind.itemsize > LARGEST_RATIO * file_size(path):
            raise GeometryError(f"{path} is too small for pages of {shape[1]} x {shape[0]}: its header is wrong")
        ask_for_voxels(shape, kind.itemsize, f"a page of {path}")
        axes = _axes_of(path, _description(picture), _resolution(picture), n_pages)
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
