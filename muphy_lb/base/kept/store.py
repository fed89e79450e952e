"""Compiled kernels on disk, so that a second start of the program compiles nothing.

Numba's own store knows a function by its file and line, and so cannot distinguish kernels that are composed from
injected functions. Here a kernel has a file of its own, which is found by a digest of all that its machine code follows
from: what it computes (:mod:`muphy_lb.base.kept.code_digest`), types of the arguments, the compiler and the
processor. So a kernel outlives all changes of this package but those that it follows from.

Of several processes that lack the same kernel, such as ranks of one machine, one compiles it, and the others wait for
its file (:mod:`muphy_lb.base.kept.turns`). Helpers compile other kernels meanwhile (:mod:`muphy_lb.base.kept.helpers`).
Several may write at once, in any order; what cannot be read, was damaged, or cannot be written is as if it was not
there. That also holds for what another process removes: beyond a size the kernels are removed that have not been loaded
for the longest time.

The content of a file is executed. So files and folders are believed only if they belong to this user or to root, and
no other user may write them; others are skipped, with one warning.
"""

import gc
import hashlib
import logging
import os
import pickle
import shutil
import sys
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.caching import NullCache, _Cache
from numba.core.compiler_lock import global_compiler_lock

from muphy_lb.base.errors import MuphyError
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.files.ownership import ForeignError, check_own_folder, read_own
from muphy_lb.base.kept.code_digest import NoDigestError, digest, type_text
from muphy_lb.base.kept.helpers import begin
from muphy_lb.base.kept.signatures import remembered
from muphy_lb.base.kept.turns import Turn
from muphy_lb.base.phases import COMPILING, spent_on

LOG = logging.getLogger(__name__)
FOLDER = "muphy_lb-kernels"
CHECKSUM_BYTES = 4
OWN_FOLDER, OWN_FILE = 0o700, 0o600  # permissions

MOST_FOLDERS = 8
"""Versions of Python, libraries and settings whose kernels are kept; there is one for CPUs and one for GPUs."""

MOST_BYTES = 256 * 2**20
LEFT_BYTES = 192 * 2**20
"""Size of a version's folder beyond which kernels are removed, and what then stays; a case has about 0.4 MB, a
kernel less than 0.1 MB, and the tests compile hundreds."""

FOREIGN: set[Path] = set()  # folders of which was said that they are skipped

SELDOM = 100_000, 20, 100
"""Thresholds of the garbage collector while a kernel compiles: compilers make objects by the million and few cycles."""

UNRELATED = ("CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DEFAULT_NUM_THREADS")
"""Settings of Numba that do not change machine code."""


