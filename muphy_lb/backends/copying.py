"""The copy bandwidth of a device, the reference for memory-bound kernels."""

import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

# Bytes of each of the two arrays: far beyond the caches.
COPY_BYTES = 1 << 32
COPY_BYTES_ON_HOST = 1 << 29
COPY_REPETITIONS = 20
BLOCK_BYTES = 1 << 24


def copy_bandwidth_tb_s(backend, n_bytes: int | None = None) -> float:
    """Bandwidth of a large copy [TB/s], bytes read plus bytes written; best of several.

    Args:
        backend: whose device copies; on the host all Numba threads.
        n_bytes: size of each of the two arrays, if not the usual one.
    """
    if backend.on_host:
        return host_copy_tb_s(numba.config.NUMBA_NUM_THREADS, n_bytes or COPY_BYTES_ON_HOST)
    n_bytes = n_bytes or COPY_BYTES
    return _best(_device_copy(backend, n_bytes), n_bytes, backend.synchronise)


def host_copy_tb_s(n_threads: int, n_bytes: int) -> float:
    """Bandwidth of a large copy on the host [TB/s]: each thread copies the chunk that it touched first (NUMA
    placement), with the C library's copy, which uses non-temporal stores."""
    with ThreadPoolExecutor(n_threads) as pool:
        return _best(_host_copy(pool, n_threads, n_bytes), n_bytes, lambda: None)


def _host_copy(pool, n_threads: int, n_bytes: int):
    """Function that copies between two arrays with the threads that first touched them."""
    source, target = (np.empty(n_bytes // 4, dtype=np.float32) for _ in range(2))
    bounds = np.linspace(0, source.size, n_threads + 1).astype(np.int64)
    chunks = [(source[first:last], target[first:last]) for first, last in zip(bounds[:-1], bounds[1:], strict=True)]

    def on_threads(work):
        list(pool.map(work, chunks))

    on_threads(lambda chunk: (chunk[0].fill(1.5), chunk[1].fill(0.0)))
    return lambda: on_threads(lambda chunk: np.copyto(chunk[1], chunk[0]))


def _device_copy(backend, n_bytes: int):
    """Launch of a copy between two device arrays of different numbers."""
    source, target = (backend.zeros(n_bytes // 4, np.float32) for _ in range(2))
    block = backend.array(np.random.default_rng(0).random(min(BLOCK_BYTES, n_bytes) // 4, dtype=np.float32))
    for first in range(0, source.size - block.size + 1, block.size):
        backend.copy(block, backend.view(source, first, first + block.size))()
    return backend.copy(source, target)


def _best(copy, n_bytes: int, synchronise) -> float:
    """TB/s of the fastest of several copies of ``n_bytes``."""
    return 2 * n_bytes / min(_seconds(copy, synchronise) for _ in range(COPY_REPETITIONS)) / 1e12


def _seconds(work, synchronise) -> float:
    synchronise()
    start = time.perf_counter()
    work()
    synchronise()
    return time.perf_counter() - start
