"""Image: the values of a voxel image with spacing and origin, before segmentation.

``values[k, j, i]`` lies at ``origin + (i, j, k) * spacing`` along (x, y, z). Coordinates are those of the file's own
world frame: NIfTI counts x to the right, y to the front and z to the head of the patient; MetaImage, DICOM and NRRD
count x to the left and y to the back. Nothing is converted between them: a surface of the same patient must use the
same frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.options import LARGEST, SMALLEST, is_number
from muphy_lb.geometry.slabs import copied

AXES = "xyz"
FRAMES = ("world", "image")
ALIGNED = 1e-3  # largest deviation of a direction cosine from 0 or 1 that still counts as aligned (rounded headers)


@dataclass(frozen=True)
class Image:
    """Values on a regular grid. Raises GeometryError for another number of axes, an empty array, or invalid lengths."""

    values: Any  #: (nz, ny, nx) array, or an object with ``shape`` and ``dtype`` that can be sliced along z
    #: (x, y, z) distances of neighbouring voxels [m]; None where the file does not state them
    spacing_m: tuple[float, float, float] | None = None
    origin_m: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: (x, y, z) of the centre of the first voxel [m]
    notes: tuple[str, ...] = ()  #: sentences that report to the user what the reader changed

    def __post_init__(self):
        shape = tuple(self.values.shape)
        if len(shape) not in (2, 3):
            raise GeometryError(f"the image has {len(shape)} axes (shape {shape}); allowed: 2 or 3")
        if 0 in shape:
            raise GeometryError(f"the image has shape {shape} and holds no voxel")
        if len(shape) == 2:
            object.__setattr__(self, "values", self.values[np.newaxis])
        for name in ("spacing_m", "origin_m"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, three_lengths(name, getattr(self, name)))
        if self.spacing_m is not None and min(self.spacing_m) < SMALLEST:
            raise GeometryError(
                f"the image has the spacing {self.spacing_m} m; it must be above zero, at least {SMALLEST:g} m"
            )


def three_lengths(name: str, given) -> tuple[float, float, float]:
    """(x, y, z) of a spacing or an origin [m]; GeometryError unless it is three finite lengths of sane size."""
    try:
        lengths = tuple(float(c) for c in given)
    except (TypeError, ValueError, OverflowError):
        lengths = ()
    if len(lengths) != 3 or not all(map(is_number, lengths)):
        raise GeometryError(f"the image has {name} = {shown(given)}; it must be three finite lengths (x, y, z)")
    return lengths


class Planes:
    """A stack of equal planes that are read on access.

    Args:
        shape: (nz, ny, nx).
        dtype: type of the values.
        plane: called with the number k of a plane; returns its (ny, nx) values.
    """

    def __init__(self, shape: tuple[int, ...], dtype, plane: Callable[[int], np.ndarray]):
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self._plane = plane

    def __getitem__(self, layers: slice) -> np.ndarray:
        numbers = range(*layers.indices(self.shape[0]))
        result = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        for index, k in enumerate(numbers):
            result[index] = self._plane(k)
        return result


class Scaled:
    """The values of an array times ``slope`` plus ``shift`` as float32, computed on access."""

    def __init__(self, values: np.ndarray, slope: float, shift: float):
        self.shape, self.dtype = tuple(values.shape), np.dtype(np.float32)
        self._values = values
        self._slope = slope
        self._shift = shift

    def __getitem__(self, layers: slice) -> np.ndarray:
        with np.errstate(over="ignore"):
            return (np.asarray(self._values[layers], np.float64) * self._slope + self._shift).astype(np.float32)


def along_axes(values, steps: np.ndarray, origin, frame: str = "world") -> Image:
    """An Image along x, y, z from values whose axes are described by a header.

    Args:
        values: (nk, nj, ni), i fastest.
        steps: (3, 3); column f is the step [m] in (x, y, z) from a voxel to the next along file axis f of (i, j, k).
        origin: (x, y, z) [m] of the centre of voxel (0, 0, 0).
        frame: ``"world"``: reversed axes are flipped and permuted axes reordered; ``"image"``: i, j, k are taken as
            x, y, z whatever their directions.

    Raises GeometryError for an unknown frame, for steps of zero length and, in the world frame, for axes oblique to
    x, y, z.
    """
    if frame not in FRAMES:
        raise GeometryError(f"frame is {shown(frame)}; allowed: {', '.join(FRAMES)}")
    steps, origin = np.array(steps, dtype=float), np.array(origin, dtype=float)
    length = np.linalg.norm(np.where(np.abs(steps) <= LARGEST, steps, 0.0), axis=0)
    if not (np.all(np.abs(steps) <= LARGEST) and np.all(length >= SMALLEST)):
        raise GeometryError(f"the steps from voxel to voxel are {steps.T.tolist()}; each must be finite and not zero")
    if frame == "image":
        return Image(values, tuple(length), tuple(origin))
    cosines = steps / length
    file_axis = np.argmax(np.abs(cosines), axis=1)
    aligned = np.abs(np.abs(cosines) - np.eye(3)[:, file_axis].T) <= ALIGNED
    if sorted(file_axis) != [0, 1, 2] or not aligned.all():
        raise GeometryError(
            f"the header rotates the axes to {np.round(cosines.T, 4).tolist()}; only reversed and exchanged axes are"
            " supported: give frame = 'image' to keep the image's own axes, or resample the image along x, y, z"
        )
    if np.array_equal(file_axis, [0, 1, 2]) and np.all(np.diag(cosines) > 0.0):
        return Image(values, tuple(length), tuple(origin))
    return _reoriented(values, cosines, file_axis, length, origin)


def _reoriented(values, cosines, file_axis, length, origin) -> Image:
    """The image with its axes permuted and flipped so that they are x, y, z."""
    values = values if isinstance(values, np.ndarray) else copied(values)
    signs = np.array([np.sign(cosines[axis, file_axis[axis]]) for axis in range(3)])
    values = values.transpose([2 - file_axis[axis] for axis in (2, 1, 0)])
    for axis in np.flatnonzero(signs < 0.0).tolist():
        origin[axis] -= (values.shape[2 - axis] - 1) * length[file_axis[axis]]
        values = np.flip(values, 2 - axis)
    names = [("-" if signs[a] < 0 else "") + "ijk"[file_axis[a]] for a in range(3)]
    note = f"axes: x, y, z run along {', '.join(names)} of the file (i fastest)"
    return Image(values, tuple(length[file_axis]), tuple(origin), (note,))
