"""Remembered: a measurement in the state before the last step, for means over two steps."""

from typing import Generic, TypeVar

Measured = TypeVar("Measured")


class Remembered(Generic[Measured]):
    """Keeps one measurement of an engine for one step.

    The lattice may oscillate with period two; the mean with the step before does not. With in-place streaming nothing
    else is left of that step.
    """

    def __init__(self) -> None:
        self._kept: Measured | None = None
        self._step = -1

    def keep(self, engine, measured: Measured) -> None:
        """Take what was measured in the present state."""
        self._kept, self._step = measured, engine.steps_kept

    def of_last_step(self, engine) -> list[Measured]:
        """What was measured one step ago; empty without it."""
        return [self._kept] if self._kept is not None and engine.steps_kept == self._step + 1 else []
