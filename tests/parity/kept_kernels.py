"""Compiles kernels for GPUs to machine code without a GPU where they are not on disk; prints a line for each: whether
it was compiled or loaded, and a digest of its machine code.

Run as ``python -m tests.parity.kept_kernels`` in a process of its own.
"""

import hashlib
from types import SimpleNamespace

import numpy as np
from numba import from_dtype, types
from numba.cuda.cudadrv import devices
from numba.cuda.dispatcher import _Kernel

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.base.kept.store import KernelStore
from muphy_lb.base.precision import FP32
from muphy_lb.domain import PULL
from muphy_lb.lattice import D2Q9
from muphy_lb.operators import BGK, collision
from tests.parity.ptx import CAPABILITY, pretend, refuse_without_compiler

ADDRESSES, NUMBERS = types.Array(types.uint32, 1, "C"), types.Array(types.float32, 1, "C")


def main() -> None:
    """A kernel of a module, and one that is put together from functions."""
    refuse_without_compiler()
    pretend(CAPABILITY)
    context = SimpleNamespace(device=cuda.dispatcher.get_current_device())
    devices.get_context = lambda: context
    report(skeletons.gather, (NUMBERS, ADDRESSES, NUMBERS))
    step = skeletons.stream_collide(collision(BGK), PULL.patterns(D2Q9)[0], D2Q9, FP32, np.uint32)
    real = from_dtype(np.dtype(np.float32))
    numbers = types.int64, types.int64, types.uint32, types.uint32, types.Tuple((real,) * 4)
    report(step, (NUMBERS, NUMBERS, ADDRESSES, ADDRESSES, *numbers))


def report(kernel, arguments: tuple) -> None:
    """Load or compile a kernel, as its first launch would."""
    store = kernel._cache
    assert isinstance(store, KernelStore)
    compiled = store.load_overload(arguments, kernel.targetctx)
    origin = "loaded"
    if compiled is None:
        with store.shortcut():
            origin, compiled = "compiled", _Kernel(kernel.py_func, arguments, **kernel.targetoptions)
        with_ptx = _Kernel(kernel.py_func, arguments, **kernel.targetoptions).library
        assert with_ptx._ptx_cache and not compiled.library._ptx_cache
        assert len(with_ptx.get_cubin().code) == len(compiled.library.get_cubin().code)  # but for numbers in names
        store.save_overload(arguments, compiled)
    code = compiled.library.get_cubin().code
    print(origin, compiled.entry_name, hashlib.sha256(code).hexdigest())


if __name__ == "__main__":
    main()
