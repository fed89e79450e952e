"""Kernels that update and migrate particles."""

import math
from functools import cache

import numpy as np

from muphy_lb.backends.cuda.access import device_jit
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.domain.lookup import LAYER, look_up_node

find = look_up_node(device_jit)


@cache
def particles(update_operator, lattice, precision):
    """Update every particle; launched for the whole capacity, as only the device knows their number."""
    update = update_operator.compile(lattice, precision, device_jit)

    @cuda.jit
    def kernel(count, parameters):
        i = cuda.grid(1)
        if i < count[0]:
            update(np.uint64(i), parameters)

    return kernel


@cache
def over_range(update_operator, lattice, precision):
    """Call the update for every number of a range."""
    update = update_operator.compile(lattice, precision, device_jit)

    @cuda.jit
    def kernel(first, last, parameters):
        i = first + cuda.grid(1)
        if i < last:
            update(i, parameters)

    return kernel


@cuda.jit
def clear_counts(messages, length, n_messages):
    """Set the number of particles in every message to zero."""
    for j in range(cuda.threadIdx.x, n_messages, cuda.blockDim.x):
        messages[j * length] = 0.0


@device_jit
def wrapped(particles, axis, i, capacity, size, moved):
    """Wrap an offset into its range; returns the voxel, wrapped along periodic axes."""
    row = (1 + axis) * capacity + i
    particles.reals[axis * capacity + i] -= moved
    voxel = particles.integers[row] + np.int64(moved)
    if size[6 + axis] == 1 and (voxel < 0 or voxel >= size[axis]):
        voxel = (voxel + size[axis]) % size[axis]
    particles.integers[row] = voxel
    return voxel


@device_jit
def send(i, particles, migration, lookup, capacity):
    """Wrap the offsets of a particle; if another rank owns its node, write it to the message for that rank, and note
    the hole."""
    reals = particles.reals
    mx = math.floor(reals[i] + 0.5)
    my = math.floor(reals[capacity + i] + 0.5)
    mz = math.floor(reals[2 * capacity + i] + 0.5)
    if mx == 0.0 and my == 0.0 and mz == 0.0:
        return
    x = wrapped(particles, 0, i, capacity, lookup.size, mx)
    y = wrapped(particles, 1, i, capacity, lookup.size, my)
    z = wrapped(particles, 2, i, capacity, lookup.size, mz)
    node, first_remote = find(lookup, x, y, z), lookup.size[LAYER]
    if 0 <= node < first_remote:
        return
    if node < 0:
        migration.status[0] = 2 + 4 * particles.integers[i]
        return
    n_integers, n_reals = particles.integers.size // capacity, reals.size // capacity
    most = migration.most
    first = migration.neighbour[node - first_remote] * (1 + (n_integers + n_reals) * most)
    k = np.int64(cuda.atomic.add(migration.outgoing, first, 1.0))
    if k >= most:
        migration.status[0] = 3
        return
    for c in range(n_integers):
        migration.outgoing[first + 1 + c * most + k] = float(particles.integers[c * capacity + i])
    for c in range(n_reals):
        migration.outgoing[first + 1 + (n_integers + c) * most + k] = reals[c * capacity + i]
    migration.left[i] = 1
    migration.holes[cuda.atomic.add(migration.n_moved, 0, 1)] = i


@cache
def update_and_send(update_operator, lattice, precision):
    """Update every particle, then send those that have left."""
    update = update_operator.compile(lattice, precision, device_jit)

    @cuda.jit
    def kernel(particles, migration, lookup, capacity, parameters):
        i = cuda.grid(1)
        if i < particles.count[0]:
            update(np.uint64(i), parameters)
            send(i, particles, migration, lookup, capacity)

    return kernel


@cuda.jit
def match_holes(count, migration):
    """Choose for each hole ahead of the last particles one of these that stays."""
    t, n_holes = cuda.grid(1), migration.n_moved[0]
    if t >= n_holes:
        return
    if migration.holes[t] < count[0] - n_holes:
        migration.gaps[cuda.atomic.add(migration.n_moved, 1, 1)] = migration.holes[t]
    if migration.left[count[0] - 1 - t] == 0:
        migration.movers[cuda.atomic.add(migration.n_moved, 2, 1)] = count[0] - 1 - t


@cuda.jit
def fill_holes(particles, migration, capacity):
    """Move the chosen particles into the holes."""
    t = cuda.grid(1)
    if t < migration.n_moved[0]:
        migration.left[migration.holes[t]] = 0
    if t < migration.n_moved[1]:
        source, target = migration.movers[t], migration.gaps[t]
        for c in range(particles.integers.size // capacity):
            particles.integers[c * capacity + target] = particles.integers[c * capacity + source]
        for c in range(particles.reals.size // capacity):
            particles.reals[c * capacity + target] = particles.reals[c * capacity + source]


@cuda.jit
def close_holes(count, n_moved):
    """Forget the particles that have left."""
    if cuda.threadIdx.x == 0:
        count[0] -= n_moved[0]
        n_moved[0] = 0
        n_moved[1] = 0
        n_moved[2] = 0


@cuda.jit
def receive_particles(particles, migration, capacity):
    """Append a received particle to those on this rank."""
    thread, most = cuda.grid(1), migration.most
    n_integers, n_reals = particles.integers.size // capacity, particles.reals.size // capacity
    length = 1 + (n_integers + n_reals) * most
    message, m = thread // most, thread % most
    if message * length >= migration.incoming.size or m >= np.int64(migration.incoming[message * length]) or m >= most:
        return
    k = cuda.atomic.add(particles.count, 0, 1)
    if k >= capacity:
        migration.status[0] = 1
        return
    first = message * length + 1
    for c in range(n_integers):
        particles.integers[c * capacity + k] = np.int64(migration.incoming[first + c * most + m])
    for c in range(n_reals):
        particles.reals[c * capacity + k] = migration.incoming[first + (n_integers + c) * most + m]
