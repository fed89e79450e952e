"""Fields of a model on one rank's device: their memory, the stages that advance them, their halo exchange. Lists of
nodes, and of warps with fluid, that ``COLLECT`` stages make on the device."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import (
    Advanced,
    Collected,
    ExtrapolationArrays,
    NeighbourTable,
    NodeRange,
    OutflowArrays,
    SaturationArrays,
    StencilArrays,
)
from muphy_lb.domain import (
    WARP,
    LocalDomain,
    NodeNeighbours,
    StencilTable,
    build_neighbours,
    build_scalar_streaming,
    build_stencil,
)
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.lookup import VoxelLookup
from muphy_lb.domain.scalar_streaming import courses_of
from muphy_lb.engine.timed_values import TimedValues, timed_copies
from muphy_lb.lattice.layout import RECORD, whole
from muphy_lb.model.model import A_STEP_AGO, BEFORE, COLLECT, Field, FieldValue, Model, Stage
from muphy_lb.operators.moments import N_WITH_STRESS
from muphy_lb.parallel.exchange import Halo, HaloExchange, bind_exchanges
from muphy_lb.parallel.task import ON_EDGE, ON_INTERIOR, Task
from muphy_lb.parallel.transports import ExchangeTasks

NODES_PER_ENTRY = 8  # A list has room for one node in so many; with more of them, all nodes are looked at


class CollectedNodes:
    """The lists, by stage that makes them and range of nodes. Each has its counts and warps twice, for steps from each
    buffer, so that one is written while the bulk, which collides beside other stages, reads the other. ``model``: whose
    stages collect; on a device that makes no lists there are none."""

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
        """Discard the stored lists, since fields have been overwritten: the next step, an even one, makes them
        again."""
        for lists in self._lists.values():
            self._forget_one(*lists)

    def _forget_one(self, *lists: Collected) -> None:
        for each in lists:
            self._backend.update(each.count, np.array([each.nodes.size + 1, each.warps.size + 1], dtype=np.int32))


Exchanges = tuple[ExchangeTasks | None, ExchangeTasks | None]  # in steps from either array
NOT_EXCHANGED: Exchanges = (None, None)


class Corners(NamedTuple):
    """The corner layer of a rank, and what connects it to the ranks of that layer."""

    lookup: VoxelLookup
    connect: Callable[[Halo], HaloExchange]


class StencilOnDevice(NamedTuple):
    """The table of a stencil and its device form."""

    table: StencilTable
    runs: object


class _Advanced:
    """A field advanced by a stencil or by scalar streaming: two arrays, used alternately. ``courses``: values in force,
    and the numbers of the field's courses among them."""

    is_state = True

    def __init__(self, backend, domain: LocalDomain, field: Field, table: StencilTable, shares, courses):
        self._backend, self.table, self._courses = backend, table, courses
        self._sets = field.streaming.sets if field.streaming else ()
        self._first_of_others = field.streaming.lattice.q * domain.pitch if field.streaming else 0
        self.row = domain.pitch if field.streaming else 0
        self.arrays = [backend.zeros(self.table.n_slots, backend.precision.real) for _ in range(2)]
        self.runs = backend.stream_table(self.table, 0)
        of_edge, end = self.table.n_edge_extrapolated, self.table.extrapolated.node.size
        self._n_edge = domain.n_edge
        self._extrapolated = {ON_EDGE: self._stencils(0, of_edge), ON_INTERIOR: self._stencils(of_edge, end)}
        self._saturating = {ON_EDGE: self._walls(0, of_edge), ON_INTERIOR: self._walls(of_edge, end)}
        self._left_freely = {ON_EDGE: self._outflows(0, of_edge), ON_INTERIOR: self._outflows(of_edge, end)}
        halo = Halo(domain.halo.neighbours, (self.table.exchange,) * 2, tuple(self.arrays))
        self.exchanges = bind_exchanges(halo, shares).exchanges

    def bind_beyond(self, parity: int, nodes: NodeRange, array: Callable) -> list[Task]:
        """Tasks that extrapolate the values beyond walls of some nodes, before these are advanced. ``array``: of a
        field before the step, by name."""
        n_edge = self._n_edge
        parts = [part for part, is_in in ((ON_EDGE, nodes.first < n_edge), (ON_INTERIOR, nodes.last > n_edge)) if is_in]
        return [task for part in parts for task in self._bind_extrapolation(parity, part, nodes.queue, array)]

    def stencil(self, parity: int) -> StencilArrays:
        """The arrays of a step from array ``parity``."""
        old, new = self.arrays[parity], self.arrays[1 - parity]
        return StencilArrays(old, new, self.runs, self.table.n_entries, self.row)

    def _stencils(self, first: int, last: int) -> tuple[tuple[ExtrapolationArrays, ...], int, int]:
        """A range of the extrapolated values on the device, for steps from either buffer, and its bounds in the field's
        array. With the value at an opening its constants change, and the weights of the carrier, whose populations at
        the node come first."""
        backend, values, (timed, numbers) = self._backend, self.table.extrapolated, self._courses
        index, weight = (rows[:, first:last].reshape(-1) for rows in (values.index, values.weight))
        constant, course = values.constant[first:last], values.course[first:last]
        place, is_carrier = backend.array(index), index < self._first_of_others
        varying = [(number, course == own) for own, number in enumerate(numbers)]
        constants = timed_copies(backend, timed, constant, varying)
        terms = [(number, np.tile(entries, len(values.index)) & is_carrier) for number, entries in varying]
        weights = timed_copies(backend, timed, weight, terms)
        records = tuple(ExtrapolationArrays(place, *each) for each in zip(weights, constants, strict=True))
        return records, self.table.first_extrapolated + first, self.table.first_extrapolated + last

    def _walls(self, first: int, last: int) -> SaturationArrays:
        """Extrapolated values, of a range of them, behind walls that saturate."""
        backend, values, real = self._backend, self.table.extrapolated, self._backend.precision.real
        place = np.flatnonzero(np.isfinite(values.level[first:last]))
        rows = (row[first:last][place].astype(real) for row in (values.share, values.entering, values.level))
        left = values.left[first:last][place]
        return SaturationArrays(backend.array(place), backend.array(left), *map(backend.array, rows))

    def _outflows(self, first: int, last: int) -> dict[str, OutflowArrays]:
        """Extrapolated values, of a range of them, at openings that scalars leave with their carrier, by the field of
        the scalar's value."""
        values, found = self.table.extrapolated, {}
        for number in np.unique(values.carried[first:last][values.carried[first:last] >= 0]):
            place = np.flatnonzero(values.carried[first:last] == number)
            rows = place, values.left[first:last][place], values.node[first:last][place]
            found[self._sets[number].value] = OutflowArrays(*map(self._backend.array, rows))
        return found

    def _bind_extrapolation(self, parity: int, part: str, queue: str, array: Callable) -> list[Task]:
        (records, first, last), field = self._extrapolated[part], self.arrays[parity]
        if first == last:
            return []
        target = self._backend.view(field, first, last)
        launches = [self._backend.bind("extrapolation", field, target, records[parity], queue)]
        if self._saturating[part].place.size:
            launches.append(self._backend.bind("saturation", field, target, self._saturating[part], queue))
        for name, links in self._left_freely[part].items():
            launches.append(self._backend.bind("outflow", field, array(name), target, links, queue))
        return [Task("ghosts", queue, launch) for launch in launches]


