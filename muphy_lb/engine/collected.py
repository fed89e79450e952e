"""Lists of nodes that ``COLLECT`` stages make on the device."""

import numpy as np

from muphy_lb.backends.arrays import Collected
from muphy_lb.domain import LocalDomain
from muphy_lb.physics.model import COLLECT, Model

NODES_PER_ENTRY = 8
"""A list has room for one node in so many; with more of them, all nodes are looked at."""


class CollectedNodes:
    """The lists of the edge and of the interior. Each has two counts, one for steps from each buffer, so that one is
    emptied while the other is read.

    Args:
        backend: the device.
        domain: this rank's nodes.
        model: whose stages collect; on a device that makes no lists there are none.
    """

    def __init__(self, backend, domain: LocalDomain, model: Model):
        self._backend = backend
        place = {stage.name: k for k, stage in enumerate(model.stages)}
        names = [stage.name for stage in model.stages if stage.kernel == COLLECT] if backend.makes_lists else []
        capacity = {True: -(-domain.n_edge // NODES_PER_ENTRY)}
        capacity[False] = -(-(domain.n_nodes - domain.n_edge) // NODES_PER_ENTRY)
        self._place = place
        self._lists = {
            (name, is_edge): (backend.zeros(2, np.int32), backend.zeros(size, np.uint32))
            for name in names
            for is_edge, size in capacity.items()
        }
        self.forget()

    def made(self, name: str, is_edge: bool, parity: int) -> Collected:
        """The list that a step from buffer ``parity`` makes."""
        counts, nodes = self._lists[name, is_edge]
        return Collected(self._backend.view(counts, parity, parity + 1), nodes)

    def known_to(self, stage: str, name: str, is_edge: bool, parity: int) -> Collected | None:
        """The list that a stage finds in a step from buffer ``parity``: that of the same step if it comes behind the
        one that collects, else that of the step before; None on a device that makes no lists."""
        if (name, is_edge) not in self._lists:
            return None
        return self.made(name, is_edge, parity if self._place[stage] > self._place[name] else 1 - parity)

    def forget(self) -> None:
        """Fields have been overwritten: the next step, an even one, finds that nothing is known."""
        for counts, nodes in self._lists.values():
            self._backend.update(counts, np.array([0, nodes.size + 1], dtype=np.int32))
