"""Kernels of stages over nodes, and over chosen nodes whose populations they read, change or replace. Threads share the
nodes of a list, or of a range if there is no list; nodes that are not chosen are skipped."""

from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import Collected
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
from muphy_lb.backends.cuda.vectors import load_words, store_four
from muphy_lb.lattice.layout import RECORD, WARP
from muphy_lb.operators.moments import N_WITH_STRESS
from muphy_lb.operators.operator import positions
from muphy_lb.operators.unroll import unroll

LISTED_BLOCK, CHOOSING_BLOCK = 128, 256
NODES_PER_THREAD = 16  # nodes that a thread looks at to find the chosen ones, a byte each
NODES_PER_BLOCK = CHOOSING_BLOCK * NODES_PER_THREAD
WARPS_PER_BLOCK, THREADS_PER_WARP = NODES_PER_BLOCK // WARP, WARP // NODES_PER_THREAD
WORDS, NODES_PER_WORD, BITS_PER_NODE = 4, 4, 8
#: A block lists the chosen ones among up to so many portions of ``NODES_PER_BLOCK`` nodes, which it reads at once.
MOST_PORTIONS = 4


class Candidates(NamedTuple):
    """The nodes of a range, or of a list, of which an array of bytes and a mask choose some."""

    #: first, last: the range
    first: np.uint32
    last: np.uint32
    among: Collected  #: the list; if there are more nodes than it has room for, all of the range are looked at
    #: array, mask: nodes are chosen where the array has a bit of the mask
    array: object
    mask: np.uint8


@device_jit
def number_of(candidates):
    """Number of nodes to look at."""
    count = candidates.among.count[0]
    if count <= candidates.among.nodes.size:
        return np.int64(count)
    return np.int64(candidates.last) - np.int64(candidates.first)


@device_jit
def node(candidates, i):
    """The i-th candidate."""
    if candidates.among.count[0] <= candidates.among.nodes.size:
        return candidates.among.nodes[i]
    return np.uint32(candidates.first + np.uint32(i))


@device_jit
def has_bit(candidates, n):
    """Whether a node is chosen."""
    return candidates.array[n] & candidates.mask != 0


