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
        workers = backend.reduction_workers(engine.domain.n_nodes)
        mass, peak = (backend.zeros(workers, np.float64) for _ in range(2))
        speed, flow = (backend.zeros(rows * workers, np.int64) for rows in (1, 6))
        arrays = ReductionArrays(mass, peak, speed, flow.reshape(6, workers), float(speed_scale))
        operator = model.counted or model.macroscopic
        self._backend, self._partial_sums = backend, arrays
        self._launches = [
            backend.bind(
                *("reduction", operator, engine.state(parity), engine.stream_arrays(parity).occupied, arrays),
                engine.measuring(parity, operator),
            )
            for parity in (0, 1)
        ]

    def totals(self, parity: int) -> Totals:
        """Sums of the state in a buffer."""
        self._launches[parity]()
        mass, peak, speed, flow = (self._backend.to_host(array) for array in self._partial_sums[:4])
        return Totals(float(mass.sum()), float(peak.max()), int(speed.sum()), flow.sum(axis=1))
