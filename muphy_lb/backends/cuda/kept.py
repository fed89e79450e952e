"""How kernels for GPUs are compiled: those that another start has compiled are found on disk."""

from importlib.metadata import version

from packaging.version import Version

from muphy_lb.backends.cuda.device import SIMULATOR, cuda
from muphy_lb.base.kept.known import is_known

NEWEST_TRIED = (0, 30)
"""Version of numba-cuda up to which :mod:`muphy_lb.backends.cuda.kernel_store` was tried."""


def kernel_jit(function):
    """``cuda.jit`` for a kernel; its compiled code is kept on disk, if this version of the compiler is known."""
    kernel = cuda.jit(function)
    if SIMULATOR or getattr(cuda, "implementation", "") != "NVIDIA" or not _keeps_kernels():
        return kernel
    from muphy_lb.backends.cuda.kernel_store import CudaKernelStore

    kernel._cache = CudaKernelStore(kernel)
    return kernel


def _keeps_kernels() -> bool:
    return is_known("numba-cuda", Version(version("numba-cuda")).release[:2], NEWEST_TRIED)
