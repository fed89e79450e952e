"""Lists of nodes, and of warps with fluid, that ``COLLECT`` stages make on the device."""

import numpy as np

from muphy_lb.backends.arrays import Collected, NodeRange
from muphy_lb.domain import WARP
from muphy_lb.model.model import COLLECT, Model

NODES_PER_ENTRY = 8
"""A list has room for one node in so many; with more of them, all nodes are looked at."""


class CollectedNodes:
    """The lists, by stage that makes them and range of nodes. Each has its counts and warps twice, for steps from each
    buffer, so that one is written while the bulk, which collides beside other stages, reads the other.

    Args:
        backend: the device.
        model: whose stages collect; on a device that makes no lists there are none.
    """

    def __init__(self, backend, model: Model):
        self._backend = backend
        self._place = {stage.name: k for k, stage in enumerate(model.stages)}
        stages = [stage for stage in model.stages if stage.kernel == COLLECT] if backend.makes_lists else []
        self._names = frozenset(stage.name for stage in stages)
        self._of_field = {stage.where.field: stage.name for stage in stages if stage.where}
        self._lists: dict[tuple[str, int, int], tuple[Collected, Collected]] = {}
        self._counters: dict[tuple[str, int, int], object] = {}

    def made(self, name: str, nodes: NodeRange, parity: int) -> Collected:
        """The list of a range that a step from buffer ``parity`` makes."""
        key = name, nodes.first, nodes.last
        if key not in self._lists:
            size = -(-(nodes.last - nodes.first) // NODES_PER_ENTRY)
            n_warps = -(-nodes.last // WARP) - nodes.first // WARP
            counts, chosen = self._backend.zeros(4, np.int32), self._backend.zeros(size, np.uint32)
            warps = [self._backend.zeros(n_warps, np.uint32) for _ in range(2)]
            views = [self._backend.view(counts, 2 * p, 2 * p + 2) for p in range(2)]
            even, odd = (Collected(views[p], chosen, warps[p]) for p in range(2))
            self._lists[key] = even, odd
            self._forget_one(*self._lists[key])
        return self._lists[key][parity]

    def counters(self, name: str, nodes: NodeRange):
        """(3,) int32 with which the device counts while it makes the list of a range; 0 before and after."""
        key = name, nodes.first, nodes.last
        if key not in self._counters:
            self._counters[key] = self._backend.zeros(3, np.int32)
        return self._counters[key]

    def known_to(self, stage: str, name: str, nodes: NodeRange, parity: int) -> Collected | None:
        """The list of a range that a stage finds in a step from buffer ``parity``: that of the same step if it comes
        behind the one that collects, else that of the step before; None on a device that makes no lists."""
        if name not in self._names:
            return None
        return self.made(name, nodes, parity if self._place[stage] > self._place[name] else 1 - parity)

    def of_collision(self, field: str, nodes: NodeRange, parity: int) -> Collected | None:
        """The list of a range by a field that the collision finds in a step from buffer ``parity``: that of the step
        before; None where there is none."""
        return self.made(self._of_field[field], nodes, 1 - parity) if field in self._of_field else None

    def forget(self) -> None:
        """Fields have been overwritten: the next step, an even one, finds that nothing is known."""
        for lists in self._lists.values():
            self._forget_one(*lists)

    def _forget_one(self, *lists: Collected) -> None:
        for each in lists:
            self._backend.update(each.count, np.array([each.nodes.size + 1, each.warps.size + 1], dtype=np.int32))
