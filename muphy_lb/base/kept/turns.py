"""Turns of processes that lack the same kernel: one compiles, the others wait for its file.

A turn is a lock on a file beside that of the kernel, which the system takes from a process that ends in any way. A
process that compiles waits for no other one but those that compile what its kernel calls, so no circle of them waits.
Where the file system has no locks, one process compiles for too long, or it ends without the file, others compile the
same kernel beside it.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

LONGEST_WAIT_S = 60.0
POLL_S = 0.02


class TakenError(Exception):
    """Another process compiles the kernel."""


class Turn:
    """The turn to compile a kernel, from the making of the object until :meth:`end`, or until the process ends.

    Args:
        path: file of the kernel, in a folder of this user.
        waits: whether to wait for other processes that compile the kernel.

    Attributes:
        may_be_kept: whether there is a file of the kernel now, which another process may have left meanwhile.

    Raises:
        OSError: the file of the lock cannot be made.
        TakenError: another process compiles the kernel, and this one does not wait.
    """

    def __init__(self, path: Path, waits: bool = True):
        self._lock = path.with_name(f"{path.name}.lock")
        self._handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        until, has_waited = time.monotonic() + LONGEST_WAIT_S, False
        while not (is_mine := self._is_taken()) and time.monotonic() < until and not path.exists():
            if not waits:
                os.close(self._handle)
                raise TakenError
            has_waited = True
            time.sleep(POLL_S)
        self._is_mine, self.may_be_kept = is_mine, path.exists()
        if has_waited and is_mine and not self.may_be_kept:
            self._give_back()

    def end(self) -> None:
        """Release the turn."""
        if self._is_mine:
            with suppress(OSError):
                self._lock.unlink()
        os.close(self._handle)

    def _give_back(self) -> None:
        """Compile beside the others: the file may be one that cannot be written, and turns would last for all of
        them together."""
        self._is_mine = False
        with suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    def _is_taken(self) -> bool:
        """Whether it is this process's turn now, or there are no locks here."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
