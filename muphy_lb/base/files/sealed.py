"""Sealed HDF5 files: a header in the first bytes says how long the rest is and what its checksum is.

HDF5 itself believes the bytes that it finds: a flipped bit may crash it or let it search without end. So the raw bytes
are compared with the header first, and only then HDF5 opens the file. The header is HDF5's user block, 512 bytes of
text, which every reader of HDF5 skips.
"""

import json
import os
import zlib

from muphy_lb.base.files.atomic import is_own_file

HEADER_BYTES = 512
PIECE_BYTES = 1 << 24


class DamagedFileError(Exception):
    """A file whose bytes are not those that were written, or that was never sealed; the message says what is wrong."""


def seal(path: str | os.PathLike, kind: str, version: int) -> None:
    """Write the header of an HDF5 file that was made with a user block of ``HEADER_BYTES`` and is closed. ``kind``:
    what sort of file it is; ``version``: of its format."""
    with open(path, "r+b") as file:
        file.seek(HEADER_BYTES)
        checksum, size = _checksum_of_rest(file)
        header = {"format": kind, "version": version, "size": size, "crc32": checksum}
        header["header_crc32"] = _checksum_of(header)
        file.seek(0)
        file.write(json.dumps(header).ljust(HEADER_BYTES - 1).encode() + b"\n")


def version_of(path: str | os.PathLike, kind: str) -> int:
    """Version of the format of a sealed file, whose header alone is read. Raises DamagedFileError: it is no regular
    file, or has no header of that kind; OSError: it cannot be read."""
    return int(_header(path, kind)["version"])


def verify(path: str | os.PathLike, kind: str) -> None:
    """Read a sealed file from end to end and compare it with its header. Raises DamagedFileError: the bytes are not
    those that were written; OSError: they cannot be read."""
    header = _header(path, kind)
    with open(path, "rb") as file:
        expected = HEADER_BYTES + header["size"]
        found = os.fstat(file.fileno()).st_size
        if found != expected:
            raise DamagedFileError(f"it has {found} bytes, and was written with {expected}")
        file.seek(HEADER_BYTES)
        checksum, _ = _checksum_of_rest(file)
    if checksum != header["crc32"]:
        raise DamagedFileError("it is damaged, its checksum does not match")


def _header(path: str | os.PathLike, kind: str) -> dict:
    if not is_own_file(path):
        raise DamagedFileError("it is a symbolic link" if os.path.islink(path) else "it is not a regular file")
    with open(path, "rb") as file:
        text = file.read(HEADER_BYTES)
    try:
        header = json.loads(text.decode("ascii"))
        is_whole = header.pop("header_crc32") == _checksum_of(header) and header["format"] == kind
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise DamagedFileError(f"its first {HEADER_BYTES} bytes are not the header of a {kind}")
    return header


def _checksum_of(header: dict) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode())


def _checksum_of_rest(file) -> tuple[int, int]:
    checksum = size = 0
    while piece := file.read(PIECE_BYTES):
        checksum = zlib.crc32(piece, checksum)
        size += len(piece)
    return checksum, size
