"""Values of all ranks in an order that does not depend on the ranks: of nodes, and of opening links."""

import numpy as np


class NodeGather:
    """Collects per-node values into rank-independent order, one component at a time.

    Args:
        communicator: the ranks.
        number: (n_local,) node-list number of the local nodes, in run order.
        n_global: number of nodes of the whole geometry.
    """

    def __init__(self, communicator, number: np.ndarray, n_global: int):
        self._communicator = communicator
        self._number = number
        self._n_global = n_global
        self._numbers = communicator.gather(number)

    def collect(self, values: np.ndarray) -> np.ndarray | None:
        """(n_global,) values in node-list order on rank 0, None elsewhere; ``values`` is (n_local,)."""
        if self._communicator.rank:
            self._communicator.send(np.ascontiguousarray(values), 0)
            return None
        result = np.empty(self._n_global, values.dtype)
        result[self._number] = values
        for rank in range(1, self._communicator.size):
            piece = np.empty(self._numbers[rank].size, values.dtype)
            self._communicator.receive(piece, rank)
            result[self._numbers[rank]] = piece
        return result


class LinkGather:
    """Sums values of opening links over all ranks, in an order that does not depend on the ranks.

    Args:
        communicator: the ranks.
        links: the local opening links (:class:`muphy_lb.domain.LinkRecords`).
        n_openings: number of openings.
    """

    def __init__(self, communicator, links, n_openings: int):
        self._communicator, self._n_openings = communicator, n_openings
        gathered = communicator.gather((links.boundary, links.voxel, links.q))
        if gathered is None:
            return
        opening, voxel, q = (np.concatenate(column) for column in zip(*gathered, strict=True))
        self._order = np.lexsort((q, voxel, opening))
        self._opening = opening[self._order]
        self._n_links = np.maximum(np.bincount(opening, minlength=n_openings), 1)

    def sums(self, flux: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """On rank 0, (n_openings,) sums of fluxes and means of density deviations; collective.

        Args:
            flux, deviation: (L,) of the local links, in record order.
        """
        gathered = self._communicator.gather((flux, deviation))
        if gathered is None:
            return None
        flux, deviation = (np.concatenate(column)[self._order] for column in zip(*gathered, strict=True))
        flow = np.bincount(self._opening, flux, self._n_openings)
        return flow, np.bincount(self._opening, deviation, self._n_openings) / self._n_links
