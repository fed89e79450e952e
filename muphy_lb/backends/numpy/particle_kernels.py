"""The kernels of the specification over particles; for their arguments see
:meth:`muphy_lb.backends.interface.Backend.bind`."""

from types import MappingProxyType

import numpy as np

from muphy_lb.backends.arrays import LookupArrays, MigrationArrays, ParticleArrays, SortingArrays
from muphy_lb.domain.lookup import LAYER, places_of


def particles(backend, update, particles: ParticleArrays, capacity: int, values):
    """update(i) for all particles at once."""
    return lambda: update.reference(np.arange(particles.count[0]), backend.lattice, update.by_name(values))


def by_id(backend, update, count: int, values):
    """update(i) for all numbers at once."""
    return lambda: update.reference(np.arange(count), backend.lattice, update.by_name(values))


def send_particles(backend, update, particles, migration: MigrationArrays, lookup: LookupArrays, values):
    """Update all, write those at nodes of other ranks to the messages for them, and close the gaps."""
    named = update.by_name(values)

    def move_all():
        return update.reference(np.arange(particles.count[0]), backend.lattice, named)

    return sending(move_all, particles, migration, lookup)


def sending(move_all, particles: ParticleArrays, migration: MigrationArrays, lookup: LookupArrays):
    """Launch of sending particles: ``move_all()`` returns the nodes (n,) at which they are then."""
    capacity, first_remote = migration.left.size, lookup.size[LAYER]

    def send():
        node, n = move_all(), int(particles.count[0])
        columns = _columns(particles, capacity, 0, n)
        if (node < 0).any():
            migration.status[0] = 2 + 4 * int(columns[0][0, node < 0].max())
        is_remote = node >= first_remote
        target = np.full(n, -1)
        target[is_remote] = migration.neighbour[node[is_remote] - first_remote]
        for j, message in enumerate(migration.outgoing.reshape(-1, 1 + sum(map(len, columns)) * migration.most)):
            leaving = np.flatnonzero(target == j)
            if leaving.size > migration.most:
                migration.status[0], leaving = 3, leaving[: migration.most]
            message[0] = leaving.size
            rows = message[1:].reshape(-1, migration.most)
            rows[:, : leaving.size] = np.concatenate([block[:, leaving].astype(np.float64) for block in columns])
        particles.count[0] = n - np.count_nonzero(is_remote)
        for rows in columns:
            rows[:, : particles.count[0]] = rows[:, ~is_remote]

    return send


def receive_particles(backend, particles, migration: MigrationArrays, capacity: int):
    """Append the particles of one message after the other."""
    ends = np.cumsum([len(block) for block in _columns(particles, capacity, 0, capacity)])

    def receive():
        for message in migration.incoming.reshape(-1, 1 + ends[-1] * migration.most):
            rows = message[1:].reshape(-1, migration.most)[:, : int(message[0])]
            first, n = int(particles.count[0]), rows.shape[1]
            if first + n > capacity:
                migration.status[0], n = 1, capacity - first
            blocks = _columns(particles, capacity, first, first + n)
            for block, received in zip(blocks, np.split(rows[:, :n], ends[:-1]), strict=True):
                block[...] = received
            particles.count[0] = first + n

    return receive


def sort_particles(backend, particles: ParticleArrays, lookup: LookupArrays, capacity: int, arrays: SortingArrays):
    """Sort particles by the places of their voxels in the lookup."""

    def sort():
        columns = _columns(particles, capacity, 0, int(particles.count[0]))
        order = np.argsort(places_of(lookup, *columns[0][1:4]), kind="stable")
        for block in columns:
            block[...] = block[:, order]

    return sort


def _columns(particles: ParticleArrays, capacity: int, first: int, last: int) -> tuple:
    """Integers, reals and values (n_columns, last - first) of some particles."""
    blocks = particles.integers, particles.reals, particles.values
    return tuple(block.reshape(-1, capacity)[:, first:last] for block in blocks)


KERNELS = MappingProxyType(
    {kernel.__name__: kernel for kernel in (particles, by_id, send_particles, receive_particles, sort_particles)}
)
