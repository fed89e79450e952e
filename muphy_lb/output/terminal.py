"""Printing: on rank 0, without control characters, as long as it is read, in colours on a terminal; Ctrl-C; a bar."""

import errno
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from types import TracebackType
from typing import Any, TextIO

from muphy_lb.base.errors import printable

LAUNCHERS_TERMINAL = "MUPHY_TERMINAL"
"""Variable with the width of the terminal to which a launcher hands on what rank 0 prints."""

RED, GREEN, YELLOW = "\x1b[31m", "\x1b[1;32m", "\x1b[33m"
AS_BEFORE = "\x1b[0m"
COLOURS = {
    "verdict: sound": GREEN,
    "verdict: doubtful": YELLOW,
    "  - ": YELLOW,
    "warning: ": YELLOW,
    "muphy-lb: ": RED,
}
"""Of lines, by their beginning."""


def is_redrawn(stream: TextIO | None = None) -> bool:
    """Whether a stream (default: the output) goes to a terminal that shows colours and whose lines can be drawn anew;
    ``NO_COLOR``, ``TERM=dumb`` and an encoding without the signs of a bar say that it does not."""
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return False
    is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    return is_unicode and is_seen(stream)


def is_seen(stream: TextIO | None = None) -> bool:
    """Whether a stream (default: the output) goes to a terminal, through a launcher or not, and not to a file."""
    return LAUNCHERS_TERMINAL in os.environ or (stream or sys.stdout).isatty()


def width() -> int | None:
    """Number of columns of the terminal as a launcher gives it; None: as the terminal itself has it."""
    told = os.environ.get(LAUNCHERS_TERMINAL, "")
    return int(told) if told.isascii() and told.isdigit() and int(told) > 0 else None


def coloured(text: str, stream: TextIO | None = None) -> str:
    """A text for people, whose lines have their colours where the stream (default: the output) goes to a terminal."""
    if not is_redrawn(stream):
        return text
    lines = text.split("\n")
    colours = [next((colour for start, colour in COLOURS.items() if line.startswith(start)), "") for line in lines]
    return "\n".join(f"{c}{line}{AS_BEFORE}" if c else line for c, line in zip(colours, lines, strict=True))


READ_NO_MORE, FULL = (errno.EPIPE, errno.EIO), (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of output whose reader has ended or whose terminal was closed, and of a file on a disk without space."""

_lost: list[str] = []
_held: list[Callable[[], None]] = []


def silence(error: OSError) -> None:
    """Let what is printed from now on go nowhere, once it cannot be written; the work goes on. Raises the error: it has
    another reason."""
    if error.errno not in READ_NO_MORE + FULL:
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno in FULL:
        _lost.append(f"the output cannot be written any more: {error.strerror}; files of the command are whole")


def open_closed_streams() -> None:
    """Open the null device in place of closed streams, whose numbers files opened later would take."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout, sys.stderr = sys.stdout or os.fdopen(1, "w"), sys.stderr or os.fdopen(2, "w")


def lost_output() -> str:
    """Why a part of the output is lost, in words; empty if it is not."""
    return _lost[0] if _lost else ""


def configure_logging(communicator) -> None:
    """Print what is logged, on rank 0 from the level INFO on."""
    _make_warnings_printable()
    handler = _TerminalHandler()
    handler.setFormatter(_PrintableFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("muphy_lb").setLevel(logging.INFO if communicator.rank == 0 else logging.WARNING)


def missing_package(error: ModuleNotFoundError) -> str:
    """The remedy for a package that this Python does not have."""
    for name in ("bench", "validation"):
        if error.name == f"muphy_lb.{name}":
            return f"this command is in muphy-lb-{name}, which is not installed; in a checkout: pip install ./{name}"
    return (
        f"the Python {sys.executable} has no package {error.name!r}, which muphy-lb needs; install muphy-lb with its"
        " packages (pip install .), or start it with a Python that has them"
    )


class KeptInterrupt:
    """Context in which Ctrl-C is kept for later: until the ranks know each other, each would tell of it by itself."""

    _received = False

    def __enter__(self):
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGINT, self._before)

    def obey(self):
        """Raise the KeyboardInterrupt that was kept, if there was one and it is not ignored."""
        if self._received and self._before != signal.SIG_IGN:
            raise KeyboardInterrupt

    def _note(self, *_):
        self._received = True


class _TerminalHandler(logging.StreamHandler):
    """Prints log messages, for as long as they are read, above a bar where there is one."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        """The output as it is now: a bar puts itself in its place."""
        return sys.stdout

    def handleError(self, record):
        error = sys.exc_info()[1]
        if isinstance(error, OSError) and error.errno in READ_NO_MORE + FULL:
            silence(error)
        else:
            super().handleError(record)


class _PrintableFormatter(logging.Formatter):
    """Formatter of messages, which may hold text of files and users."""

    def format(self, record):
        return coloured(printable(super().format(record)))


def _make_warnings_printable() -> None:
    """Warnings of libraries may hold such text, too: matplotlib's of a character that its font does not have. Warnings
    of numbers that overflow are held back: a flow that diverges is told of in words."""
    as_given, shown = warnings.formatwarning, warnings.showwarning
    warnings.formatwarning = lambda *warning: printable(as_given(*warning))

    def show_or_hold(message, category, *place):
        if category is RuntimeWarning:
            _held.append(partial(shown, message, category, *place))
        else:
            shown(message, category, *place)

    warnings.showwarning = show_or_hold


def show_held_warnings() -> None:
    """Show the warnings of numbers, which nothing else has told of."""
    while _held:
        _held.pop(0)()


UPDATES_PER_S = 4.0


class ProgressBar:
    """Context of a bar that grows from one step to another, and a line of text below it. Lines printed meanwhile appear
    above both.

    Args:
        first, last: steps between which it grows.
        is_shown: whether there is one; None: on a terminal whose lines can be drawn anew, and in a notebook.
        may_end_early: the run may end before its last step, so that the time that is left is at most the one shown.
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
