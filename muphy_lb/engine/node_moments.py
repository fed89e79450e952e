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
        self._launches: dict[int, list] = {}

    def read(self) -> np.ndarray:
        """(4, k) rows rho - 1, ux, uy, uz, lattice units, of the present state."""
        backend, parity = self._engine.backend, self._engine.parity
        backend.synchronise()
        if parity not in self._launches:
            self._launches[parity] = self._bind(parity)
        result = np.empty((4, self._nodes.size), backend.precision.real)
        for (compute, gather, packed), (_, columns) in zip(self._launches[parity], self._chunks, strict=True):
            compute()
            backend.synchronise()  # the copy is launched on another queue
            gather()
            result[:, columns] = backend.to_host(packed).reshape(4, -1)
        return result

    def _bind(self, parity: int) -> list:
        """The launches of every chunk, and what they leave."""
        engine, backend, real = self._engine, self._engine.backend, self._engine.backend.precision.real
        longest = max((nodes.last - nodes.first for nodes, _ in self._chunks), default=0)
        memory, bound = backend.zeros(4 * longest, real), []
        for nodes, columns in self._chunks:
            size, chosen = nodes.last - nodes.first, self._nodes[columns] - nodes.first
            moments, packed = backend.view(memory, 0, 4 * size), backend.zeros(4 * chosen.size, real)
            addresses = backend.array(np.concatenate([chosen + row * size for row in range(4)]))
            values = engine.measuring(parity)
            compute = backend.bind("moments", engine.model.macroscopic, engine.state(parity), nodes, moments, values)
            bound.append((compute, backend.bind("gather", moments, addresses, packed), packed))
        return bound
