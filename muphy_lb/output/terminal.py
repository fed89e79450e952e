"""What is printed: on rank 0, without control characters, and for as long as somebody reads it. And Ctrl-C."""

import logging
import os
import signal
import sys
import warnings

from muphy_lb.errors import printable


def silence() -> None:
    """Let what is printed from now on go nowhere: who read the output has gone, but the work goes on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def configure_logging(communicator) -> None:
    """Print what is logged, on rank 0 from the level INFO on."""
    _make_warnings_printable()
    handler = _TerminalHandler(sys.stdout)
    handler.setFormatter(_PrintableFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("muphy_lb").setLevel(logging.INFO if communicator.rank == 0 else logging.WARNING)


def missing_package(error: ModuleNotFoundError) -> str:
    """What to do about a package that this Python does not have."""
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
    """Prints what is logged, for as long as somebody reads it."""

    def handleError(self, record):
        if isinstance(sys.exc_info()[1], BrokenPipeError):
            silence()
        else:
            super().handleError(record)


class _PrintableFormatter(logging.Formatter):
    """What is logged may hold text of files and users."""

    def format(self, record):
        return printable(super().format(record))


def _make_warnings_printable() -> None:
    """Warnings of libraries may hold such text, too: matplotlib's of a character that its font does not have."""
    as_given = warnings.formatwarning
    warnings.formatwarning = lambda *warning: printable(as_given(*warning))