def _advancing_table(domain: LocalDomain, model: Model, field: Field) -> StencilTable | None:
    """The table of a field that a stencil or scalar streaming advances; None of another."""
    if field.streaming:
        return build_scalar_streaming(domain, *field.streaming)
    return None if field.boundary is None else build_stencil(domain, model.lattice.c[1:], field.boundary)


class _Stored:
    """A field that node functions write at their own node and read there, or also at neighbours. ``arrays``: one, or
    two that are used alternately."""

    exchanges: Exchanges = NOT_EXCHANGED

    def __init__(self, backend, domain: LocalDomain, field: Field, arrays: list):
        self.is_state = field.is_state
        self.row = domain.pitch if field.n_rows > 1 else 0
        self.arrays = [arrays[0], arrays[-1]]
        if field.fixed is not None:
            values = np.asarray(field.fixed(domain)).astype(arrays[0].dtype)
            backend.update(backend.view(arrays[0], 0, domain.n_nodes), values)


class _ReadAtNeighbours:
    """The fields that node functions read at neighbours. Those whose numbers have one size lie in one array, so that
    any of them that cross together are one message.

    Args:
        fields: with their number formats.
    """

    def __init__(self, backend, domain: LocalDomain, near: NodeNeighbours, fields: list[tuple[Field, np.dtype]]):
        self._neighbours, self._plan = domain.halo.neighbours, near.exchange
        #: by the bytes of a number: where the arrays of each field begin, for steps from either
        self._first: dict[int, dict[str, tuple[int, int]]] = {}
        distance, length = whole(near.n_slots, WARP), defaultdict[int, int](int)
        for field, dtype in fields:
            size, first = dtype.itemsize, length[dtype.itemsize]
            length[size] += distance * (1 + field.alternates)
            self._first.setdefault(size, {})[field.name] = first, length[size] - distance
        self._words = {size: backend.zeros(n, np.dtype(f"u{size}")) for size, n in length.items()}
        self.bound = {}
        for field, dtype in fields:
            words, places = self._words[dtype.itemsize], self._first[dtype.itemsize][field.name]
            arrays = [backend.view(words, first, first + near.n_slots).view(dtype) for first in dict.fromkeys(places)]
            values = np.full(near.n_slots - near.first_outside, field.outside, dtype)
            values[:WARP] = field.outside if field.at_openings is None else field.at_openings
            for array in arrays:
                backend.update(backend.view(array, near.first_outside, near.n_slots), values)
            self.bound[field.name] = _Stored(backend, domain, field, arrays)

    def bind_exchange(self, names: Sequence[str], shares) -> Iterator[Exchanges]:
        """Bind the messages of some of the fields, of each size of numbers, in steps from either array."""
        for size, places_of in self._first.items():
            words, firsts = self._words[size], [places_of[name] for name in names if name in places_of]
            if firsts:
                even, odd = (self._message(places) for places in zip(*firsts, strict=True))
                plans = even, even if all(first == second for first, second in firsts) else odd
                yield bind_exchanges(Halo(self._neighbours, plans, (words, words)), shares).exchanges

    def _message(self, firsts: Sequence[int]) -> Exchange:
        """The exchange of fields that begin at some addresses. It goes through a receive buffer: values that arrive
        must not overwrite those that are still being read."""
        plan = self._plan
        sent = _of_rows(_listed(plan.pack), firsts, plan.pack_start)
        received = _of_rows(_listed(plan.unpack), firsts, plan.unpack_start)
        return Exchange(*sent, *received, acknowledged=True)


