"""Kernels for GPUs on disk."""

import pickle
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cuda import pathfinder
from numba.core.serialize import dumps

from muphy_lb.base.kept.code_digest import NoDigestError
from muphy_lb.base.kept.store import KernelStore, folder_of, numbas_surroundings

COMPILERS = "nvvm", "nvJitLink"


class CudaKernelStore(KernelStore):
    """See the base class; a compiled form is a kernel with its machine code."""

    def folder(self):
        """That of these libraries and settings."""
        return folder()

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


@cache
def folder() -> Path:
    """Where kernels are that these libraries have compiled."""
    return folder_of(surroundings())


def surroundings() -> str:
    """What machine code depends on beside the function.

    Raises:
        NoDigestError: a library that compiles is not where it can be told from others.
    """
    return "\n".join((numbas_surroundings(), version("numba-cuda"), *map(_place_and_size, COMPILERS)))


def _place_and_size(library: str) -> str:
    """What tells a library from other versions of it."""
    try:
        path = Path(pathfinder.load_nvidia_dynamic_lib(library).abs_path)
        return f"{path} {path.stat().st_size}"
    except (RuntimeError, OSError, TypeError) as error:
        raise NoDigestError(f"the library {library}: {error}") from error
