"""One folder, one run: a lock that dies with the process that holds it."""

import fcntl
import logging
import os
import socket
from pathlib import Path

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import no_link, output_errors, refuse_linked_folder
from muphy_lb.output.drawing import FRAMES_FOLDER
from muphy_lb.run.early import CHECKPOINTS

LOG = logging.getLogger(__name__)
LOCK_FILE = ".lock"
OWN_FOLDERS = (CHECKPOINTS, FRAMES_FOLDER)
"""Folders in an output folder."""


class FolderLock:
    """Held on a folder from the making of the object until :meth:`release`, or until the process ends in any way.

    Args:
        folder: an output folder, which exists.

    Raises:
        OutputError: another process holds the lock, the folder cannot be written, or the lock or a folder that a run
            makes in it is a symbolic link.
    """

    def __init__(self, folder: Path):
        path, own = Path(folder) / LOCK_FILE, f"process {os.getpid()} on {socket.gethostname()}"
        for name in OWN_FOLDERS:
            refuse_linked_folder(Path(folder) / name)
        with output_errors(path):
            self._file = open(path, "a+", encoding="utf-8", opener=no_link)  # open for as long as the lock is held
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read(200).strip() or "another process"
            holder = "another run of this process" if holder == own else holder
            self._file.close()
            raise OutputError(
                f"{folder} is in use by {holder}; wait for that run, stop it, or choose another output folder with -o"
            ) from None
        except OSError as error:  # some network file systems have no locks
            LOG.warning("%s cannot be locked (%s): take care that no other run writes there", folder, error.strerror)
            return
        self._file.truncate(0)
        self._file.write(f"{own}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder."""
        self._file.close()
