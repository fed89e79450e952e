"""What the description of a TIFF stack says of its pages: layers, channels and times, and the lengths of a voxel.

Descriptions of ImageJ, of OME-TIFF and of the Python library tifffile are understood. Sources: the class TiffEncoder of
ImageJ; the OME-TIFF specification, docs.openmicroscopy.org; the documentation of tifffile.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.options import check_whole
from muphy_lb.geometry.quantities import METRES_PER_UNIT

UNITS = {"micron": "um", "microns": "um", "\\u00B5m": "um", "µm": "um", "μm": "um", "micrometer": "um"}
METRES = METRES_PER_UNIT | {"nm": 1e-9, "Å": 1e-10, "pm": 1e-12}
LAYERS, CHANNELS, TIMES = "ZCT"
OPTIONS = {"channel": CHANNELS, "time": TIMES}
NAMES = {CHANNELS: "channels", TIMES: "times"}
IMAGEJ = {"channels": CHANNELS, "slices": LAYERS, "frames": TIMES}
"""Entries of ImageJ, the axis whose pages follow each other first."""

OTHER_AXES = {"Q": LAYERS, "I": LAYERS, "S": CHANNELS}
"""Letters of tifffile for axes that are not named: pages of a sequence, samples."""

OME = "{*}"


@dataclass(frozen=True)
class Axes:
    """The pages of a stack.

    Attributes:
        counts: number of pages along each of the axes Z, C, T, the slowest first.
        edges_m: (x, y, z) edge of a voxel [m], as far as it is stated.
        page: number of the page at each place (order of ``counts``); None if they follow each other.
    """

    counts: Mapping[str, int]
    edges_m: tuple[float | None, float | None, float | None] = (None, None, None)
    page: np.ndarray | None = None

    def chosen(self, path, n_pages: int, **options: int | None) -> list[int]:
        """Numbers of the pages of the layers, in their order.

        Args:
            path: the file.
            n_pages: that it holds.
            options: ``channel`` and ``time``, counted from 0; None for the only one.

        Raises:
            GeometryError: the description is of another number of pages; several channels or times of which none is
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
        """That there are several volumes, and what else may be meant by many times of a single layer."""
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


def axes_of(path, description: str, pixels_per_unit: tuple[float, float] | None, n_pages: int) -> Axes:
    """The axes that a description says; layers alone if it says nothing of them.

    Args:
        path: the file.
        description: text of the first page.
        pixels_per_unit: resolution along x and y, of which ImageJ states the unit.
        n_pages: number of pages of the file.

    Raises:
        GeometryError: a description that contradicts itself, or of several images.
    """
    text = description.strip()
    if re.match(r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<(\w+:)?OME\b", text, re.DOTALL):
        return _ome(path, text, n_pages)
    if text.startswith("ImageJ="):
        return _imagej(path, text, pixels_per_unit, n_pages)
    if text.startswith("{"):
        return _tifffile(path, text, n_pages)
    return Axes({LAYERS: n_pages})


def _imagej(path, text: str, pixels_per_unit, n_pages: int) -> Axes:
    entries = dict(line.strip().partition("=")[::2] for line in text.splitlines())
    counts = {axis: _count(path, entries, key) for key, axis in reversed(IMAGEJ.items()) if key in entries}
    n_said = _count(path, entries, "images") if "images" in entries else prod(counts.values()) if counts else n_pages
    if prod(counts.values()) != n_said or LAYERS not in counts:
        counts[LAYERS] = n_said // max(1, prod(n for axis, n in counts.items() if axis != LAYERS))
    unit = METRES.get(UNITS.get(entries.get("unit", ""), entries.get("unit", "")))
    if unit is None or pixels_per_unit is None or min(pixels_per_unit) <= 0.0:
        return Axes(_ordered(counts))
    x, y = (1.0 / n for n in pixels_per_unit)
    # ImageJ leaves the distance of layers out where it is 1, other programs where they do not know it.
    z = _length(entries["spacing"]) if "spacing" in entries else 1.0 if x == y == 1.0 else None
    return Axes(_ordered(counts), (x * unit, y * unit, None if z is None else z * unit))


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts with the slowest axis of ImageJ first."""
    return {axis: counts[axis] for axis in (TIMES, LAYERS, CHANNELS) if axis in counts}


def _count(path, entries: Mapping[str, str], key: str) -> int:
    text = entries[key]
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text.strip()):
        raise GeometryError(f"{path}: its description has {key} = {shown(text)}; it must be a count above zero")
    return int(text)


def _length(text: str) -> float | None:
    """A length above zero, or None."""
    try:
        value = abs(float(text))
    except ValueError:
        return None
    return value if 0.0 < value < float("inf") else None


def _tifffile(path, text: str, n_pages: int) -> Axes:
    """The axes of a shape that tifffile writes: of three, the first is that of layers unless it is named."""
    try:
        entries = json.loads(text)
        shape = [int(n) for n in entries["shape"]]
        letters = str(entries.get("axes", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Axes({LAYERS: n_pages})
    if len(letters) != len(shape):
        letters = {2: "YX", 3: "ZYX", 4: "CZYX", 5: "TCZYX"}.get(len(shape), "")
    axes = [OTHER_AXES.get(letter, letter) for letter in letters]
    if len(axes) != len(shape) or len(set(axes)) != len(axes) or not set(axes) <= set("TCZYX") or min(shape) < 1:
        raise GeometryError(
            f"{path}: its description has the shape {shown(shape)} and the axes {shown(letters)}; allowed: counts above"
            " zero along T, C, Z, Y, X"
        )
    return Axes({axis: n for axis, n in zip(axes, shape, strict=True) if axis not in "YX"} or {LAYERS: 1})


def _ome(path, text: str, n_pages: int) -> Axes:
    try:
        root = ElementTree.fromstring(text.encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise GeometryError(f"{path}: its description is no OME-XML ({shown(str(error))})") from error
    found = root.findall(f"{OME}Image/{OME}Pixels")
    if len(found) != 1:
        raise GeometryError(f"{path} holds several volumes ({len(found)} images of OME-TIFF); write one of them alone")
    pixels = found[0]
    order = pixels.get("DimensionOrder", "XYCZT")
    if not re.fullmatch("XY[ZCT]{3}", order) or len(set(order)) != len(order):
        raise GeometryError(f"{path}: DimensionOrder is {shown(order)}; allowed: XYZCT and other orders of Z, C, T")
    sizes = {f"Size{axis}": pixels.get(f"Size{axis}", "1") for axis in order[2:]}
    counts = {axis: _count(path, sizes, f"Size{axis}") for axis in reversed(order[2:])}
    edges = tuple(_ome_edge(pixels, axis) for axis in "XYZ")
    return Axes(counts, edges, _ome_pages(path, pixels, counts, n_pages))


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
