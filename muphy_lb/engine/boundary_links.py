"""Opening links and links into linkwise walls of one rank, bound to its device, and measurements at links."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import LinkArrays, LinkBuffers
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.boundaries.wall_balance import WallBalance
from muphy_lb.domain import AddressTable
from muphy_lb.engine.timed_values import TimedValues, timed_momenta
from muphy_lb.engine.wall_links import WallLinks
from muphy_lb.model.model import Model

# Sums over openings are in fixed point: 2^-44 is far below the rounding of a population in single precision, and sums
# over half a million links of order 1 fit in 63 bits.
SUM_SCALE = 2.0**44
# Of each opening: mass that entered, density deviations, number of links.
N_SUMS = 3


@dataclass(frozen=True)
class LinkConditions:
    """Conditions of the local links.

    Attributes:
        momentum: (L,) mass that enters through each opening link per unit of its opening's value.
        kind: (n_openings,) condition kind of each opening.
        walls: (3, S) coefficients of the links into linkwise walls.
        value: values of the openings, then the velocity scale of each labelled wall and of all others together.
        feedback: conditions with feedback by number of their opening.
        balance: what keeps the mass at interpolated walls, if there are any.
        profiles: by number of an opening whose profile changes its shape, (columns, links) mass that enters through
            each of its local links per unit of value and amplitude; the same number of columns on every rank.
    """

    momentum: np.ndarray
    kind: np.ndarray
    walls: np.ndarray
    value: np.ndarray
    feedback: Mapping[int, Feedback] = field(default_factory=dict)
    balance: WallBalance | None = None
    profiles: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def at_start(self) -> np.ndarray:
        """All values that change with time, as they are at the start: ``value``, then the amplitudes of profiles."""
        return np.append(self.value, np.zeros(sum(len(weights) for weights in self.profiles.values())))


class Values(NamedTuple):
    """Numbers on the device: the conditions' values in force, and ``(parity, in_force) -> tuple``, the values of the
    parameters of the model's ``macroscopic``, with which the moments of a buffer are taken."""

    timed: TimedValues
    macroscopic: Callable[[int, object], tuple]


