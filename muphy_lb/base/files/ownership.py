"""Trust in a file or a folder: a user who may write it may let this program run any code."""

import os
import stat
from pathlib import Path

TRUSTED_ROOT = 0
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class ForeignError(Exception):
    """Something that is not to be believed; the message says why."""


def check_own_folder(path: str | os.PathLike) -> None:
    """Refuse a folder that another user than this one or root has made or may write. Raises ForeignError: it is one, or
    a symbolic link; OSError: there is none."""
    _check(os.lstat(path), path, stat.S_ISDIR)


def read_own(path: str | os.PathLike) -> bytes:
    """The content of a file that only this user or root may write; it counts as used from now on. Raises ForeignError:
    another user has made it, or may write it, or it is something else than a regular file; OSError: it cannot be read.
    """
    _check(os.lstat(path), path, stat.S_ISREG)
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        found = os.fstat(handle)  # it may be another one by now
        _check(found, path, stat.S_ISREG)
        if found.st_uid == os.getuid():
            os.utime(handle)
        return file.read()


def _check(found: os.stat_result, path: str | os.PathLike, is_right_kind) -> None:
    if not is_right_kind(found.st_mode):
        raise ForeignError(f"{path} is a symbolic link" if stat.S_ISLNK(found.st_mode) else f"{path} is no such thing")
    if found.st_uid not in (os.getuid(), TRUSTED_ROOT):
        raise ForeignError(f"{path} belongs to another user ({found.st_uid})")
    if found.st_mode & WRITABLE_BY_OTHERS:
        raise ForeignError(f"others may write {Path(path)}")
