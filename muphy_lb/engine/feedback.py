"""Conditions with feedback on one rank's device: measure, agree among the ranks, advance, set the value."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.backends.arrays import FeedbackArrays
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.domain.halo import Exchange
from muphy_lb.engine.boundary_links import N_SUMS, SUM_SCALE, BoundaryLinks
from muphy_lb.parallel import Halo, HaloConnector
from muphy_lb.parallel.task import ON_EDGE, Task


class FeedbackConditions:
    """The conditions with feedback of a rank; every rank advances all of them, from the same sums.

    Args:
        backend: the device.
        connector: to the other ranks; the sums travel like halos.
        links: the opening links of this rank.
        conditions: by number of the opening.
        n_openings: number of openings.
        timed: values in force.
    """

    def __init__(self, backend, connector: HaloConnector, links: BoundaryLinks, conditions, n_openings: int, timed):
        self._backend, self._links = backend, links
        self._conditions: Mapping[int, Feedback] = conditions
        communicator = connector.communicator
        self._rank, self._size, self._n_openings = communicator.rank, communicator.size, n_openings
        self._states = {k: backend.array(np.array(c.initial, dtype=np.float64)) for k, c in conditions.items()}
        self._values = {k: [backend.view(timed.of_step(p), k, k + 1) for p in (0, 1)] for k in conditions}
        n_sums = self._size * N_SUMS * n_openings
        self._sums = [backend.zeros(n_sums, np.int64) for _ in range(2)]
        self._fluxes = backend.zeros(2 * links.n_opening_links, np.float64)
        self._lines = connector.connect(backend, self._all_ranks()).exchanges

    def tasks(self, parity: int, phase: int) -> list[Task]:
        """The tasks ahead of a step from buffer ``parity``, given its number modulo ``n_phases``; none where no
        update is due."""
        due = {k: c for k, c in self._conditions.items() if phase % c.every == 0}
        if not due:
            return []
        slot = self.slot(phase)
        sums, line = self._sums[slot], self._lines[slot]
        first = self._rank * N_SUMS * self._n_openings
        own = self._backend.view(sums, first, first + N_SUMS * self._n_openings)
        tasks = []
        if self._links.has_openings:
            tasks += [Task("feedback", ON_EDGE, self._links.bind_fluxes(parity, self._fluxes))]
            tasks += [Task("feedback", ON_EDGE, self._links.bind_sums(self._fluxes, own))]
        tasks += line.tasks if line else []
        return tasks + [self._advance(k, condition, sums) for k, condition in due.items()]

    def slot(self, phase: int) -> int:
        """Which of the two places the sums of an update take: they alternate, so that no rank overwrites what a slower
        one still reads."""
        return phase // self.period % 2

    @property
    def n_phases(self) -> int:
        """Steps after which updates and slots repeat."""
        return 2 * max(condition.every for condition in self._conditions.values())

    @property
    def period(self) -> int:
        """Steps between two exchanges of the sums: every condition is updated at a multiple of it."""
        return min(condition.every for condition in self._conditions.values())

    def reset(self) -> None:
        """The states and values of a fluid at rest."""
        for k, condition in self._conditions.items():
            self._set(k, condition.initial, condition.value)

    def record(self) -> dict[str, list[float]]:
        """State and value of each condition by number of its opening, for checkpoints."""
        to_host = self._backend.to_host
        return {
            str(k): [*to_host(self._states[k]).tolist(), float(to_host(self._values[k][0])[0])] for k in self._states
        }

    def restore(self, record: Mapping[str, list[float]]) -> None:
        """Continue from a record."""
        for k, (*state, value) in record.items():
            self._set(int(k), state, value)

    def _set(self, k: int, state, value: float) -> None:
        if len(state):
            self._backend.update(self._states[k], np.array(state, dtype=np.float64))
        for place in self._values[k]:
            self._backend.update(place, np.full(1, value, dtype=place.dtype))

    def _advance(self, k: int, condition: Feedback, sums) -> Task:
        operator = condition.operator
        values = tuple(float(condition.parameters[parameter.name]) for parameter in operator.parameters)
        even, odd = self._values[k]
        weights = self._backend.array(np.array(condition.weights(k, self._n_openings)))
        arrays = FeedbackArrays(sums, weights, self._states[k], even, odd, k, self._n_openings, SUM_SCALE)
        update = self._backend.bind("feedback", operator, arrays, values)
        return Task("feedback", ON_EDGE, update)

    def _all_ranks(self) -> Halo:
        """Every rank sends its sums to every other."""
        others = tuple(rank for rank in range(self._size) if rank != self._rank)
        width = N_SUMS * self._n_openings
        own = self._rank * width + np.arange(width)
        arriving = [rank * width + np.arange(width) for rank in others]
        start = width * np.arange(len(others) + 1)
        addresses = np.tile(own, len(others)), start, np.concatenate([own[:0], *arriving]), start
        plan = Exchange(*addresses, acknowledged=True)
        return Halo(others, (plan, plan), tuple(self._sums))
