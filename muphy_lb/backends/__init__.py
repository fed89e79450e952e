"""backends: kernel skeletons, which contain the loops over nodes; one package per kind of device.

- ``interface``: memory, kernels bound to arrays, and the arguments of each kernel; ``arrays``: records of arrays.
- ``numpy/``: the specification; ``cpu/``: Numba, threads; ``cuda/``: Numba-CUDA; ``opening_links``: what these two read
  of an opening link.
- ``copying``: the copy bandwidth of a device, the reference of every speed.
"""

import ctypes
import importlib
import logging
import os
from contextlib import suppress

from muphy_lb.base.errors import BackendError, InputError
from muphy_lb.base.phases import IMPORTS, spent_on
from muphy_lb.geometry.limits import free_bytes

LOG = logging.getLogger(__name__)
_CLASSES = {
    "numpy": ("muphy_lb.backends.numpy.backend", "NumpyBackend"),
    "cpu": ("muphy_lb.backends.cpu.backend", "CpuBackend"),
    "cuda": ("muphy_lb.backends.cuda.backend", "CudaBackend"),
}
BACKENDS = tuple(_CLASSES)
DRIVERS = ("libcuda.so.1", "libcuda.so", *(f"/usr/{folder}/libcuda.so" for folder in ("lib", "lib64")))
"""Where numba.cuda looks for the driver on Linux."""


def resolve_backend(name: str) -> str:
    """Turn ``"auto"`` into ``"cuda"`` where a CUDA GPU can be used and ``"cpu"`` elsewhere. Raises InputError: unknown
    backend; BackendError: ``"cuda"`` without a GPU."""
    if name == "auto":
        return "cuda" if count_gpus() else "cpu"
    if name not in BACKENDS:
        raise InputError(f"backend is {name!r}; allowed: auto, {', '.join(BACKENDS)}")
    if name == "cuda" and count_gpus() == 0:
        raise BackendError(
            "backend 'cuda' was requested, but no CUDA GPU can be used here; install the GPU extra: pip install"
            ' "muphy_lb[gpu]" (CUDA 13 driver) or "muphy_lb[cuda12]", or use backend = \'cpu\''
        )
    return name


def make_backend(name: str, lattice, precision, local_rank: int = 0):
    """Build the named backend; rank ``local_rank`` of a machine takes GPU ``local_rank`` modulo their number. Raises
    BackendError: the device cannot be used, or not with this precision."""
    module, cls = _CLASSES[name]
    LOG.info("preparing the kernels (%s)", name)
    with spent_on(IMPORTS):
        backend = getattr(importlib.import_module(module), cls)
    return backend(lattice, precision, local_rank) if cls == "CudaBackend" else backend(lattice, precision)


def load_helpers(name: str, local_rank: int) -> None:
    """Let helpers load what they compile with for the backend that :func:`make_backend` will build, where that takes
    long."""
    if name == "cuda":
        with suppress(Exception):  # building the backend reports the error
            importlib.import_module("muphy_lb.backends.cuda.kept").load_helpers(local_rank)


def free_memory(name: str) -> float:
    """Memory [bytes] that the named backend may still take on its device."""
    if name == "cuda":
        return importlib.import_module("muphy_lb.backends.cuda.device").memory_free()[0]
    return free_bytes()


def count_gpus() -> int:
    """Number of usable CUDA GPUs; 0 where numba.cuda, or the driver, is missing."""
    if not _has_driver():
        return 0
    try:
        return importlib.import_module("muphy_lb.backends.cuda.device").n_devices()
    except ImportError:
        return 0


def _has_driver() -> bool:
    """Whether there may be a driver for GPUs. Where there is none, numba.cuda, whose import takes a third of a second,
    is not needed; it is queried in the simulator, and for a driver installed elsewhere."""
    if any(name in os.environ for name in ("NUMBA_ENABLE_CUDASIM", "NUMBA_CUDA_DRIVER")):
        return True
    for name in DRIVERS:
        with suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False
