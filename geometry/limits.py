"""Limits: resources that an input may request before its content is verified. A header of thirty bytes may
describe a box larger than any memory, a file of a few megabytes may inflate to gigabytes, and a name may lead to a
device that never ends. Every reader and every shape asks here first."""

import math
import os
import re
import resource
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path

from muphy_lb.geometry.errors import GeometryError

GIB = 2**30
SMALL = 2**20  # requests up to this [bytes] are granted without a look at the machine
BYTES_PER_NODE = 40  # bytes of the list of nodes for each: its voxel, its connected part, its neighbours along the axes

COARSER = "take a coarser grid or a smaller part, or a machine with more memory"

#: Names of openings, walls and probes: they stand in file names, in headings of tables and in messages.
NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,99}$"
NAME_WORDS = "letters, digits, _ and -, a letter first, at most 100"

#: How a file begins that stands for another one, which Git LFS has not fetched.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
#: How a web page begins, in lower case: often what was downloaded in place of a file.
WEB_PAGES = (b"<!doctype html", b"<html")
MAX_SHOWN = 60  # longest part of an input quoted in a message [characters]


def ask_for(n_bytes: int, what: str, remedy: str = COARSER) -> None:
    """Ask for memory before it is taken.

    Args:
        n_bytes: size of what is about to be allocated [bytes].
        what: the thing that needs it, as the subject of the message.
        remedy: what the user can do if it is refused.

    Raises GeometryError: more than is free.
    """
    if n_bytes > SMALL and n_bytes > (free := free_bytes()):
        raise GeometryError(f"{what} needs {_gib(n_bytes)} of memory; {_gib(free)} are free: {remedy}")


def ask_for_voxels(shape: Iterable[int], bytes_per_voxel: int, what: str = "the image") -> None:
    """:func:`ask_for` memory for a box of ``shape`` (nz, ny, nx)."""
    shape = [int(n) for n in shape]
    box = " x ".join(f"{n:.12g}" for n in reversed(shape))
    ask_for(math.prod(shape) * bytes_per_voxel, f"{what}, {box} voxels,")


def free_bytes() -> float:
    """Memory that this process may still take [bytes]: what the machine has available, within the limits of the
    process (``ulimit -v``) and of its control group (batch systems and containers set one)."""
    return max(0, min(_available_bytes(), _address_space_bytes(), _group_bytes()))


def regular_file(path) -> Path:
    """The path of a regular file; reading a pipe or a device may never end. Raises GeometryError: there is none,
    or it is something else, also what stands in a file's place: a pointer of Git LFS, or a web page under
    another ending."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        remedy = "; check the path" if isinstance(error, FileNotFoundError) else ""
        raise GeometryError(f"cannot read {_shown_path(path)}: {problem}{remedy}") from error
    if stat.S_ISDIR(mode):
        raise GeometryError(f"cannot read {_shown_path(path)}: it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise GeometryError(
            f"cannot read {_shown_path(path)}: it is a pipe or a device, which may never end; copy what is wanted"
            " into a regular file"
        )
    _refuse_stand_in(Path(path))
    return Path(path)


def _refuse_stand_in(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError:  # the reader says what is wrong
        return
    if start.startswith(LFS_POINTER):
        raise GeometryError(
            f"cannot read {_shown_path(path)}: it is a Git LFS pointer, not the file itself; fetch it with:"
            " git lfs pull"
        )
    if start.lower().startswith(WEB_PAGES) and path.suffix.lower() not in (".html", ".htm"):
        raise GeometryError(
            f"cannot read {_shown_path(path)}: it is a web page (HTML), not the file itself; download the file"
            " again, signed in where that is needed"
        )


def inflate(path, packed: bytes, n_bytes: int) -> bytes:
    """The ``n_bytes`` that a zlib stream of a file holds; no more is ever inflated. Raises GeometryError: the stream is
    broken, or holds another number."""
    ask_for(n_bytes, f"a compressed block of {path}")
    try:
        plain = zlib.decompressobj().decompress(packed, n_bytes + 1)
    except zlib.error as error:
        raise GeometryError(f"cannot read {path}: its compressed data are broken or truncated ({error})") from error
    if len(plain) != n_bytes:
        held = "more" if len(plain) > n_bytes else f"{len(plain)}"
        raise GeometryError(f"cannot read {path}: a block is to inflate to {n_bytes} bytes but holds {held}")
    return plain


def check_name(name, what: str) -> str:
    """The name of an opening or a wall; GeometryError, naming ``what`` it is, for one that is no plain name."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise GeometryError(f"{what} is {shown(name)}; allowed: {NAME_WORDS}")
    return name


def shown(value, most: int = MAX_SHOWN) -> str:
    """A value quoted for a message, cut after ``most`` characters."""
    if isinstance(value, str):
        return repr(cut(value, most))
    try:
        return cut(repr(value), most)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or lists in lists in lists
        return f"of type {type(value).__name__}, too long to quote"


def cut(text: str, most: int = MAX_SHOWN) -> str:
    """A text for a message, without what comes after ``most`` characters."""
    return text if len(text) <= most else text[:most] + "..."


def _shown_path(path) -> str:
    """A path for a message: as it is, or quoted where it holds what a terminal would obey."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / GIB:.3g} GiB" if n_bytes < 2**100 else "more than 10^20 GiB"


def _available_bytes() -> int:
    """The memory that the machine has available [bytes]: free memory and caches that can be dropped."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", _text("/proc/meminfo"))
    if found:
        return 1024 * int(found.group(1))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _address_space_bytes() -> float:
    """The rest of the address space that the process is granted [bytes]."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    return limit - os.sysconf("SC_PAGE_SIZE") * int((_text("/proc/self/statm").split() or ["0"])[0])


def _group_bytes() -> float:
    """The memory left to the control group of the process, and to those around it [bytes]; caches do not count."""
    group = Path("/sys/fs/cgroup") / _text("/proc/self/cgroup").rpartition("::")[2].strip().lstrip("/")
    left = math.inf
    for folder in (group, *group.parents):
        limit, used = _text(folder / "memory.max").strip(), _text(folder / "memory.current").strip()
        if limit.isdecimal() and used.isdecimal():
            caches = re.findall(r"^(?:in)?active_file (\d+)", _text(folder / "memory.stat"), re.MULTILINE)
            left = min(left, int(limit) - int(used) + sum(map(int, caches)))
    return left


def _text(path) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