@device_jit
def chosen_bits(four, mask, start, first, last):
    """Bit k for node ``start + k``: whether it lies in the range, and its byte of four words has a bit of the mask."""
    found = np.uint32(0)
    for k in range(NODES_PER_THREAD):
        n = start + np.uint32(k)
        byte = (four[k // NODES_PER_WORD] & mask) >> np.uint32(k % NODES_PER_WORD * BITS_PER_NODE)
        if byte & np.uint32(0xFF) and first <= n and n < last:
            found |= np.uint32(1 << k)
    return found


@device_jit
def first_node(first, thread):
    """The first of the 16 nodes of a thread."""
    return np.uint32((first // np.uint32(NODES_PER_THREAD) + np.uint32(thread)) * np.uint32(NODES_PER_THREAD))


@device_jit
def chosen_of_thread(words, mask, first, last, thread, shared):
    """Bits of the chosen ones among the 16 nodes of a thread, the first of these nodes, the number of chosen nodes of
    the block ahead of them, and whether a byte of the 16 is not 0; ``shared[0]`` becomes the number of all chosen nodes
    of the block."""
    if cuda.threadIdx.x == 0:
        shared[0] = 0
    cuda.syncthreads()
    start = first_node(first, thread)
    found, position, any_bit = np.uint32(0), np.int32(0), np.uint32(0)
    if start < last:
        four = load_words(words, np.uint64(start // np.uint32(NODES_PER_WORD)))
        any_bit = four[0] | four[1] | four[2] | four[3]
        if any_bit & mask:
            found = chosen_bits(four, mask, start, first, last)
            position = cuda.atomic.add(shared, 0, np.int32(cuda.popc(found)))
    cuda.syncthreads()
    return found, start, position, any_bit != 0


class Flags(NamedTuple):
    """The bytes by which nodes of a range are chosen, four in a word, and the mask, four times in a word."""

    words: object
    mask: np.uint32
    first: np.uint32
    last: np.uint32


@device_jit
def any_bits(flags, thread, n_portions):
    """Bit k if a byte is not 0 of the 16 nodes of a thread in the k-th of the portions of a block."""
    found = np.uint32(0)
    for k in range(n_portions):
        start = first_node(flags.first, thread + k * CHOOSING_BLOCK)
        if start < flags.last:
            four = load_words(flags.words, np.uint64(start // np.uint32(NODES_PER_WORD)))
            if four[0] | four[1] | four[2] | four[3]:
                found |= np.uint32(1 << k)
    return found


@device_jit
def list_portion(flags, block, target, counters):
    """List the chosen nodes, and the warps with a byte that is not 0, of one portion, a block's share of a range."""
    shared = cuda.shared.array(4, np.int32)
    has_fluid = cuda.shared.array(WARPS_PER_BLOCK, np.uint8)
    thread = cuda.threadIdx.x
    if thread < WARPS_PER_BLOCK:
        has_fluid[thread] = 0
    if thread == 0:
        shared[1] = 0
    words, mask, first, last = flags
    among_all = block * CHOOSING_BLOCK + thread
    found, start, position, has_any = chosen_of_thread(words, mask, first, last, among_all, shared)
    if has_any:
        has_fluid[thread // THREADS_PER_WARP] = 1
    cuda.syncthreads()
    is_listed, place = thread < WARPS_PER_BLOCK and has_fluid[thread] != 0, np.int32(0)
    if is_listed:
        place = cuda.atomic.add(shared, 1, np.int32(1))
    cuda.syncthreads()
    if thread == 0:
        shared[2] = cuda.atomic.add(counters, 0, shared[0]) if shared[0] > 0 else np.int32(0)
        shared[3] = cuda.atomic.add(counters, 1, shared[1]) if shared[1] > 0 else np.int32(0)
    cuda.syncthreads()
    if is_listed:
        ahead = first // np.uint32(WARP) + np.uint32(block * WARPS_PER_BLOCK)
        target.warps[shared[3] + place] = np.uint32(ahead + np.uint32(thread))
    position += shared[2]
    for k in range(NODES_PER_THREAD):
        if found >> np.uint32(k) & np.uint32(1):
            if position < target.nodes.size:
                target.nodes[position] = start + np.uint32(k)
            position += 1
    cuda.syncthreads()


@kernel_jit
def collect(flags, target, counters, n_portions):
    """List those nodes of a range whose bytes have a bit of the mask, and the warps of nodes with a byte that is not 0.
    A block looks at some portions, most of which hold nothing. The last block writes the counts, and empties the
    counters of nodes, of warps and of blocks."""
    block = cuda.blockIdx.x * n_portions
    any_bit = any_bits(flags, block * CHOOSING_BLOCK + cuda.threadIdx.x, n_portions)
    for k in range(n_portions):
        if cuda.syncthreads_or(np.int32(any_bit >> np.uint32(k) & np.uint32(1))):
            list_portion(flags, block + k, target, counters)
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        if cuda.atomic.add(counters, 2, np.int32(1)) == cuda.gridDim.x - 1:
            target.count[0], target.count[1] = cuda.atomic.exch(counters, 0, 0), cuda.atomic.exch(counters, 1, 0)
            counters[2] = 0


@device_jit
def chosen_of_block(words, mask, first, last, nodes):
    """List the chosen nodes among those of a block in ``nodes``, which its threads share; returns their number. The
    first blocks, which are the first to run, take the last nodes."""
    thread = (cuda.gridDim.x - 1 - cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    shared = cuda.shared.array(1, np.int32)
    found, start, position, _ = chosen_of_thread(words, mask, first, last, thread, shared)
    while found:
        nodes[position] = start + np.uint32(cuda.ffs(found) - 1)
        found &= np.uint32(found - np.uint32(1))
        position += 1
    cuda.syncthreads()
    return shared[0]


@cache
def at_node(operators, arriving, stored, n_neighbours, lattice, precision):
    """Device function ``(tables, n, values)``: call the update with what it accesses at a node, of which each kind has
    a layer with its own tables, behind the buffer of populations if there is one. A second operator is that of the
    collision. Both kinds of populations are read from one argument, so that compilers load what is the same once.

    Args:
        operators: the update, and the collision if the nodes collide behind it.
        arriving: :class:`Arriving` populations, or None.
        stored: where the stored populations are found, or None.
        n_neighbours: number of the neighbours of a node whose addresses are given; 0 for none.
    """
    jit = strict_jit if arriving or stored else device_jit
    update = operators[0].compile(lattice, precision, jit)
    layer = device_jit(lambda buffer, tables, n, values, *found: update(*found, n, values))
    if n_neighbours:
        layer = _with_neighbours(layer, n_neighbours)
    if stored:
        layer = _with_stored(layer, stored, lattice, precision)
    if arriving:
        layer = _where_concerned(layer, operators[0], lattice, precision)
        layer = _with_arriving(layer, arriving, operators[1:], lattice, precision)
    if arriving or stored:
        return device_jit(lambda tables, n, values: layer(tables[0], tables[1:], n, values))
    return device_jit(lambda tables, n, values: layer(None, tables, n, values))


class Arriving(NamedTuple):
    """Populations that a step will load at a node; ``stores_at``: where a collision stores them, if the nodes
    collide."""

    populations: Populations
    changes: bool  #: whether the update may change them
    stores_at: tuple = ()


def _where_concerned(layer, operator, lattice, precision):
    """The layer where the update of an operator does anything; elsewhere no population changes."""
    if operator.concerns is None:
        return layer
    concerns = operator.concerns(lattice, precision, device_jit, positions(operator.parameters))

    def at(buffer, tables, n, values, f):
        if concerns(n, values):
            return layer(buffer, tables, n, values, f)
        return 0

    return device_jit(at)


def _with_neighbours(layer, n_neighbours: int):
    find = find_neighbours(n_neighbours)

    def at(buffer, tables, n, values, *found):
        addresses = cuda.local.array(n_neighbours, np.uint32)
        find(tables[0], n, addresses)
        return layer(buffer, tables[1:], n, values, *found, addresses)

    return device_jit(at)


def _with_stored(layer, populations: Populations, lattice, precision):
    load, q_count, real = reader(populations, precision), lattice.q, precision.real

    def at(buffer, tables, n, values, *found):
        f = cuda.local.array(q_count, real)
        lines, bases = tables[0]
        load(buffer, lines, bases, n, f)
        return layer(buffer, tables[1:], n, values, *found, f)

    return device_jit(at)


def _with_arriving(layer, arriving: Arriving, collisions, lattice, precision):
    """The layer of arriving populations: changed ones are stored, or all collide, into another buffer. Changed ones
    stay in registers then, and compilers share sums between both: the collision is strict here as in
    ``stream_collide_fluid``, so that the code around it changes no rounding."""
    (locations, n_entries, index_type), changes, stores_at = arriving
    own, find, _, load, store, size = access(locations, stores_at or locations, n_entries, precision, index_type)
    change, q_count, real = changer(locations, precision), lattice.q, precision.real
    collide = collisions[0].compile(lattice, precision, strict_jit) if collisions else None

    def collided(buffer, step, n, own, entries, f, changed):
        collide(f, n, step[3])
        store(step[2], own, entries, f)

    def changed(buffer, step, n, own, entries, f, changed):
        change(buffer, own, entries, f, changed)

    end = device_jit(collided if collisions else changed if changes else lambda *unused: None)

    def at(buffer, tables, n, values):
        f, entries = cuda.local.array(q_count, real), cuda.local.array(size, index_type)
        step = tables[0]
        find(step[0], step[1], n, entries)
        load(buffer, own(n), entries, f)
        end(buffer, step, n, own(n), entries, f, layer(buffer, tables[1:], n, values, f))

    return device_jit(at)


@cache
def over_range(at, registers: int | None = None):
    """Call a function of :func:`at_node` for the nodes of a range, with at most so many registers a thread."""

    def kernel(tables, first, last, values):
        n = np.uint32(first + cuda.grid(1))
        if n < last:
            at(tables, n, values)

    return kernel_jit(kernel, registers)


@cache
def over_chosen(at, registers: int | None = None):
    """The same for the chosen ones among candidates."""

    def kernel(tables, candidates, values):
        for i in range(cuda.grid(1), number_of(candidates), cuda.gridsize(1)):
            n = node(candidates, i)
            if has_bit(candidates, n):
                at(tables, n, values)

    return kernel_jit(kernel, registers)


@cache
def over_words(at):
    """The same for the chosen ones of a range, which the threads of a block share, each with 16 nodes to look at."""

    @kernel_jit
    def kernel(tables, words, mask, first, last, values):
        nodes = cuda.shared.array(NODES_PER_BLOCK, np.uint32)
        n_chosen = chosen_of_block(words, mask, first, last, nodes)
        for i in range(cuda.threadIdx.x, n_chosen, cuda.blockDim.x):
            at(tables, nodes[i], values)

    return kernel


@cache
def velocities(macroscopic_operator, populations: Populations, lattice, precision):
    """Device function ``(tables, n, values)``: write the velocity of a node's populations; arguments as of
    :func:`velocity`."""
    velocity_of = velocity(macroscopic_operator, populations, lattice, precision)
    zero, record = precision.real(0), np.uint64(RECORD)

    def at(tables, n, values):
        buffer, lines, bases, out = tables
        ux, uy, uz = velocity_of(buffer, lines, bases, n, values)
        store_four(out, record * np.uint64(n), (ux, uy, uz, zero))

    return device_jit(at)


def velocity(macroscopic_operator, populations: Populations, lattice, precision):
    """Device function ``(buffer, lines, bases, n, parameters)``: velocity of a node's populations, the same in every
    kernel."""
    macroscopic = macroscopic_operator.compile(lattice, precision, strict_jit)
    load, q_count, real = reader(populations, precision), lattice.q, precision.real

    def of_node(buffer, lines, bases, n, parameters):
        f = cuda.local.array(q_count, real)
        load(buffer, lines, bases, n, f)
        _, ux, uy, uz = macroscopic(f, n, parameters)
        return ux, uy, uz

    return device_jit(of_node)


LISTED_WARPS = LISTED_BLOCK // WARP


@cache
def refill(operators, populations: Populations, n_neighbours, lattice, precision):
    """Replace the populations of the chosen nodes by those that follow from means over their sources. The
    threads of a block look at one candidate each. They are few who are chosen; each of these gets a warp, a thread of
    it for every neighbour, so that populations of all neighbours are read at once, and then one for every moment."""
    update = operators[0].compile(lattice, precision, strict_jit)
    q_count, real, near = lattice.q, precision.real, find_neighbour(n_neighbours)
    write_moments = _write_moments(operators[1], populations, lattice, precision)
    mean_of, store, n_moments = _mean(n_neighbours, precision), writer(populations, precision), N_WITH_STRESS

    @kernel_jit
    def kernel(buffer, lines, bases, near_table, candidates, sources, others, values):
        chosen = cuda.shared.array(LISTED_BLOCK, np.uint32)
        count = cuda.shared.array(1, np.int32)
        is_source = cuda.shared.array((LISTED_WARPS, WARP), np.uint8)
        moments = cuda.shared.array((LISTED_WARPS, WARP, n_moments), real)
        means = cuda.shared.array((LISTED_WARPS, n_moments), real)
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
                if place < n_chosen and k < n_moments:
                    means[warp, k] = mean_of(is_source[warp], moments[warp], k)
                cuda.syncthreads()
                if place < n_chosen and k == 0:
                    f = cuda.local.array(q_count, real)
                    update(f, means[warp], chosen[place], values[0])
                    store(buffer, lines, bases, chosen[place], f)
                cuda.syncthreads()

    return kernel


@device_jit
def whole(n):
    """The smallest multiple of the number of warps of a block that is not below a number."""
    return (n + LISTED_WARPS - 1) // LISTED_WARPS * LISTED_WARPS


def _mean(n_neighbours: int, precision):
    """Device function: mean of moment i over the sources among the neighbours of a node, in the order of directions."""
    zero, one = precision.real(0), precision.real(1)

    def mean(is_source, moments, i):
        count, found = zero, zero
        for k in range(n_neighbours):
            if is_source[k]:
                count += one
                found += moments[k, i]
        return found * (one / max(count, one))

    return strict_jit(mean)


def _write_moments(moments_operator, populations: Populations, lattice, precision):
    """Device function: writes the moments at an address of fields, of a node of this rank or of another, if they are
    wanted."""
    moments_at = moments_operator.compile(lattice, precision, strict_jit)
    load, n_moments = reader(populations, precision), N_WITH_STRESS
    q_count, real = lattice.q, precision.real

    def write_own(populations, n, parameters, out):
        f = cuda.local.array(q_count, real)
        load(*populations, n, f)
        found = moments_at(f, n, parameters)
        for i in range(n_moments):
            out[i] = found[i]

    write_own = device_jit(unroll(write_own))

    def write(populations, address, is_wanted, rest, out):
        first_other, others, parameters = rest
        if is_wanted and address >= first_other:
            place = np.int64(address) - first_other
            for i in range(n_moments):
                out[i] = others[place + i * (others.size // n_moments)]
        elif is_wanted:
            write_own(populations, np.uint32(address), parameters, out)

    return device_jit(write)
