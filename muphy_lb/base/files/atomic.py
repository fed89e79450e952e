"""Whole files or none: temporary name, fsync, rename; and plain words when the disk refuses."""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from muphy_lb.base.errors import OutputError

DAMAGED = ".damaged"  # behind the name of a file that could not be continued, and is kept beside the new one

LINK_REMEDY = "put what it leads to in its place, or remove it (rm)"

NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)
"""Answers of network and user-space file systems, or of a folder without read permission, to an fsync of a folder."""

_made: list[Path] = []  # by check_writable, the deepest first


@contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[Path]:
    """Yield the path of an empty temporary file in the folder of ``path``; it replaces ``path`` only when the block
    succeeds.

    A reader therefore sees the old file or the whole new one. On any exception the temporary is removed.

    Raises OutputError: the folder is missing or unwritable, or the disk is full.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with output_errors(path):
            _create(temporary)
            yield temporary
            _sync(temporary)
            os.replace(temporary, path)
            _sync_folder(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink()


def no_link(path: str | os.PathLike, flags: int) -> int:
    """Open a file of a run's own folder, for ``open(..., opener=no_link)``: a symbolic link in its place is not
    followed, since whoever has made the folder may have laid it to any file of whoever runs; a pipe is not waited for.
    Raises OSError: it cannot be opened, or is something else than a regular file."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


def is_own_file(path: str | os.PathLike) -> bool:
    """Whether a regular file lies there itself, and no symbolic link to one."""
    return os.path.isfile(path) and not os.path.islink(path)


def refuse_linked_folder(path: str | os.PathLike) -> None:
    """Refuse a folder inside an output folder that is a symbolic link: what a run removes of an earlier one would be
    another run's. Raises OutputError: it is one."""
    if os.path.islink(path):
        raise OutputError(
            f"{path} is a symbolic link to {os.readlink(os.fspath(path))}, and a run follows none that is in its"
            f" folder; {LINK_REMEDY}, or give an output folder (-o) that lies there"
        )


def set_aside(path: str | os.PathLike) -> Path:
    """Copy a file that cannot be continued to ``NAME.damaged``, which is returned. Raises OutputError: the copy cannot
    be written, or the file is a symbolic link."""
    copy = Path(f"{os.fspath(path)}{DAMAGED}")
    with atomic_write(copy) as temporary:
        with open(path, "rb", opener=no_link) as found, open(temporary, "wb") as file:
            shutil.copyfileobj(found, file)
    return copy


@contextmanager
def output_errors(path: str | os.PathLike) -> Iterator[None]:
    """Turn an OSError of the block into an OutputError that names ``path``, the reason and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path):
            raise OutputError(
                f"cannot write {path}: it is a symbolic link, and none is followed; {LINK_REMEDY}"
            ) from error
        reason = error.strerror or str(error)
        raise OutputError(
            f"cannot write {path}: {reason}; check that the folder exists, is writable and has free space,"
            " or choose another output folder"
        ) from error


def check_writable(folder: str | os.PathLike) -> None:
    """Create ``folder`` where missing and prove that a file can be written in it; call before a run starts. Raises
    OutputError: the folder cannot be made or written."""
    missing = list(takewhile(lambda path: not os.path.lexists(path), (Path(folder), *Path(folder).parents)))
    existing = missing[-1].parent if missing else Path(folder)
    if not os.path.isdir(existing):
        raise OutputError(
            f"cannot write {folder}: {existing} is a file, not a folder; give another output folder (-o), or move it"
            " away"
        )
    with output_errors(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        _made[:0] = missing
        with tempfile.TemporaryFile(dir=os.fspath(folder)) as probe:
            probe.write(b"probe")
            probe.flush()


def remove_empty_folders() -> None:
    """Remove the folders that :func:`check_writable` has made and nothing was written to: call after a refusal."""
    while _made:
        with suppress(OSError):
            _made.pop(0).rmdir()


def check_file(path: str | os.PathLike) -> None:
    """Prove that a file of this name can be written, whose folder is made where missing; call before what takes long.
    Raises OutputError: it cannot."""
    if os.path.isdir(path):
        raise OutputError(f"cannot write {path}: it is a folder; give the name of a file")
    check_writable(Path(path).parent)


def reserve_space(path: str | os.PathLike, n_bytes: int) -> None:
    """Make the file system set aside ``n_bytes`` behind the end of an existing file.

    A disk that fills while HDF5 writes leaves a file that cannot be opened; here it is refused while the file is whole.

    Raises OutputError: the disk, a quota or a file size limit refuses; the file is unchanged.
    """
    with output_errors(path), open(path, "r+b", opener=no_link) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            os.posix_fallocate(file.fileno(), size, n_bytes)
        except OSError:
            file.truncate(size)
            raise


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file, whole or not at all. Raises OutputError: the file cannot be written."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _create(path: Path) -> None:
    """Create an empty file; an existing file or link of that name is an error, never followed."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _sync(path: Path) -> None:
    """Force a file, or the entries of a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    """Force the entries of a folder onto the disk where the file system can do so; the file itself is there already."""
    try:
        _sync(path)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise
