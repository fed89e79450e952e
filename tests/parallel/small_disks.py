"""Disks that are full at a given byte: a small file system of its own where that can be mounted, else a size limit."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL, LIMITED = "full", "limited"
SIZE_MB = 64
PAGE = 4096
# MPI needs files of its own: the limit comes after its start. Only rank 0 writes.
UNDER_A_LIMIT = """
import os, resource, sys
from muphy_lb.__main__ import main
from muphy_lb.parallel import connect
if connect().rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
code = main(sys.argv[2:])
sys.stdout.flush()
os._exit(code)
"""


def under_a_limit(n_bytes: int, *arguments) -> list[str]:
    """Words of python for a command of the solver that may write no file of more than some bytes."""
    return ["-c", UNDER_A_LIMIT, str(n_bytes), *map(str, arguments)]


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """A file system of ``SIZE_MB`` on a new folder, while the context lasts.

    Raises:
        subprocess.CalledProcessError: this user or container may not mount.
    """
    folder.mkdir(parents=True)
    line = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    subprocess.run(line, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount() -> bool:
    """Whether :func:`mounted` works here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with mounted(Path(folder, "disk")):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


@contextmanager
def filled(folder: Path, n_bytes: int) -> Iterator[None]:
    """Leave only some bytes, in whole pages, of the file system of a folder, while the context lasts."""
    filler = folder / "filler"
    free = os.statvfs(folder)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(PAGE, free.f_bavail * free.f_frsize - n_bytes // PAGE * PAGE))
    try:
        yield
    finally:
        filler.unlink()
