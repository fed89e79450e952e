"""Kernels that update particles, and exchange forces between them and the nodes around them."""

from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import Coupling
from muphy_lb.backends.cuda.access import Populations, device_jit, read_vector
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.backends.cuda.stage_skeletons import velocity
from muphy_lb.domain.corners import corner_node, n_corners
from muphy_lb.domain.lookup import LAYER
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
    """What the threads of a block share. Of each particle and node: address, weight, the same before division by the
    sum, velocity, what the node loses. Of each particle: the force."""

    address: object
    weight: object
    raw: object
    velocity: object
    part: object
    force: object


@cache
def drag(operators, populations: Populations, coupling: Coupling, lattice, precision):
    """Exchange forces between particles and the nodes around them: moments, force and take are the operators.

    A block has some particles, or one such group after the other. Its threads share first their nodes, then their axes,
    then the axes of their nodes, so that neighbours add to neighbours in memory, and at last their axes again.
    """
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
    """Device function: address, weight and velocity of one of the nodes of a particle; marks those that are pushed.

    Its arguments: what threads share, and the place there; particles, their capacity, and the one at hand; populations,
    lookup and fields; values of moments.
    """
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
