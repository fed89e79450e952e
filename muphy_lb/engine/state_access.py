"""StateAccess: transfer of populations and moments between device and host, in chunks through scratch memory."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from muphy_lb.backends.arrays import NodeRange, State
from muphy_lb.domain import LocalDomain
from muphy_lb.model.model import Model

# Nodes of a chunk.
CHUNK_NODES = 1 << 17


class StateAccess:
    """Reads and writes the state of a rank.

    Args:
        backend: the device.
        model: the physics.
        domain: this rank's nodes.
    """

    def __init__(self, backend, model: Model, domain: LocalDomain):
        self._backend, self._model, self._n_nodes = backend, model, domain.n_nodes
        self._real, self._precision = backend.precision.real, backend.precision
        self._scratch: dict = {}

    def populations(self, state: State) -> np.ndarray:
        """(Q, n) stored populations, deviations from w_q."""
        q_count = self._model.lattice.q
        result = np.empty((q_count, self._n_nodes), self._real)
        for nodes in self._chunks():
            rows = self._memory("rows", q_count, nodes, self._precision.storage)
            self._backend.bind("read", state, nodes, rows)()
            stored = self._backend.to_host(rows).reshape(q_count, -1)
            result[:, nodes.first : nodes.last] = stored.astype(self._real) / self._real(self._precision.unit)
        return result

    def moments(self, state: State, values: tuple) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz, with the values of the parameters of the model's ``macroscopic``."""
        result = np.empty((4, self._n_nodes), self._real)
        for nodes in self._chunks():
            out = self._memory("moments", 4, nodes, self._real)
            self._backend.bind("moments", self._model.macroscopic, state, nodes, out, values)()
            result[:, nodes.first : nodes.last] = self._backend.to_host(out).reshape(4, -1)
        return result

    def write(self, state: State, chunk: Callable[[int, int], np.ndarray]) -> None:
        """Overwrite the populations by ``chunk(first, last)`` -> (Q, m), or (Q, 1) if all nodes are equal.

        Chunks are computed side by side, in threads: NumPy computes without Python's lock.
        """
        q_count, storage = self._model.lattice.q, self._precision.storage
        uploaded = None
        for nodes, chunk_values in self._side_by_side(chunk):
            rows = self._memory("rows", q_count, nodes, storage)
            values = chunk_values * self._precision.unit
            if values.shape[1] > 1 or uploaded != rows.size:
                values = np.broadcast_to(values, (q_count, nodes.last - nodes.first))
                self._backend.update(rows, values.astype(storage).reshape(rows.shape))
                uploaded = rows.size
            self._backend.bind("write", state, nodes, rows)()

    def _side_by_side(self, chunk: Callable[[int, int], np.ndarray]) -> Iterator[tuple[NodeRange, np.ndarray]]:
        """The chunks and their values in order, a few at a time, since each takes memory."""
        n_threads = numba.get_num_threads()
        ranges = list(self._chunks())
        with ThreadPoolExecutor(n_threads) as pool:
            for start in range(0, len(ranges), n_threads):
                some = ranges[start : start + n_threads]
                yield from zip(some, pool.map(lambda nodes: chunk(nodes.first, nodes.last), some), strict=True)

    def _chunks(self) -> Iterator[NodeRange]:
        for first in range(0, self._n_nodes, CHUNK_NODES):
            yield NodeRange(first, min(first + CHUNK_NODES, self._n_nodes))

    def _memory(self, name: str, n_rows: int, nodes: NodeRange, dtype):
        """Scratch memory on the device, kept between calls."""
        if name not in self._scratch:
            self._scratch[name] = self._backend.zeros(n_rows * min(CHUNK_NODES, self._n_nodes), dtype)
        return self._backend.view(self._scratch[name], 0, n_rows * (nodes.last - nodes.first))
