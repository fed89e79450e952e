"""Selections of the fluid (a set of labels, or an interval of grey values), statistics of image values, and resampling.
An image is resampled to the grid of whole cubes that best fills its box, centred in it: to the nearest value for
labels, linearly for grey values and level sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.slabs import slabs

LARGEST = float(np.finfo(np.float64).max)
MAX_LISTED_VALUES = 6
N_BINS = 2**16  # bins of the histogram of grey values: exact for 8- and 16-bit images

#: Largest relative difference of the spacings of an image whose voxels still count as cubic (rounded headers).
SPACING_TOLERANCE = 1e-4
MAX_GROWTH = 64  # largest number of cubes per voxel of the image: more indicates a wrong spacing

#: A level set whose range is this many times larger on one side of the threshold than on the other has placeholder
#: values there: many programs compute it only inside or near the vessel.
FAR_FIELD_RATIO = 1e6
N_SAMPLED_LAYERS = 32  # layers sampled to estimate the typical gradient of such a level set


@dataclass(frozen=True)
class ValueSet:
    """Fluid where the value is a member of a set."""

    fluid_value: int | Sequence[int]

    def fluid(self, values: np.ndarray) -> np.ndarray:
        """Boolean mask of the fluid, of the shape of ``values``."""
        wanted = np.unique(self.fluid_value)
        return values == wanted[0] if wanted.size == 1 else np.isin(values, wanted)

    def __str__(self):
        return f"fluid_value = {self.fluid_value}"


@dataclass(frozen=True)
class Interval:
    """Fluid where ``low <= value < high``; ``None``: unbounded. ``name``: the option that defined it."""

    low: float | None
    high: float | None
    name: str = ""

    def __post_init__(self):
        for name, bound in (("fluid_above", self.low), ("fluid_below", self.high)):
            is_number = isinstance(bound, Real) and not isinstance(bound, bool) and abs(bound) <= LARGEST
            if bound is not None and not is_number:
                raise GeometryError(f"{name} is {shown(bound)}; it must be a number")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise GeometryError(
                f"fluid_above = {self.low} is not less than fluid_below = {self.high}; fluid lies from the"
                " first up to the second"
            )

    def fluid(self, values: np.ndarray) -> np.ndarray:
        """Boolean mask of the fluid, of the shape of ``values``."""
        if self.low is None:
            return values < self.high
        if self.high is None:
            return values >= self.low
        return (values >= self.low) & (values < self.high)

    def __str__(self):
        if self.name:
            return f"{self.name} (threshold {self.high if self.low is None else self.low:g})"
        bounds = {"fluid_above": self.low, "fluid_below": self.high}
        return " with ".join(f"{name} = {bound}" for name, bound in bounds.items() if bound is not None)


Selection = ValueSet | Interval


def value_range(values) -> tuple[float, float]:
    """(smallest, largest) value of an image: int for integers and booleans, float for floats."""
    low, high = zip(*((slab.min(), slab.max()) for _, slab in slabs(values)), strict=True)
    kind = float if values.dtype.kind == "f" else int
    return kind(min(low)), kind(max(high))


def describe_values(values) -> str:
    """Text: the values of an image with their shares if there are few, otherwise their range."""
    counts: dict = {}
    for _, slab in slabs(values):
        found, n = np.unique(slab, return_counts=True)
        if len(counts) > MAX_LISTED_VALUES or found.size > MAX_LISTED_VALUES:
            low, high = value_range(values)
            return f"values from {low} to {high}"
        for value, number in zip(found.tolist(), n.tolist(), strict=True):
            counts[value] = counts.get(value, 0) + number
    if len(counts) > MAX_LISTED_VALUES:
        return f"values from {min(counts)} to {max(counts)}"
    size = sum(counts.values())
    return ", ".join(f"{value} ({counts[value] / size:.1%})" for value in sorted(counts))


def otsu_threshold(values) -> float:
    """Otsu's threshold t: it best separates the values below t from those at or above t.

    It maximises the variance between classes, ``w0 w1 (m0 - m1)^2`` with shares w and means m, over a histogram of
    ``N_BINS`` bins; if an empty gap makes many t equal, t is its middle. Integers of up to 16
    bits are their own bins. Source: N. Otsu, IEEE Trans. Syst. Man Cybern. 9 (1979) 62.

    Raises GeometryError for an image of one value, and for an infinite one.
    """
    low, high = value_range(values)
    if not (np.isfinite(low) and np.isfinite(high)) or low == high:
        raise GeometryError(
            f"otsu needs grey values that differ and are finite; the image holds {describe_values(values)}"
        )
    is_exact = values.dtype.kind != "f" and high - low < N_BINS
    n_bins = int(high - low) + 1 if is_exact else N_BINS
    width = 1 if is_exact else high / N_BINS - low / N_BINS
    counts = np.zeros(n_bins, dtype=np.int64)
    for _, slab in slabs(values):
        number = slab.ravel().astype(np.int64) - low if is_exact else (slab.ravel() - np.float64(low)) / width
        counts += np.bincount(np.minimum(number.astype(np.int64), n_bins - 1), minlength=n_bins)
    return _best_edge(counts, low, width, is_exact)


def _best_edge(counts: np.ndarray, low: float, width: float, is_exact: bool) -> float:
    """The edge of a histogram with the largest variance between the classes below and above it."""
    number = np.arange(counts.size)
    below = np.cumsum(counts)[:-1].astype(float)
    moment = np.cumsum(counts * number.astype(float))
    above = counts.sum() - below
    apart = moment[:-1] / below.clip(1) - (moment[-1] - moment[:-1]) / above.clip(1)
    variance = below * above * apart**2
    best = np.flatnonzero(variance >= variance.max() * (1.0 - 1e-12))
    edge = (best[0] + best[-1]) / 2.0 + 1.0
    return float(low + (np.ceil(edge) if is_exact else edge) * width)


def has_cubes(image: Image) -> bool:
    """Whether the voxels are cubic; in an image of one layer, whether their x and y lengths are equal."""
    spacing = np.array(image.spacing_m)[: 2 if image.values.shape[0] == 1 else 3]
    return bool(np.ptp(spacing) <= SPACING_TOLERANCE * spacing.max())


def to_cubes(image: Image, edge_m: float | None = None, interval: Interval | None = None) -> Image:
    """The image on cubes; the image itself if its voxels are cubes of the wanted length.

    Args:
        edge_m: edge length of the cubes [m]; ``None``: that of the voxels, or their smallest length if not cubic.
        interval: the thresholds of the fluid: values are interpolated linearly; ``None``: the values are labels, of
            which the nearest is taken.

    Raises GeometryError if that takes more than ``MAX_GROWTH`` cubes per voxel, or one is larger than the image.
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
    if (extent < 0.5 * edge).any():
        raise GeometryError(
            f"cubes of {edge:g} m are larger than the image, {times(extent)} m: check the unit of resample_m"
        )
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
        z, y, x = self._index[0][layers], self._index[1], self._index[2]
        source = np.asarray(self._values[slice(int(z[0]), int(z[-1]) + 1)])
        return source[np.ix_(z - z[0], y, x)]


class _Linear:
    """Linear interpolation at the points of a grid (z, y, x), in voxels of the source; constant beyond the outer
    voxels. With a single threshold, values are clamped to a range symmetric about it: a level set with huge values away
    from its surface would otherwise shift the interpolated surface into the fluid."""

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
    if threshold is None or None not in (interval.low, interval.high) or not low < threshold < high:
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
