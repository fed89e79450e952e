"""NodeSums: numbers of all nodes, summed on the devices, and the largest of others; one small copy brings them to the
host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.arrays import SumArrays
from muphy_lb.engine.engine import Engine
from muphy_lb.lattice.exact_sums import from_two_parts, scale_of_sums
from muphy_lb.model.model import Value
from muphy_lb.operators import Operator


@dataclass(frozen=True)
class Measure:
    """Numbers of a node that are summed over all nodes, or of which the largest counts."""

    #: node function ``measure(n, deviation, ux, uy, uz, parameters, found)``, which writes the numbers, float64; the
    #: specification ``(n, moments, lattice, parameters)`` returns (n_sums, m) and (n_peaks, m), with (4, m) moments
    operator: Operator
    values: Mapping[str, Value]  #: of its parameters, by name
    n_sums: int  #: how many are summed; each at most 4 in the mean, in magnitude
    n_peaks: int  #: how many of which the largest counts


class NodeSums:
    """Sums over all nodes of all ranks, exact, so that they do not depend on the ranks; every call is collective.

    Args:
        engine: the flow on this rank, as it is now; asked for from the first reading on.
        measure: what is summed.
        n_nodes: of all ranks.
    """

    def __init__(self, engine: Callable[[], Engine], communicator, measure: Measure, n_nodes: int):
        self._engine, self._communicator, self._measure = engine, communicator, measure
        self._scale = scale_of_sums(n_nodes)
        self._bound: _BoundSums | None = None

    def release(self) -> None:
        """The engine goes; its successor is read from the next call on."""
        self._bound = None

    def read(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(n_sums,) sums, NaN where a number is not finite, and (n_peaks,) largest numbers of the present state, on
        rank 0; None elsewhere."""
        if self._bound is None:
            self._bound = _BoundSums(self._engine(), self._measure, self._scale)
        gathered = self._communicator.gather(self._bound.read())
        if gathered is None:
            return None
        whole, rest, peak = (np.stack(parts) for parts in zip(*gathered, strict=True))
        sums, (*peaks, broken) = from_two_parts(whole.sum(axis=0), rest.sum(axis=0), self._scale), peak.max(axis=0)
        return np.full_like(sums, np.nan) if broken == np.inf else sums, np.array(peaks)


class _BoundSums:
    """The same of one engine."""

    def __init__(self, engine: Engine, measure: Measure, scale: float):
        backend, self._engine = engine.backend, engine
        n, counts = backend.reduction_workers(engine.domain.n_nodes), (measure.n_sums,) * 2 + (measure.n_peaks + 1,)
        ends = np.cumsum((0, *counts)) * n
        lowest = np.full(counts[-1] * n, -np.inf).view(np.int64)
        self._empty, self._counts = np.concatenate([np.zeros(ends[2], np.int64), lowest]), counts
        self._found = backend.array(self._empty)  # one array, since every copy to the host takes its time
        ranges = zip(counts, ends[:-1], ends[1:], strict=True)
        whole, rest, peak = (backend.view(self._found, first, last).reshape(k, n) for k, first, last in ranges)
        arrays = SumArrays(whole, rest, peak.view(np.float64), scale)
        self._launches = [_launch(engine, measure, parity, arrays) for parity in (0, 1)]

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums in two parts, and the largest numbers, of this rank."""
        backend = self._engine.backend
        backend.update(self._found, self._empty)
        self._launches[self._engine.parity]()
        rows = np.split(backend.to_host(self._found).reshape(sum(self._counts), -1), np.cumsum(self._counts)[:-1])
        return rows[0].sum(axis=1), rows[1].sum(axis=1), rows[2].view(np.float64).max(axis=1)


def _launch(engine: Engine, measure: Measure, parity: int, arrays: SumArrays) -> Callable[[], None]:
    """The launch for the state in a buffer."""
    state = engine.state(parity)
    occupied, moments = engine.stream_arrays(parity).occupied, engine.model.macroscopic
    values = engine.parameters.values(measure.operator, measure.values, parity), engine.measuring(parity)
    return engine.backend.bind("sums", (measure.operator, moments), state, occupied, arrays, values)