class KernelStore(_Cache):
    """The compiled forms of one kernel; takes the place of Numba's own store.

    Args:
        kernel: what Numba compiles.
        asked: file of the kernel by the types of its arguments, in the process of a helper, which waits for no other
            one to compile it.
    """

    dumps: Callable[[object], bytes]  #: ``pickle.dumps`` for functions that this compiler compiles

    def __init__(self, kernel, asked: Mapping[tuple, Path] | None = None):
        self._kernel, self._compile, self._turns = kernel, kernel.compile, list[Turn]()
        self._paths, self._waits = dict[tuple, Path | None](asked or {}), asked is None
        kernel.compile = self.compile

    def compile(self, sig):
        """Compile for a signature, or load what is kept for it; takes the place of the kernel's own method."""
        with global_compiler_lock, spent_on(COMPILING), remembered(), _seldom_collected(), self.shortcut():
            n_turns = len(self._turns)
            try:
                return self._compile(sig)
            finally:
                for turn in self._turns[n_turns:]:
                    turn.end()
                del self._turns[n_turns:]

    def shortcut(self) -> AbstractContextManager:
        """A context in which this compiler leaves out what is not needed; Numba's lock is held."""
        return nullcontext()

    @abstractmethod
    def folder(self) -> Path:
        """Where the kernels of this compiler are. Raises NoDigestError: the compiler cannot be identified, so
        that nothing can be kept."""

    @abstractmethod
    def reduced(self, compiled) -> bytes | None:
        """The part of a compiled form to keep; None if it cannot be kept."""

    @abstractmethod
    def rebuilt(self, content: bytes, target_context):
        """The compiled form of what was kept."""

    @abstractmethod
    def preparation(self) -> Callable[[], bool]:
        """A function, which can be sent, that prepares another process to compile for the device of this one, and says
        whether it can."""

    def lacking(self, sig) -> Path | None:
        """The file of the compiled form for a signature, if there is none yet, and one can be kept."""
        path = self._path(sig, self._kernel.targetctx)
        if path is None:
            return None
        try:
            _make(path.parent)
            if path.exists() or not os.access(path.parent, os.W_OK):
                return None
        except (ForeignError, OSError):
            return None
        _tell_that_it_takes_time(path.parent)
        return path

    @property
    def cache_path(self):
        """The folder."""
        return str(self.folder())

    def load_overload(self, sig, target_context):
        """The compiled form for a signature; None if there is none that can be used, and none comes from another
        process that is compiling it."""
        path = self._path(sig, target_context)
        compiled = None if path is None else self._loaded(path, target_context)
        if compiled is not None:
            return compiled
        _tell_that_it_takes_time(path and path.parent)  # also if it is a helper, or another rank, that compiles
        if path is not None and (turn := self._turn(path)):
            self._turns.append(turn)
            compiled = self._loaded(path, target_context) if turn.may_be_kept else None
        if compiled is None:
            begin()
        return compiled

    def _loaded(self, path: Path, target_context):
        """The compiled form in a file; None if there is none that can be used."""
        try:
            data = _read(path)
            if data and data[:CHECKSUM_BYTES] == _checksum(data[CHECKSUM_BYTES:]):
                return self.rebuilt(data[CHECKSUM_BYTES:], target_context)
        except FileNotFoundError:
            pass
        except ForeignError as error:
            _warn(path.parent, error)
        except Exception as error:  # whatever a file or a folder holds, the kernel can be compiled
            LOG.debug("the kernel in %s is compiled again: %s", path, error)
        return None

    def _turn(self, path: Path) -> Turn | None:
        """The turn to compile a kernel; None where its folder is not to be believed, or cannot be made."""
        try:
            _make(path.parent)
            return Turn(path, self._waits)
        except (ForeignError, OSError):
            return None

    def save_overload(self, sig, data):
        """Keep the compiled form for a signature, if it can be kept."""
        path = self._path(sig, data.target_context)
        if path is None:
            return
        try:
            content = self.reduced(data)
            if content is None:
                return
            _make(path.parent)
            with atomic_write(path) as temporary:
                temporary.chmod(OWN_FILE)
                temporary.write_bytes(_checksum(content) + content)
            keep_recent(path.parent)
        except ForeignError as error:
            _warn(path.parent, error)
        except (OSError, MuphyError, pickle.PicklingError, TypeError, RuntimeError) as error:
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
        if sig not in self._paths:
            self._paths[sig] = self._named(sig, target_context)
        return self._paths[sig]

    def _named(self, sig, target_context) -> Path | None:
        try:
            parts = (digest(self._kernel), ", ".join(map(type_text, sig)), str(target_context.codegen().magic_tuple()))
            folder = self.folder()
        except NoDigestError as error:
            LOG.debug("kernel %s is not kept: %s", self._kernel.py_func.__qualname__, error)
            return None
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return folder / name if folder.is_absolute() else None  # it is not below the "~" of a user without a home


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Context in which garbage is looked for seldom."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _warn(folder: Path, problem: ForeignError) -> None:
    if folder not in FOREIGN:
        FOREIGN.add(folder)
        LOG.warning(
            "warning: compiled kernels in %s are skipped: %s; remove that folder, or set NUMBA_CACHE_DIR to one of"
            " your own",
            folder.parent,
            problem,
        )


@cache
def _tell_that_it_takes_time(folder: Path | None) -> None:
    """Say it once for kernels that are kept, and once for those that are not."""
    if folder is None:
        LOG.info("compiling kernels (at every start: they cannot be kept)")
    elif not _may_be_made(folder):
        LOG.info("compiling kernels (at every start: nothing can be written to %s)", folder)
    else:
        LOG.info("compiling kernels (once; later starts find them in %s)", folder)


def _may_be_made(folder: Path) -> bool:
    """Whether this user may write a folder, or make it."""
    nearest = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def folder_of(surroundings: str) -> Path:
    """Where kernels are of which all that their machine code follows from, beside what they compute, is told by a text:
    beside what else Numba keeps for this user."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    users = Path(given or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return users / FOLDER / hashlib.sha256(surroundings.encode()).hexdigest()


def numbas_surroundings(changes_code=lambda setting: True) -> str:
    """The surroundings on which machine code depends beside the function: versions, and settings of Numba wherever they
    come from. ``changes_code``: whether a setting, by name, can change it."""
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    names = (name for name in sorted(vars(numba.config)) if name.isupper() and name not in UNRELATED)
    settings = (f"{name}={getattr(numba.config, name)}" for name in names if changes_code(name))
    return "\n".join((*versions, *settings))  # of the environment, files and libraries


def _make(version: Path) -> None:
    """Make the folder of a version, and remove those that were made long before it; ForeignError if one is there that
    is not to be believed."""
    is_new = not version.is_dir()
    for folder in (version.parent, version):
        folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
        check_own_folder(folder)
    if not is_new:
        return
    with suppress(OSError):
        newest = sorted(version.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest[MOST_FOLDERS:]:
            shutil.rmtree(path, ignore_errors=True)


def _read(path: Path) -> bytes:
    """The content of a file, which counts as used from now on; ForeignError if it is not to be believed."""
    for folder in (path.parents[1], path.parent):
        check_own_folder(folder)
    return read_own(path)


def keep_recent(version: Path) -> None:
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
    with suppress(OSError):
        return entry.stat(follow_symlinks=False)
    return None


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "big")
