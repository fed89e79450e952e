"""The CPU backend: NumPy memory, Numba loops over threads."""

from typing import NamedTuple

import numba
import numpy as np

from muphy_lb.backends.cpu import skeletons
from muphy_lb.backends.cpu.kernels import KERNELS
from muphy_lb.backends.cpu.skeletons import on_threads
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.base.errors import BackendError
from muphy_lb.domain import WARP

CACHE_LINE = 64


class HostTable(NamedTuple):
    """A run table with signed bases, which may lie before the buffer."""

    lines: np.ndarray
    bases: np.ndarray


class CpuBackend(NumpyBackend):
    """See :class:`muphy_lb.backends.interface.Backend`; memory management and packing are those of NumPy. Raises
    BackendError: half precision, for which CPUs have no arithmetic."""

    name = "cpu"
    kernels = KERNELS

    def __init__(self, lattice, precision):
        if precision.storage is np.float16:
            raise BackendError(
                "precision 'fp16' needs a GPU, CPUs gain nothing from it; use fp32 or fp64, or backend = 'cuda'"
            )
        super().__init__(lattice, precision)

    @property
    def device(self):
        """Name of the device with its number of threads."""
        n_threads = numba.config.NUMBA_NUM_THREADS
        return f"CPU ({n_threads} {'thread' if n_threads == 1 else 'threads'})"

    def array_of_rows(self, host):
        """Warp after warp of nodes, whose loops are vectorised."""
        lanes = host.reshape(len(host), host.shape[1] // WARP, WARP)
        return self.array(np.ascontiguousarray(lanes.swapaxes(0, 1)).reshape(-1))

    def array(self, host):
        """Copy of a host array, aligned as that of :meth:`zeros`."""
        host = np.asarray(host)
        array = self._aligned(host.size, host.dtype).reshape(host.shape)
        array[...] = host
        return array

    def zeros(self, size, dtype):
        """Array of zeros aligned to a cache line, first touched by the threads that will use it."""
        array = self._aligned(size, dtype)
        on_threads(size, lambda: skeletons.clear(array))()
        return array

    def _aligned(self, size, dtype):
        """Uninitialised array that starts a cache line, as non-temporal stores (``rows.stream_row``) need it."""
        itemsize = np.dtype(dtype).itemsize
        memory = self._count(np.empty(size * itemsize + CACHE_LINE, np.uint8))
        first = -memory.ctypes.data % CACHE_LINE
        return memory[first : first + size * itemsize].view(dtype)

    def reduction_workers(self, n_nodes):
        """One worker per chunk of nodes."""
        return -(-n_nodes // skeletons.CHUNK_NODES)

    def stream_table(self, addresses, phase):
        """The run table with signed bases."""
        runs = addresses.runs(phase)
        signed = {np.uint32: np.int32, np.uint64: np.int64}[runs.bases.dtype.type]
        if signed is np.int32 and addresses.n_slots >= 2**31:
            bases = runs.bases.astype(np.int64)
            bases[bases >= addresses.n_slots] -= 2**32
        else:
            bases = runs.bases.view(signed)
        return HostTable(self.array(runs.lines), self.array(bases))

    def neighbour_table(self, neighbours):
        """The table with one record for all warps alike."""
        return self.array(neighbours.records())

    def copy(self, source, target):
        """Launch of a parallel copy."""
        return on_threads(source.size, lambda: skeletons.copy(source, target))
