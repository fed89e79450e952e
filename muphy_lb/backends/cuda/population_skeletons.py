"""Kernels of stages over chosen nodes that read, change or replace populations.

Threads share the nodes of a list, or of a range if there is no list.
"""

from functools import cache

import numpy as np

from muphy_lb.backends.cuda.access import (
    Populations,
    access,
    changer,
    device_jit,
    find_neighbour,
    find_neighbours,
    reader,
    strict_jit,
    writer,
)
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.backends.cuda.stage_skeletons import LISTED_BLOCK, has_bit, node, number_of
from muphy_lb.lattice.layout import WARP

LISTED_WARPS = LISTED_BLOCK // WARP


@cache
def crossing(update_operator, populations: Populations, left: Populations, n_neighbours, lattice, precision):
    """Change what is about to arrive at the chosen nodes; ``left``: the populations that have left them."""
    update = update_operator.compile(lattice, precision, strict_jit)
    locations, n_entries, index_type = populations
    own, find, load, _, size = access(locations, locations, n_entries, precision, index_type)
    q_count, real, load_left = lattice.q, precision.real, reader(left, precision)
    change, near = changer(locations, precision), find_neighbours(n_neighbours)

    @kernel_jit
    def kernel(buffer, lines, bases, left_lines, left_bases, near_table, candidates, values):
        for i in range(cuda.grid(1), number_of(candidates), cuda.gridsize(1)):
            n = node(candidates, i)
            if has_bit(candidates, n):
                arriving, leaving = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
                entries, addresses = cuda.local.array(size, index_type), cuda.local.array(n_neighbours, np.uint32)
                find(lines, bases, n, entries)
                load(buffer, own(n), entries, arriving)
                load_left(buffer, left_lines, left_bases, n, leaving)
                near(near_table, n, addresses)
                changed = update(arriving, leaving, addresses, n, values)
                change(buffer, own(n), entries, arriving, changed)

    return kernel


@cache
def crossing_and_collision(operators, pattern, left: Populations, n_neighbours, lattice, precision):
    """The same, and then the collision of these nodes, into another buffer; the operators are both.

    What is changed stays in registers, and compilers share sums between both: the collision is strict here as in
    ``stream_collide_fluid``, so that the code around it changes no rounding.
    """
    update = operators[0].compile(lattice, precision, strict_jit)
    collide = operators[1].compile(lattice, precision, strict_jit)
    own, find, load, store, size = access(
        pattern.load, pattern.store, len(pattern.directions), precision, left.index_type
    )
    q_count, real, load_left = lattice.q, precision.real, reader(left, precision)
    near, index_type = find_neighbours(n_neighbours), left.index_type

    @kernel_jit
    def kernel(old, new, lines, bases, left_lines, left_bases, near_table, candidates, values, of_collision):
        for i in range(cuda.grid(1), number_of(candidates), cuda.gridsize(1)):
            n = node(candidates, i)
            if has_bit(candidates, n):
                f, leaving = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
                entries, addresses = cuda.local.array(size, index_type), cuda.local.array(n_neighbours, np.uint32)
                find(lines, bases, n, entries)
                load(old, own(n), entries, f)
                load_left(old, left_lines, left_bases, n, leaving)
                near(near_table, n, addresses)
                update(f, leaving, addresses, n, values)
                collide(f, n, of_collision)
                store(new, own(n), entries, f)

    return kernel


@cache
def stored(update_operator, populations: Populations, n_neighbours, lattice, precision):
    """Call the update with the stored populations of the chosen nodes."""
    update = update_operator.compile(lattice, precision, strict_jit)
    q_count, real, near = lattice.q, precision.real, find_neighbours(n_neighbours)
    load = reader(populations, precision)

    @kernel_jit
    def kernel(buffer, lines, bases, near_table, candidates, parameters):
        for i in range(cuda.grid(1), number_of(candidates), cuda.gridsize(1)):
            n = node(candidates, i)
            if has_bit(candidates, n):
                f, addresses = cuda.local.array(q_count, real), cuda.local.array(n_neighbours, np.uint32)
                load(buffer, lines, bases, n, f)
                near(near_table, n, addresses)
                update(f, addresses, n, parameters)

    return kernel


