"""Lists of nodes that ``COLLECT`` stages make on the device."""

import numpy as np

from muphy_lb.backends.arrays import Collected, NodeRange
from muphy_lb.physics.model import COLLECT, Model

NODES_PER_ENTRY = 8
"""A list has room for one node in so many; with more of them, all nodes are looked at."""


class CollectedNodes:
    """The lists, by stage that makes them and range of nodes. Each has two counts, one for steps from each buffer, so
    that one is emptied while the other is read.

    Args:
        backend: the device.
        model: whose stages collect; on a device that makes no lists there are none.
    """

    def __init__(self, backend, model: Model):
        self._backend = backend
        self._place = {stage.name: k for k, stage in enumerate(model.stages)}
        names = [stage.name for stage in model.stages if stage.kernel == COLLECT] if backend.makes_lists else []
        self._names = frozenset(names)
        self._lists: dict[tuple[str, int, int], tuple] = {}

    def made(self, name: str, nodes: NodeRange, parity: int) -> Collected:
        """The list of a range that a step from buffer ``parity`` makes."""
        key = name, nodes.first, nodes.last
        if key not in self._lists:
            size = -(-(nodes.last - nodes.first) // NODES_PER_ENTRY)
            self._lists[key] = self._backend.zeros(2, np.int32), self._backend.zeros(size, np.uint32)
            self._forget_one(*self._lists[key])
        counts, listed = self._lists[key]
        return Collected(self._backend.view(counts, parity, parity + 1), listed)

    def known_to(self, stage: str, name: str, nodes: NodeRange, parity: int) -> Collected | None:
        """The list of a range that a stage finds in a step from buffer ``parity``: that of the same step if it comes
        behind the one that collects, else that of the step before; None on a device that makes no lists."""
        if name not in self._names:
            return None
        return self.made(name, nodes, parity if self._place[stage] > self._place[name] else 1 - parity)

    def forget(self) -> None:
        """Fields have been overwritten: the next step, an even one, finds that nothing is known."""
        for counts, listed in self._lists.values():
            self._forget_one(counts, listed)

    def _forget_one(self, counts, listed) -> None:
        self._backend.update(counts, np.array([0, listed.size + 1], dtype=np.int32))
