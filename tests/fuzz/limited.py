"""A child process with limits, forked from one that has everything imported and compiled already."""

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60
LIMIT_MIB = 2048
GRANTED = 2**31
"""Bytes of address space that a child is granted beyond what it begins with: what asks first is told what is free."""

REFUSED, READ = "refused", "read"


@dataclass(frozen=True)
class Ending:
    """How a child ended: exit code (negative: killed by that signal), seconds, peak resident memory, what it said, and
    the memory that it began with."""

    exit_code: int
    seconds: float
    peak_mib: float
    out: str
    err: str
    begun_mib: float = 0.0

    def violence(self) -> str:
        """``HANG`` or ``KILLED BY`` a signal, where it did not end by itself in time; else empty."""
        if self.exit_code == -signal.SIGALRM or self.seconds > LIMIT_S:
            return "HANG"
        return f"KILLED BY {signal.Signals(-self.exit_code).name}" if self.exit_code < 0 else ""


def run(work: Callable[[], int | None], folder: Path) -> Ending:
    """Call ``work``, which returns an exit code, in a child process in ``folder``."""
    sys.stdout.flush()
    sys.stderr.flush()
    begun_mib = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _live(work, folder)
    status, usage = os.wait4(child, 0)[1:]
    seconds = time.monotonic() - start
    said = [(folder / name).read_text(errors="replace") for name in ("stdout.txt", "stderr.txt")]
    return Ending(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss / 2**10, *said, begun_mib)


def _live(work: Callable[[], int | None], folder: Path) -> None:
    """The life of the child: what the interpreter does with a program, and then nothing more."""
    code: object = 1
    try:
        os.chdir(folder)
        for name, stream in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            setattr(sys, name, os.fdopen(stream, "w", closefd=False))  # those of a test are none of the process
        most = GRANTED + resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(LIMIT_S)
        code = work()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
