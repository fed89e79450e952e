"""Reader of DICOM series, one file per slice; needs the library pydicom.

A slice defines the position of its first pixel (ImagePositionPatient), the directions of its rows and columns
(ImageOrientationPatient) and the pixel spacing (PixelSpacing), in mm: x to the left, y to the back, z to the head of
the patient. Slices are sorted along the normal of their plane; file names and instance numbers are ignored. Stored
values are multiplied by RescaleSlope, and RescaleIntercept is added (Hounsfield units in CT).
Source: DICOM PS3.3, C.7.6.2 and C.11.1.
"""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.base.narrow import pair
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image, Planes, along_axes
from muphy_lb.geometry.images.stored import LARGEST_RATIO, Layout, read_bytes, read_start, reading
from muphy_lb.geometry.images.tiff import ENDINGS, read_tiff
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.options import is_number
from muphy_lb.geometry.quantities import METRES_PER_UNIT

MAGIC, MAGIC_OFFSET = b"DICM", 128
KIND = "DICOM image"
UNEVEN = 0.01  # largest deviation of a slice from its position in an evenly spaced stack (rounding), in slice distances

#: Largest deviation of directions, and relative deviation of lengths, among the slices of a stack (rounding).
HEADER_TOLERANCE = 1e-4
MAX_NAMED = 4  # largest number of series listed in a message


@dataclass(frozen=True)
class _Slice:
    """The header of a slice: lengths in mm, ``directions`` (2, 3) along its rows and along its columns."""

    path: Path
    series: str
    description: str
    shape: tuple[int, int]
    distances: tuple[float, float]
    directions: np.ndarray
    position: np.ndarray
    pixel_type: tuple
    scale: tuple[float, float]
    thickness: float

    @property
    def normal(self) -> np.ndarray:
        """Unit normal of the slice."""
        return np.cross(*self.directions)

    def is_like(self, other: "_Slice") -> bool:
        """Whether both slices have equal pixel grids and types; positions may differ."""
        return (
            (self.shape, self.pixel_type) == (other.shape, other.pixel_type)
            and np.allclose(self.distances, other.distances, rtol=HEADER_TOLERANCE)
            and np.allclose(self.directions, other.directions, atol=HEADER_TOLERANCE)
        )


def read_folder(path, frame: str = "world") -> Image:
    """Image of a folder: of its TIFF files if there are any, otherwise of its DICOM series. Raises GeometryError as
    :func:`muphy_lb.geometry.images.tiff.read_tiff` or :func:`read_dicom`."""
    try:
        files = list(Path(path).iterdir())
    except OSError as error:
        raise GeometryError(f"cannot read the folder {path}: {error.strerror}") from error
    is_tiff = any(file.suffix.lower() in ENDINGS for file in files)
    return read_dicom(path, frame) if not is_tiff and any(map(_is_dicom, files)) else read_tiff(path)


def read_dicom(path, frame: str = "world") -> Image:
    """Image of the only DICOM series of a folder, or of the series that a file belongs to, in the folder of that file.

    Args:
        path: the folder or the file.
        frame: as in :func:`muphy_lb.geometry.images.image.along_axes`.

    Raises GeometryError if pydicom is missing, for a missing, corrupt or truncated file, for colour images, several
    images in one file or compressed pixels without a decoder, for several series, and for slices that differ, coincide,
    leave gaps or are sheared against each other.
    """
    slices = _series(Path(path))
    for other in slices[1:]:
        if not slices[0].is_like(other):
            raise GeometryError(
                f"{path}: {other.path.name} differs from {slices[0].path.name} of the same series in number, type,"
                " distance or direction of its pixels; put the slices of one stack into a folder of their own"
            )
    slices = sorted(slices, key=lambda one: float(one.position @ slices[0].normal))
    first = slices[0]
    across = _step_across(path, slices)
    y, x = first.distances
    steps = np.stack([first.directions[0] * x, first.directions[1] * y, across], axis=1)
    kind = _type(_pixels(first).dtype, {one.scale for one in slices})
    planes = Planes((len(slices), *first.shape), kind, partial(_plane, slices, kind))
    metres = METRES_PER_UNIT["mm"]
    return along_axes(planes, steps * metres, first.position * metres, frame)


def _is_dicom(file: Path) -> bool:
    return file.is_file() and read_start(file, MAGIC_OFFSET + len(MAGIC))[MAGIC_OFFSET:] == MAGIC