@cache
def refill(operators, populations: Populations, n_neighbours, lattice, precision):
    """Replace the populations of the chosen nodes by those that follow from the mean moments of their sources.

    The threads of a block look at one candidate each. They are few who are chosen; each of these gets a warp, a thread
    of it for every neighbour, so that populations of all neighbours are read at once.
    """
    update = operators[0].compile(lattice, precision, strict_jit)
    q_count, real, near = lattice.q, precision.real, find_neighbour(n_neighbours)
    write_moments = _write_moments(operators[1], populations, lattice, precision)
    mean_of, store = _mean(n_neighbours, precision), writer(populations, precision)

    @kernel_jit
    def kernel(buffer, lines, bases, near_table, candidates, sources, others, values):
        chosen = cuda.shared.array(LISTED_BLOCK, np.uint32)
        count = cuda.shared.array(1, np.int32)
        is_source = cuda.shared.array((LISTED_WARPS, WARP), np.uint8)
        moments = cuda.shared.array((LISTED_WARPS, WARP, 4), real)
        known, mask, first_other = sources
        rest = first_other, others, values[1]
        warp, k, n_candidates = cuda.threadIdx.x // WARP, cuda.threadIdx.x % WARP, number_of(candidates)
        for first in range(cuda.blockIdx.x * LISTED_BLOCK, n_candidates, cuda.gridsize(1)):
            if cuda.threadIdx.x == 0:
                count[0] = 0
            cuda.syncthreads()
            i = first + cuda.threadIdx.x
            if i < n_candidates and has_bit(candidates, node(candidates, i)):
                chosen[cuda.atomic.add(count, 0, np.int32(1))] = node(candidates, i)
            cuda.syncthreads()
            n_chosen = count[0]
            for place in range(warp, whole(n_chosen), LISTED_WARPS):
                if place < n_chosen and k < n_neighbours:
                    address = near(near_table, chosen[place], k)
                    is_source[warp, k] = known[address] & mask != 0
                    write_moments((buffer, lines, bases), address, is_source[warp, k], rest, moments[warp, k])
                cuda.syncthreads()
                if place < n_chosen and k == 0:
                    f = cuda.local.array(q_count, real)
                    update(f, mean_of(is_source[warp], moments[warp]), chosen[place], values[0])
                    store(buffer, lines, bases, chosen[place], f)
                cuda.syncthreads()

    return kernel


@device_jit
def whole(n):
    """The smallest multiple of the number of warps of a block that is not below a number."""
    return (n + LISTED_WARPS - 1) // LISTED_WARPS * LISTED_WARPS


def _mean(n_neighbours: int, precision):
    """Device function: mean moments of the sources among the neighbours of a node, in the order of directions."""
    zero, one = precision.real(0), precision.real(1)

    def mean(is_source, moments):
        count, deviation, ux, uy, uz = zero, zero, zero, zero, zero
        for k in range(n_neighbours):
            if is_source[k]:
                count += one
                deviation += moments[k, 0]
                ux += moments[k, 1]
                uy += moments[k, 2]
                uz += moments[k, 3]
        scale = one / max(count, one)
        return deviation * scale, ux * scale, uy * scale, uz * scale

    return strict_jit(mean)


def _write_moments(macroscopic_operator, populations: Populations, lattice, precision):
    """Device function: writes the moments at an address of fields, if they are wanted."""
    moments_at = _moments_at(macroscopic_operator, populations, lattice, precision)

    def write(populations, address, is_wanted, rest, out):
        if is_wanted:
            first_other, others, parameters = rest
            out[0], out[1], out[2], out[3] = moments_at(populations, address, first_other, others, parameters)

    return device_jit(write)


def _moments_at(macroscopic_operator, populations: Populations, lattice, precision):
    """Device function: moments at an address of fields, of a node of this rank or of another."""
    macroscopic = macroscopic_operator.compile(lattice, precision, strict_jit)
    load = reader(populations, precision)
    q_count, real = lattice.q, precision.real

    def moments(populations, address, first_other, others, parameters):
        buffer, lines, bases = populations
        if address >= first_other:
            i, n_others = np.int64(address) - first_other, others.size // 4
            return others[i], others[i + n_others], others[i + 2 * n_others], others[i + 3 * n_others]
        n, f = np.uint32(address), cuda.local.array(q_count, real)
        load(buffer, lines, bases, n, f)
        return macroscopic(f, n, parameters)

    return device_jit(moments)
