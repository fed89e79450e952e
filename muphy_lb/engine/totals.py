"""Sums over the nodes of a rank."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.arrays import ReductionArrays


@dataclass(frozen=True)
class Totals:
    """Sums over one rank's nodes: ``mass`` (of rho - 1), largest ``speed``, exact scaled integer sums of speeds and of
    the components of the velocity (``flow`` (6,), see :class:`muphy_lb.backends.arrays.ReductionArrays`)."""

    mass: float
    speed: float
    fixed_speed: int
    flow: np.ndarray


class Reductions:
    """The launches that sum over all nodes, from each buffer; they share their partial sums.

    Args:
        engine: whose nodes.
        speed_scale: scale of the exact integer sums.
    """

    def __init__(self, engine, speed_scale: float):
        backend, model = engine.backend, engine.model
        n = backend.reduction_workers(engine.domain.n_nodes)
        # one array, since every copy to the host takes its time
        partial_sums = backend.zeros((2 + 1 + 6) * n, np.int64)
        mass, peak = (backend.view(partial_sums, k * n, (k + 1) * n).view(np.float64) for k in range(2))
        speed, flow = backend.view(partial_sums, 2 * n, 3 * n), backend.view(partial_sums, 3 * n, 9 * n).reshape(6, n)
        arrays = ReductionArrays(mass, peak, speed, flow, float(speed_scale))
        operator = model.counted or model.macroscopic
        self._backend, self._partial_sums = backend, partial_sums
        self._launches = [self._bound(engine, operator, parity, arrays) for parity in (0, 1)]

    @staticmethod
    def _bound(engine, operator, parity: int, arrays: ReductionArrays):
        """The launch for the state in a buffer."""
        state, occupied = engine.state(parity), engine.stream_arrays(parity).occupied
        values = engine.measuring(parity, operator)
        return engine.backend.bind("reduction", operator, state, occupied, arrays, values)

    def totals(self, parity: int) -> Totals:
        """Sums of the state in a buffer."""
        self._launches[parity]()
        partial_sums = self._backend.to_host(self._partial_sums).reshape(9, -1)
        mass, peak = partial_sums[:2].view(np.float64)
        return Totals(float(mass.sum()), float(peak.max()), int(partial_sums[2].sum()), partial_sums[3:].sum(axis=1))
