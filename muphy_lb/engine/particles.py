"""Particles of a model on one rank's device: their memory, their stages, how they cross between ranks."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.backends.arrays import LookupArrays, MigrationArrays, ParticleArrays
from muphy_lb.domain import LocalDomain, build_lookup
from muphy_lb.domain.exchange import Exchange
from muphy_lb.domain.lookup import VoxelLookup
from muphy_lb.errors import BackendError
from muphy_lb.parallel import Halo, HaloConnector
from muphy_lb.parallel.task import ON_INTERIOR, Task, ordering
from muphy_lb.physics.model import MIGRATE, POSITION, Model, ParticleSet, Stage

FULL, LOST = 1, 2


class Particles:
    """The particle sets of a model.

    Args:
        backend: the device.
        connector: to the other ranks.
        domain: this rank's nodes.
        model: the physics.

    Raises:
        ValueError: a set without a stage that lets its particles migrate.
    """

    def __init__(self, backend, connector: HaloConnector, domain: LocalDomain, model: Model):
        self._backend = backend
        self._lookup = build_lookup(domain)
        self.lookup = _on_device(backend, self._lookup)
        ranks = self._lookup.ranks
        self._sets = {each.name: _BoundSet(backend, connector, each, ranks) for each in model.particles}
        for name in self._sets:
            if not any(s.over == name and s.kernel == MIGRATE for s in (*model.before, *model.after)):
                raise ValueError(f"particle set {name!r} needs a {MIGRATE!r} stage, which lets particles change nodes")

    def column(self, name: str, parity: int):
        """Device array of a column, given as ``"SET.column"``."""
        set_name, column = name.split(".")
        return self._sets[set_name].column(column, parity)

    def bind(self, stage: Stage, parity: int, values: tuple) -> list[Task]:
        """The tasks of a stage over particles."""
        bound = self._sets[stage.over]
        if stage.kernel == MIGRATE:
            return bound.migration_tasks(stage, parity, self.lookup)
        launch = self._backend.bind(stage.kernel, *stage.operators, bound.arrays[parity], bound.capacity, values)
        return [Task(stage.name, ON_INTERIOR, launch)]

    def get(self, name: str, parity: int) -> dict[str, np.ndarray]:
        """Columns of this rank's particles of a set by name, by ascending id.

        Raises:
            BackendError: some found no room, or one was lost.
        """
        return self._sets[name].get(parity)

    def set(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Replace the particles of a set by those among the given ones whose nodes are this rank's.

        Args:
            name: of the set.
            columns: by name, all of them; those that the set has besides the position are zero if they are missing.

        Raises:
            BackendError: more particles than there is room for.
        """
        x, y, z = (np.asarray(columns[axis], dtype=np.int64) for axis in POSITION[0])
        own = self._lookup.at(x, y, z) >= 0
        self._sets[name].set({key: np.asarray(values)[own] for key, values in columns.items()})


