"""A progress bar in terminals and notebooks; nothing where nobody would see it move."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

UPDATES_PER_S = 4.0


class Progress:
    """Context of a bar that grows from one step to another.

    Args:
        first, last: steps between which it grows; the flow may become steady before the last.
        is_shown: whether there is one; None: on a terminal and in a notebook.
    """

    def __init__(self, first: int, last: int, is_shown: bool | None):
        self._first, self._last, self._is_shown = first, last, is_shown
        self._bar: Any = None  # rich is imported where a bar is shown

    def __enter__(self) -> "Progress":
        if self._is_shown is False or self._last <= self._first:
            return self
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console()
        if self._is_shown or console.is_terminal or console.is_jupyter:
            columns = (
                TextColumn("step"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[said]}"),
            )
            self._bar = Bar(*columns, console=console, refresh_per_second=UPDATES_PER_S)
            self._task = self._bar.add_task("", total=self._last - self._first, said="")
            self._bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, step: int, said: Callable[[], str]) -> None:
        """Tell how far the run is, and something beside it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=step - self._first, said=said())
