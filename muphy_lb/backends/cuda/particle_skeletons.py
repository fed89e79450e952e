"""Kernels over particles: their update, their forces, and their moves between ranks and in memory."""

from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import Coupling
from muphy_lb.backends.cuda.access import Populations, device_jit, read_vector
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.backends.cuda.stage_skeletons import velocity
from muphy_lb.domain.lookup import LAYER, corner_node, look_around_nodes, n_corners
from muphy_lb.lattice.layout import RECORD

DRAG_BLOCK = 128


@cache
def particles(update_operator, lattice, precision):
    """Update every particle; launched for the whole capacity, as only the device knows their number."""
    update = update_operator.compile(lattice, precision, device_jit)

    @kernel_jit
    def kernel(count, parameters):
        i = cuda.grid(1)
        if i < count[0]:
            update(np.uint64(i), parameters)

    return kernel


@cache
def over_range(update_operator, lattice, precision):
    """Call the update for every number of a range."""
    update = update_operator.compile(lattice, precision, device_jit)

    @kernel_jit
    def kernel(first, last, parameters):
        i = first + cuda.grid(1)
        if i < last:
            update(i, parameters)

    return kernel


class Shared(NamedTuple):
    """Memory that the threads of a block share. Of each particle and node: address, weight, the same before division by
    the sum, velocity, what the node loses. Of each particle: the force."""

    address: object
    weight: object
    raw: object
    velocity: object
    part: object
    force: object


@cache
def drag(operators, populations: Populations, coupling: Coupling, lattice, precision):
    """Exchange forces between particles and the nodes around them: moments, force and take are the operators. A block
    has some particles, or one such group after the other. Its threads share first their nodes, then their axes, then
    the axes of their nodes, so that neighbours add to neighbours in memory, and at last their axes again."""
    count, dimension = n_corners(lattice.dimension, coupling.nearest), lattice.dimension
    n_particles, pushes, real = DRAG_BLOCK // count, coupling.pushes, precision.real
    meet = _meet(operators[0], populations, coupling, lattice, precision)
    force, take = (each.compile(lattice, precision, device_jit) for each in operators[1:])
    normalise, interpolate, received = (each(count) for each in (_normalise, _interpolate, _received))
    spread = _spread(count, dimension)

    @kernel_jit
    def kernel(particles, capacity, around, values):
        shared = Shared(
            cuda.shared.array((n_particles, count), np.int64),
            cuda.shared.array((n_particles, count), np.float64),
            cuda.shared.array((n_particles, count), np.float64),
            cuda.shared.array((n_particles, count, 3), real),
            cuda.shared.array((n_particles, count, 3), np.int64),
            cuda.shared.array((n_particles, 3), np.float64),
        )
        thread = cuda.threadIdx.x
        n_groups = (particles.count[0] + n_particles - 1) // n_particles
        for group in range(cuda.blockIdx.x, n_groups, cuda.gridDim.x):
            first = group * n_particles
            n_here = min(np.int64(n_particles), particles.count[0] - np.int64(first))
            p, c = thread // count, thread % count
            if p < n_here:
                meet(shared, (p, c), (particles, capacity, np.uint64(first + p)), around, values[0])
            cuda.syncthreads()
            if p < n_here:
                normalise(shared, p, c)
            cuda.syncthreads()
            for t in range(thread, n_here * dimension, DRAG_BLOCK):
                p, k = t // dimension, t % dimension
                flow, squares = interpolate(shared, p, k)
                shared.force[p, k] = force(np.uint64(first + p), k, flow, squares, values[1])
            cuda.syncthreads()
            if pushes:
                for t in range(thread, n_here * count * RECORD, DRAG_BLOCK):
                    spread(shared, t, around[2][1])
                cuda.syncthreads()
            for t in range(thread, n_here * dimension, DRAG_BLOCK):  # what the next group overwrites has been read
                p, k = t // dimension, t % dimension
                gained = received(shared, p, k) if pushes else shared.force[p, k]
                take(np.uint64(first + p), k, gained, values[2])

    return kernel


def _meet(macroscopic_operator, populations: Populations, coupling: Coupling, lattice, precision):
    """Device function: address, weight and velocity of one of the nodes of a particle; marks those that are pushed. Its
    arguments: what threads share, and the place there; particles, their capacity, and the one at hand; populations,
    lookup and fields; values of moments."""
    velocity_of = velocity(macroscopic_operator, populations, lattice, precision)
    corner = corner_node(device_jit, lattice.dimension, coupling.nearest)
    takes_field, pushes, nothing = coupling.takes_field, coupling.pushes, np.int64(0)

    def meet(shared, place, particle, around, parameters):
        (particles, capacity, i), (p, c) = particle, place
        (buffer, lines, bases), lookup, (flow, _, marks, mask) = around
        integers, reals, room = particles.integers, particles.reals, np.uint64(capacity)
        voxel = integers[i + room], integers[i + room + room], integers[i + room + room + room]
        offset = reals[i], reals[i + room], reals[i + room + room]
        n, weight = corner(lookup, voxel, offset, c)
        is_own = 0 <= n < lookup.size[LAYER]
        if is_own and pushes:
            marks[n] |= mask
        if is_own and not takes_field:
            ux, uy, uz = velocity_of(buffer, lines, bases, np.uint32(n), parameters)
        else:
            ux, uy, uz = read_vector(flow, max(n, nothing))
        shared.address[p, c] = n
        shared.raw[p, c] = weight
        shared.velocity[p, c, 0] = ux
        shared.velocity[p, c, 1] = uy
        shared.velocity[p, c, 2] = uz

    return device_jit(meet)


def _normalise(count: int):
    """Device function: divides a weight by the sum of all."""
    zero = np.float64(0.0)

    def normalise(shared, p, c):
        total = zero
        for other in range(count):
            total += shared.raw[p, other]
        shared.weight[p, c] = shared.raw[p, c] / total

    return device_jit(normalise)


def _interpolate(count: int):
    """Device function: velocity at a particle along an axis, and the sum of the squares of its weights."""
    zero = np.float64(0.0)

    def interpolate(shared, p, k):
        flow, squares = zero, zero
        for c in range(count):
            flow += shared.weight[p, c] * shared.velocity[p, c, k]
            squares += shared.weight[p, c] * shared.weight[p, c]
        return flow, squares

    return device_jit(interpolate)


def _spread(count: int, dimension: int):
    """Device function: takes its share in a particle's force along an axis from a node; records have a number more than
    there are axes, for which nothing is done."""

    def spread(shared, t, pushed):
        p, c, k = t // (count * RECORD), t // RECORD % count, t % RECORD
        if k >= dimension:
            return
        part = np.int64(round(shared.weight[p, c] * shared.force[p, k]))
        shared.part[p, c, k] = part
        if shared.address[p, c] >= 0:
            place = np.uint64(shared.address[p, c]) * np.uint64(RECORD) + np.uint64(k)
            cuda.atomic.add(pushed, place, -part)

    return device_jit(spread)


def _received(count: int):
    """Device function: what all nodes of a particle have lost along an axis."""
    nothing = np.int64(0)

    def received(shared, p, k):
        total = nothing
        for c in range(count):
            total += shared.part[p, c, k]
        return np.float64(total)

    return device_jit(received)


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
        cuda.atomic.max(migration.status, 0, 2 + 4 * np.int64(integers[i]))
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
    """Reset the counters of particles."""
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