def _series(path: Path) -> list[_Slice]:
    """The slices of the series in a folder, or of the series that a file belongs to."""
    if path.is_dir():
        slices = _slices(path)
        if not slices:
            raise GeometryError(f"the folder {path} holds no DICOM file with an image")
        found = Counter(one.series for one in slices)
        if len(found) > 1:
            texts = {one.series: f"{shown(one.description)} ({found[one.series]}, {one.path.name})" for one in slices}
            more = f" and {len(found) - MAX_NAMED} more" * (len(found) > MAX_NAMED)
            raise GeometryError(
                f"the folder {path} holds {len(found)} series: {', '.join([*texts.values()][:MAX_NAMED])}{more}; give"
                " one file of the wanted series as the input"
            )
        return slices
    wanted = _header(path)
    if wanted is None:
        raise GeometryError(f"cannot read {path}: it is a DICOM file without an image")
    return [one for one in _slices(path.parent) if one.series == wanted.series]


def _slices(folder: Path) -> list[_Slice]:
    headers = (_header(file) for file in sorted(folder.iterdir()) if _is_dicom(file))
    return [header for header in headers if header is not None]


def _library():
    try:
        import pydicom
    except ImportError as error:
        raise GeometryError(
            "DICOM files need the library pydicom, which is not installed: pip install 'pydicom>=3.0,<4'"
        ) from error
    return pydicom


def _header(path: Path) -> _Slice | None:
    """The header of a slice; ``None`` for an object without pixels, such as a structured report."""
    library, content = _library(), read_bytes(path)
    with reading(path, KIND):
        header = library.dcmread(io.BytesIO(content), stop_before_pixels=True)
        if "Rows" not in header:
            return None
        _check_kind(path, header, len(content))
        directions = np.reshape(_numbers(path, header, "ImageOrientationPatient", 6), (2, 3))
        if not np.allclose(directions @ directions.T, np.eye(2), atol=10 * HEADER_TOLERANCE):
            raise GeometryError(
                f"{path}: ImageOrientationPatient is {directions.ravel().tolist()}; it must be two unit vectors"
            )
        return _Slice(
            path=path,
            series=str(header.get("SeriesInstanceUID", "")),
            description=str(header.get("SeriesDescription", "")),
            shape=(int(header.Rows), int(header.Columns)),
            distances=pair(_numbers(path, header, "PixelSpacing", 2)),
            directions=directions,
            position=np.array(_numbers(path, header, "ImagePositionPatient", 3)),
            pixel_type=tuple(header.get(key) for key in ("BitsAllocated", "PixelRepresentation")),
            scale=(
                _numbers(path, header, "RescaleSlope", 1, [1.0])[0],
                _numbers(path, header, "RescaleIntercept", 1, [0.0])[0],
            ),
            thickness=_numbers(path, header, "SliceThickness", 1, [0.0])[0],
        )


def _check_kind(path, header, n_bytes: int) -> None:
    """Raise GeometryError for colour images, several images in one file, and more pixels than the file can hold."""
    if header.get("SamplesPerPixel", 1) != 1 or not str(header.get("PhotometricInterpretation", "")).startswith("MONO"):
        raise GeometryError(
            f"{path}: PhotometricInterpretation is {shown(str(header.get('PhotometricInterpretation')))}; allowed: one"
            " grey value a pixel (MONOCHROME1, MONOCHROME2)"
        )
    if int(header.get("NumberOfFrames", 1) or 1) != 1:
        raise GeometryError(
            f"{path} holds {header.NumberOfFrames} images in one file (enhanced DICOM); convert it to NIfTI (dcm2niix)"
        )
    if not 0 < int(header.Rows) * int(header.Columns) <= LARGEST_RATIO * n_bytes:
        raise GeometryError(f"{path} is too small for {header.Columns} x {header.Rows} pixels: its header is wrong")


def _numbers(path, header, key: str, n: int, default: Sequence[float] | None = None) -> list[float]:
    """The ``n`` finite numbers of element ``key``; GeometryError otherwise."""
    given = header.get(key)
    if given in (None, "") and default is not None:
        return list(default)
    if given in (None, ""):
        raise GeometryError(
            f"{path} has no {key}: the positions of its pixels are unknown; convert it to NIfTI (dcm2niix)"
        )
    try:
        found = [float(value) for value in np.atleast_1d(np.array(given, dtype=object))]
    except (TypeError, ValueError, OverflowError):
        found = []
    if len(found) != n or not all(map(is_number, found)):
        raise GeometryError(f"{path}: {key} is {shown(str(given))}; it must be {n} number{'s'[: n > 1]}")
    return found