class _BoundSet:
    """One set of particles: two copies of all columns, which steps use in turn."""

    def __init__(self, backend, connector: HaloConnector, declared: ParticleSet, ranks: tuple[int, ...]):
        self._backend, self._declared, self.capacity = backend, declared, declared.capacity
        self._integers, self._reals = declared.columns
        self.arrays = [self._allocate() for _ in range(2)]
        self._migration, self._lines = self._connect(connector, ranks)

    def column(self, name: str, parity: int):
        """Device array of a column, as long as there is room."""
        arrays, capacity = self.arrays[parity], self.capacity
        names, block = (self._integers, arrays.integers) if name in self._integers else (self._reals, arrays.reals)
        first = names.index(name) * capacity
        return self._backend.view(block, first, first + capacity)

    def migration_tasks(self, stage: Stage, parity: int, lookup) -> list[Task]:
        """Send those that have left, receive those that come."""
        backend, old, kept = self._backend, self.arrays[parity], self.arrays[1 - parity]
        migration, line = self._migration[parity], self._lines[parity]
        send = backend.bind("send_particles", old, kept, migration, lookup, self.capacity)
        tasks = [Task(stage.name, ON_INTERIOR, send)]
        if line:
            receive = backend.bind("receive_particles", kept, migration, self.capacity)
            tasks += [_waiting(backend, True), *line.tasks, _waiting(backend, False)]
            tasks += [Task(stage.name, ON_INTERIOR, receive)]
        return tasks

    def get(self, parity: int) -> dict[str, np.ndarray]:
        """Columns by name, by ascending id."""
        arrays, to_host = self.arrays[parity], self._backend.to_host
        self._check(int(max(to_host(each.status)[0] for each in self._migration)))
        n = int(to_host(arrays.count)[0])
        integers = to_host(arrays.integers).reshape(-1, self.capacity)[:, :n]
        reals = to_host(arrays.reals).reshape(-1, self.capacity)[:, :n]
        order = np.argsort(integers[0])
        named = zip((*self._integers, *self._reals), (*integers, *reals), strict=True)
        return {name: column[order] for name, column in named}

    def set(self, columns: Mapping[str, np.ndarray]) -> None:
        """Replace all particles."""
        n = len(columns["id"])
        self._check(FULL if n > self.capacity else 0)
        for arrays in self.arrays:
            for names, block, dtype in (
                (self._integers, arrays.integers, np.int64),
                (self._reals, arrays.reals, float),
            ):
                rows = np.zeros((len(names), self.capacity), dtype)
                for row, name in zip(rows, names, strict=True):
                    row[:n] = columns.get(name, 0)
                self._backend.update(block, rows.reshape(-1))
            self._backend.update(arrays.count, np.full(1, n, dtype=np.int64))

    def _check(self, status: int) -> None:
        name = self._declared.name
        if status == FULL:
            raise BackendError(
                f"particle set {name!r} has room for {self.capacity} particles on a rank, and there are more; give it a"
                " larger capacity, or use more ranks"
            )
        if status == LOST:
            raise BackendError(
                f"a particle of the set {name!r} has moved more than a voxel in a step, into a wall or out of the box;"
                " its stage must keep particles among nodes, or the time step is too long"
            )

    def _allocate(self) -> ParticleArrays:
        zeros, capacity = self._backend.zeros, self.capacity
        integers = zeros(len(self._integers) * capacity, np.int64)
        return ParticleArrays(integers, zeros(len(self._reals) * capacity, np.float64), zeros(1, np.int64))

    def _connect(self, connector: HaloConnector, ranks: tuple[int, ...]):
        """Messages to every rank around, of the length that the capacity asks for: which and how many particles cross
        is known to the device alone."""
        backend, length = self._backend, 1 + (len(self._integers) + len(self._reals)) * self.capacity
        total = len(ranks) * length
        start = length * np.arange(len(ranks) + 1)
        plan = Exchange(slice(0, total), start, slice(total, 2 * total), start)
        buffers = [backend.zeros(2 * total, np.float64) for _ in range(2)]
        neighbour = np.full(connector.communicator.size, -1, dtype=np.int64)
        neighbour[list(ranks)] = np.arange(len(ranks))
        neighbours = backend.array(neighbour)
        migration = [
            MigrationArrays(
                backend.view(buffer, 0, total),
                backend.view(buffer, total, 2 * total),
                neighbours,
                backend.zeros(1, np.int64),
            )
            for buffer in buffers
        ]
        return migration, connector.connect(backend, Halo(ranks, (plan, plan), tuple(buffers))).exchanges


def _on_device(backend, lookup: VoxelLookup) -> LookupArrays:
    size = np.array([*lookup.size, *lookup.n_blocks, *lookup.periodic], dtype=np.int64)
    return LookupArrays(backend.array(lookup.block), backend.array(lookup.entry), backend.array(size))


def _waiting(backend, to_edge: bool) -> Task:
    """Messages travel on the edge's queue: it waits for the interior, or the interior for it."""
    if not to_edge:
        return ordering(backend.interior_waits_for_edge)

    def wait():
        backend.record_interior()
        backend.edge_waits_for_interior()

    return ordering(wait)
