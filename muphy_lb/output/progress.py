"""A bar that shows how far a run is, on terminals and in notebooks; nothing where nobody would see it move."""

import sys
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from muphy_lb.output.terminal import is_redrawn, width

UPDATES_PER_S = 4.0


class ProgressBar:
    """Context of a bar that grows from one step to another, and a line of text below it. What is printed meanwhile
    appears above both.

    Args:
        first, last: steps between which it grows.
        is_shown: whether there is one; None: on a terminal whose lines can be drawn anew, and in a notebook.
        may_end_early: the run may end before its last step, so that the time that is left is at most what is told.
    """

    def __init__(self, first: int, last: int, is_shown: bool | None, may_end_early: bool = False):
        self._first, self._last, self._is_shown = first, last, is_shown
        self._eta = "ETA at most" if may_end_early else "ETA"
        self._live: Any = None  # rich is imported where a bar is shown

    def __enter__(self) -> "ProgressBar":
        if self._is_shown is None:
            self._is_shown = is_redrawn() or _is_in_notebook()
        if self._is_shown and self._last > self._first:
            self._start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        live, self._live = self._live, None
        if live is not None:
            with suppress(OSError):  # of a terminal that was closed; what the run has computed is still to be written
                live.stop()

    @property
    def is_drawn(self) -> bool:
        """Whether there is one now."""
        return self._live is not None

    def move_to(self, step: int) -> None:
        """Tell how far the run is."""
        if self._live is not None:
            self._bar.update(self._task, completed=step)

    def tell(self, speed: str, flow: str) -> None:
        """Tell how fast it is, beside the bar, and of the flow, below it."""
        if self._live is not None:
            self._bar.update(self._task, speed=speed)
            self._flow.plain = flow

    def _start(self) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.text import Text

        console = Console(force_terminal=True if is_redrawn() else None, width=width())
        columns = (
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(None),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn(self._eta),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[speed]}"),
        )
        self._bar = Progress(*columns, console=console, expand=True)
        self._task = self._bar.add_task("", total=self._last, completed=self._first, speed="")
        self._flow = Text("", no_wrap=True, overflow="ellipsis")
        drawn = Group(self._bar, self._flow)
        self._live = Live(console=console, refresh_per_second=UPDATES_PER_S, get_renderable=lambda: drawn)
        self._live.start()
        console.show_cursor(True)  # whatever ends the process does not leave a terminal without a cursor


def _is_in_notebook() -> bool:
    """Whether rich can draw in a notebook, which takes ipywidgets."""
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console().is_jupyter
