"""NodeMoments: density and velocity at selected nodes of a rank, copied to the host without those of the others."""

import numpy as np

from muphy_lb.backends.arrays import NodeRange

CHUNK_NODES = 1 << 20
"""Nodes whose moments are computed in one launch, for those that are selected among them."""


class NodeMoments:
    """Reads the moments of selected nodes; only these are copied, which makes it quick.

    Args:
        engine: engine of the rank.
        nodes: (k,) ascending local nodes.
    """

    def __init__(self, engine, nodes: np.ndarray):
        self._engine, self._nodes = engine, nodes
        self._chunks: list[tuple[NodeRange, slice]] = []
        for first in range(0, engine.domain.n_nodes, CHUNK_NODES):
            last = min(first + CHUNK_NODES, engine.domain.n_nodes)
            begin, end = np.searchsorted(nodes, (first, last))
            if begin < end:
                self._chunks.append((NodeRange(first, last), slice(int(begin), int(end))))
        self._memory, self._packed = None, None
        self._gathers: list = []
        self._computations: dict[int, list] = {}

    def read(self) -> np.ndarray:
        """(4, k) rows rho - 1, ux, uy, uz, lattice units, of the present state."""
        backend, parity = self._engine.backend, self._engine.parity
        if not self._chunks:
            return np.empty((4, 0), backend.precision.real)
        backend.synchronise()
        if not self._gathers:
            self._bind_gathers()
        if parity not in self._computations:
            self._computations[parity] = self._bind_computations(parity)
        for compute, gather in zip(self._computations[parity], self._gathers, strict=True):
            compute()
            backend.synchronise()  # the copy is launched on another queue
            gather()
            backend.synchronise()  # before the next chunk takes its place
        packed = backend.to_host(self._packed)
        result = np.empty((4, self._nodes.size), backend.precision.real)
        for _, columns in self._chunks:
            result[:, columns] = packed[4 * columns.start : 4 * columns.stop].reshape(4, -1)
        return result

    def _bind_gathers(self) -> None:
        """The memory of both parities, and what copies the selected moments of every chunk behind each other."""
        backend, real = self._engine.backend, self._engine.backend.precision.real
        longest = max(nodes.last - nodes.first for nodes, _ in self._chunks)
        self._memory, self._packed = backend.zeros(4 * longest, real), backend.zeros(4 * self._nodes.size, real)
        for nodes, columns in self._chunks:
            size, chosen = nodes.last - nodes.first, self._nodes[columns] - nodes.first
            addresses = backend.array(np.concatenate([chosen + row * size for row in range(4)]))
            packed = backend.view(self._packed, 4 * columns.start, 4 * columns.stop)
            self._gathers.append(backend.bind("gather", backend.view(self._memory, 0, 4 * size), addresses, packed))

    def _bind_computations(self, parity: int) -> list:
        """What computes the moments of every chunk."""
        engine, backend = self._engine, self._engine.backend
        values, bound = engine.measuring(parity), []
        for nodes, _ in self._chunks:
            moments = backend.view(self._memory, 0, 4 * (nodes.last - nodes.first))
            bound.append(
                backend.bind("moments", engine.model.macroscopic, engine.state(parity), nodes, moments, values)
            )
        return bound
