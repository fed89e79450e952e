"""Many values, some at a time."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numba

CHUNK = 1 << 20  # values at a time where nothing else is said: 12 MB of the nodes of a list that is read from a file
OF_THREAD = 1 << 17  # values that a thread takes at a time: more often, threads would wait for Python's lock
MOST_THREADS = 8  # of which even more would


def chunks(size: int, most: int | None = None) -> Iterator[slice]:
    """Slices of at most so many, or ``CHUNK``, of ``size`` values."""
    most = most or CHUNK
    return (slice(first, min(first + most, size)) for first in range(0, size, most))


def side_by_side(work: Callable[[slice], None], size: int, most: int = OF_THREAD) -> None:
    """Call ``work`` with slices of at most so many of ``size`` values, in threads: NumPy computes without Python's
    lock."""
    with ThreadPoolExecutor(min(MOST_THREADS, numba.get_num_threads())) as pool:
        list(pool.map(work, chunks(size, most)))
