"""Resampling of an image to cubes: the nearest value for labels, linear interpolation for grey values and level sets.

The cubes fill the box of the image as well as whole cubes can and share its middle.
"""

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.selection import Interval, value_range

SPACING_TOLERANCE = 1e-4
"""Largest relative difference of the spacings of an image that still counts as cubic voxels (rounded headers)."""

MAX_GROWTH = 64
"""Most cubes per voxel of the image: more is a mistake in its spacing."""


FAR = 1e6
"""A level set whose values reach this many times farther on one side of the threshold than on the other says "unknown"
there: many programs compute it near the vessel or inside it only."""

N_LAYERS = 32
"""Layers that are looked at for the typical step of such a level set."""


def has_cubes(image: Image) -> bool:
    """Whether the voxels have equal lengths; in an image of one layer, whether x and y have."""
    spacing = np.array(image.spacing_m[: 2 if image.values.shape[0] == 1 else 3])
    return bool(np.ptp(spacing) <= SPACING_TOLERANCE * spacing.max())


def to_cubes(image: Image, edge_m: float | None = None, interval: Interval | None = None) -> Image:
    """The image on cubes; the image itself if its voxels are cubes of the wanted length.

    Args:
        edge_m: edge length of the cubes [m]; ``None``: that of the voxels, or their smallest length if no cubes.
        interval: what will be fluid, if that is a matter of thresholds: values are interpolated linearly; ``None``:
            they are labels, of which the nearest is taken.

    Raises GeometryError where that takes more than ``MAX_GROWTH`` cubes per voxel.
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
    places = [(first[a] + edge * np.arange(n_cubes[a])) / spacing[a] for a in (2, 1, 0)]
    values = _Nearest(image.values, places) if interval is None else _Linear(image.values, places, interval)
    how = "nearest" if interval is None else "linear"
    note = (
        f"resampled: {times(source_shape[::-1])} voxels of {times(image.spacing_m)} m to {times(n_cubes)} cubes of"
        f" {edge:g} m ({how})"
    )
    return Image(values, (edge,) * 3, tuple(image.origin_m + first), (*image.notes, note))


def times(values) -> str:
    """Numbers with ``x`` between them, for messages."""
    return " x ".join(f"{value:g}" for value in values)


class _Nearest:
    """The values nearest to places (z, y, x), in voxels of the source; sliced along z like an array."""

    def __init__(self, values, places):
        self.shape, self.dtype, self._values = tuple(map(len, places)), values.dtype, values
        # The tie of a place half-way between two voxels goes up, at every place alike.
        self._index = [
            np.clip(np.floor(p + 0.5).astype(int), 0, n - 1) for p, n in zip(places, values.shape, strict=True)
        ]

    def __getitem__(self, layers: slice) -> np.ndarray:
        z, y, x = self._index[0][layers], *self._index[1:]
        source = np.asarray(self._values[slice(int(z[0]), int(z[-1]) + 1)])
        return source[np.ix_(z - z[0], y, x)]


class _Linear:
    """The values interpolated linearly at places (z, y, x), in voxels of the source; constant beyond the outer voxels.

    Values are clamped to as far from a single threshold on either side as they reach on both: a level set that is huge
    away from its surface would otherwise pull the interpolated surface into the fluid.
    """

    def __init__(self, values, places, interval: Interval):
        self.shape, self.dtype, self._values = tuple(map(len, places)), np.dtype(np.float32), values
        self._clamp = _reach(values, interval)
        self._place = [np.clip(p, 0.0, n - 1.0) for p, n in zip(places, values.shape, strict=True)]

    def __getitem__(self, layers: slice) -> np.ndarray:
        z, y, x = self._place[0][layers], *self._place[1:]
        first, last = int(np.floor(z[0])), int(np.ceil(z[-1]))
        source = np.clip(np.asarray(self._values[slice(first, last + 1)]), *self._clamp).astype(np.float32)
        for axis, place in enumerate((z - first, y, x)):
            source = _between(source, place, axis)
        return source


def _between(values: np.ndarray, place: np.ndarray, axis: int) -> np.ndarray:
    """The values at fractional places along one axis."""
    low = np.minimum(np.floor(place).astype(int), max(values.shape[axis] - 2, 0))
    high = np.minimum(low + 1, values.shape[axis] - 1)
    weight = np.expand_dims((place - low).astype(np.float32), [a for a in range(3) if a != axis])
    return np.take(values, low, axis) * (1 - weight) + np.take(values, high, axis) * weight


def _reach(values, interval: Interval) -> tuple[float, float]:
    """(lowest, highest) value that interpolation takes for what it is."""
    low, high = value_range(values)
    largest = float(np.finfo(np.float32).max) / 4
    threshold = interval.high if interval.low is None else interval.low
    if None not in (interval.low, interval.high) or not low < threshold < high:
        return max(low, -largest), min(high, largest)
    reach = min(threshold - low, high - threshold, largest)
    if max(threshold - low, high - threshold) > FAR * reach:
        reach = min(reach, _step(values, threshold, reach))
    return threshold - reach, threshold + reach


def _step(values, threshold: float, reach: float) -> float:
    """How much a level set changes from a voxel to the next, typically: beside its surface it is as far from it."""
    found = []
    for layer in range(0, values.shape[0], -(-values.shape[0] // N_LAYERS)):
        known = np.asarray(values[layer : layer + 1])[0].astype(np.float64) - threshold
        steps = np.abs(np.diff(np.where(np.abs(known) <= reach, known, np.nan), axis=1))
        found.append(steps[np.isfinite(steps)])
    steps = np.concatenate(found)
    return float(np.median(steps)) if steps.size and np.median(steps) > 0.0 else reach