class BoundaryLinks:
    """The opening and wall links of a rank bound to its device.

    Args:
        backend: the device.
        model: the physics.
        addresses: addresses of the links' populations.
        buffers: both population buffers; with in-place streaming the same one twice.
        conditions: the conditions at the links.
        values: values that change with time.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, conditions, values: Values):
        self._backend, self._model, self._addresses = backend, model, addresses
        self._buffers, self._moment_values = buffers, values.macroscopic
        nodes = np.unique(addresses.domain.links.node)
        states = [self._state(phase, nodes) for phase in range(len(addresses.patterns))]
        self._timed = values.timed
        self._n_openings, self._n_values = conditions.kind.size, conditions.value.size
        self._links = self._link_arrays(conditions, nodes, states)
        self._momentum = self._momenta(conditions)
        self._walls = WallLinks(backend, model, addresses, buffers, conditions.walls, conditions.balance)
        self._sum_launches: tuple | None = None

    @property
    def has_openings(self) -> bool:
        """Whether there are opening links."""
        return self._addresses.domain.links.n_links > 0

    @property
    def has_linkwise_walls(self) -> bool:
        """Whether there are links into linkwise walls."""
        return self._addresses.domain.linkwise.n_links > 0

    def bind_openings(self, parity: int, is_behind: bool = False):
        """Launch that fills in what enters through the openings before, or after, a step from buffer ``parity``.

        Args:
            parity: the buffer.
            is_behind: with the values of the step before, to measure the state that it left.
        """
        buffer, links = self._completed(parity), self._links_with_values(parity, is_behind)
        buffers = LinkBuffers(self._buffers[parity], buffer, buffer)
        moments = self._moment_values(parity, self._in_force(parity, is_behind))
        return self._backend.bind("links", self._operators, buffers, links, moments)

    def bind_walls(self, parity: int, is_behind: bool = False):
        """Launch that fills in what enters through the links into linkwise walls; before a step also what keeps the
        mass at interpolated walls. See :meth:`bind_openings`."""
        in_force = self._backend.view(self._in_force(parity, is_behind), self._n_openings, self._n_values)
        return self._walls.bind(parity, in_force, keeps_mass=not is_behind)

    def sums(self, parity: int, n_openings: int) -> np.ndarray:
        """(n_openings, 3) int64 sums over the links of each opening in the state ``parity``; see
        :meth:`muphy_lb.engine.engine.Engine.opening_sums`."""
        if self._sum_launches is None:
            self._sum_launches = self._bind_sum_launches(n_openings)
        launches, sums = self._sum_launches
        for launch in launches[parity]:
            launch()
        return self._backend.to_host(sums).reshape(n_openings, N_SUMS)

    def _bind_sum_launches(self, n_openings: int) -> tuple[list, object]:
        """The launches that sum over the openings of either state, bound on first use, and the array of the sums."""
        backend = self._backend
        fluxes = backend.zeros(2 * self.n_opening_links, np.float64)
        sums = backend.zeros(N_SUMS * n_openings, np.int64)
        add = self.bind_sums(fluxes, sums)
        return [[self.bind_fluxes(parity, fluxes), add] for parity in (0, 1)], sums

    def bind_sums(self, fluxes, sums):
        """Launch that sums (2 L,) measured fluxes and densities by opening, exactly."""
        return self._backend.bind("sum_openings", fluxes, self._links[0].opening, sums, SUM_SCALE)

    def fluxes(self, parity: int) -> tuple[np.ndarray, np.ndarray]:
        """(L,) mass entering per step, and node density deviation, of every opening link, in record order."""
        arrays = self._backend.zeros(2 * self.n_opening_links, np.float64)
        self.bind_fluxes(parity, arrays)()
        in_order = np.empty((2, self.n_opening_links))
        in_order[:, self._order] = self._backend.to_host(arrays).reshape(2, -1)
        return in_order[0], in_order[1]

    def bind_fluxes(self, parity: int, arrays):
        """Launch that measures the fluxes and densities of the state ``parity`` into (2 L,) float64 numbers, in the
        order of the launch."""
        n_links, view = self.n_opening_links, self._backend.view
        halves = view(arrays, 0, n_links), view(arrays, n_links, 2 * n_links)
        buffer = self._buffers[parity]
        is_stored = self._model.streaming.stores_before_collision
        buffers = LinkBuffers(buffer, buffer, buffer if is_stored else None)
        links = self._links_with_values(parity, is_behind=True)
        moments = self._moment_values(parity, self._in_force(parity, is_behind=True))
        return self._backend.bind("link_fluxes", self._operators, buffers, links, halves, moments)

    @property
    def n_opening_links(self) -> int:
        """Number of local opening links."""
        return self._addresses.domain.links.n_links

    def wall_exchange(self, parity: int) -> np.ndarray:
        """(S + F,) population that leaves plus the one that enters of every link into linkwise walls and into other
        labelled walls; slots must be filled."""
        return self._walls.exchange(parity)

    def kept_wall_exchange(self, parity: int) -> Callable[[], np.ndarray]:
        """The same as a function; until the next call it stays on the device."""
        return self._walls.kept_exchange(parity)

    def _in_force(self, parity: int, is_behind: bool):
        """Device array of the values in force in a step from buffer ``parity``, or in the step behind which it is."""
        return self._timed.behind(parity) if is_behind else self._timed.of_step(parity)

    def _links_with_values(self, parity: int, is_behind: bool) -> LinkArrays:
        links, in_force = self._links[parity % len(self._links)], self._in_force(parity, is_behind)
        momentum = self._momentum[1 - parity if is_behind else parity]
        return links._replace(value=self._backend.view(in_force, 0, self._n_openings), momentum=momentum)

    def _completed(self, parity: int):
        """The buffer in which a step from ``parity`` fills in what enters through links."""
        return self._buffers[self._model.streaming.completed_buffer(parity)]

    @property
    def _operators(self) -> tuple:
        return self._model.openings, self._model.macroscopic

    def _link_arrays(self, conditions: LinkConditions, nodes, states) -> tuple[LinkArrays, ...]:
        """Links node after node, for even and odd steps; ``states`` is where the populations of their nodes lie."""
        links, addresses, array = self._addresses.domain.links, self._addresses, self._backend.array
        self._order = order = np.argsort(links.node, kind="stable")
        start = np.searchsorted(links.node[order], nodes)
        records = LinkArrays(
            node=array(nodes),
            start=array(np.append(start, links.n_links)),
            owner=array(np.searchsorted(nodes, links.node[order])),
            state=None,
            q=array(links.q[order]),
            outgoing=None,
            incoming=None,
            opening=array(links.boundary[order]),
            momentum=array(conditions.momentum[order].astype(self._backend.precision.real)),
            kind=array(conditions.kind.astype(np.int64)),
            value=None,
        )
        return tuple(
            records._replace(
                state=array(rows.reshape(-1)), outgoing=array(at.outgoing[order]), incoming=array(at.incoming[order])
            )
            for rows, at in zip(states, addresses.links, strict=True)
        )

    def _momenta(self, conditions: LinkConditions) -> tuple:
        """The momentum of the links for either copy of the values: where profiles change their shape it follows from
        the amplitudes, as :class:`~muphy_lb.engine.timed_values.TimedValues` is told."""
        if not conditions.profiles:
            return (self._links[0].momentum,) * 2
        order, boundary, weights = self._order, self._addresses.domain.links.boundary, {}
        for number, given in conditions.profiles.items():
            in_order = order[boundary[order] == number]
            weights[number] = given[:, np.searchsorted(np.flatnonzero(boundary == number), in_order)]
        return timed_momenta(self._backend, self._timed, weights, conditions.momentum[order], boundary[order])

    def _state(self, phase: int, nodes: np.ndarray) -> np.ndarray:
        """(Q, m) addresses of the populations of ascending local nodes before a step of a phase."""
        return self._addresses.resolve(phase - 1, self._addresses.locations_after(phase - 1), nodes)