def _step_across(path, slices: list[_Slice]) -> np.ndarray:
    """(3,) step from one slice to the next [mm]; GeometryError unless the slices form an even, unsheared stack."""
    first, last = slices[0], slices[-1]
    if len(slices) == 1:
        return first.normal * (first.thickness if first.thickness > 0.0 else min(first.distances))
    step = (last.position - first.position) / (len(slices) - 1)
    heights = np.array([one.position @ first.normal for one in slices])
    distances = np.diff(heights)
    distance = float(np.sort(distances)[(len(distances) - 1) // 2])
    worst = int(np.argmax(np.abs(distances - distance)))
    between = f"{slices[worst].path.name} and {slices[worst + 1].path.name}"
    if distances.min() <= UNEVEN * distance:
        k = int(np.argmin(distances))
        raise GeometryError(
            f"{path}: {slices[k].path.name} and {slices[k + 1].path.name} lie at the same position: the series holds"
            " more than one stack (times, echoes); put the slices of one stack into a folder of their own"
        )
    if abs(distances[worst] - distance) > UNEVEN * distance:
        raise GeometryError(
            f"{path}: the slices {between} are {distances[worst]:g} mm apart, the others {distance:g} mm: slices are"
            " missing or uneven; complete the series, or resample it (dcm2niix)"
        )
    offsets = np.array([one.position for one in slices]) - first.position
    shifts = offsets - np.outer(offsets @ first.normal, first.normal)
    if np.abs(shifts).max() > UNEVEN * max(distance, min(first.distances)):
        raise GeometryError(
            f"{path}: the slices are shifted against each other by up to {np.abs(shifts).max():g} mm (tilted gantry);"
            " resample the series (dcm2niix)"
        )
    return step


def _type(stored: np.dtype, scales: set[tuple[float, float]]) -> np.dtype:
    """The type of the scaled values: that of the pixels if no scaling applies; int32 if the results are integers."""
    if scales == {(1.0, 0.0)}:
        return stored
    is_whole = all(slope == 1.0 and shift == int(shift) for slope, shift in scales)
    is_small = stored.kind in "iu" and stored.itemsize <= 2 and max(abs(shift) for _, shift in scales) < 2**30
    return np.dtype(np.int32 if is_whole and is_small else np.float32)


def _plane(slices: list[_Slice], kind: np.dtype, k: int) -> np.ndarray:
    """(ny, nx) values of slice k."""
    one = slices[k]
    slope, intercept = one.scale
    values = _pixels(one)
    if values.shape != one.shape:
        raise GeometryError(f"{one.path}: its pixels have the shape {values.shape}; its header says {one.shape}")
    return (values * slope + intercept).astype(kind) if (slope, intercept) != (1.0, 0.0) else values.astype(kind)


def _pixels(one: _Slice) -> np.ndarray:
    library, content = _library(), read_bytes(one.path)
    with reading(one.path, KIND):
        data = library.dcmread(io.BytesIO(content))
        syntax = data.file_meta.TransferSyntaxUID
        if not syntax.is_compressed:
            _check_length(one, len(data.PixelData))
        try:
            return data.pixel_array
        except (RuntimeError, NotImplementedError) as error:
            if not syntax.is_compressed:
                raise
            raise GeometryError(
                f"cannot read {one.path}: its pixels are compressed ({syntax.name}) and broken, or no decoder is"
                " installed: pip install pylibjpeg[all], or decompress the series (dcm2niix, gdcmconv --raw)"
            ) from error


def _check_length(one: _Slice, held: int) -> None:
    """Raise GeometryError if uncompressed pixels take more than the header says and the byte that makes it even."""
    needed = one.shape[0] * one.shape[1] * (one.pixel_type[0] or 0) // 8
    Layout(
        np.dtype("u1"),
        (needed,),
        f"an image of {one.shape[1]} x {one.shape[0]} pixels of {one.pixel_type[0]} bits",
        lambda held: "its header leaves out that there are several; convert it to NIfTI (dcm2niix)",
    ).check(one.path, needed if held <= needed + needed % 2 else held, what="bytes of pixels")