class _Cornered:
    """A field whose ghost nodes are those of the corner layer; the components of a vector lie beside each other."""

    def __init__(self, backend, domain: LocalDomain, field: Field, dtype, corners: "Corners"):
        self.is_state, layer = field.is_state, corners.lookup.layer
        size = domain.pitch + layer.position.size
        record, components = (RECORD, 3) if field.is_vector else (1, 1)
        self.row = record * size
        array = backend.zeros(self.row, dtype)
        self.arrays = [array, array]
        ghosts = np.arange(domain.pitch, size)
        sent, received = (
            ((record * each[:, None] + np.arange(components)).reshape(-1), components * start)
            for each, start in ((layer.send_node, layer.send_start), (ghosts, layer.receive_start))
        )
        plan = Exchange(*sent, *received, acknowledged=True)
        if field.accumulates:
            plan = Exchange(*received, *sent, accumulates=True, acknowledged=True)
        found = corners.connect(Halo(corners.lookup.ranks, (plan, plan), tuple(self.arrays))).exchanges
        emptied = self._emptied(backend, received[0], dtype) if field.accumulates else []
        self.exchanges = tuple(
            line and ExchangeTasks(line.start, line.arrive, [*line.unpack, *emptied]) for line in found
        )

    def _emptied(self, backend, ghosts: np.ndarray, dtype) -> list[Task]:
        """Tasks that clear values which their owners have received, so that they are not sent again."""
        if not ghosts.size:
            return []
        zeros = backend.zeros(ghosts.size, dtype)
        return [Task("forget", ON_EDGE, backend.bind("scatter", zeros, self.arrays[0], backend.array(ghosts)))]


