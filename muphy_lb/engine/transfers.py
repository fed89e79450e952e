"""Values of a rank's nodes, copied between its device and the host or summed on the device.

Streaming that stores populations before their collision keeps those that left through openings in the last step beside
the state, in the slots of the opening links. Flow rates are measured from them, by outputs and by conditions that
answer their flow, so checkpoints must hold them. With the other streaming patterns flow rates follow from the stored
populations.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import numba
import numpy as np

from muphy_lb.backends.arrays import NodeRange, ReductionArrays, State
from muphy_lb.backends.interface import Launch
from muphy_lb.domain import LocalDomain
from muphy_lb.domain.links import REMOTE_LINK
from muphy_lb.model.model import FieldValue, Model


class Probe:
    """Copies numbers at fixed addresses out of either of two buffers.

    Args:
        buffers: both population buffers, or both arrays of a field.
        addresses: (k,) flat addresses in each of them.
        of_field: whether the buffers hold a field instead of populations in stored units.

    Attributes:
        unit: what a number of 1 in lattice units is stored as.
    """

    def __init__(self, backend, buffers, addresses: tuple[np.ndarray, np.ndarray], of_field: bool = False):
        self.size = addresses[0].size
        self._backend, self._buffers, self._addresses = backend, buffers, addresses
        precision = backend.precision
        self._kind = precision.real if of_field else precision.storage
        self.unit: float = 1.0 if of_field else precision.unit
        self._on_device: list = []
        self._gathers: list[Launch] = []
        self._keeps: list[Launch] = []

    def read(self, parity: int) -> np.ndarray:
        """(k,) float64 numbers of a buffer in lattice units; the caller ensures that nothing writes to it."""
        return self._gathered(parity).astype(np.float64) / self.unit

    def keep(self, parity: int) -> Callable[[], np.ndarray]:
        """Keep the numbers of a buffer on the device, until the next call; returns a function that copies them to the
        host as :meth:`stored` does."""
        if not self._keeps:
            self._kept, self._keeps = self._bound()
        self._keeps[parity]()
        return lambda: self._wide(self._backend.to_host(self._kept))

    def stored(self, parity: int) -> np.ndarray:
        """(k,) numbers as they are stored, in their ``unit``, in single precision where that is half."""
        return self._wide(self._gathered(parity))

    def _wide(self, numbers: np.ndarray) -> np.ndarray:
        wide = np.promote_types(self._kind, np.float32)
        return numbers.astype(wide, copy=False) if self.size else np.zeros(0, wide)

    def _gathered(self, parity: int) -> np.ndarray:
        if not self._gathers:
            self._packed, self._gathers = self._bound()
        self._gathers[parity]()
        return self._backend.to_host(self._packed)

    def _bound(self) -> tuple:
        """An array and the launches that fill it, bound on first use, as most runs do not measure walls; all share the
        addresses on the device."""
        backend = self._backend
        packed = backend.zeros(self.size, self._kind)
        self._on_device = self._on_device or [backend.array(own) for own in self._addresses]
        pairs = zip(self._buffers, self._on_device, strict=True)
        return packed, [backend.bind("gather", buffer, own, packed) for buffer, own in pairs]


class NodeValues:
    """Reads values at selected nodes without copying whole fields to the host. ``nodes``: (k,) local nodes."""

    def __init__(self, engine, nodes: np.ndarray):
        self._engine, self._nodes = engine, nodes
        self._probes: dict[str, Probe] = {}

    def field(self, name: str, parity: int) -> np.ndarray:
        """(k,) float64 values of a field in the state ``parity``, (RECORD k,) of a vector."""
        return self.stored(name, parity).astype(np.float64)

    def stored(self, name: str, parity: int) -> np.ndarray:
        """The same in single precision where they are stored so, or in half."""
        if not self._nodes.size:
            return np.zeros(0)
        if name not in self._probes:
            arrays = [self._engine.fields.array(FieldValue(name), side) for side in (0, 1)]
            addresses = self._engine.fields.addresses(name, self._nodes)
            self._probes[name] = Probe(self._engine.backend, arrays, (addresses, addresses), of_field=True)
        return self._probes[name].stored(parity)

    def stress_share(self, parity: int) -> np.ndarray | float:
        """(k,) the stress over that which the flow's collision would have (:class:`muphy_lb.model.model.StressShare`);
        1 where all nodes have that."""
        share = self._engine.model.stress_share
        return 1.0 if share is None else share.at(*(self.field(name, parity) for name in share.fields))

    def filling(self, parity: int) -> tuple[np.ndarray, np.ndarray]:
        """(k,) share of the nodes that is fluid, and (k,) the density, minus 1, of the pressure of the rest
        (:class:`muphy_lb.model.model.PartlyFilled`)."""
        filled = self._engine.model.filled
        if filled is None:
            return np.ones(self._nodes.size), np.zeros(self._nodes.size)
        return filled.at(*(self.field(name, parity) for name in filled.fields))

    def force(self, parity: int) -> np.ndarray:
        """(3, k) body force per volume, lattice units, in the collision of a step from buffer ``parity``. A share from
        a field that accumulates is always that of the last collision: the step ahead adds up its own between streaming
        and collision."""
        return np.ascontiguousarray(np.broadcast_to(self.force_numbers(parity), (3, self._nodes.size)))

    def force_numbers(self, parity: int) -> np.ndarray:
        """The same, (3, 1) where it is uniform."""
        engine, operator = self._engine, self._engine.model.force
        given = {parameter.name: engine.model.parameters[parameter.name] for parameter in operator.parameters}
        values = {name: self._value(name, value, parity) for name, value in given.items()}
        force = operator.reference(np.arange(self._nodes.size), values)
        return np.asarray(force, dtype=np.float64).reshape(3, -1)

    def _value(self, name: str, value, parity: int):
        if isinstance(value, FieldValue):
            return self.field(value.field, 1 - parity if value.is_new else parity)
        if isinstance(value, np.ndarray):
            return value[self._nodes]
        return self._engine.parameters.on_host({name: value}, parity)[name]


SELECTED_CHUNK = 1 << 20  # nodes whose moments are computed in one launch, for those that are selected among them


class NodeMoments:
    """Reads the moments of selected nodes; only these are copied, which makes it quick. ``nodes``: (k,) ascending local
    nodes."""

    def __init__(self, engine, nodes: np.ndarray):
        self._engine, self._nodes = engine, nodes
        self._chunks: list[tuple[NodeRange, slice]] = []
        for first in range(0, engine.domain.n_nodes, SELECTED_CHUNK):
            last = min(first + SELECTED_CHUNK, engine.domain.n_nodes)
            begin, end = np.searchsorted(nodes, (first, last))
            if begin < end:
                self._chunks.append((NodeRange(first, last), slice(int(begin), int(end))))
        self._memory, self._packed = None, None
        self._gathers: list = []
        self._computations: dict[int, list] = {}

    def read(self) -> np.ndarray:
        """(4, k) rows rho - 1, ux, uy, uz, lattice units, of the present state."""
        backend, parity = self._engine.backend, self._engine.parity
        if not self._chunks:
            return np.empty((4, 0), backend.precision.real)
        backend.synchronise()
        if not self._gathers:
            self._bind_gathers()
        if parity not in self._computations:
            self._computations[parity] = self._bind_computations(parity)
        for compute, gather in zip(self._computations[parity], self._gathers, strict=True):
            compute()
            backend.synchronise()  # the copy is launched on another queue
            gather()
            backend.synchronise()  # before the next chunk takes its place
        packed = backend.to_host(self._packed)
        if len(self._chunks) == 1:
            return packed.reshape(4, -1)
        result = np.empty((4, self._nodes.size), backend.precision.real)
        for _, columns in self._chunks:
            result[:, columns] = packed[4 * columns.start : 4 * columns.stop].reshape(4, -1)
        return result

    def _bind_gathers(self) -> None:
        """The memory of both parities, and what copies the selected moments of every chunk behind each other."""
        backend, real = self._engine.backend, self._engine.backend.precision.real
        longest = max(nodes.last - nodes.first for nodes, _ in self._chunks)
        self._memory, self._packed = backend.zeros(4 * longest, real), backend.zeros(4 * self._nodes.size, real)
        for nodes, columns in self._chunks:
            size, chosen = nodes.last - nodes.first, self._nodes[columns] - nodes.first
            addresses = backend.array(np.concatenate([chosen + row * size for row in range(4)]))
            packed = backend.view(self._packed, 4 * columns.start, 4 * columns.stop)
            self._gathers.append(backend.bind("gather", backend.view(self._memory, 0, 4 * size), addresses, packed))

    def _bind_computations(self, parity: int) -> list:
        """Launches that compute the moments of every chunk."""
        engine, backend = self._engine, self._engine.backend
        values, bound = engine.measuring(parity), []
        for nodes, _ in self._chunks:
            moments = backend.view(self._memory, 0, 4 * (nodes.last - nodes.first))
            bound.append(
                backend.bind("moments", engine.model.macroscopic, engine.state(parity), nodes, moments, values)
            )
        return bound


LINK, POPULATION = "link", "population"


def leaving_populations(engine, communicator) -> dict[str, np.ndarray]:
    """``link``, (L,) ascending numbers of all opening links, voxel id times Q plus direction, and ``population``, (L,)
    the populations that left through them, on rank 0; empty on the others, and with streaming that does not need them;
    collective."""
    if not engine.model.streaming.stores_before_collision:
        return {}
    link, address = _links(engine)
    found = np.zeros(0)
    if link.size:
        engine.backend.synchronise()
        found = Probe(engine.backend, engine.buffers, (address, address)).read(engine.parity)
    gathered = communicator.gather((link, found))
    if gathered is None:
        return {}
    links, populations = (np.concatenate(parts) for parts in zip(*gathered, strict=True))
    order = np.argsort(links)
    return {LINK: links[order], POPULATION: populations[order]}


def restore_leaving(engine, record: Mapping[str, np.ndarray]) -> None:
    """Continue from a record of :func:`leaving_populations`, the same on every rank; an empty one changes nothing."""
    link, address = _links(engine)
    if not record or not link.size:
        return
    backend = engine.backend
    position = np.searchsorted(record[LINK], link)
    stored = (record[POPULATION][position] * backend.precision.unit).astype(backend.precision.storage)
    backend.bind("scatter", backend.array(stored), engine.buffers[engine.parity], backend.array(address))()
    backend.synchronise()


def _links(engine) -> tuple[np.ndarray, np.ndarray]:
    """(L,) numbers of the opening links of this rank, and (L,) addresses of the populations that leave through them.
    Only the first phase is needed: streaming that stores before collision has no other."""
    links, q_count = engine.domain.links, engine.model.lattice.q
    return engine.domain.voxel[links.node] * q_count + links.q, engine.addresses.links[0].outgoing


Measured = TypeVar("Measured")


class Remembered(Generic[Measured]):
    """Keeps one measurement of an engine for one step. The lattice may oscillate with period two; the mean with the
    step before does not. With in-place streaming nothing else is left of that step."""

    def __init__(self) -> None:
        self._kept: Measured | None = None
        self._step = -1

    def keep(self, engine, measured: Measured) -> None:
        """Take what was measured in the present state."""
        self._kept, self._step = measured, engine.steps_kept

    def of_last_step(self, engine) -> list[Measured]:
        """The measurement of one step ago; empty without it."""
        return [self._kept] if self._kept is not None and engine.steps_kept == self._step + 1 else []


@dataclass(frozen=True)
class Totals:
    """Sums over one rank's nodes: ``mass`` (of rho - 1), largest ``speed``, exact scaled integer sums of speeds and of
    the components of the velocity (``flow`` (8,), see :class:`muphy_lb.backends.arrays.ReductionArrays`)."""

    mass: float
    speed: float
    flow: np.ndarray


class Reductions:
    """The launches that sum over all nodes, from each buffer; they share their partial sums. ``speed_scale``: scale of
    the exact integer sums."""

    def __init__(self, engine, speed_scale: float):
        backend, model = engine.backend, engine.model
        n = backend.reduction_workers(engine.domain.n_nodes)
        # one array, since every copy to the host takes its time
        partial_sums = backend.zeros((2 + 8) * n, np.int64)
        mass, peak = (backend.view(partial_sums, k * n, (k + 1) * n).view(np.float64) for k in range(2))
        flow = backend.view(partial_sums, 2 * n, 10 * n).reshape(8, n)
        arrays = ReductionArrays(mass, peak, flow, float(speed_scale))
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
        partial_sums = self._backend.to_host(self._partial_sums).reshape(10, -1)
        mass, peak = partial_sums[:2].view(np.float64)
        return Totals(float(mass.sum()), float(peak.max()), partial_sums[2:].sum(axis=1))


# Nodes of a chunk.
CHUNK_NODES = 1 << 17


class StateAccess:
    """Reads and writes the state of a rank."""

    def __init__(self, backend, model: Model, domain: LocalDomain):
        self._backend, self._model, self._n_nodes = backend, model, domain.n_nodes
        self._real, self._precision = backend.precision.real, backend.precision
        self._scratch: dict = {}

    def bind(self, state: State, values: tuple) -> None:
        """Bind what reads a state, writes it and takes its moments, and launch nothing."""
        nodes, q_count = next(self._chunks()), self._model.lattice.q
        for name in ("read", "write"):
            self._backend.bind(name, state, nodes, self._memory("rows", q_count, nodes, self._precision.storage))
        out = self._memory("moments", 4, nodes, self._real)
        self._backend.bind("moments", self._model.macroscopic, state, nodes, out, values)

    def populations(self, state: State) -> np.ndarray:
        """(Q, n) stored populations, deviations from w_q."""
        q_count = self._model.lattice.q
        result = np.empty((q_count, self._n_nodes), self._real)
        for nodes, stored in self.stored(state):
            result[:, nodes.first : nodes.last] = stored.astype(self._real) / self._real(self._precision.unit)
        return result

    def stored(self, state: State) -> Iterator[tuple[NodeRange, np.ndarray]]:
        """Yield chunks of nodes with their (Q, m) populations as they are stored."""
        q_count = self._model.lattice.q
        for nodes in self._chunks():
            rows = self._memory("rows", q_count, nodes, self._precision.storage)
            self._backend.bind("read", state, nodes, rows)()
            yield nodes, self._backend.to_host(rows).reshape(q_count, -1)

    def moments(self, state: State, values: tuple) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz, with the values of the parameters of the model's ``macroscopic``."""
        result = np.empty((4, self._n_nodes), self._real)
        for nodes in self._chunks():
            out = self._memory("moments", 4, nodes, self._real)
            self._backend.bind("moments", self._model.macroscopic, state, nodes, out, values)()
            result[:, nodes.first : nodes.last] = self._backend.to_host(out).reshape(4, -1)
        return result

    def write(self, state: State, chunk: Callable[[int, int], tuple[np.ndarray, np.ndarray | None]]) -> None:
        """Overwrite the populations by ``chunk(first, last)`` -> (Q, k) populations and (k,) the first node, from
        ``first`` on, of those in a row that have each; None if k nodes are different. Chunks are computed side by
        side, in threads: NumPy computes without Python's lock."""
        q_count, storage, unit = self._model.lattice.q, self._precision.storage, self._precision.unit

        def stored(nodes: NodeRange) -> np.ndarray:
            populations, begins = chunk(nodes.first, nodes.last)
            populations = (populations * unit).astype(storage)
            if begins is None or begins.size in (1, nodes.last - nodes.first):
                return populations
            return populations.repeat(np.diff(begins, append=nodes.last - nodes.first), axis=1)

        uploaded: tuple = ()
        for nodes, values in self._side_by_side(stored):
            rows = self._memory("rows", q_count, nodes, storage)
            alike = (rows.size, values.tobytes()) if values.shape[1] == 1 else ()
            if not alike or alike != uploaded:
                values = np.broadcast_to(values, (q_count, nodes.last - nodes.first))
                self._backend.update(rows, values.reshape(rows.shape))
            uploaded = alike
            self._backend.bind("write", state, nodes, rows)()

    def _side_by_side(self, values: Callable[[NodeRange], np.ndarray]) -> Iterator[tuple[NodeRange, np.ndarray]]:
        """The chunks and their values in order, a few at a time, since each takes memory."""
        n_threads = numba.get_num_threads()
        ranges = list(self._chunks())
        with ThreadPoolExecutor(n_threads) as pool:
            for start in range(0, len(ranges), n_threads):
                some = ranges[start : start + n_threads]
                yield from zip(some, pool.map(values, some), strict=True)

    def _chunks(self) -> Iterator[NodeRange]:
        for first in range(0, self._n_nodes, CHUNK_NODES):
            yield NodeRange(first, min(first + CHUNK_NODES, self._n_nodes))

    def _memory(self, name: str, n_rows: int, nodes: NodeRange, dtype):
        """Scratch memory on the device, kept between calls."""
        if name not in self._scratch:
            self._scratch[name] = self._backend.zeros(n_rows * min(CHUNK_NODES, self._n_nodes), dtype)
        return self._backend.view(self._scratch[name], 0, n_rows * (nodes.last - nodes.first))


