"""The uniform body force over time: a vector, times a waveform, that turns about an axis."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Turn:
    """A turn of a vector about an axis.

    Attributes:
        axis: (3,) unit vector.
        angle: right-handed about the axis [rad].
        factor: waveform of the angle, a function of (K,) times [s]; None: the angle is always the same.
    """

    axis: np.ndarray
    angle: float
    factor: Callable | None = None

    def __call__(self, vector: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        """(K, 3) the vector, turned, at times (K,) [s], by Rodrigues' formula."""
        share = np.ones(len(time_s)) if self.factor is None else self.factor(time_s)
        angle = (self.angle * share)[:, None]
        along = self.axis * (self.axis @ vector)
        return along + np.cos(angle) * (vector - along) + np.sin(angle) * np.cross(self.axis, vector)


@dataclass(frozen=True)
class DrivingForce:
    """A uniform body force over time.

    Attributes:
        force: (3,) vector, in any unit.
        factor: its waveform, a function of (K,) times [s]; None: 1.
        turn: how it turns; None: not at all.
        delay_s: how much later than that it acts [s].
    """

    force: np.ndarray
    factor: Callable | None = None
    turn: Turn | None = None
    delay_s: float = 0.0

    @property
    def changes(self) -> bool:
        """Whether it depends on time."""
        return self.factor is not None or (self.turn is not None and self.turn.factor is not None)

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """(K, 3) force at times (K,) [s]."""
        time_s = time_s - self.delay_s
        drive = np.ones(len(time_s)) if self.factor is None else self.factor(time_s)
        return drive[:, None] * (self.force if self.turn is None else self.turn(self.force, time_s))
