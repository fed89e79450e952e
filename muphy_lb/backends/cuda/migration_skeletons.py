"""Kernels that move particles: between ranks, and in memory, where they are sorted."""

from functools import cache

import numpy as np

from muphy_lb.backends.cuda.access import device_jit
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.domain.lookup import look_around_nodes

PLACES_BLOCK, ENTRIES_PER_THREAD = 256, 8
place, _ = look_around_nodes(device_jit)


@kernel_jit
def clear_counts(messages, length, n_messages):
    """Set the number of particles in every message to zero."""
    for j in range(cuda.threadIdx.x, n_messages, cuda.blockDim.x):
        messages[j * length] = 0.0


@device_jit
def n_columns(particles, capacity):
    """Number of all columns."""
    return (particles.integers.size + particles.reals.size + particles.values.size) // capacity


@device_jit
def write_row(columns, i, capacity, message, place, most):
    """Write the columns of a particle to a message, from a place in it on; the place behind them."""
    for c in range(columns.size // capacity):
        message[place] = np.float64(columns[c * capacity + i])
        place += most
    return place


@device_jit
def read_row(columns, i, capacity, message, place, most):
    """Read the columns of a particle from a message, from a place in it on; the place behind them."""
    for c in range(columns.size // capacity):
        columns[c * capacity + i] = message[place]
        place += most
    return place


@device_jit
def copy_row(columns, source, target, capacity):
    """Copy the columns of a particle to another place."""
    for c in range(columns.size // capacity):
        columns[c * capacity + target] = columns[c * capacity + source]


@device_jit
def send(i, node, particles, migration, first_remote, capacity):
    """If another rank owns a particle's node, write the particle to the message for that rank, and note the hole."""
    integers, reals = particles.integers, particles.reals
    if 0 <= node < first_remote:
        return
    if node < 0:
        migration.status[0] = 2 + 4 * np.int64(integers[i])
        return
    most = migration.most
    first = migration.neighbour[node - first_remote] * (1 + n_columns(particles, capacity) * most)
    k = np.int64(cuda.atomic.add(migration.outgoing, first, 1.0))
    if k >= most:
        migration.status[0] = 3
        return
    row = write_row(integers, i, capacity, migration.outgoing, first + 1 + k, most)
    row = write_row(reals, i, capacity, migration.outgoing, row, most)
    write_row(particles.values, i, capacity, migration.outgoing, row, most)
    migration.left[i] = 1
    migration.holes[cuda.atomic.add(migration.n_moved, 0, 1)] = i


@cache
def update_and_send(update_operator, lattice, precision):
    """Update every particle, and send those that are at nodes of other ranks then."""
    update = update_operator.compile(lattice, precision, device_jit)

    @kernel_jit
    def kernel(particles, migration, first_remote, capacity, parameters):
        i = cuda.grid(1)
        if i < particles.count[0]:
            node = update(np.uint64(i), parameters)
            send(i, node, particles, migration, first_remote, capacity)

    return kernel


@kernel_jit
def match_holes(count, migration):
    """Choose for each hole ahead of the last particles one of these that stays."""
    t, n_holes = cuda.grid(1), migration.n_moved[0]
    if t >= n_holes:
        return
    if migration.holes[t] < count[0] - n_holes:
        migration.gaps[cuda.atomic.add(migration.n_moved, 1, 1)] = migration.holes[t]
    if migration.left[count[0] - 1 - t] == 0:
        migration.movers[cuda.atomic.add(migration.n_moved, 2, 1)] = count[0] - 1 - t


@kernel_jit
def fill_holes(particles, migration, capacity):
    """Move the chosen particles into the holes."""
    t = cuda.grid(1)
    if t < migration.n_moved[0]:
        migration.left[migration.holes[t]] = 0
    if t < migration.n_moved[1]:
        source, target = migration.movers[t], migration.gaps[t]
        copy_row(particles.integers, source, target, capacity)
        copy_row(particles.reals, source, target, capacity)
        copy_row(particles.values, source, target, capacity)


@kernel_jit
def close_holes(count, n_moved):
    """Forget the particles that have left."""
    if cuda.threadIdx.x == 0:
        count[0] -= n_moved[0]
        n_moved[0] = 0
        n_moved[1] = 0
        n_moved[2] = 0


@kernel_jit
def receive_particles(particles, migration, capacity):
    """Append a received particle to those on this rank."""
    thread, most = cuda.grid(1), migration.most
    length = 1 + n_columns(particles, capacity) * most
    message, m = thread // most, thread % most
    if message * length >= migration.incoming.size or m >= np.int64(migration.incoming[message * length]) or m >= most:
        return
    k = cuda.atomic.add(particles.count, 0, 1)
    if k >= capacity:
        cuda.atomic.add(particles.count, 0, -1)
        migration.status[0] = 1
        return
    row = read_row(particles.integers, k, capacity, migration.incoming, message * length + 1 + m, most)
    row = read_row(particles.reals, k, capacity, migration.incoming, row, most)
    read_row(particles.values, k, capacity, migration.incoming, row, most)


@kernel_jit
def forget_counts(counts):
    """No particle has been counted."""
    t = cuda.grid(1)
    if t < counts.size:
        counts[t] = 0


@device_jit
def entry_of(particles, lookup, capacity, i):
    """Number of the entry of a particle's voxel in the lookup."""
    integers = particles.integers
    return place(lookup, integers[capacity + i], integers[2 * capacity + i], integers[3 * capacity + i])


@kernel_jit
def count_at_entries(particles, lookup, capacity, arrays):
    """Number the particles at each entry of the lookup, in any order."""
    i = cuda.grid(1)
    if i < particles.count[0]:
        arrays.number[i] = cuda.atomic.add(arrays.counts, entry_of(particles, lookup, capacity, i), 1)


@kernel_jit
def choose_places(arrays):
    """Give the particles at each entry places in memory behind those at the entries ahead of it in the block; the
    blocks follow each other in any order."""
    ahead, base, counts = cuda.shared.array(PLACES_BLOCK, np.int32), cuda.shared.array(1, np.int32), arrays.counts
    thread, n_entries = cuda.threadIdx.x, arrays.counts.size - 1
    first = (cuda.blockIdx.x * PLACES_BLOCK + thread) * ENTRIES_PER_THREAD
    last, n_here = min(first + ENTRIES_PER_THREAD, n_entries), np.int32(0)
    for n in range(first, last):
        n_here += counts[n]
    ahead[thread] = n_here
    cuda.syncthreads()
    distance = 1
    while distance < PLACES_BLOCK:
        further = ahead[thread - distance] if thread >= distance else np.int32(0)
        cuda.syncthreads()
        ahead[thread] += further
        cuda.syncthreads()
        distance *= 2
    if thread == PLACES_BLOCK - 1:
        base[0] = cuda.atomic.add(counts, n_entries, ahead[thread])
    cuda.syncthreads()
    start = base[0] + ahead[thread] - n_here
    for n in range(first, last):
        n_here = counts[n]
        counts[n] = start
        start += n_here


@kernel_jit
def find_sources(particles, lookup, capacity, arrays):
    """Note each particle at the place that its number at its entry gives it."""
    i = cuda.grid(1)
    if i < particles.count[0]:
        arrays.source[arrays.counts[entry_of(particles, lookup, capacity, i)] + arrays.number[i]] = i


@kernel_jit
def to_places(column, arrays, count):
    """Copy to each place what a column has of the particle that comes there."""
    k = cuda.grid(1)
    if k < count[0]:
        arrays.column[k] = column[arrays.source[k]]


@kernel_jit
def put_back(source, column, count):
    """Copy a column from its places."""
    i = cuda.grid(1)
    if i < count[0]:
        column[i] = source[i]
