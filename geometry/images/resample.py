"""Resampling of an image to cubic voxels: nearest neighbour for labels, linear for grey values and level sets.

The grid of whole cubes that best fills the box of the image is centred in it.
"""

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.selection import Interval, value_range

SPACING_TOLERANCE = 1e-4
"""Largest relative difference of the spacings of an image whose voxels still count as cubic (rounded headers)."""

MAX_GROWTH = 64
"""Largest number of cubes per voxel of the image: more indicates a wrong spacing."""

FAR_FIELD_RATIO = 1e6
"""A level set whose range is this many times larger on one side of the threshold than on the other has placeholder
values there: many programs compute it only inside or near the vessel."""

N_SAMPLED_LAYERS = 32
"""Layers sampled to estimate the typical gradient of such a level set."""


def has_cubes(image: Image) -> bool:
    """Whether the voxels are cubic; in an image of one layer, whether their x and y lengths are equal."""
    spacing = np.array(image.spacing_m[: 2 if image.values.shape[0] == 1 else 3])
    return bool(np.ptp(spacing) <= SPACING_TOLERANCE * spacing.max())


def to_cubes(image: Image, edge_m: float | None = None, interval: Interval | None = None) -> Image:
    """The image on cubes; the image itself if its voxels are cubes of the wanted length.

    Args:
        edge_m: edge length of the cubes [m]; ``None``: that of the voxels, or their smallest length if not cubic.
        interval: the thresholds of the fluid: values are interpolated linearly; ``None``: the values are labels, of
            which the nearest is taken.

    Raises GeometryError if that takes more than ``MAX_GROWTH`` cubes per voxel.
    """
    source_shape = image.values.shape
    spacing = np.array(image.spacing_m)
    if source_shape[0] == 1:
        spacing[2] = spacing[:2].min() if edge_m is None else edge_m
    edge = float(spacing.min() if edge_m is None else edge_m)
    if np.all(np.abs(spacing - edge) <= SPACING_TOLERANCE * edge):
        edge = edge if edge_m is not None else float(spacing[0])
        return Image(image.values, (edge,) * 3, image.origin_m, image.notes)
    extent = np.array(source_shape[::-1]) * spacing
    n_cubes = [max(1, round(length)) for length in (extent / edge).tolist()]
    if int(np.prod(n_cubes, dtype=object)) > MAX_GROWTH * int(np.prod(source_shape, dtype=object)):
        raise GeometryError(
            f"cubes of {edge:g} m for voxels of {times(image.spacing_m)} m would be {times(n_cubes)} in number, more"
            f" than {MAX_GROWTH} per voxel; correct spacing_m, or give a larger resample_m"
        )
    first = (extent - (np.array(n_cubes) - 1) * edge - spacing) / 2.0
    points = [(first[a] + edge * np.arange(n_cubes[a])) / spacing[a] for a in (2, 1, 0)]
    values = _Nearest(image.values, points) if interval is None else _Linear(image.values, points, interval)
    how = "nearest" if interval is None else "linear"
    note = (
        f"resampled: {times(source_shape[::-1])} voxels of {times(image.spacing_m)} m to {times(n_cubes)} cubes of"
        f" {edge:g} m ({how})"
    )
    return Image(values, (edge,) * 3, tuple(image.origin_m + first), (*image.notes, note))


def times(values) -> str:
    """Numbers separated by ``x``, for messages."""
    return " x ".join(f"{value:g}" for value in values)


class _Nearest:
    """Nearest-neighbour values at the points of a grid (z, y, x), in voxels of the source; can be sliced along z."""

    def __init__(self, values, points):
        self.shape = tuple(map(len, points))
        self.dtype = values.dtype
        self._values = values
        # Ties are always rounded up; rounding half to even would give steps of unequal length.
        self._index = [
            np.clip(np.floor(p + 0.5).astype(int), 0, n - 1) for p, n in zip(points, values.shape, strict=True)
        ]

    def __getitem__(self, layers: slice) -> np.ndarray:
        z, y, x = self._index[0][layers], *self._index[1:]
        source = np.asarray(self._values[slice(int(z[0]), int(z[-1]) + 1)])
        return source[np.ix_(z - z[0], y, x)]


class _Linear:
    """Linear interpolation at the points of a grid (z, y, x), in voxels of the source; constant beyond the outer
    voxels.

    With a single threshold, values are clamped to a range symmetric about it: a level set with huge values away from
    its surface would otherwise shift the interpolated surface into the fluid.
    """

    def __init__(self, values, points, interval: Interval):
        self.shape = tuple(map(len, points))
        self.dtype = np.dtype(np.float32)
        self._values = values
        self._clamp = _clamp_range(values, interval)
        self._points = [np.clip(p, 0.0, n - 1.0) for p, n in zip(points, values.shape, strict=True)]

    def __getitem__(self, layers: slice) -> np.ndarray:
        z, y, x = self._points[0][layers], *self._points[1:]
        first, last = int(np.floor(z[0])), int(np.ceil(z[-1]))
        source = np.clip(np.asarray(self._values[slice(first, last + 1)]), *self._clamp).astype(np.float32)
        for axis, points in enumerate((z - first, y, x)):
            source = _interpolate(source, points, axis)
        return source


def _interpolate(values: np.ndarray, points: np.ndarray, axis: int) -> np.ndarray:
    """Linear interpolation at fractional indices along one axis."""
    low = np.minimum(np.floor(points).astype(int), max(values.shape[axis] - 2, 0))
    high = np.minimum(low + 1, values.shape[axis] - 1)
    weight = np.expand_dims((points - low).astype(np.float32), [a for a in range(3) if a != axis])
    return np.take(values, low, axis) * (1 - weight) + np.take(values, high, axis) * weight


def _clamp_range(values, interval: Interval) -> tuple[float, float]:
    """(lowest, highest) value used in the interpolation."""
    low, high = value_range(values)
    largest = float(np.finfo(np.float32).max) / 4
    threshold = interval.high if interval.low is None else interval.low
    if None not in (interval.low, interval.high) or not low < threshold < high:
        return max(low, -largest), min(high, largest)
    half_width = min(threshold - low, high - threshold, largest)
    if max(threshold - low, high - threshold) > FAR_FIELD_RATIO * half_width:
        half_width = min(half_width, _typical_step(values, threshold, half_width))
    return threshold - half_width, threshold + half_width


def _typical_step(values, threshold: float, half_width: float) -> float:
    """Median change of a level set from one voxel to the next: the magnitude of its values next to the surface."""
    found = []
    for layer in range(0, values.shape[0], -(-values.shape[0] // N_SAMPLED_LAYERS)):
        known = np.asarray(values[layer : layer + 1])[0].astype(np.float64) - threshold
        steps = np.abs(np.diff(np.where(np.abs(known) <= half_width, known, np.nan), axis=1))
        found.append(steps[np.isfinite(steps)])
    steps = np.concatenate(found)
    return float(np.median(steps)) if steps.size and np.median(steps) > 0.0 else half_width
