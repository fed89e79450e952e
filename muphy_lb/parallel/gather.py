"""NodeGather: values of all ranks in node-list order, which does not depend on the number of ranks, and back."""

import numpy as np


class NodeGather:
    """Collects per-node values into rank-independent order, and hands them out again, one component at a time.

    Args:
        communicator: the ranks.
        number: (n_local,) node-list number of the local nodes, in run order.
        n_global: number of nodes of the whole geometry.
    """

    def __init__(self, communicator, number: np.ndarray, n_global: int):
        self._communicator = communicator
        self._number = number
        self._n_global = n_global
        sizes = communicator.gather(number.size)
        if communicator.rank:
            communicator.send(np.ascontiguousarray(number), 0)
        else:
            self._numbers = [
                number,
                *(self._received(rank, sizes[rank], number.dtype) for rank in range(1, len(sizes))),
            ]

    def collect(self, values: np.ndarray) -> np.ndarray | None:
        """(n_global,) values in node-list order on rank 0, None elsewhere; ``values`` is (n_local,)."""
        if self._communicator.rank:
            self._communicator.send(np.ascontiguousarray(values), 0)
            return None
        result = np.empty(self._n_global, values.dtype)
        result[self._number] = values
        for rank in range(1, self._communicator.size):
            result[self._numbers[rank]] = self._received(rank, self._numbers[rank].size, values.dtype)
        return result

    def scatter(self, values: np.ndarray | None, dtype=np.float64) -> np.ndarray:
        """(n_local,) values, of ``dtype``, of the local nodes of (n_global,) ones in node-list order on rank 0."""
        if self._communicator.rank:
            return self._received(0, self._number.size, dtype)
        values = np.asarray(values, dtype=dtype)
        for rank in range(1, self._communicator.size):
            self._communicator.send(np.ascontiguousarray(values[self._numbers[rank]]), rank)
        return values[self._number]

    def _received(self, rank: int, size: int, dtype) -> np.ndarray:
        piece = np.empty(size, dtype)
        self._communicator.receive(piece, rank)
        return piece
