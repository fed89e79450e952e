"""Node and link loops as Numba-CUDA kernels."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda.access import (
    access,
    device_jit,
    find_neighbours,
    find_pairs,
    gather_values,
    reader,
    scatter_values,
    store_pairs,
    writer,
)
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.precision import FP64

# Ways to give nodes to threads: one each; two each, a warp apart; two neighbours each, which needs half precision and
# stores that stay within the node.
SINGLE, DOUBLE, PAIRED = "single", "double", "paired"
NODES_PER_THREAD = {SINGLE: 1, DOUBLE: 2, PAIRED: 2}
# Nodes whose opening links a block computes.
LINK_NODES = 32


class Shape(NamedTuple):
    """How stream-and-collide is launched: the nodes of a thread, and the threads of a block."""

    threads: str
    block: int


@cache
def stream_collide(collide_operator, pattern, lattice, precision, index_type, threads=SINGLE):
    """Load the populations of a node, collide, store them.

    Blocks run through the nodes from ``start`` on in steps of one block, ``step`` being 1 or -1.
    """
    collide = collide_operator.compile(lattice, precision, device_jit)
    reach = access(pattern.load, pattern.store, len(pattern.directions), precision, index_type)
    own, find, load, store, n_entries = reach
    q_count, real = lattice.q, precision.real
    one, five, warp, in_warp = np.uint32(1), np.uint32(5), np.uint32(32), np.uint32(31)

    @cuda.jit
    def single(old, new, lines, bases, start, step, first, last, parameters):
        block = start + step * cuda.blockIdx.x
        n = np.uint32(first + block * cuda.blockDim.x + cuda.threadIdx.x)
        if n < last:
            f = cuda.local.array(q_count, real)
            entries = cuda.local.array(n_entries, index_type)
            find(lines, bases, n, entries)
            load(old, own(n), entries, f)
            collide(f, n, parameters)
            store(new, own(n), entries, f)

    @cuda.jit
    def double(old, new, lines, bases, start, step, first, last, parameters):
        thread = np.uint32((start + step * cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x)
        n = np.uint32(first + np.uint32((thread >> five) * np.uint32(64)) + np.uint32(thread & in_warp))
        m = np.uint32(n + warp)
        if n < last:
            f, g = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
            entries_f = cuda.local.array(n_entries, index_type)
            entries_g = cuda.local.array(n_entries, index_type)
            find(lines, bases, n, entries_f)
            find(lines, bases, m, entries_g)
            load(old, own(n), entries_f, f)
            load(old, own(m), entries_g, g)
            collide(f, n, parameters)
            collide(g, m, parameters)
            store(new, own(n), entries_f, f)
            store(new, own(m), entries_g, g)

    if threads != PAIRED:
        return {SINGLE: single, DOUBLE: double}[threads]
    store_both, find_both = store_pairs(q_count), find_pairs(n_entries, index_type)

    @cuda.jit
    def paired(old, new_words, lines, bases, start, step, first, last, parameters):
        thread = np.uint32((start + step * cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x)
        n = np.uint32(first + np.uint32(thread + thread))
        m = np.uint32(n + one)
        if n < last:
            f, g = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
            entries_f = cuda.local.array(n_entries, index_type)
            entries_g = cuda.local.array(n_entries, index_type)
            find_both(lines, bases, n, entries_f, entries_g)
            load(old, own(n), entries_f, f)
            load(old, own(m), entries_g, g)
            collide(f, n, parameters)
            collide(g, m, parameters)
            store_both(new_words, own(n), f, g)

    return paired


@cache
def stencil(update_operator, n_neighbours, lattice, precision, index_type):
    """Advance a field from the values of a node and of its neighbours."""
    update, real, n_values = update_operator.compile(lattice, precision, device_jit), precision.real, 1 + n_neighbours
    collect = gather_values(n_neighbours, index_type, real)

    @cuda.jit
    def kernel(old, new, lines, bases, first, last, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last:
            values = cuda.local.array(n_values, real)
            collect(old, lines, bases, n, values)
            new[n] = update(values, n, parameters)

    return kernel


@cache
def scalar_streaming(update_operator, n_neighbours, lattice, precision, index_type):
    """Advance a field of several numbers a node from those that arrive."""
    update, real, n_values = update_operator.compile(lattice, precision, device_jit), precision.real, 1 + n_neighbours
    collect = gather_values(n_neighbours, index_type, real)
    distribute = scatter_values(n_values, index_type)

    @cuda.jit
    def kernel(old, new, lines, bases, first, last, row, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last:
            values = cuda.local.array(n_values, real)
            collect(old, lines, bases, n, values)
            update(values, n, parameters)
            distribute(values, n, row, new)

    return kernel


@cache
def neighbours(update_operator, n_neighbours, lattice, precision, index_type):
    """Hand every node the addresses of its neighbours."""
    update = update_operator.compile(lattice, precision, device_jit)
    find = find_neighbours(n_neighbours, index_type)

    @cuda.jit
    def kernel(lines, bases, first, last, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last:
            addresses = cuda.local.array(n_neighbours, index_type)
            find(lines, bases, n, addresses)
            update(addresses, n, parameters)

    return kernel


@cuda.jit
def extrapolation(field, target, index, weight, constant):
    """Values beyond walls from those of nodes."""
    s, n_values = cuda.grid(1), constant.size
    if s < n_values:
        value = constant[s]
        for t in range(s, index.size, n_values):
            value += weight[t] * field[index[t]]
        target[s] = value


@cache
def links(openings_operator, macroscopic_operator, lattice, precision):
    """Compute the incoming population of every opening link. A block first takes the velocities of ``LINK_NODES`` nodes
    and then one link a thread: in place links overwrite what the velocity of their node is made of, and a thread that
    went through all links of a node would wait for memory at each."""
    condition = openings_operator.compile(lattice, precision, device_jit)
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    q_count, real, storage, unit = lattice.q, precision.real, precision.storage, precision.real(precision.unit)

    @cuda.jit
    def kernel(state, buffer, target, links, parameters):
        velocity = cuda.shared.array((3, LINK_NODES), real)
        thread, n_nodes = cuda.threadIdx.x, links.node.size
        first = cuda.blockIdx.x * LINK_NODES
        m = first + thread
        if thread < LINK_NODES and m < n_nodes:
            f = cuda.local.array(q_count, real)
            for q in range(q_count):
                f[q] = real(state[links.state[q * n_nodes + m]])
            _, velocity[0, thread], velocity[1, thread], velocity[2, thread] = macroscopic(f, links.node[m], parameters)
        cuda.syncthreads()
        for link in range(links.start[first] + thread, links.start[min(first + LINK_NODES, n_nodes)], cuda.blockDim.x):
            k, own = links.opening[link], links.owner[link] - first
            kind, value = links.kind[k], unit * links.value[k]
            leaving, momentum = real(buffer[links.outgoing[link]]), links.momentum[link]
            ux, uy, uz = velocity[0, own], velocity[1, own], velocity[2, own]
            entering = condition(leaving, links.q[link], kind, value, momentum, ux, uy, uz)
            target[links.incoming[link]] = storage(entering)

    return kernel


@cache
def link_fluxes(openings_operator, macroscopic_operator, lattice, precision, computes_entering):
    """Mass that enters through every opening link, and density deviation of its node, in lattice units; a thread for
    each node with openings."""
    condition = openings_operator.compile(lattice, precision, device_jit)
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    q_count, real, storage, unit = lattice.q, precision.real, precision.storage, precision.real(precision.unit)
    per_unit = 1.0 / precision.unit

    @cuda.jit
    def kernel(state, buffer, links, flux, deviation, parameters):
        m, n_nodes = cuda.grid(1), links.node.size
        if m < n_nodes:
            f = cuda.local.array(q_count, real)
            total = 0.0
            for q in range(q_count):
                f[q] = real(state[links.state[q * n_nodes + m]])
                total += float(f[q]) * per_unit
            _, ux, uy, uz = macroscopic(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                leaving = real(buffer[links.outgoing[link]])
                entering = real(buffer[links.incoming[link]])
                if computes_entering:
                    k = links.opening[link]
                    kind, value = links.kind[k], unit * links.value[k]
                    momentum = links.momentum[link]
                    computed = condition(leaving, links.q[link], kind, value, momentum, ux, uy, uz)
                    entering = real(storage(computed))
                flux[link] = float(entering) * per_unit - float(leaving) * per_unit
                deviation[link] = total

    return kernel


@cache
def walls(walls_operator, lattice, precision):
    """Compute the incoming population of every link into a slotted wall."""
    returned = walls_operator.compile(lattice, precision, device_jit)
    real, storage, unit = precision.real, precision.storage, precision.real(precision.unit)

    @cuda.jit
    def kernel(buffer, target, links):
        link, n_links, coefficients = cuda.grid(1), links.wall.size, links.coefficients
        if link < n_links:
            a, b = coefficients[link], coefficients[n_links + link]
            c, d = coefficients[2 * n_links + link], coefficients[3 * n_links + link]
            leaving, left = real(buffer[links.outgoing[link]]), real(buffer[links.opposed[link]])
            arrives, added = real(buffer[links.arriving[link]]), d * (unit * links.value[links.wall[link]])
            target[links.incoming[link]] = storage(returned(leaving, arrives, left, a, b, c, added))

    return kernel


@cache
def moments(macroscopic_operator, places, n_entries, lattice, precision, index_type):
    """Write rho - 1, ux, uy, uz of the nodes of a range."""
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    load = reader(places, n_entries, precision, index_type)
    q_count, real, per_unit = lattice.q, precision.real, precision.real(1 / precision.unit)

    @cuda.jit
    def kernel(buffer, lines, bases, first, last, out, parameters):
        i = np.uint32(cuda.grid(1))
        n, count = np.uint32(first + i), np.uint64(last - first)
        if n < last:
            f = cuda.local.array(q_count, real)
            load(buffer, lines, bases, n, f)
            deviation, ux, uy, uz = macroscopic(f, n, parameters)
            out[i] = deviation * per_unit
            out[i + count] = ux
            out[i + count + count] = uy
            out[i + count + count + count] = uz

    return kernel


@cache
def reduction(macroscopic_operator, places, n_entries, lattice, precision, index_type):
    """Mass, largest speed and exact sum of speeds; worker i takes nodes i, i + workers, i + 2 workers ..."""
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    load = reader(places, n_entries, precision, index_type)
    q_count, real, per_unit = lattice.q, precision.real, 1.0 / precision.unit
    infinity = float("inf")

    @cuda.jit
    def kernel(buffer, lines, bases, n_nodes, result, parameters):
        worker, n_workers = cuda.grid(1), result.mass.size
        if worker < n_workers:
            f = cuda.local.array(q_count, real)
            total, largest, fixed = 0.0, 0.0, np.int64(0)
            for node in range(worker, n_nodes, n_workers):
                n = np.uint32(node)
                load(buffer, lines, bases, n, f)
                deviation, ux, uy, uz = macroscopic(f, n, parameters)
                speed = float(ux * ux + uy * uy + uz * uz) ** 0.5
                if speed < infinity:
                    total += deviation * per_unit
                    largest = max(largest, speed)
                    fixed += np.int64(speed * result.scale)
                else:
                    largest = infinity
            result.mass[worker] = total
            result.peak[worker] = largest
            result.speed[worker] = fixed

    return kernel


@cache
def read(places, n_entries, precision, index_type):
    """Copy the populations of a node range into rows."""
    load = reader(places, n_entries, precision, index_type)
    q_count, real, storage = len(places), precision.real, precision.storage

    @cuda.jit
    def kernel(buffer, lines, bases, first, last, rows):
        i = np.uint32(cuda.grid(1))
        n, count = np.uint32(first + i), np.uint64(last - first)
        if n < last:
            f = cuda.local.array(q_count, real)
            load(buffer, lines, bases, n, f)
            row = np.uint64(i)
            for q in range(q_count):
                rows[row] = storage(f[q])
                row += count

    return kernel


@cache
def write(places, n_entries, precision, index_type):
    """Copy rows into the populations of a node range."""
    store = writer(places, n_entries, precision, index_type)
    q_count, real = len(places), precision.real

    @cuda.jit
    def kernel(buffer, lines, bases, first, last, rows):
        i = np.uint32(cuda.grid(1))
        n, count = np.uint32(first + i), np.uint64(last - first)
        if n < last:
            f = cuda.local.array(q_count, real)
            row = np.uint64(i)
            for q in range(q_count):
                f[q] = real(rows[row])
                row += count
            store(buffer, lines, bases, n, f)

    return kernel


@cuda.jit
def gather(buffer, addresses, packed):
    """packed[i] = buffer[addresses[i]]."""
    i = cuda.grid(1)
    if i < packed.size:
        packed[i] = buffer[addresses[i]]


@cuda.jit
def scatter(packed, buffer, addresses):
    """buffer[addresses[i]] = packed[i]."""
    i = cuda.grid(1)
    if i < packed.size:
        buffer[addresses[i]] = packed[i]


@cuda.jit
def scatter_add(packed, buffer, addresses):
    """buffer[addresses[i]] += packed[i], integers."""
    i = cuda.grid(1)
    if i < packed.size:
        cuda.atomic.add(buffer, addresses[i], packed[i])


@cuda.jit
def next_row(rows, is_scheduled, following, n_rows, now):
    """The next row of a schedule, or the last one again; one block."""
    i, width = cuda.threadIdx.x, now.size
    row = min(following[0], n_rows[0] - 1)
    for k in range(i, width, cuda.blockDim.x):
        if is_scheduled[k]:
            now[k] = rows[row * width + k]
    cuda.syncthreads()
    if i == 0:
        following[0] += 1


@device_jit
def nearest(x):
    """The nearest integer; halves go to the even one."""
    return np.int64(round(x))


@cuda.jit
def clear(array):
    """array = 0."""
    i = cuda.grid(1)
    if i < array.size:
        array[i] = 0


@cuda.jit
def sum_openings(fluxes, opening, sums, scale):
    """Fixed-point sums by opening; a thread a link. Integers add up to the same in any order."""
    link, n_links = cuda.grid(1), opening.size
    if link < n_links:
        first = 3 * opening[link]
        cuda.atomic.add(sums, first, nearest(fluxes[link] * scale))
        cuda.atomic.add(sums, first + 1, nearest(fluxes[n_links + link] * scale))
        cuda.atomic.add(sums, first + 2, np.int64(1))


@cache
def feedback(advance_operator, lattice):
    """Advance the state of a condition with feedback, in double precision; one thread."""
    advance = advance_operator.compile(lattice, FP64, device_jit)

    @cuda.jit
    def kernel(sums, state, value, opening, n_openings, scale, parameters):
        inflow, deviation, n_links = np.int64(0), np.int64(0), np.int64(0)
        for rank in range(sums.size // (3 * n_openings)):
            first = 3 * (rank * n_openings + opening)
            inflow += sums[first]
            deviation += sums[first + 1]
            n_links += sums[first + 2]
        value[0] = advance(-inflow / scale, deviation / scale / n_links, state, parameters)

    return kernel


@cuda.jit
def count_step(step):
    """One more step; one thread."""
    step[0] += 1


@cache
def particles(update_operator, lattice, precision):
    """Every particle by itself; launched to capacity, since only the device knows how many there are."""
    update = update_operator.compile(lattice, precision, device_jit)

    @cuda.jit
    def kernel(count, parameters):
        i = cuda.grid(1)
        if i < count[0]:
            update(i, parameters)

    return kernel


@cuda.jit
def clear_counts(count, messages, length, n_messages):
    """No particle kept, none in any message."""
    for j in range(cuda.threadIdx.x, n_messages, cuda.blockDim.x):
        messages[j * length] = 0.0
    if cuda.threadIdx.x == 0:
        count[0] = 0


@device_jit
def look_up(lookup, x, y, z):
    """Entry at a voxel, -1 outside the box."""
    size = lookup.size
    if x < 0 or y < 0 or z < 0 or x >= size[0] or y >= size[1] or z >= size[2]:
        return np.int64(-1)
    number = np.int64(lookup.block[(z // 8 * size[4] + y // 8) * size[3] + x // 8])
    if number < 0:
        return np.int64(-1)
    return np.int64(lookup.entry[number * 512 + (z % 8 * 8 + y % 8) * 8 + x % 8])


@device_jit
def wrapped(particles, axis, i, capacity, size):
    """Bring an offset back to its range; returns the voxel, wrapped where the box is."""
    row = axis * capacity + i
    moved = math.floor(particles.reals[row] + 0.5)
    particles.reals[row] -= moved
    voxel = particles.integers[(1 + axis) * capacity + i] + np.int64(moved)
    if size[6 + axis] == 1:
        voxel = (voxel + size[axis]) % size[axis]
    particles.integers[(1 + axis) * capacity + i] = voxel
    return voxel


@cuda.jit
def send_particles(particles, kept, migration, lookup, capacity):
    """A particle stays, or goes into the message for the rank that owns its node."""
    i = cuda.grid(1)
    if i >= particles.count[0]:
        return
    n_integers, n_reals = particles.integers.size // capacity, particles.reals.size // capacity
    x = wrapped(particles, 0, i, capacity, lookup.size)
    y = wrapped(particles, 1, i, capacity, lookup.size)
    z = wrapped(particles, 2, i, capacity, lookup.size)
    entry = look_up(lookup, x, y, z)
    if entry == -1:
        migration.status[0] = 2
    elif entry >= 0:
        k = cuda.atomic.add(kept.count, 0, 1)
        for c in range(n_integers):
            kept.integers[c * capacity + k] = particles.integers[c * capacity + i]
        for c in range(n_reals):
            kept.reals[c * capacity + k] = particles.reals[c * capacity + i]
    else:
        length = 1 + (n_integers + n_reals) * capacity
        first = migration.neighbour[-2 - entry] * length
        k = np.int64(cuda.atomic.add(migration.outgoing, first, 1.0))
        for c in range(n_integers):
            migration.outgoing[first + 1 + c * capacity + k] = float(particles.integers[c * capacity + i])
        for c in range(n_reals):
            migration.outgoing[first + 1 + (n_integers + c) * capacity + k] = particles.reals[c * capacity + i]


@cuda.jit
def receive_particles(kept, migration, capacity):
    """A particle that arrived goes behind those that are there."""
    thread = cuda.grid(1)
    n_integers, n_reals = kept.integers.size // capacity, kept.reals.size // capacity
    length = 1 + (n_integers + n_reals) * capacity
    message, m = thread // capacity, thread % capacity
    if message * length >= migration.incoming.size or m >= np.int64(migration.incoming[message * length]):
        return
    k = cuda.atomic.add(kept.count, 0, 1)
    if k >= capacity:
        migration.status[0] = 1
        return
    first = message * length + 1
    for c in range(n_integers):
        kept.integers[c * capacity + k] = np.int64(migration.incoming[first + c * capacity + m])
    for c in range(n_reals):
        kept.reals[c * capacity + k] = migration.incoming[first + (n_integers + c) * capacity + m]
