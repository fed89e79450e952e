"""Kernels for CPUs on disk."""

import io
import itertools
import os
import pickle
import secrets
import sys
from functools import cache

from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from muphy_lb.base.kept.store import KernelStore, folder_of, numbas_surroundings

UNIQUE_BITS = 60


def stored(jit):
    """A decorator for kernels: ``jit``, whose compiled code is kept on disk."""

    def decorate(function):
        kernel = jit(function)
        if _symbols_are_unique():
            kernel._cache = CpuKernelStore(kernel)
        return kernel

    return decorate


class CpuKernelStore(KernelStore):
    """See the base class; a compiled form is a result of the compiler."""

    dumps = staticmethod(dumps)

    def folder(self):
        """The folder of these libraries and settings."""
        return folder()

    def preparation(self):
        """Symbols that are unique among processes."""
        return _symbols_are_unique

    def reduced(self, compiled):
        """None for code with loops in object mode or addresses in it, which cannot be stored."""
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return None
        return dumps(compiled._reduce())

    def rebuilt(self, content, target_context):
        """Machine code that can be called; it needs Numba's runtime, which a fresh context has not loaded, but none of
        the registries that a compilation reads."""
        rtsys.initialize(target_context)
        return CompileResult._rebuild(target_context, *_Content(io.BytesIO(content)).load())


class _Content(pickle.Unpickler):
    """Reads machine code without the modules of Numba that its inlined functions come from."""

    def find_class(self, module, name):
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def _environment(module: str, constants, name: str):
    """The environment of a function in machine code, which reads the constants in it alone. So Numba's own modules are
    not imported for their globals: that of NumPy's functions imports SciPy's linear algebra."""
    if lookup_environment(name) is not None or module in sys.modules or not module.startswith("numba."):
        return _rebuild_env(module, constants, name)
    environment = Environment._memo[name] = Environment({"__name__": module})
    environment.consts[:] = constants
    environment.env_name = name
    return environment


@cache
def folder():
    """Folder of the kernels that these libraries have compiled."""
    return folder_of(surroundings())


def surroundings() -> str:
    """The surroundings on which machine code depends beside the function. Not the settings for CUDA, of which there are
    more once a process has looked for GPUs: rank 0 does, the others do not."""
    return numbas_surroundings(lambda setting: "CUDA" not in setting)


@cache
def _symbols_are_unique() -> bool:
    """Let the numbers that Numba gives to functions, and puts into the names of their machine code, differ between
    processes: else a kernel from a file could have the name of another one that is compiled here."""
    first = _number_anew()
    os.register_at_fork(after_in_child=_number_anew)
    return FunctionIdentity.from_function(_number_anew).unique_id == first


def _number_anew() -> int:
    """Let Numba count functions from a random number, which is returned."""
    first = secrets.randbits(UNIQUE_BITS)
    FunctionIdentity._unique_ids = itertools.count(first)
    return first