class EdgeMoments(NamedTuple):
    """Moments and stress of a rank's own edge nodes, (N_WITH_STRESS n_edge,), and of its ghost nodes, as many times
    n_ghosts; and the address of the first of these in fields."""

    own: object
    others: object
    first: int


class _OfMoments:
    """Moments and stress of the edge nodes and, behind them in the array, of the ghost nodes."""

    is_state, n_rows, row, exchanges = False, N_WITH_STRESS, 0, NOT_EXCHANGED

    def __init__(self, backend, domain: LocalDomain, shares):
        layer, n_edge = domain.ghost_layer, domain.n_edge
        n_ghosts = layer.position.size
        array = backend.zeros(self.n_rows * (n_edge + n_ghosts), backend.precision.real)
        self.arrays, end = [array, array], self.n_rows * n_edge
        self.moments = EdgeMoments(backend.view(array, 0, end), backend.view(array, end, array.size), domain.pitch)
        rows = np.arange(self.n_rows)
        sent = _of_rows(layer.send_node, n_edge * rows, layer.send_start)
        received = _of_rows(end + np.arange(n_ghosts), n_ghosts * rows, layer.receive_start)
        plan = Exchange(*sent, *received, acknowledged=True)
        self.exchanges = bind_exchanges(Halo(domain.halo.neighbours, (plan, plan), (array, array)), shares).exchanges


