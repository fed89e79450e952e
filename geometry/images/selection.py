"""Selections of the fluid (a set of labels, or an interval of grey values), and statistics of image values."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.slabs import slabs

LARGEST = float(np.finfo(np.float64).max)
MAX_LISTED_VALUES = 6
N_BINS = 2**16
"""Bins of the histogram of grey values: exact for 8- and 16-bit images."""


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
    n_bins = high - low + 1 if is_exact else N_BINS
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
