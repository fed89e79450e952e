"""Binding of the GPU kernels over particles; for their arguments see
:meth:`muphy_lb.backends.interface.Backend.bind`."""

from types import MappingProxyType

import numpy as np

from muphy_lb.backends.arrays import DragArrays, LookupArrays, MigrationArrays, ParticleArrays, SortingArrays
from muphy_lb.backends.cuda import particle_skeletons
from muphy_lb.backends.cuda.access import populations_arriving
from muphy_lb.domain.lookup import LAYER, n_corners

PARTICLE_BLOCK = 128  # their operators need many registers, of which smaller blocks leave fewer unused
DRAG_THREADS = 1 << 23  # for a million particles; a rank may have room for many more than it has


def particles(backend, update, particles: ParticleArrays, capacity: int, values):
    """One thread per particle of the capacity."""
    kernel = particle_skeletons.particles(update, backend.lattice, backend.precision)
    return backend.launch(kernel, capacity, (particles.count, values), block=PARTICLE_BLOCK)


def by_id(backend, update, count: int, values):
    """One thread per number."""
    kernel = particle_skeletons.over_range(update, backend.lattice, backend.precision)
    return backend.launch(kernel, count, (0, count, values))


def drag(backend, operators, particles: ParticleArrays, capacity: int, arrays: DragArrays, values):
    """Blocks of as many particles as they have threads for the nodes of each."""
    table, coupling, block = arrays.step.table, arrays.coupling, particle_skeletons.DRAG_BLOCK
    how = coupling, backend.lattice, backend.precision
    kernel = particle_skeletons.drag(operators, populations_arriving(arrays.step), *how)
    fields = arrays.flow, arrays.pushed, arrays.marks, np.int8(arrays.mask)
    around = (arrays.step.old, table.lines, table.bases), arrays.lookup, fields
    arguments = (particles, capacity, around, values)
    n_threads = min(capacity * n_corners(backend.lattice.dimension, coupling.nearest), DRAG_THREADS)
    return backend.launch(kernel, n_threads, arguments, block=block)


def send_particles(backend, update, particles, migration: MigrationArrays, lookup: LookupArrays, values):
    """One thread per particle of the capacity; without neighbours nothing is left to fill."""
    capacity = migration.left.size
    kernel = particle_skeletons.update_and_send(update, backend.lattice, backend.precision)
    first_remote = int(backend.to_host(lookup.size)[LAYER])
    arguments = (particles, migration, first_remote, capacity, values)
    send = backend.launch(kernel, capacity, arguments, block=PARTICLE_BLOCK)
    length, n_places = _message_length(particles, migration, capacity), migration.holes.size
    n_messages = migration.outgoing.size // length
    if not n_messages:
        return send
    names = particle_skeletons
    launches = (
        backend.launch(names.clear_counts, 1, (migration.outgoing, length, n_messages), block=32),
        send,
        backend.launch(names.match_holes, n_places, (particles.count, migration)),
        backend.launch(names.fill_holes, n_places, (particles, migration, capacity)),
        backend.launch(names.close_holes, 1, (particles.count, migration.n_moved), block=32),
    )

    def launch():
        for each in launches:
            each()

    return launch


def receive_particles(backend, particles, migration: MigrationArrays, capacity: int):
    """One thread per particle of the messages' capacity."""
    n_messages = migration.incoming.size // _message_length(particles, migration, capacity)
    arguments = (particles, migration, capacity)
    return backend.launch(particle_skeletons.receive_particles, n_messages * migration.most, arguments)


def sort_particles(backend, particles: ParticleArrays, lookup: LookupArrays, capacity: int, arrays: SortingArrays):
    """Sort particles by the entries of their voxels in the lookup: count those at each, choose places, move one column
    after the other there."""
    names, count, n_places = particle_skeletons, particles.count, arrays.counts.size
    n_threads, known = n_places // names.ENTRIES_PER_THREAD + 1, (particles, lookup, capacity, arrays)
    launches = [
        backend.launch(names.forget_counts, n_places, (arrays.counts,)),
        backend.launch(names.count_at_entries, capacity, known),
        backend.launch(names.choose_places, n_threads, (arrays,), block=names.PLACES_BLOCK),
        backend.launch(names.find_sources, capacity, known),
    ]
    for block in (particles.integers, particles.reals, particles.values):
        for first in range(0, block.size, capacity):
            column = backend.view(block, first, first + capacity)
            launches.append(backend.launch(names.to_places, capacity, (column, arrays, count)))
            launches.append(backend.launch(names.put_back, capacity, (arrays.column, column, count)))

    def launch():
        for each in launches:
            each()

    return launch


def _message_length(particles, migration: MigrationArrays, capacity: int) -> int:
    return 1 + sum(block.size // capacity for block in particles[:3]) * migration.most


KERNELS = MappingProxyType(
    {kernel.__name__: kernel for kernel in (particles, by_id, drag, send_particles, receive_particles, sort_particles)}
)
