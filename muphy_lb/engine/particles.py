"""Particles of a model on one rank's device: their memory, their stages, how they cross between ranks."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from muphy_lb.backends.arrays import LookupArrays, MigrationArrays, ParticleArrays, SortingArrays
from muphy_lb.base.errors import BackendError, DivergedError
from muphy_lb.domain import LocalDomain
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.lookup import LAYER, VoxelLookup, beside_walls, look_up
from muphy_lb.model.model import BORDER, BY_ID, MIGRATE, PARTICLES, POSITION, SHARE, Model, ParticleSet, Provided, Stage
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.parallel.exchange import Halo
from muphy_lb.parallel.task import ON_INTERIOR, Task, ordering

FULL, LOST, CROWDED = 1, 2, 3
STEPS_BETWEEN_SORTS = 128  # particles mix as they move, and then those beside each other in memory read far apart


class Particles:
    """The particle sets of a model. ``lookup``: what is at each voxel of this rank's surroundings. Raises ValueError: a
    set without a stage that lets its particles migrate."""

    def __init__(
        self, backend, connector: HaloConnector, lookup: VoxelLookup, domain: LocalDomain, model: Model, fields
    ):
        self._backend, self._lookup, self._domain = backend, lookup, domain
        self.lookup = LookupArrays(*(backend.array(each) for each in (lookup.block, lookup.entry, lookup.size)))
        self._steps_unsorted = 0
        bound = partial(_BoundSet, backend, connector, lookup=lookup, arrays_of_lookup=self.lookup, stages=model.stages)
        self._sets = {each.name: bound(each) for each in model.particles}
        for name in self._sets:
            if not any(stage.over == name and stage.kernel == MIGRATE for stage in model.stages):
                raise ValueError(f"particle set {name!r} needs a {MIGRATE!r} stage, which lets particles change nodes")
        for field in model.fields:
            if field.initial:
                fields.put(field.name, self.nodes_at(field.initial))

    def count_steps(self, n_steps: int) -> None:
        """After some steps; now and then particles are sorted, which changes nothing but the time that steps take."""
        self._steps_unsorted += n_steps
        if self._steps_unsorted >= STEPS_BETWEEN_SORTS:
            self.sort()

    def sort(self) -> None:
        """Sort the particles of each set by the voxels that they are at, in blocks of 8^3 of them."""
        self._steps_unsorted = 0
        for bound in self._sets.values():
            bound.sort()

    @cached_property
    def _border(self) -> np.ndarray:
        found = np.zeros(self._domain.n_nodes, dtype=np.int8)
        found[self._lookup.layer.send_node] = 1
        return found

    @cached_property
    def _beside_wall(self) -> np.ndarray:
        return beside_walls(self._domain)

    def nodes_at(self, what: Provided) -> np.ndarray:
        """(n,) flags of the nodes at the border to other ranks (``BORDER``), or beside a wall (``BESIDE_WALL``)."""
        return self._border if what is BORDER else self._beside_wall

    def column(self, name: str):
        """Device array of a column, given as ``"SET.column"``."""
        set_name, column = name.split(".")
        return self._sets[set_name].column(column)

    def of_set(self, name: str) -> tuple[ParticleArrays, int]:
        """The arrays of a set, and its capacity."""
        bound = self._sets[name]
        return bound.arrays, bound.capacity

    def bind(self, stage: Stage, parity: int, values: tuple) -> list[Task]:
        """The tasks of a stage over particles."""
        bound = self._sets[stage.over]
        if stage.kernel == MIGRATE:
            return bound.migration_tasks(stage, parity, self.lookup, values)
        if stage.kernel == SHARE:
            return bound.sharing_tasks(stage, parity)
        arguments = (bound.n_ids,) if stage.kernel == BY_ID else (bound.arrays, bound.capacity)
        kernel = stage.kernel or PARTICLES
        return [Task(stage.name, ON_INTERIOR, self._backend.bind(kernel, *stage.operators, *arguments, values))]

    def get(self, name: str) -> dict[str, np.ndarray]:
        """Columns of this rank's particles of a set by name, by ascending id. Raises BackendError: some found no room;
        DivergedError: one was lost."""
        return self._sets[name].get()

    def columns(self, name: str, wanted: Sequence[str]) -> dict[str, np.ndarray]:
        """Some columns of this rank's particles of a set by name, in the order in which they lie in memory; the others
        stay on the device."""
        return self._sets[name].some(wanted)

    def load(self) -> np.ndarray:
        """(n,) cost of the next step of the particles at every local node, in steps of a node."""
        n_nodes = self._domain.n_nodes
        found = np.zeros(n_nodes, dtype=np.float32)
        for name, bound in self._sets.items():
            (names, are_active), cost = bound.declared.active or ((), None), bound.declared.cost
            columns = self.columns(name, (*POSITION[0], *names))
            node = look_up(self._lookup, *(columns[axis] for axis in POSITION[0]))
            if are_active:
                node = node[are_active(*(columns[each] for each in names))]
            found += cost * np.bincount(node[(node >= 0) & (node < n_nodes)], minlength=n_nodes).astype(np.float32)
        return found

    def set(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Replace the particles of a set by those among the given ones whose nodes are this rank's.

        Args:
            columns: by name, all of them; those that the set has besides the position are zero if they are missing.

        Raises BackendError: more particles than there is room for.
        """
        node = look_up(self._lookup, *(np.asarray(columns[axis], dtype=np.int64) for axis in POSITION[0]))
        own = np.flatnonzero((node >= 0) & (node < self._lookup.size[LAYER]))
        self._sets[name].set({key: np.asarray(values)[own] for key, values in columns.items()})
        self._sets[name].sort()


