"""Kernels for GPUs: compiled once, and found on disk by the next start."""

import importlib
import pickle
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from cuda import pathfinder
from numba import types
from numba.core.serialize import dumps
from packaging.version import Version

from muphy_lb.backends.cuda.device import (
    SIMULATOR,
    capability,
    cuda,
    dumps_of_functions,
    stand_in_for_device,
    without_ptx,
)
from muphy_lb.base.kept import helpers
from muphy_lb.base.kept.code_digest import NoDigestError
from muphy_lb.base.kept.known import is_known
from muphy_lb.base.kept.store import KernelStore, folder_of, numbas_surroundings

COMPILERS = "nvvm", "nvJitLink"


class CudaKernelStore(KernelStore):
    """See the base class; a compiled form is a kernel with its machine code."""

    dumps = staticmethod(dumps_of_functions)

    def folder(self):
        """The folder of these libraries and settings."""
        return folder()

    def preparation(self):
        """Preparation for the compute capability of the device in use; does not touch the device."""
        return partial(stand_in_for_device, tuple(cuda.get_current_device().compute_capability))

    def shortcut(self):
        """Compilation without PTX: machine code is made from LTO IR."""
        return without_ptx()

    def reduced(self, compiled):
        """Machine code, not what it was made from; nothing of kernels that are made for one launch configuration."""
        if compiled.launch_config_sensitive:
            return None
        states = compiled._reduce_states()
        library = states.pop("codelibrary")._reduce_states() | {"llvm_strs": [], "ptx_cache": {}}
        return dumps((type(compiled), states, type(compiled.library), library))

    def rebuilt(self, content, target_context):
        """A kernel that the driver loads at its first launch."""
        kernel, states, code_library, library = pickle.loads(content)
        library["codegen"] = target_context.codegen()
        return kernel._rebuild(codelibrary=code_library._rebuild(**library), **states)


def load_helpers(index: int) -> None:
    """Let helpers that have nothing to do load what they compile with for a device: a second and a half for each."""
    if not SIMULATOR:
        helpers.load(partial(_load_compiler, capability(index)))


def _load_compiler(of_device: tuple[int, int]) -> None:
    importlib.import_module("muphy_lb.backends.cuda.kernels")
    if stand_in_for_device(of_device):
        cuda.jit(_shift).compile((types.float32[::1], types.Tuple((types.float32,))))


def _shift(values, by):
    """A kernel that is never launched."""
    n = cuda.grid(1)
    if n < values.size:
        values[n] += by[0]


@cache
def folder() -> Path:
    """Folder of the kernels that these libraries have compiled."""
    return folder_of(surroundings())


def surroundings() -> str:
    """The surroundings on which machine code depends beside the function. Raises NoDigestError: a library that compiles
    is not where it can be distinguished from others."""
    return "\n".join((numbas_surroundings(), version("numba-cuda"), *map(_place_and_size, COMPILERS)))


def _place_and_size(library: str) -> str:
    """Path and size of a library, which differ between its versions."""
    try:
        path = Path(pathfinder.load_nvidia_dynamic_lib(library).abs_path)
        return f"{path} {path.stat().st_size}"
    except (RuntimeError, OSError, TypeError) as error:
        raise NoDigestError(f"the library {library}: {error}") from error


#: Version of numba-cuda up to which :mod:`muphy_lb.backends.cuda.kept` was tried.
NEWEST_TRIED = (0, 30)


def kernel_jit(function, registers: int | None = None):
    """``cuda.jit`` for a kernel, with at most so many registers a thread if they are given; its compiled code is kept
    on disk, if this version of the compiler is known."""
    if registers is None or SIMULATOR:
        kernel = cuda.jit(function)
    else:
        kernel = cuda.jit(function, max_registers=registers)
    if SIMULATOR or getattr(cuda, "implementation", "") != "NVIDIA" or not _keeps_kernels():
        return kernel

    kernel._cache = CudaKernelStore(kernel)
    return kernel


def _keeps_kernels() -> bool:
    return is_known("numba-cuda", Version(version("numba-cuda")).release[:2], NEWEST_TRIED)
