"""Means of numbers over the last period of a flow that something drives periodically."""

from pathlib import Path
from typing import Protocol

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period_window import PeriodWindow
from muphy_lb.setup.waveforms import longest_period_s

SAMPLES_PER_PERIOD = 100


class Measured(Protocol):
    """What measures the flow."""

    def numbers(self) -> np.ndarray | None:
        """The numbers now, on rank 0; collective."""


class PeriodMeans(Observer):
    """Numbers at the end of a run, of a periodic flow their means over its last period; subclasses tell of them.

    Args:
        measured: measures them.
        view: the flow.
        folder: output folder.
    """

    def __init__(self, measured: Measured, view: FlowView, folder: Path):
        self._measured, self._view, self._folder = measured, view, folder
        self._period_s = longest_period_s(view.case)
        self._window = PeriodWindow(max(1.0, self._period_s / view.units.time_step_s), SAMPLES_PER_PERIOD)
        self.every = self._window.every if self._period_s else 0

    def record(self, means: np.ndarray) -> dict:
        """The numbers by name, on rank 0."""
        raise NotImplementedError

    def act(self) -> None:
        """Take a sample."""
        found = self._measured.numbers()
        if found is not None:
            self._window.add(self._view.step_number, found)

    def state(self) -> dict | None:
        """The samples of the last period, if there are any."""
        return self._window.record()

    def restore(self, state: dict) -> None:
        """Go on from them."""
        self._window.restore(state)

    def finish(self) -> dict | None:
        """The record, on rank 0; of a period if it is whole."""
        now = self._measured.numbers()
        if now is None:
            return None
        over_s = self._period_s if self.every and self._window.is_whole else None
        return {"averaged_over_s": over_s, **self.record(now if over_s is None else self._window.mean())}
