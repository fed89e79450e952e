"""Borders: opening links and links into slotted walls of one rank, bound to its device, and what they measure."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.interface import LinkArrays, WallArrays
from muphy_lb.domain import AddressTable, flat_address
from muphy_lb.engine.probe import Probe
from muphy_lb.physics.model import LINKS, WALL_LINKS, Model


@dataclass(frozen=True)
class LinkConditions:
    """Conditions of the local links.

    Attributes:
        momentum: (L,) mass that enters through each opening link per unit of its opening's value.
        kind: (n_openings,) condition kind of each opening.
        walls: (4, S) coefficients of the links into slotted walls.
        value: values of the openings, then the velocity scale of each labelled wall and of all others together.
    """

    momentum: np.ndarray
    kind: np.ndarray
    walls: np.ndarray
    value: np.ndarray


class Values(NamedTuple):
    """Numbers on the device: the row of the conditions' values in force ``now``, and the model's ``parameters``, with
    which the moments of either buffer are taken."""

    now: object
    parameters: tuple[tuple, tuple]


class Borders:
    """Links bound to a device.

    Args:
        backend: the device.
        model: the physics.
        addresses: where links find and leave populations.
        buffers: both population buffers, which in place are one.
        conditions: what happens at the links.
        values: numbers that change with time.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, conditions, values: Values):
        self._backend, self._model, self._addresses = backend, model, addresses
        self._buffers, self._parameters = buffers, values.parameters
        nodes, place = np.unique(addresses.domain.links.node, return_inverse=True)
        states = [self._state(turn, nodes) for turn in range(len(addresses.patterns))]
        self._links = self._link_arrays(conditions, values.now, nodes, states)
        self._walls = self._wall_arrays(conditions, values.now)
        probed = [self._link_addresses(rows[:, place]) for rows in states]
        self._link_probe = Probe(backend, buffers, [probed[parity % len(probed)] for parity in (0, 1)])
        self._wall_probe = Probe(backend, buffers, [self._wall_addresses()] * 2)

    @property
    def has_openings(self) -> bool:
        """Whether there are opening links."""
        return self._addresses.domain.links.n_links > 0

    @property
    def has_slotted_walls(self) -> bool:
        """Whether there are links into slotted walls."""
        return self._addresses.domain.slotted.n_links > 0

    def bind_links(self, parity: int, target=None, incoming=None):
        """Launch that fills what enters through the openings before (pull, in place) or after (push) a step from buffer
        ``parity``; into ``target[incoming]`` instead if that is given."""
        buffer = self._worked_on(parity)
        links = self._links[parity % len(self._links)]
        links = links if incoming is None else links._replace(incoming=incoming)
        operators, state = self._operators(LINKS), self._buffers[parity]
        target = buffer if target is None else target
        return self._backend.bind_links(operators, state, buffer, target, links, self._parameters[parity])

    def bind_walls(self, parity: int, target=None, incoming=None):
        """The same for the links into slotted walls."""
        buffer = self._worked_on(parity)
        links = self._walls if incoming is None else self._walls._replace(incoming=incoming)
        return self._backend.bind_walls(
            *self._operators(WALL_LINKS), buffer, buffer if target is None else target, links
        )

    def fluxes(self, parity: int) -> tuple[np.ndarray, np.ndarray]:
        """(L,) mass entering per step, and node density deviation, of every opening link, in record order."""
        leaving, entering, *rows = self._link_probe.read(parity).reshape(2 + self._model.lattice.q, -1)
        if self._model.streaming != "push":
            entering = self._computed(self.bind_links, self._order, parity)
        return entering - leaving, np.sum(rows, axis=0)

    def wall_exchange(self, parity: int) -> np.ndarray:
        """(S + F,) population that leaves plus the one that enters of every link into slotted and into labelled folded
        walls; slots must be filled."""
        n_slotted = self._addresses.domain.slotted.n_links
        if self._wall_probe.size == 0:
            return np.zeros(0)
        leaving, entering = self._wall_probe.read(parity).reshape(2, -1)
        if self._model.streaming == "aa" and n_slotted:
            entering[:n_slotted] = self._computed(self.bind_walls, np.arange(n_slotted), parity)
        return leaving + entering

    def _computed(self, bind, order, parity) -> np.ndarray:
        """What a launch would fill in, computed beside the state; ``order[i]`` is the record of launch link i."""
        backend, precision = self._backend, self._backend.precision
        beside = backend.zeros(order.size, precision.storage)
        bind(parity, beside, backend.array(order))()
        return backend.to_host(beside).astype(np.float64) / precision.unit

    def _worked_on(self, parity: int):
        """The buffer whose links a step from ``parity`` completes."""
        return self._buffers[1 - parity if self._model.streaming == "push" else parity]

    def _operators(self, skeleton):
        return next(stage.operators for stage in self._model.stages if stage.skeleton == skeleton)

    def _link_arrays(self, conditions: LinkConditions, now, nodes, states) -> tuple[LinkArrays, ...]:
        """Links node after node, for each turn; ``states`` is where the populations of their nodes lie before it."""
        links, addresses, array = self._addresses.domain.links, self._addresses, self._backend.array
        self._order = order = np.argsort(links.node, kind="stable")
        start = np.searchsorted(links.node[order], nodes)
        records = LinkArrays(
            node=array(nodes),
            start=array(np.append(start, links.n_links)),
            owner=array(np.searchsorted(nodes, links.node[order])),
            state=None,
            q=array(links.q[order]),
            outgoing=array(addresses.links.outgoing[order]),
            incoming=array(addresses.links.incoming[order]),
            opening=array(links.boundary[order]),
            momentum=array(conditions.momentum[order].astype(self._backend.precision.real)),
            kind=array(conditions.kind.astype(np.int64)),
            value=self._backend.view(now, 0, conditions.kind.size),
        )
        return tuple(records._replace(state=array(rows.reshape(-1))) for rows in states)

    def _state(self, turn: int, nodes: np.ndarray) -> np.ndarray:
        """(Q, m) where the populations of ascending local nodes lie before a step of a turn."""
        return self._addresses.resolve(turn - 1, self._addresses.places_after(turn - 1), nodes)

    def _wall_arrays(self, conditions: LinkConditions, now) -> WallArrays:
        """Pull finds what is about to arrive at a node where the node will pull it from; the others do not know it, and
        their coefficients must not ask for it."""
        links, addresses = self._addresses.domain.slotted, self._addresses
        arriving = opposed = addresses.slotted.outgoing
        if self._model.streaming == "pull" and links.n_links:
            lattice = self._model.lattice
            arriving = addresses.arriving
            opposed = flat_address(lattice.opposite[links.q], links.node, lattice.q)
        met = (addresses.slotted.outgoing, arriving, opposed, addresses.slotted.incoming)
        n_openings, n_values = conditions.kind.size, conditions.value.size
        dtype = np.uint32 if addresses.n_slots < 2**32 else np.uint64
        return WallArrays(
            *(self._backend.array(address.astype(dtype)) for address in met),
            coefficients=self._backend.array(conditions.walls.astype(self._backend.precision.real).reshape(-1)),
            wall=self._backend.array(links.boundary.astype(np.uint8)),
            value=self._backend.view(now, n_openings, n_values),
        )

    def _link_addresses(self, at_node: np.ndarray) -> np.ndarray:
        """Of what leaves and enters through each opening link, and of all populations of its node, (Q, L)."""
        links = self._addresses.links
        return np.concatenate((links.outgoing, links.incoming, at_node.ravel()))

    def _wall_addresses(self) -> np.ndarray:
        slotted, folded = self._addresses.slotted, self._addresses.folded
        return np.concatenate((slotted.outgoing, folded.outgoing, slotted.incoming, folded.incoming))
