"""Kernels of opening and wall links, of schedules and of feedback."""

from functools import cache

import numpy as np

from muphy_lb.backends import opening_links
from muphy_lb.backends.arrays import WEIGHT_SHARE
from muphy_lb.backends.cuda.access import access, changer, device_jit, fetcher
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.base.precision import FP64
from muphy_lb.operators.unroll import unroll

# Nodes whose opening links a block computes.
LINK_NODES = 32
# Most blocks that sum over the links of an opening, and their threads; threads that read the sums for a feedback.
SUM_BLOCKS, SUM_THREADS, FEEDBACK_THREADS = 16, 128, 32


leaving_beside, shares_of, plane_of, momenta_of = map(
    device_jit,
    (opening_links.leaving_beside, opening_links.shares_of, opening_links.plane_of, opening_links.momenta_of),
)


@cache
def links(openings_operator, node_operator, reflection_operator, lattice, precision):
    """Compute the incoming population of every opening link. A block first computes the velocities of ``LINK_NODES``
    nodes and then one link per thread: a thread that looped over all links of a node would wait for memory at each."""
    condition = openings_operator.compile(lattice, precision, device_jit)
    at_node = node_operator.compile(lattice, precision, device_jit)
    reflected = reflection_operator.compile(lattice, precision, device_jit)
    q_count, real, storage, unit = lattice.q, precision.real, precision.storage, precision.real(precision.unit)

    @kernel_jit
    def kernel(state, buffer, target, links, parameters):
        velocity = cuda.shared.array((3, LINK_NODES), real)
        closed = cuda.shared.array(LINK_NODES, np.int8)
        thread, n_nodes, n_links = cuda.threadIdx.x, links.node.size, links.q.size
        first = cuda.blockIdx.x * LINK_NODES
        m = first + thread
        if thread < LINK_NODES and m < n_nodes:
            f = cuda.local.array(q_count, real)
            for q in range(q_count):
                f[q] = real(state[links.state[q * n_nodes + m]])
            is_closed, ux, uy, uz = at_node(f, links.node[m], parameters)
            velocity[0, thread], velocity[1, thread], velocity[2, thread], closed[thread] = ux, uy, uz, is_closed
        cuda.syncthreads()
        for link in range(links.start[first] + thread, links.start[min(first + LINK_NODES, n_nodes)], cuda.blockDim.x):
            k, own = links.opening[link], links.owner[link] - first
            kind, value = links.kind[k], unit * links.value[k]
            leaving = leaving_beside(buffer, links, link, n_links, real)
            shares, q, momenta = shares_of(links, k), links.q[link], momenta_of(links, link)
            plane, leaving = plane_of(links, k), reflected(leaving, shares, q, value)
            ux, uy, uz = velocity[0, own], velocity[1, own], velocity[2, own]
            entering = condition(leaving, q, kind, value, momenta, plane, ux, uy, uz)
            own_leaving = buffer[links.outgoing[link]]
            target[links.incoming[link]] = own_leaving if closed[own] else storage(entering)

    return kernel


