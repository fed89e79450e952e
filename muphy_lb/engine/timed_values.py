"""Values that change from step to step: those of openings and walls, their profiles, the courses of scalars at
openings, and a uniform body force.

They lie on the device twice. A step from buffer 0 reads the first copy, a step from buffer 1 the second, and while
either is read the other takes the next row of the schedule: so the schedule delays no step. Results of the values,
such as the momentum of links whose profile changes its shape, lie there twice as well, computed behind each copy.
"""

from collections.abc import Sequence

import numpy as np

from muphy_lb.backends.arrays import ScheduleArrays
from muphy_lb.parallel.task import ON_OPENINGS

# Rows of a schedule that the device holds at once.
ROWS = 1024

# Components of the force.
N_FORCE = 3


class TimedValues:
    """Values in force, and the schedule of the steps to come.

    Args:
        values: (n,) values of the conditions at the start, the amplitudes of profiles and the courses of scalars;
            three components of the force follow, which are 0.
        set_by_feedback: numbers of the values that conditions with feedback set.

    Attributes:
        rows_left: steps for which the schedule still has a row.
    """

    def __init__(self, backend, values: np.ndarray, set_by_feedback: list[int]):
        self._backend, self._real = backend, backend.precision.real
        self._units = np.append(np.ones(values.size), np.full(N_FORCE, backend.precision.unit))
        start = np.append(values, np.zeros(N_FORCE)).astype(self._real)
        self._copies = [backend.array(start) for _ in range(2)]
        self._is_scheduled = np.ones(start.size, dtype=bool)
        self._is_scheduled[set_by_feedback] = False
        self._schedule = self._allocate(ROWS)
        self._followers: tuple[list, list] = ([], [])
        self.rows_left = 0

    @property
    def size(self) -> int:
        """Number of values, those of the force included."""
        return self._units.size

    @property
    def n_values(self) -> int:
        """Number of values without those of the force."""
        return self._units.size - N_FORCE

    def of_step(self, parity: int):
        """Device array that a step from buffer ``parity`` reads."""
        return self._copies[parity]

    def behind(self, parity: int):
        """Device array that the step read which led to the state in buffer ``parity``."""
        return self._copies[1 - parity]

    def follow(self, launches: Sequence) -> None:
        """Have two launches, on the queue of the openings, run behind every change of the first and of the second
        copy."""
        for followers, launch in zip(self._followers, launches, strict=True):
            followers.append(launch)

    def set_present(self, row: np.ndarray) -> None:
        """Values in force now; those that feedback sets stay as they are."""
        for copy in self._copies:
            kept = self._backend.to_host(copy)
            self._backend.update(copy, np.where(self._is_scheduled, self._stored(row), kept))
        self._update_followers(0, 1)

    def schedule(self, rows: np.ndarray, parity: int) -> None:
        """Values (K, n + 3) of the steps to come, one row a step, K at most ``ROWS``, of which the first goes from
        buffer ``parity``. The last row stays in force."""
        backend, arrays = self._backend, self._schedule
        first = self._copies[parity]
        kept = backend.to_host(first)
        backend.update(first, np.where(self._is_scheduled, self._stored(rows[0]), kept))
        backend.update(backend.view(arrays.rows, 0, rows.size), self._stored(rows).reshape(-1))
        backend.update(arrays.n_rows, np.full(1, len(rows)))
        backend.update(arrays.next, np.ones(1, np.int64))
        self._update_followers(parity)
        self.rows_left = len(rows)

    def bind_next(self, parity: int) -> list:
        """Launches that fetch, in a step from buffer ``parity``, the row of the step behind it."""
        fetch = self._backend.bind("next_row", self._schedule, self._copies[1 - parity], ON_OPENINGS)
        return [fetch, *self._followers[1 - parity]]

    def compile(self) -> None:
        """Run the launches once, the first beside the values: what is recorded must have run before."""
        backend, scratch = self._backend, self._allocate(1)
        backend.update(scratch.n_rows, np.ones(1, np.int64))
        backend.bind("next_row", scratch, backend.zeros(self.size, self._real), ON_OPENINGS)()
        self._update_followers(0, 1)
        backend.synchronise()

    def _update_followers(self, *parities: int) -> None:
        """Compute what follows from copies that the host has changed."""
        launches = [launch for parity in parities for launch in self._followers[parity]]
        if launches:
            self._backend.synchronise()
            for launch in launches:
                launch()
            self._backend.synchronise()

    def _stored(self, rows: np.ndarray) -> np.ndarray:
        return (rows * self._units).astype(self._real)

    def _allocate(self, n_rows: int) -> ScheduleArrays:
        backend = self._backend
        rows, mask = backend.zeros(n_rows * self.size, self._real), backend.array(self._is_scheduled.astype(np.uint8))
        return ScheduleArrays(rows, mask, backend.zeros(1, np.int64), backend.zeros(1, np.int64))


def timed_momenta(
    backend, timed: TimedValues, profiles, momentum: np.ndarray, boundary: np.ndarray, first: int
) -> tuple:
    """The momentum of all opening links for either copy of the values; see
    :class:`~muphy_lb.engine.timed_values.TimedValues`, which from now on keeps it up to date.

    Args:
        timed: values in force.
        profiles: (columns, links) weights by number of the opening, of its links in the order of the launch.
        momentum: (L,) of all links, of which those of other openings stay as they are.
        boundary: (L,) opening of each link.
        first: number of the first amplitude among the values; they lie there opening after opening.
    """
    real = backend.precision.real
    copies = tuple(backend.array(momentum.astype(real)) for _ in range(2))
    for number, weights in profiles.items():
        last = first + len(weights)
        if weights.size:
            shape = backend.array(np.flatnonzero(boundary == number)), backend.array(weights.astype(real).reshape(-1))
            pairs = enumerate(copies)
            timed.follow([_bound(backend, timed, (copy, *shape), (parity, first, last)) for parity, copy in pairs])
        first = last
    return copies


def timed_copies(backend, timed: TimedValues, array: np.ndarray, factors) -> tuple:
    """Device copies of an array (n,) for either copy of the values, as of :func:`timed_momenta`; the same where nothing
    changes. ``factors``: pairs of the number of a value and the entries (n,) that it multiplies, true or false."""
    real = backend.precision.real
    changing = [(number, np.flatnonzero(entries)) for number, entries in factors if entries.any()]
    copies = [backend.array(array.astype(real)) for _ in range(2 if changing else 1)]
    for number, places in changing:
        shape = backend.array(places), backend.array(array[places].astype(real))
        timed.follow([_bound(backend, timed, (copy, *shape), (p, number, number + 1)) for p, copy in enumerate(copies)])
    return copies[0], copies[-1]


def _bound(backend, timed: TimedValues, arrays: tuple, amplitudes: tuple[int, int, int]):
    parity, first, last = amplitudes
    values = backend.view(timed.of_step(parity), first, last)
    return backend.bind("profile", *arrays, values, ON_OPENINGS)
