"""Kernels for GPUs on disk."""

import pickle
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cuda import pathfinder
from numba.core.serialize import dumps

from muphy_lb.backends.kept.store import KernelStore, folder_of, numbas_surroundings

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
    """What machine code depends on beside the function; libraries that compile are told apart by place and size."""
    compilers = (Path(pathfinder.load_nvidia_dynamic_lib(name).abs_path) for name in COMPILERS)
    return "\n".join((numbas_surroundings(), version("numba-cuda"), *(f"{x} {x.stat().st_size}" for x in compilers)))