@cache
def link_fluxes(operators, lattice, precision, computes_entering):
    """Mass flow in through every opening link, and density deviation of the plane, in lattice units; one thread per
    node with openings."""
    condition, at_node, density = (operator.compile(lattice, precision, device_jit) for operator in operators)
    q_count, real, storage, unit = lattice.q, precision.real, precision.storage, precision.real(precision.unit)
    per_unit = 1.0 / precision.unit

    @kernel_jit
    def kernel(state, buffer, arriving, links, flux, deviation, parameters):
        m, n_nodes = cuda.grid(1), links.node.size
        if m < n_nodes:
            f = cuda.local.array(q_count, real)
            for q in range(q_count):
                f[q] = real(state[links.state[q * n_nodes + m]])
            is_closed, ux, uy, uz = at_node(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                leaving = real(buffer[links.outgoing[link]])
                entering = real(arriving[links.incoming[link]])
                k = links.opening[link]
                kind, value = links.kind[k], unit * links.value[k]
                if computes_entering:
                    momenta, plane = momenta_of(links, link), plane_of(links, k)
                    computed = condition(leaving, links.q[link], kind, value, momenta, plane, ux, uy, uz)
                    entering = leaving if is_closed else real(storage(computed))
                flux[link] = float(entering) * per_unit - float(leaving) * per_unit
                of_plane = density(leaving + entering, links.q[link], kind, value, ux, uy, uz)
                deviation[link] = float(of_plane) * per_unit

    return kernel


@cache
def unrolled(function):
    """Device function of a function whose loops are unrolled."""
    return device_jit(unroll(function))


@cache
def walls(walls_operator, crossing, lattice, precision, index_type):
    """Overwrite what arrives through the links of nodes at walls, and at rest."""
    update = walls_operator.compile(lattice, precision, unrolled)
    n_entries, q_count, real = lattice.q - 1, lattice.q, precision.real
    leaves = access(crossing.leaving, crossing.leaving, n_entries, precision, index_type)
    fetch, change = fetcher(crossing.arriving, precision), changer(crossing.arriving, precision)
    numbers_of = unrolled(_numbers_of_node(n_entries))

    @kernel_jit
    def kernel(buffer, walls):
        m = cuda.grid(1)
        if m < walls.rest.size and walls.into_walls[m] != 0:
            arriving, leaving = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
            entries, b = cuda.local.array(n_entries, index_type), cuda.local.array(n_entries, real)
            own = np.uint64(walls.rest[m])
            numbers_of(walls, m, entries, b)
            leaves.load(buffer, own, entries, leaving)
            fetch(buffer, own, entries, arriving, walls.needed[m])
            changed = update(arriving, leaving, b, m, m, walls.rest.size, walls)
            change(buffer, own, entries, arriving, changed)

    return kernel


def _numbers_of_node(n_entries: int):
    """Function that reads the table entries and the coefficients b of a node at walls."""

    def read(walls, m, entries, b):
        row = walls.rest.size
        for k in range(n_entries):
            entries[k] = walls.entry[k * row + m]
            b[k] = walls.b[k * row + m]

    return read


@kernel_jit
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


@kernel_jit
def profile(momentum, links, weights, values):
    """The momentum of links whose profile changes its shape; one thread per link."""
    i, n_links = cuda.grid(1), links.size
    if i < n_links:
        total = values[0] * weights[i]
        for column in range(1, values.size):
            total += values[column] * weights[column * n_links + i]
        momentum[links[i]] = total


@device_jit
def nearest(x):
    """The nearest integer; halves are rounded to even."""
    return np.int64(round(x))


@kernel_jit
def clear(array):
    """array = 0."""
    i = cuda.grid(1)
    if i < array.size:
        array[i] = 0


@kernel_jit
def sum_openings(fluxes, weight, opening, sums, scale):
    """Fixed-point sums by opening; equally many blocks for each, since additions to one address wait for each other.
    Sums of integers do not depend on the order."""
    partial = cuda.shared.array((3, SUM_THREADS), np.int64)
    thread, n_links, n_blocks = cuda.threadIdx.x, opening.size, 3 * cuda.gridDim.x // sums.size
    k, first = cuda.blockIdx.x // n_blocks, cuda.blockIdx.x % n_blocks * SUM_THREADS
    flux, deviation, total = np.int64(0), np.int64(0), np.int64(0)
    for link in range(first + thread, n_links, n_blocks * SUM_THREADS):
        if opening[link] == k:
            flux += nearest(fluxes[link] * scale)
            deviation += nearest(weight[link] * fluxes[n_links + link] * scale)
            total += nearest(weight[link] * (scale * WEIGHT_SHARE))
    partial[0, thread], partial[1, thread], partial[2, thread] = flux, deviation, total
    cuda.syncthreads()
    half = SUM_THREADS // 2
    while half > 0:
        if thread < half:
            for i in range(3):
                partial[i, thread] += partial[i, thread + half]
        cuda.syncthreads()
        half //= 2
    if thread < 3:
        cuda.atomic.add(sums, 3 * k + thread, partial[thread, 0])


@cache
def feedback(advance_operator, lattice):
    """Advance the state of a condition with feedback, in double precision: a warp reads the sums of all openings, one
    of its threads does the rest."""
    advance = advance_operator.compile(lattice, FP64, device_jit)

    @kernel_jit
    def kernel(sums, weights, state, value, other_value, opening, n_openings, scale, parameters):
        weighted = cuda.shared.array(FEEDBACK_THREADS, np.float64)
        thread, outflow = cuda.threadIdx.x, 0.0
        for first in range(0, n_openings, FEEDBACK_THREADS):
            other = first + thread
            if other < n_openings:
                inflow = np.int64(0)
                for place in range(3 * other, sums.size, 3 * n_openings):
                    inflow += sums[place]
                weighted[thread] = weights[other] * (inflow / scale)
            cuda.syncthreads()
            if thread == 0:
                for i in range(min(FEEDBACK_THREADS, n_openings - first)):
                    outflow -= weighted[i]
            cuda.syncthreads()
        if thread == 0:
            deviation, weight = np.int64(0), np.int64(0)
            for rank in range(sums.size // (3 * n_openings)):
                place = 3 * (rank * n_openings + opening)
                deviation += sums[place + 1]
                weight += sums[place + 2]
            value[0] = advance(outflow, WEIGHT_SHARE * deviation / weight, state, parameters)
            other_value[0] = value[0]

    return kernel
