"""Samples of the last period of a flow that something drives periodically, and their weights in averages."""

from collections.abc import Iterator

import numpy as np

LARGEST_GAP = 2.0
"""Gap, in distances between two samples, beyond which samples do not cover a period."""


class PeriodWindow:
    """Samples taken every ``every`` steps, of which those of the last period are kept.

    Args:
        period: length of the period [steps], which need not be a whole number.
        samples_per_period: about how many samples to take in a period.

    Attributes:
        every: number of steps between two samples.
    """

    def __init__(self, period: float, samples_per_period: int):
        self.every = max(1, round(period / samples_per_period))
        self._period = period
        self._samples: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, step: int, values: np.ndarray) -> None:
        """Add the sample of a step, later than all others, and drop those that are a period older."""
        self._samples[step] = values
        # A step that is exactly a period back is the same instant of the period as this one.
        begin = step - self._period * (1.0 - 1e-9)
        for old in [other for other in self._samples if other < begin]:
            del self._samples[old]

    @property
    def is_whole(self) -> bool:
        """Whether the samples cover a period."""
        return bool(self._samples) and float(self._gaps().max()) <= LARGEST_GAP * self.every

    def weights(self) -> np.ndarray:
        """(k,) weights of the samples, which add up to 1: the trapezoidal rule over a period whose end joins its
        beginning, spectrally accurate for evenly spaced samples; equal weights where they do not cover a period."""
        if not self.is_whole:
            return np.full(len(self), 1.0 / max(1, len(self)))
        gaps = self._gaps()
        return 0.5 * (gaps + np.roll(gaps, -1)) / self._period

    def samples(self) -> Iterator[np.ndarray]:
        """The samples, in order of time."""
        return iter(self._samples.values())

    def mean(self) -> np.ndarray:
        """Weighted mean of the samples, of which there is at least one."""
        return sum(weight * values for weight, values in zip(self.weights(), self.samples(), strict=True))

    def covered_steps(self) -> float:
        """Length of time that the samples stand for [steps]."""
        return self._period if self.is_whole else float(len(self) * self.every)

    def record(self) -> dict | None:
        """What a checkpoint must keep; None without samples."""
        if not self._samples:
            return None
        return {"steps": list(self._samples), "samples": np.array(list(self._samples.values()))}

    def restore(self, record) -> None:
        """Go on from a record of samples."""
        self._samples = dict(zip(record["steps"], record["samples"], strict=True))

    def _gaps(self) -> np.ndarray:
        """(k,) steps between each sample and the one before it, for the first the last one of the period before."""
        steps = np.array(list(self._samples), dtype=np.float64)
        return np.diff(np.concatenate(([steps[-1] - self._period], steps)))