def _of_rows(nodes: np.ndarray, firsts: Sequence[int] | np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of some nodes in rows that begin at ``firsts``, message by message, and the start of each message."""
    messages = [nodes[first:last] for first, last in zip(start[:-1], start[1:], strict=True)]
    rows = [message + first for message in messages for first in firsts]
    return np.concatenate([nodes[:0], *rows]), len(firsts) * start


def _listed(addresses: np.ndarray | slice) -> np.ndarray:
    return np.arange(addresses.start, addresses.stop) if isinstance(addresses, slice) else addresses


class Fields:
    """The fields of a model.

    Args:
        shares: the transports with their neighbours (:class:`muphy_lb.parallel.exchange.HaloExchange`).
        timed: values in force, of which those behind the conditions' are the model's courses.
        corners: for fields of the corner layer.

    Attributes:
        sums: number of components, by name, of the accumulating fields that are part of the state: moments are taken
            with them as the last collision has read them.

    Raises ValueError: a field of the corner layer, without particles.
    """

    def __init__(
        self, backend, domain: LocalDomain, model: Model, shares, timed: TimedValues, corners: Corners | None = None
    ):
        self._backend, self._domain, self._corners, self._timed = backend, domain, corners, timed
        self.neighbours: NeighbourTable | None = None
        self._read = self._bind_read(model)
        self.collected = CollectedNodes(backend, model)
        self._records = {field.name: RECORD if field.is_vector else 1 for field in model.fields}
        self._shares, self._exchanges = shares, dict[tuple[str, ...], tuple[ExchangeTasks, ExchangeTasks]]()
        self._bound = {field.name: self._bind_field(field, model, shares) for field in model.fields}
        self._rows = {
            name: (field.name, q * self._bound[field.name].row)
            for field in model.fields
            for q, name in enumerate(field.components)
        }
        behind, declared = _read_behind(model), {field.name: field for field in model.fields}
        stages = (name.removesuffix(BEFORE) for each in model.stages for name in each.reads if name.endswith(BEFORE))
        before = dict.fromkeys((*(name for name in behind if self._alternates(name)), *stages))
        self._read_before = tuple(name + A_STEP_AGO for name in before)
        of_sums = [declared[name] for name in behind if name in declared and declared[name].accumulates]
        self.sums = {field.name: 3 if field.is_vector else 1 for field in of_sums}
        self._marked = {field.name: field.marked for field in of_sums}

    def _bind_read(self, model: Model) -> _ReadAtNeighbours | None:
        """The fields that are read at neighbours along links, and the table of these; None without such fields."""
        fields = [each for each in model.fields if each.outside is not None and not (each.corners or each.of_moments)]
        if not fields:
            return None
        near = build_neighbours(self._domain, model.lattice.c[1:])
        self.neighbours = NeighbourTable(self._backend.neighbour_table(near), len(near.vectors))
        return _ReadAtNeighbours(self._backend, self._domain, near, [(each, self._dtype(each)) for each in fields])

    def _bind_field(self, field: Field, model: Model, shares):
        table = _advancing_table(self._domain, model, field)
        if table is not None:
            first = self._timed.n_values - len(model.courses)
            own = courses_of(field.streaming.sets) if field.streaming else ()
            courses = [first + model.courses.index(each) for each in own]
            return _Advanced(self._backend, self._domain, field, table, shares, (self._timed, courses))
        if field.of_moments:
            return _OfMoments(self._backend, self._domain, shares)
        if field.accumulates and not field.corners:
            raise ValueError(f"field {field.name!r} accumulates, which those of the corner layer alone do")
        if field.corners:
            if self._corners is None:
                raise ValueError(f"field {field.name!r} asks for the corner layer, which only particles have")
            return _Cornered(self._backend, self._domain, field, self._dtype(field), self._corners)
        if self._read and field.name in self._read.bound:
            return self._read.bound[field.name]
        size, dtype = field.n_rows * self._domain.pitch, self._dtype(field)
        arrays = [self._backend.zeros(size, dtype) for _ in range(1 + field.alternates)]
        return _Stored(self._backend, self._domain, field, arrays)

    def _dtype(self, field: Field) -> np.dtype:
        """The number format of a field."""
        of_real = self._backend.precision.real if field.dtype == "real" else field.dtype
        return np.dtype(np.int64 if field.accumulates else of_real)

    def array(self, value: FieldValue, parity: int):
        """Device array of a field, or of a component of one, before or after a step from ``parity``."""
        name, first = self._rows.get(value.field, (value.field, 0))
        bound = self._bound[name]
        array = bound.arrays[1 - parity if value.is_new else parity]
        return array if name == value.field else self._backend.view(array, first, first + bound.row)

    def host_value(self, value: FieldValue, parity: int) -> np.ndarray:
        """Values of a field before, or after, a step from ``parity``, as by :meth:`get`."""
        return self.get(value.field, 1 - parity if value.is_new else parity)

    def addresses(self, name: str, nodes: np.ndarray) -> np.ndarray:
        """(k,) addresses of nodes in the array of a field or of a row of one, (RECORD k,) in that of a vector."""
        record = self._records[self._rows[name][0]]
        return (record * nodes[:, None] + np.arange(record)).reshape(-1)

    def moments(self, name: str) -> EdgeMoments:
        """The arrays of a field of moments."""
        return self._bound[name].moments

    def table_of(self, name: str) -> StencilOnDevice:
        """The stencil table of an advanced field."""
        bound = self._bound[name]
        return StencilOnDevice(bound.table, bound.runs)

    @property
    def evolving(self) -> tuple[str, ...]:
        """Names of those that are part of the state, row by row; at the end those that are needed also as they were a
        step before."""
        present = tuple(name for name, (field, _) in self._rows.items() if self._bound[field].is_state)
        return present + tuple(name for name in self._read_before if name.removesuffix(A_STEP_AGO) in present)

    @property
    def state_dtype(self) -> np.dtype:
        """The type of numbers that holds those of the state, integers too, to the last digit."""
        of_state = (self._bound[field] for field, _ in self._rows.values() if self._bound[field].is_state)
        return np.result_type(self._backend.precision.real, *(each.arrays[0].dtype for each in of_state))

    def _alternates(self, name: str) -> bool:
        even, odd = self._bound[self._rows[name][0]].arrays
        return even is not odd

    def exchange(self, names: Iterable[str], parity: int) -> ExchangeTasks:
        """The exchange of fields that cross together in a step from ``parity``; without tasks if there are no
        neighbours. Collective when these fields do so first."""
        together = tuple(names)
        if together not in self._exchanges:
            alone = [self._bound[name].exchanges for name in together]
            joined = self._read.bind_exchange(together, self._shares) if self._read else ()
            found = [*joined, *alone]
            even, odd = (sum((each[k] for each in found if each[k]), ExchangeTasks()) for k in (0, 1))
            self._exchanges[together] = even, odd
        return self._exchanges[together][parity]

    def bind_beyond(self, stage: Stage, parity: int, nodes: NodeRange) -> list[Task]:
        """Tasks that fill in values beyond walls, which a stage that advances a field reads at some nodes."""
        return self._advanced_by(stage).bind_beyond(parity, nodes, lambda name: self.array(FieldValue(name), parity))

    def advanced_by(self, stage: Stage, parity: int, values: tuple) -> Advanced:
        """The field of a stage that advances one, given the values of its parameters."""
        return Advanced(stage.operators[0], self._advanced_by(stage).stencil(parity), values)

    def _advanced_by(self, stage: Stage):
        (field,) = (name for name in stage.writes if isinstance(self._bound.get(name), _Advanced))
        return self._bound[field]

    def hold(self, names: Iterable[str], parity: int) -> None:
        """Copy fields of the state ``parity`` to their other arrays, where they have two."""
        for name in filter(self._alternates, names):
            arrays = self._bound[name].arrays
            self._backend.update(arrays[1 - parity], self._backend.to_host(arrays[parity]))

    def has(self, name: str) -> bool:
        """Whether there is a field, or a row of one."""
        return name in self._rows

    def get(self, name: str, parity: int) -> np.ndarray:
        """(n,) values of a field or of a row of one, (RECORD n,) of a vector, in the state ``parity``."""
        if name in self._read_before:
            name, parity = name.removesuffix(A_STEP_AGO), 1 - parity
        field, first = self._rows[name]
        last = first + self._records[field] * self._domain.n_nodes
        return self._backend.to_host(self._bound[field].arrays[parity])[first:last]

    def set(self, name: str, values: np.ndarray) -> None:
        """Overwrite a field or a row of one, (n,) or (1,), also in the state before; or, by its name in ``evolving``,
        there alone. The next step is an even one."""
        self.put(name, values)
        self.collected.forget()

    def put(self, name: str, values: np.ndarray) -> None:
        """The same between any two steps, for a field by which no stage chooses its nodes."""
        is_before = name in self._read_before
        field, first = self._rows[name.removesuffix(A_STEP_AGO) if is_before else name]
        backend, n = self._backend, self._domain.n_nodes
        for array in self._bound[field].arrays[1 if is_before else 0 :]:
            target = backend.view(array, first, first + n)
            backend.update(target, np.broadcast_to(values, n).astype(array.dtype))

    def sums_at(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """(k,) nodes of this rank at which one of the ``sums`` is not 0, and (k, components) int64 its values there."""
        rows = self.get(name, 0).reshape(-1, self._records[name])[:, : self.sums[name]]
        nodes = np.flatnonzero(rows.any(axis=1))
        return nodes, rows[nodes]

    def set_sums(self, name: str, nodes: np.ndarray, values: np.ndarray) -> None:
        """Overwrite one of the ``sums`` by (k, components) values at (k,) nodes, which are marked, and by 0 elsewhere.
        The next step is an even one."""
        array, record, marked = self._bound[name].arrays[0], self._records[name], self._marked[name]
        whole = np.zeros(array.size, np.int64)
        whole.reshape(-1, record)[nodes, : self.sums[name]] = values
        self._backend.update(array, whole)
        if marked:
            marks = self.get(marked.field, 0).copy()
            marks[nodes] |= marked.mask
            self.set(marked.field, marks)


def _read_behind(model: Model) -> tuple[str, ...]:
    """Fields that moments are taken with as the step before has left them: those that its collision read."""
    if model.streaming.stores_before_collision:
        return ()
    given = (model.parameters[parameter.name] for parameter in model.at_openings.parameters)
    return tuple(dict.fromkeys(v.field for v in given if isinstance(v, FieldValue) and not v.is_new))
