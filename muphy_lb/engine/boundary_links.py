"""Links into openings and linkwise walls of one rank, bound to its device: their values, what crosses them and all
links into labelled walls, and conditions with feedback: measure, agree among the ranks, advance, set the value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import WEIGHT_SHARE, FeedbackArrays, LinkArrays, LinkBuffers, WallArrays
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.boundaries.wall_balance import WallBalance
from muphy_lb.domain import AddressTable, flat_address
from muphy_lb.domain.addresses import LinkAddresses
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.links import plane_axes
from muphy_lb.engine.timed_values import TimedValues, timed_momenta
from muphy_lb.engine.transfers import Probe
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice.layout import WARP, whole
from muphy_lb.model.model import Model
from muphy_lb.operators import NOT_REFLECTED, PRESSURE, link_momentum, plane_of, reflected_shares
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.parallel.exchange import Halo
from muphy_lb.parallel.task import ON_EDGE, Task


class WallLinks:
    """The links into walls of a rank bound to its device.

    Args:
        addresses: addresses of the links' populations.
        buffers: both population buffers; with in-place streaming the same one twice.
        coefficients: (3, S) coefficients of the links into linkwise walls.
        balance: what keeps the mass at interpolated walls; None where nothing has to.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, coefficients, balance):
        self._backend, self._model, self._addresses, self._buffers = backend, model, addresses, buffers
        self._links = addresses.domain.linkwise
        self._nodes = distinct(self._links.node)
        self._n_padded = whole(self._nodes.size, WARP)
        self._arrays = self._make_arrays(coefficients, balance)
        self._nothing = backend.zeros(0, np.uint32)
        even, odd = (self._probed(at) for at in (addresses.linkwise[0], addresses.linkwise[-1]))
        self._probe = Probe(backend, buffers, (even, odd))

    def bind(self, parity: int, values, keeps_mass: bool = True):
        """Launch that fills in what enters through the links, and adds to populations at rest what keeps the mass; the
        latter must happen once a step.

        Args:
            parity: buffer of the step ahead.
            values: device array of the values of the walls.
            keeps_mass: whether to change populations at rest; otherwise the launch may be repeated.
        """
        model, arrays = self._model, self._arrays._replace(value=values)
        if not keeps_mass:
            arrays = arrays._replace(along_walls=self._nothing)
        buffer = self._buffers[model.streaming.completed_buffer(parity)]
        crossing = model.streaming.crossing(model.lattice, parity % len(self._addresses.patterns))
        return self._backend.bind("walls", model.walls, buffer, arrays, crossing)

    def exchange(self, parity: int) -> np.ndarray:
        """(S + F,) population that leaves plus the one that enters of every link into linkwise walls and into other
        labelled walls; slots must be filled."""
        return self._of_halves(self._probe.read(parity)) if self._probe.size else np.zeros(0)

    def kept_exchange(self, parity: int) -> Callable[[], np.ndarray]:
        """The same as a function that copies it to the host; until the next call it stays on the device."""
        if self._probe.size == 0:
            return lambda: np.zeros(0)
        kept = self._probe.keep(parity)
        return lambda: self._of_halves(kept().astype(np.float64) / self._probe.unit)

    @staticmethod
    def _of_halves(numbers: np.ndarray) -> np.ndarray:
        leaving, entering = numbers.reshape(2, -1)
        return leaving + entering

    def _make_arrays(self, coefficients: np.ndarray, balance: WallBalance | None) -> WallArrays:
        q_count, padding = self._model.lattice.q, self._n_padded - self._nodes.size
        index = np.uint32 if self._addresses.n_slots < 2**32 else np.uint64
        rest = np.pad(flat_address(0, self._nodes, q_count), (0, padding))
        entry = np.pad(self._addresses.entries(self._nodes), ((0, 0), (0, padding)))
        array = self._backend.array
        where = {"rest": array(rest.astype(index)), "entry": self._backend.array_of_rows(entry.astype(index))}
        numbers = self._numbers(coefficients, balance)
        masks = self._masks(coefficients, balance)
        return WallArrays(**where, **masks, **numbers, value=None)

    def _numbers(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of the numbers of links into walls and of exchanges, which are never in the same direction of
        a node, by name."""
        links, real, array_of = self._links, self._backend.precision.real, self._backend.array_of_rows
        inflow = np.zeros(links.n_links) if balance is None else balance.inflow
        of_links = {**dict(zip("bcd", coefficients, strict=True)), "inflow": inflow}
        rows = {name: self._rows(links, values) for name, values in of_links.items()}
        wall = self._rows(links, links.boundary)
        if balance is not None:
            rows["b"] += self._rows(balance, balance.share)
            rows["inflow"] += self._rows(balance, balance.inflow_along)
            wall += self._rows(balance, balance.wall)
        if not (rows["d"].any() or rows["inflow"].any()):
            rows["d"] = rows["inflow"] = wall = np.zeros((0, 0))
        numbers = {name: array_of(values.astype(real)) for name, values in rows.items()}
        return numbers | {"wall": array_of(wall.astype(np.uint8))}

    def _masks(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of the masks of links and exchanges, by name."""
        links, array, opposite = self._links, self._backend.array, self._model.lattice.opposite
        into_walls = self._rows(links, np.ones(links.n_links)) > 0
        needed, exchanges = self._rows(links, coefficients[0]) != 0, np.zeros(0, np.uint32)
        if balance is not None:
            along_walls = self._rows(balance, np.ones(balance.q.size)) > 0
            needed |= along_walls[opposite[1:] - 1]
            exchanges = self._bits(along_walls)
        masks = {"into_walls": self._bits(into_walls), "along_walls": exchanges, "needed": self._bits(needed)}
        return {name: array(mask) for name, mask in masks.items()}

    def _rows(self, records, values: np.ndarray) -> np.ndarray:
        """(Q - 1, M) values of records with a node and a direction each, 0 elsewhere and for padding."""
        rows = np.zeros((self._model.lattice.q - 1, self._n_padded))
        rows[records.q - 1, np.searchsorted(self._nodes, records.node)] = values
        return rows

    @staticmethod
    def _bits(rows: np.ndarray) -> np.ndarray:
        """(M,) masks: bit q is set where the row of direction q is, of (Q - 1, M) rows."""
        weights = np.uint32(1) << np.arange(1, 1 + len(rows), dtype=np.uint32)
        return (rows * weights[:, None]).sum(axis=0, dtype=np.uint32)

    def _probed(self, linkwise: LinkAddresses) -> np.ndarray:
        in_table = self._addresses.in_table
        return np.concatenate((linkwise.outgoing, in_table.outgoing, linkwise.incoming, in_table.incoming))


# Sums over openings are in fixed point: 2^-44 is far below the rounding of a population in single precision. Sums of
# numbers of order 1 over half a million links fit in 63 bits; those of weights have a scale of their own, to which
# weights are rounded, so that their sums are exact.
SUM_SCALE = 2.0**44
# Of each opening: mass that entered, density deviations times weights, weights.
N_SUMS = 3


@dataclass(frozen=True)
class LinkConditions:
    """Conditions of the local links."""

    #: (L,) mass that enters through each opening link per unit of its opening's value; of planes with a pressure gamma
    #: of :mod:`muphy_lb.operators.openings` where it has one, else 0
    momentum: np.ndarray
    kind: np.ndarray  #: (n_openings,) condition kind of each opening
    walls: np.ndarray  #: (3, S) coefficients of the links into linkwise walls
    #: values of the openings, then the velocity scale of each labelled wall and of all others together
    value: np.ndarray
    #: conditions with feedback by number of their opening
    feedback: Mapping[int, Feedback] = field(default_factory=dict)
    balance: WallBalance | None = None  #: what keeps the mass at interpolated walls, if there are any
    #: by number of an opening whose profile changes its shape, (columns, links) mass that enters through each of its
    #: local links per unit of value and amplitude; the same number of columns on every rank
    profiles: Mapping[int, np.ndarray] = field(default_factory=dict)
    #: (n_openings, 3) unit vectors into the fluid along which vessels leave their openings; None: those of the planes
    along: np.ndarray | None = None
    inside: np.ndarray | None = None  #: (L,) eta of each opening link, as gamma; None: 0

    @classmethod
    def of_none(cls) -> "LinkConditions":
        """Conditions where there are no links."""
        none = np.zeros(0)
        return cls(none, none.astype(np.int64), np.zeros((3, 0)), np.ones(1))

    @property
    def at_start(self) -> np.ndarray:
        """All values that change with time, as they are at the start: ``value``, then the amplitudes of profiles."""
        return np.append(self.value, np.zeros(sum(len(weights) for weights in self.profiles.values())))


class Values(NamedTuple):
    """Numbers on the device: the conditions' values in force, and ``(parity, in_force) -> tuple``, the values of the
    parameters of the model's ``at_openings``."""

    timed: TimedValues
    at_openings: Callable[[int, object], tuple]


class BoundaryLinks:
    """The opening and wall links of a rank bound to its device.

    Args:
        addresses: addresses of the links' populations.
        buffers: both population buffers; with in-place streaming the same one twice.
        values: values that change with time.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, conditions, values: Values):
        self._backend, self._model, self._addresses = backend, model, addresses
        self._buffers, self._node_values = buffers, values.at_openings
        nodes = distinct(addresses.domain.links.node)
        states = [self._state(phase, nodes) for phase in range(len(addresses.patterns))]
        self._timed = values.timed
        self._n_openings, self._n_values = conditions.kind.size, conditions.value.size
        self._reflects = self._reflecting(conditions)
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

    @property
    def has_late_openings(self) -> bool:
        """Whether opening links wait for populations of other ranks."""
        return bool(self._reflects.any()) and self._addresses.domain.mirrors.n_remote > 0

    def bind_openings(self, parity: int):
        """Launch that fills in what enters through the openings before a step from buffer ``parity``."""
        buffer = self._buffers[self._model.streaming.completed_buffer(parity)]  # in which links fill in what enters
        links = self._links_with_values(parity, is_behind=False)
        buffers = LinkBuffers(self._buffers[parity], buffer, buffer)
        moments = self._node_values(parity, self._in_force(parity, is_behind=False))
        operators = *self._operators, self._model.reflection
        return self._backend.bind("links", operators, buffers, links, moments)

    def bind_walls(self, parity: int, keeps_mass: bool = True):
        """Launch that fills in what enters through the links into linkwise walls before a step from buffer ``parity``;
        unless it is to be repeated, also what keeps the mass at interpolated walls."""
        in_force = self._backend.view(self._in_force(parity, is_behind=False), self._n_openings, self._n_values)
        return self._walls.bind(parity, in_force, keeps_mass)

    def sums(self, parity: int, n_openings: int) -> np.ndarray:
        """(n_openings, 3) int64 sums over the links of each opening in the state ``parity``; see
        :meth:`muphy_lb.engine.engine.Engine.opening_sums`."""
        if self._sum_launches is None:
            self._sum_launches = self.bind_sum_launches(n_openings)
        launches, sums = self._sum_launches
        for launch in launches[parity]:
            launch()
        return self._backend.to_host(sums).reshape(n_openings, N_SUMS)

    def bind_sum_launches(self, n_openings: int) -> tuple[list, object]:
        """The launches that sum over the openings of either state, and the array of the sums."""
        backend = self._backend
        fluxes = backend.zeros(2 * self.n_opening_links, np.float64)
        sums = backend.zeros(N_SUMS * n_openings, np.int64)
        add = self.bind_sums(fluxes, sums)
        return [[*self._bind_measures(parity, fluxes), add] for parity in (0, 1)], sums

    def bind_sums(self, fluxes, sums):
        """Launch that sums (2 L,) measured fluxes and densities by opening, exactly."""
        return self._backend.bind("sum_openings", fluxes, self._links[0], sums, SUM_SCALE)

    def fluxes(self, parity: int) -> tuple[np.ndarray, np.ndarray]:
        """(L,) mass entering per step, and density deviation of the plane, of every opening link, in record order.
        Where planes reflect, only sums over pairs of mirror images are true."""
        arrays = self._backend.zeros(2 * self.n_opening_links, np.float64)
        for launch in self._bind_measures(parity, arrays):
            launch()
        in_order = np.empty((2, self.n_opening_links))
        in_order[:, self._order] = self._backend.to_host(arrays).reshape(2, -1)
        return in_order[0], in_order[1]

    def _bind_measures(self, parity: int, arrays) -> list:
        """The launches that measure the fluxes of the step behind and the densities of the state ``parity``, as of
        :meth:`bind_fluxes`. Populations that leave a state have the velocity half a step later, and so have those that
        enter by the condition of the step ahead; with that of the step behind the density would lack the gradient that
        accelerates a voxel of fluid. Streaming that stores before the collision holds both of one step already."""
        behind = self.bind_fluxes(parity, arrays)
        if self._model.streaming.stores_before_collision:
            return [behind]
        n_links, view = self.n_opening_links, self._backend.view
        unused = self._backend.zeros(2 * n_links, np.float64)
        halves = view(unused, 0, n_links), view(arrays, n_links, 2 * n_links)
        return [behind, self._bind_fluxes(parity, halves, is_behind=False)]

    def bind_fluxes(self, parity: int, arrays):
        """Launch that measures the fluxes and densities of the state ``parity`` into (2 L,) float64 numbers, in the
        order of the launch, with the conditions of the step behind."""
        n_links, view = self.n_opening_links, self._backend.view
        return self._bind_fluxes(parity, (view(arrays, 0, n_links), view(arrays, n_links, 2 * n_links)), is_behind=True)

    def _bind_fluxes(self, parity: int, halves, is_behind: bool):
        buffer = self._buffers[parity]
        is_stored = self._model.streaming.stores_before_collision
        buffers = LinkBuffers(buffer, buffer, buffer if is_stored else None)
        links = self._links_with_values(parity, is_behind)
        moments = self._node_values(parity, self._in_force(parity, is_behind=True))
        operators = *self._operators, self._model.plane_density
        return self._backend.bind("link_fluxes", operators, buffers, links, halves, moments)

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

    @property
    def _operators(self) -> tuple:
        return self._model.openings, self._model.at_openings

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
            reflected=None,
            shares=array(self._shares(conditions).reshape(-1)),
            plane=array(self._planes(conditions).reshape(-1)),
            momentum=array(conditions.momentum[order].astype(self._backend.precision.real)),
            inside=array(self._inside(conditions)[order].astype(self._backend.precision.real)),
            weight=array(self.weights[order]),
            kind=array(conditions.kind.astype(np.int64)),
            value=None,
        )
        return tuple(
            records._replace(
                state=array(rows.reshape(-1)),
                outgoing=array(at.outgoing[order]),
                incoming=array(at.incoming[order]),
                reflected=array(reflected[:, order].reshape(-1)),
            )
            for rows, at, reflected in zip(states, addresses.links, addresses.reflected, strict=True)
        )

    @property
    def weights(self) -> np.ndarray:
        """(L,) share of each opening link in the area of its opening, by what crosses its normal. Of planes that have
        mirror images an oblique link without one counts 0: with it the shear would not cancel."""
        domain = self._addresses.domain
        lattice, links, openings = domain.lattice, domain.links, domain.part.nodes.openings
        normals = np.array([opening.normal for opening in openings]).reshape(-1, 3)
        counts = (plane_axes(openings)[links.boundary] < 0) | (np.abs(lattice.c[links.q]).sum(axis=1) == 1)
        counts[domain.mirrors.link] = True
        found = np.where(counts, link_momentum(lattice, links.q, normals[links.boundary]), 0.0)
        return np.rint(found * (SUM_SCALE * WEIGHT_SHARE)) / (SUM_SCALE * WEIGHT_SHARE)

    def _reflecting(self, conditions: LinkConditions) -> np.ndarray:
        """(n_openings,) whether the plane of each opening reflects: with a pressure, normal to an axis, across its
        vessel, and unless nodes may be without fluid, which send nothing that could be reflected."""
        axis = plane_axes(self._addresses.domain.part.nodes.openings)[: conditions.kind.size]
        normals, along = self._directions(conditions)
        is_across = (axis >= 0) & (normals == along).all(axis=1)
        return (conditions.kind == PRESSURE) & is_across & (not self._model.occupied)

    def _directions(self, conditions: LinkConditions) -> tuple[np.ndarray, np.ndarray]:
        """(n_openings, 3) normals of the openings, and unit vectors along their vessels."""
        openings = self._addresses.domain.part.nodes.openings[: conditions.kind.size]
        normals = np.array([opening.normal for opening in openings]).reshape(-1, 3)
        return normals, normals if conditions.along is None else conditions.along

    def _inside(self, conditions: LinkConditions) -> np.ndarray:
        """(L,) eta of each link."""
        return np.zeros(conditions.momentum.size) if conditions.inside is None else conditions.inside

    def _shares(self, conditions: LinkConditions) -> np.ndarray:
        """(n_openings, 5) of :func:`muphy_lb.operators.openings.reflected_shares` where planes reflect; elsewhere the
        condition reads the outgoing population alone."""
        of_planes = reflected_shares(self._model.plane_rate)
        shares = np.where(self._reflects[:, None], of_planes, NOT_REFLECTED)
        return shares.astype(self._backend.precision.real)

    def _planes(self, conditions: LinkConditions) -> np.ndarray:
        """(n_openings, 4) :func:`muphy_lb.operators.openings.plane_of` of planes with a pressure, and 0 elsewhere."""
        normals, along = self._directions(conditions)
        planes = np.array([plane_of(*pair, self._model.plane_rate) for pair in zip(normals, along, strict=True)])
        planes = planes.reshape(-1, 4)
        has_pressure = (conditions.kind == PRESSURE) & (not self._model.occupied)
        return np.where(has_pressure[:, None], planes, 0.0).astype(self._backend.precision.real)

    def _momenta(self, conditions: LinkConditions) -> tuple:
        """The momentum of the links for either copy of the values: where profiles change their shape it follows from
        the amplitudes, as :class:`~muphy_lb.engine.timed_values.TimedValues` requires."""
        if not conditions.profiles:
            return (self._links[0].momentum,) * 2
        order, boundary, weights = self._order, self._addresses.domain.links.boundary, {}
        for number, given in conditions.profiles.items():
            in_order = order[boundary[order] == number]
            weights[number] = given[:, np.searchsorted(np.flatnonzero(boundary == number), in_order)]
        first = conditions.value.size
        return timed_momenta(self._backend, self._timed, weights, conditions.momentum[order], boundary[order], first)

    def _state(self, phase: int, nodes: np.ndarray) -> np.ndarray:
        """(Q, m) addresses of the populations of ascending local nodes before a step of a phase."""
        return self._addresses.resolve(phase - 1, self._addresses.locations_after(phase - 1), nodes)


class FeedbackConditions:
    """The conditions with feedback of a rank; every rank advances all of them, from the same sums.

    Args:
        connector: to the other ranks; the sums travel like halos.
        links: the opening links of this rank.
        conditions: by number of the opening.
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
