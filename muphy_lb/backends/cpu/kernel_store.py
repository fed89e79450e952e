"""Compiled kernels on disk, so that a second start of the program compiles nothing.

Numba's own store knows a function by its file and line, and so cannot tell kernels apart that are put together from
injected functions. Here a kernel has a file of its own, which is found by a digest of all that its machine code follows
from: what it computes (:mod:`muphy_lb.backends.cpu.code_digest`), types of the arguments, the compiler and the
processor. So a kernel outlives all changes of this package but those that it follows from. Several processes may write
at once, in any order; what cannot be read, was damaged, or cannot be written is as if it was not there. That also holds
for what another process removes: beyond a size the kernels go that nobody has loaded for the longest time.
"""

import hashlib
import itertools
import logging
import os
import pickle
import secrets
import shutil
import sys
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache, _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from muphy_lb.backends.cpu.code_digest import NoDigestError, digest, type_text
from muphy_lb.errors import MuphyError
from muphy_lb.files.atomic import atomic_write

LOG = logging.getLogger(__name__)
FOLDER = "muphy_lb-kernels"
CHECKSUM_BYTES = 4
UNIQUE_BITS = 60
MOST_FOLDERS = 4
"""Versions of Python, libraries and settings whose kernels are kept."""

MOST_BYTES = 256 * 2**20
LEFT_BYTES = 192 * 2**20
"""Size of a version's folder beyond which kernels are removed, and what then stays; a case has about 0.4 MB, a
kernel less than 0.1 MB, and the tests compile hundreds."""

UNRELATED = ("CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DEFAULT_NUM_THREADS")
"""Settings of Numba that do not change machine code. Neither do those for CUDA, of which there are more once a process
has looked for GPUs: rank 0 does, the others do not."""


def stored(jit):
    """A decorator for kernels: ``jit``, whose compiled code is kept on disk."""

    def decorate(function):
        kernel = jit(function)
        if _symbols_are_unique():
            kernel._cache = KernelStore(kernel)
        return kernel

    return decorate


class KernelStore(_Cache):
    """The compiled forms of one kernel; takes the place of Numba's own store.

    Args:
        kernel: the dispatcher.
    """

    def __init__(self, kernel):
        self._kernel = kernel

    @property
    def cache_path(self):
        """The folder."""
        return str(folder())

    def load_overload(self, sig, target_context):
        """The compiled form for a signature; None if there is none that can be used."""
        target_context.refresh()  # what is loaded needs Numba's runtime, as Numba's own store says
        path = self._path(sig, target_context)
        try:
            data = _read(path) if path is not None else b""
            if data and data[:CHECKSUM_BYTES] == _checksum(data[CHECKSUM_BYTES:]):
                return CompileResult._rebuild(target_context, *pickle.loads(data[CHECKSUM_BYTES:]))
        except FileNotFoundError:
            pass
        except Exception as error:  # whatever a file or a folder holds, the kernel can be compiled
            LOG.debug("the kernel in %s is compiled again: %s", path, error)
        _tell_that_it_takes_time()
        return None

    def save_overload(self, sig, data):
        """Keep the compiled form for a signature, if it can be kept."""
        path = self._path(sig, data.target_context)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        try:
            content = dumps(data._reduce())
            _make(path.parent)
            with atomic_write(path) as temporary:
                temporary.write_bytes(_checksum(content) + content)
            _keep_recent(path.parent)
        except (OSError, MuphyError, pickle.PicklingError, TypeError) as error:
            LOG.debug("a compiled kernel is not kept in %s: %s", path, error)

    def enable(self):
        """Part of the contract; it always is."""

    def disable(self):
        """Numba asks for this where its own store is switched off."""
        self._kernel._cache = NullCache()

    def flush(self):
        """Part of the contract; other signatures are other files."""

    def _path(self, sig, target_context) -> Path | None:
        """The file of a signature; None where none can be named."""
        try:
            parts = (digest(self._kernel), ", ".join(map(type_text, sig)), str(target_context.codegen().magic_tuple()))
        except NoDigestError as error:
            LOG.debug("kernel %s is not kept: %s", self._kernel.py_func.__qualname__, error)
            return None
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return folder() / name if folder().is_absolute() else None  # it is not below the "~" of a user without a home


@cache
def _tell_that_it_takes_time() -> None:
    LOG.info("compiling kernels (once; later starts find them in %s)", folder())


@cache
def folder() -> Path:
    """Where kernels are that these libraries have compiled: beside what else Numba keeps for this user."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    users = Path(given or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return users / FOLDER / hashlib.sha256(_surroundings().encode()).hexdigest()


def _make(version: Path) -> None:
    """Make the folder of a version, and remove those that were made long before it."""
    if version.is_dir():
        return
    version.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        newest = sorted(version.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest[MOST_FOLDERS:]:
            shutil.rmtree(path, ignore_errors=True)


def _read(path: Path) -> bytes:
    """The content of a file, which counts as used from now on."""
    data = path.read_bytes()
    with suppress(OSError):  # of a folder that others have written
        os.utime(path)
    return data


def _keep_recent(version: Path) -> None:
    """Remove the least recently used files of a folder that has grown too large; other processes may do the same."""
    with suppress(OSError), os.scandir(version) as entries:
        found = [(status.st_mtime_ns, status.st_size, entry.path) for entry in entries if (status := _status(entry))]
        n_bytes = sum(size for _, size, _ in found)
        if n_bytes <= MOST_BYTES:
            return
        for _, size, path in sorted(found):
            if n_bytes <= LEFT_BYTES:
                break
            n_bytes -= size
            with suppress(OSError):
                os.unlink(path)


def _status(entry: os.DirEntry) -> os.stat_result | None:
    """What the file system knows of a file; None if it is gone."""
    with suppress(OSError):
        return entry.stat(follow_symlinks=False)
    return None


def _surroundings() -> str:
    """What machine code depends on beside the function; settings of Numba wherever they come from."""
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    names = (name for name in sorted(vars(numba.config)) if name.isupper() and _changes_code(name))
    settings = (f"{name}={getattr(numba.config, name)}" for name in names)  # of the environment, files and libraries
    return "\n".join((*versions, *settings))


def _changes_code(setting: str) -> bool:
    return setting not in UNRELATED and "CUDA" not in setting


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "big")


@cache
def _symbols_are_unique() -> bool:
    """Let the numbers that Numba gives to functions, and puts into the names of their machine code, differ between
    processes: else a kernel from a file could bear the name of another one that is compiled here."""
    first = _number_anew()
    os.register_at_fork(after_in_child=_number_anew)
    return FunctionIdentity.from_function(_checksum).unique_id == first


def _number_anew() -> int:
    """Let Numba count functions from a random number, which is returned."""
    first = secrets.randbits(UNIQUE_BITS)
    FunctionIdentity._unique_ids = itertools.count(first)
    return first
