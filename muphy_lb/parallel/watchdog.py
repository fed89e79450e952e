"""Watchdog: a killed rank leaves no message; a small process beside it, which runs this very file, reports it. The
process waits for the end of a pipe that only the rank holds. It also holds the line by which the launcher would see
that the rank has gone; so its message is out before the launcher ends the other ranks, and no other rank reports."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ALL_IS_WELL = b"."
STOP_SIGNALS = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# MPICH's and SLURM's launchers watch this connection of every rank; others watch stdout and stderr.
LAUNCHER_LINE = "PMI_FD"
# The marks by which a process knows that it is a rank; the sentry is none.
RANK_VARIABLES = ("PMI_", "PMIX_", "OMPI_", "MV2_", "SLURM_")
# A launcher drops what was written just before it ends the ranks.
FORWARD_DELAY_S = 0.2
# A sentry needs milliseconds to end; one that is stopped or stuck is ended.
PATIENCE_S = 5.0


class Sentry:
    """Context in which the death of this rank by a signal (out of memory, a crash) is reported on stderr.

    An exception leaves the context in peace: its message is reported elsewhere. A single rank needs no watchdog.

    Args:
        communicator: whose rank to watch.
        folder: output folder of the run, which the message names for a resume.
    """

    def __init__(self, communicator, folder):
        self._who = f"rank {communicator.rank} of {communicator.size}"
        self._folder, self._process = folder, None
        self._needed = communicator.size > 1

    def __enter__(self):
        if self._needed:
            line = os.environ.get(LAUNCHER_LINE)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, self._who, str(os.getpid()), str(self._folder)],
                stdin=subprocess.PIPE,
                pass_fds=[int(line)] if line else [],
                env={name: text for name, text in os.environ.items() if not name.startswith(RANK_VARIABLES)},
            )
        return self

    def __exit__(self, *_):
        if self._process:
            try:
                self._process.communicate(ALL_IS_WELL, timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _keep_watch(who: str, pid: str, folder: str) -> None:
    """Wait until the rank is well and done, or dead."""
    for number in STOP_SIGNALS:  # launchers send them to the whole process group; they are meant for the rank
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != ALL_IS_WELL:
        sys.stderr.write(_message(who, pid, folder))
        sys.stderr.flush()
        time.sleep(FORWARD_DELAY_S)


def _message(who: str, pid: str, folder: str) -> str:
    return (
        f"muphy-lb: error: {who} (process {pid} on {socket.gethostname()}) {_how_it_ended(pid)}; all ranks end;"
        f" continue from the newest checkpoint with: muphy-lb resume {shlex.quote(folder)}\n"
    )


def _how_it_ended(pid: str) -> str:
    """In words, from the status that Linux keeps until the launcher has asked for it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = int(Path("/proc", pid, "stat").read_text().split()[-1])
        if os.WIFSIGNALED(status):
            return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return "died without a word"


if __name__ == "__main__":
    _keep_watch(*sys.argv[1:])