class NeighbourValues:
    """Finds the values at neighbours of nodes, also of other ranks."""

    def __init__(self, domain: LocalDomain, communicator):
        self._domain, self._communicator = domain, communicator

    def with_ghosts(self, rows: np.ndarray) -> np.ndarray:
        """(K, n + g) values of the n local nodes and of g ghost nodes, of (K, n) values; collective."""
        layer, ranks = self._domain.ghost_layer, self._domain.halo.neighbours
        if not ranks:
            return rows
        sent = {
            rank: np.ascontiguousarray(rows[:, layer.send_node[layer.send_start[k] : layer.send_start[k + 1]]])
            for k, rank in enumerate(ranks)
        }
        received = self._communicator.swap(sent)
        return np.concatenate([rows, *(received[rank] for rank in ranks)], axis=1)

    def places(self, vectors: np.ndarray, nodes: slice) -> np.ndarray:
        """(V, m) columns of :meth:`with_ghosts` that are one lattice vector away from some local nodes, or the code of
        a link into a wall or an opening (:mod:`muphy_lb.geometry.neighbours`); solids are walls."""
        domain = self._domain
        found = domain.neighbours_with_ghosts(vectors, nodes)
        if domain.search.solid is not None:
            own = domain.neighbours(vectors, nodes)
            found = np.where((own >= 0) | (own == REMOTE_LINK), found, own)
        return np.where(found >= domain.pitch, found - (domain.pitch - domain.n_nodes), found)