class _BoundSet:
    """A set of particles bound to launches."""

    def __init__(self, backend, connector: HaloConnector, declared: ParticleSet, lookup, arrays_of_lookup, stages):
        self._backend, self.declared, self.capacity = backend, declared, declared.capacity
        self.n_ids = declared.n_ids
        self.arrays = self._allocate()
        self._by_id = backend.zeros(max(1, len(declared.by_id) * self.n_ids), np.int64)
        self._migration, self._lines = self._connect(connector, lookup)
        sorting = self._sorting_arrays(lookup.entry.size)
        self.sort = backend.bind("sort_particles", self.arrays, arrays_of_lookup, self.capacity, sorting)
        shared = [stage for stage in stages if stage.over == declared.name and stage.kernel == SHARE]
        self._shared = {stage.name: self._connect_ids(connector, stage.writes) for stage in shared}

    def column(self, name: str):
        """Device array of a column, as long as there is room, or of values by id."""
        if name in self.declared.by_id:
            first = self.declared.by_id.index(name) * self.n_ids
            return self._backend.view(self._by_id, first, first + self.n_ids)
        names, block, _ = next(each for each in self._blocks if name in each[0])
        first = names.index(name) * self.capacity
        return self._backend.view(block, first, first + self.capacity)

    def migration_tasks(self, stage: Stage, parity: int, lookup, values: tuple) -> list[Task]:
        """Move all, send those that have left, receive those that come."""
        backend, arrays = self._backend, self.arrays
        migration, line = self._migration[parity], self._lines[parity]
        send = backend.bind("send_particles", *stage.operators, arrays, migration, lookup, values)
        tasks = [Task(stage.name, ON_INTERIOR, send)]
        if line:
            receive = backend.bind("receive_particles", arrays, migration, self.capacity)
            tasks += [_waiting(backend, True), *line.tasks, _waiting(backend, False)]
            tasks += [Task(stage.name, ON_INTERIOR, receive)]
        return tasks

    def sharing_tasks(self, stage: Stage, parity: int) -> list[Task]:
        """Add up what all ranks have written by id."""
        line = self._shared[stage.name][parity]
        return [_waiting(self._backend, True), *line.tasks, _waiting(self._backend, False)] if line else []

    def get(self) -> dict[str, np.ndarray]:
        """Columns by name, by ascending id."""
        to_host = self._backend.to_host
        n, found = self._count(), dict[str, np.ndarray]()
        for names, block, dtype in self._blocks:
            rows = to_host(block).reshape(-1, self.capacity)[:, :n]
            found |= {name: row.astype(dtype) for name, row in zip(names, rows, strict=True)}
        order = np.argsort(found["id"])
        return {name: column[order] for name, column in found.items()}

    def some(self, wanted: Sequence[str]) -> dict[str, np.ndarray]:
        """Some columns by name, in the order of memory."""
        backend, n = self._backend, self._count()
        types = {name: dtype for names, _, dtype in self._blocks for name in names}
        return {name: backend.to_host(backend.view(self.column(name), 0, n)).astype(types[name]) for name in wanted}

    def set(self, columns: Mapping[str, np.ndarray]) -> None:
        """Replace all particles."""
        n = len(columns["id"])
        self._check(FULL if n > self.capacity else 0)
        for names, block, _ in self._blocks:
            rows = np.zeros((len(names), self.capacity), block.dtype)
            for row, name in zip(rows, names, strict=True):
                row[:n] = columns.get(name, 0)
            self._backend.update(block, rows.reshape(-1))
        self._backend.update(self.arrays.count, np.full(1, n, dtype=np.int64))

    def _count(self) -> int:
        """Number of particles here, if nothing has gone wrong with any."""
        to_host = self._backend.to_host
        self._check(int(max(to_host(each.status)[0] for each in self._migration)))
        return int(to_host(self.arrays.count)[0])

    def _check(self, status: int) -> None:
        name, (number, status) = self.declared.name, divmod(status, 4)
        if status == FULL:
            raise BackendError(
                f"particle set {name!r} has room for {self.capacity} particles on a rank, and there are more; give it a"
                " larger capacity, or use more ranks"
            )
        if status == CROWDED:
            raise BackendError(
                f"more than {self._most} particles of the set {name!r} left a rank for another in a step; give the set"
                " more room for those that leave, or use fewer ranks"
            )
        if status == LOST:
            raise DivergedError(
                f"particle {number} of the set {name!r} has moved more than a voxel in a step, into a wall or out of"
                " the box; take weaker forces on it, more substeps or a shorter time step"
            )

    def _allocate(self) -> ParticleArrays:
        zeros, (integers, reals, values) = self._backend.zeros, (len(names) for names in self.declared.columns)
        return ParticleArrays(
            integers=zeros(integers * self.capacity, np.int32),
            reals=zeros(reals * self.capacity, np.float64),
            values=zeros(values * self.capacity, self._backend.precision.real),
            count=zeros(1, np.int64),
        )

    @property
    def _blocks(self) -> tuple:
        """Names of the columns of each kind, their device array, and their type on the host."""
        arrays, types = self.arrays, (np.int64, np.float64, np.float64)
        blocks = zip(self.declared.columns, (arrays.integers, arrays.reals, arrays.values), types, strict=True)
        return tuple(block for block in blocks if block[0])

    def _sorting_arrays(self, n_entries: int) -> SortingArrays:
        zeros = self._backend.zeros
        number, source = (zeros(self.capacity, np.int32) for _ in range(2))
        return SortingArrays(zeros(n_entries + 1, np.int32), number, source, zeros(self.capacity, np.float64))

    @property
    def _most(self) -> int:
        """Particles that a message has room for."""
        return min(self.declared.leaving or self.capacity, self.capacity)

    def _connect(self, connector: HaloConnector, lookup: VoxelLookup):
        """Messages to every rank around: which and how many particles cross is known to the device alone."""
        backend, length = self._backend, 1 + sum(map(len, self.declared.columns)) * self._most
        total = len(lookup.ranks) * length
        start = length * np.arange(len(lookup.ranks) + 1)
        plan = Exchange(slice(0, total), start, slice(total, 2 * total), start, row=self._most)
        buffers = [backend.zeros(max(1, 2 * total), np.float64) for _ in range(2)]
        neighbours = backend.array(np.append(lookup.owner, -1).astype(np.int32))
        n_places = max(1, len(lookup.ranks) * self._most)
        holes, gaps, movers = (backend.zeros(n_places, np.int64) for _ in range(3))
        left, n_moved = backend.zeros(self.capacity, np.int8), backend.zeros(3, np.int64)
        migration = [
            MigrationArrays(
                outgoing=backend.view(buffer, 0, total),
                incoming=backend.view(buffer, total, 2 * total),
                neighbour=neighbours,
                status=backend.zeros(1, np.int64),
                holes=holes,
                gaps=gaps,
                movers=movers,
                left=left,
                n_moved=n_moved,
                most=self._most,
            )
            for buffer in buffers
        ]
        return migration, connector.connect(backend, Halo(lookup.ranks, (plan, plan), tuple(buffers))).exchanges

    def _connect_ids(self, connector: HaloConnector, columns: tuple[str, ...]):
        """The exchange by which values by id of all ranks are added up, of even and odd steps."""
        communicator, n = connector.communicator, self.n_ids
        others = tuple(rank for rank in range(communicator.size) if rank != communicator.rank)
        of_columns = [np.arange(n) + n * self.declared.by_id.index(name.split(".")[1]) for name in columns]
        addresses = np.concatenate(of_columns)
        start = addresses.size * np.arange(len(others) + 1)
        repeated = np.tile(addresses, len(others))
        plan = Exchange(repeated, start, repeated, start, accumulates=True, acknowledged=True)
        return connector.connect(self._backend, Halo(others, (plan, plan), (self._by_id,) * 2)).exchanges


def _waiting(backend, to_edge: bool) -> Task:
    """Messages travel on the edge's queue: it waits for the interior, or the interior for it."""
    if not to_edge:
        return ordering(backend.interior_waits_for_edge)

    def wait():
        backend.record_interior()
        backend.edge_waits_for_interior()

    return ordering(wait)
