"""Node loops as Numba-CUDA kernels."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda.access import (
    Populations,
    access,
    device_jit,
    find_pairs,
    gather_values,
    reader,
    scatter_values,
    store_pairs,
    strict_jit,
    writer,
)
from muphy_lb.backends.cuda.device import SIMULATOR, cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.lattice.exact_sums import in_two_parts
from muphy_lb.lattice.layout import WARP
from muphy_lb.operators.operator import Operator
from muphy_lb.operators.saturation import node as saturation_node
from muphy_lb.operators.unroll import unroll

# Assignment of nodes to threads: one each; two each, a warp apart; two consecutive ones each, which needs half
# precision and stores within the node.
SINGLE, DOUBLE, PAIRED = "single", "double", "paired"
NODES_PER_THREAD = {SINGLE: 1, DOUBLE: 2, PAIRED: 2}
# Threads of a block that sums over nodes, a power of two.
REDUCING_BLOCK = 32 if SIMULATOR else 256


class Shape(NamedTuple):
    """Launch configuration of stream-and-collide: nodes per thread and threads per block."""

    threads: str
    block: int


class Advance(NamedTuple):
    """Way in which a field is advanced: see :func:`advance`."""

    operator: Operator
    n_neighbours: int
    has_populations: bool


@cache
def _update(collide_operator, pattern, lattice, precision, index_type, jit=device_jit):
    """Device function: load the populations of a node, collide, store them."""
    collide = collide_operator.compile(lattice, precision, jit)
    own, find, find_again, load, store, n_entries = access(
        pattern.load, pattern.store, len(pattern.directions), precision, index_type
    )
    q_count, real = lattice.q, precision.real

    def update(old, new, lines, bases, n, parameters):
        f = cuda.local.array(q_count, real)
        entries = cuda.local.array(n_entries, index_type)
        find(lines, bases, n, entries)
        load(old, own(n), entries, f)
        collide(f, n, parameters)
        find_again(lines, bases, n, entries)
        store(new, own(n), entries, f)

    return device_jit(update)


@cache
def stream_collide(collide_operator, pattern, lattice, precision, index_type, threads=SINGLE, behind=None):
    """Load the populations of a node, collide, store them. Blocks run through the nodes from ``start`` on in steps of
    one block, ``step`` being 1 or -1. ``behind``: an :class:`Advance` of a field, which each node does then; the
    parameters are a pair, of the collision and the arguments of the field.

    A field's own kernel is bound by instructions, and this one by memory: together they take little more than the
    bytes of both.
    """
    parts = _parts(collide_operator, pattern, lattice, precision, index_type, behind)
    if threads == PAIRED:
        return _paired(parts, lattice.q, precision.real, index_type)
    (own, find, find_again, load, store, n_entries), collide, update, finish = parts
    q_count, real, five, warp, in_warp = lattice.q, precision.real, np.uint32(5), np.uint32(32), np.uint32(31)

    @kernel_jit
    def single(old, new, lines, bases, start, step, first, last, parameters):
        block = start + step * cuda.blockIdx.x
        n = np.uint32(first + block * cuda.blockDim.x + cuda.threadIdx.x)
        if n < last:
            update(old, new, lines, bases, n, parameters)
            finish(n, parameters)

    @kernel_jit
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
            find_again(lines, bases, n, entries_f)
            store(new, own(n), entries_f, f)
            find_again(lines, bases, m, entries_g)
            store(new, own(m), entries_g, g)
            finish(n, parameters)
            if m < last:
                finish(m, parameters)

    return {SINGLE: single, DOUBLE: double}[threads]


def _paired(parts, q_count, real, index_type):
    """The kernel of threads with two consecutive nodes each."""
    (own, _, _, load, _, n_entries), collide, _, finish = parts
    store_both, find_both, one = store_pairs(q_count), find_pairs(n_entries, index_type), np.uint32(1)

    @kernel_jit
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
            finish(n, parameters)
            if m < last:
                finish(m, parameters)

    return paired


def _parts(collide_operator, pattern, lattice, precision, index_type, behind: Advance | None):
    """The access, the collision and the update of a node, and what the node does then, by parameters of all."""
    functions = access(pattern.load, pattern.store, len(pattern.directions), precision, index_type)
    collide = collide_operator.compile(lattice, precision, device_jit)
    update = _update(collide_operator, pattern, lattice, precision, index_type)
    if behind:
        return functions, *_with_behind(collide, update, _advance(behind, lattice, precision, index_type))
    return functions, collide, update, device_jit(_leave)


def _leave(n, parameters):
    """Do nothing more at a node."""


def _with_behind(collide, update, advanced):
    """The same with a pair of parameters, of the collision and of the field."""

    def collide_first(f, n, parameters):
        collide(f, n, parameters[0])

    def update_first(old, new, lines, bases, n, parameters):
        update(old, new, lines, bases, n, parameters[0])

    def finish(n, parameters):
        old, new, lines, bases, row, values = parameters[1]
        advanced(old, new, lines, bases, n, row, values)

    return device_jit(collide_first), device_jit(update_first), device_jit(finish)


@cache
def stream_collide_fluid(collide_operator, pattern, lattice, precision, index_type):
    """The same for those nodes alone where an array of bytes has a bit of a mask, and none of another.

    Some of them may collide in a kernel of their own (:mod:`muphy_lb.backends.cuda.stage_skeletons`), and the
    collision is strict so that it is rounded alike there.

    The warps of threads share the listed warps of nodes, or all of the range if nothing is known, from the last one on
    with ``is_reversed``.
    """
    update = _update(collide_operator, pattern, lattice, precision, index_type, strict_jit)
    five, in_warp, of_warp = np.uint32(5), np.uint32(WARP - 1), np.uint32(WARP)

    @kernel_jit
    def kernel(old, new, lines, bases, is_reversed, first, last, parameters, occupied, mask, without, among):
        n_warps, is_listed = np.int32(among.count[1]), among.count[1] <= among.warps.size
        if not is_listed:
            n_warps = np.int32((last + in_warp >> five) - (first >> five))
        for i in range(cuda.grid(1) >> 5, n_warps, cuda.gridsize(1) >> 5):
            place = n_warps - 1 - i if is_reversed else i
            warp = among.warps[place] if is_listed else np.uint32((first >> five) + np.uint32(place))
            n = np.uint32(warp * of_warp + np.uint32(cuda.threadIdx.x & in_warp))
            if first <= n and n < last and occupied[n] & mask and not occupied[n] & without:
                update(old, new, lines, bases, n, parameters)

    return kernel


@cache
def _advance(how: Advance, lattice, precision, index_type):
    """Device function: advance a field at a node."""
    update, real, n_values = how.operator.compile(lattice, precision, device_jit), precision.real, 1 + how.n_neighbours
    gather_node = gather_values(how.n_neighbours, index_type, real)
    scatter_node = scatter_values(n_values, index_type)

    def collided(values, n, row, new, parameters):
        update(values, n, parameters)
        scatter_node(values, n, row, new)

    def updated(values, n, row, new, parameters):
        new[n] = update(values, n, parameters)

    write = device_jit(collided if how.has_populations else updated)

    def advanced(old, new, lines, bases, n, row, parameters):
        values = cuda.local.array(n_values, real)
        gather_node(old, lines, bases, n, values)
        write(values, n, row, new, parameters)

    return device_jit(advanced)


@cache
def advance(how: Advance, is_chosen, lattice, precision, index_type):
    """Advance a field from the values of a node and of its neighbours, or, of several components, from the arriving
    populations; at all nodes, or at the chosen ones."""
    advanced = _advance(how, lattice, precision, index_type)

    @kernel_jit
    def kernel(old, new, lines, bases, first, last, row, array, mask, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last and (not is_chosen or array[n] & mask):
            advanced(old, new, lines, bases, n, row, parameters)

    return kernel


@kernel_jit
def extrapolation(field, target, index, weight, constant):
    """Extrapolate values beyond walls from those of nodes."""
    s, n_values = cuda.grid(1), constant.size
    if s < n_values:
        value = constant[s]
        for t in range(s, index.size, n_values):
            value += weight[t] * field[index[t]]
        target[s] = value


@cache
def saturation(precision):
    """Replace sums at walls that saturate by the populations that these return."""
    taken_up = saturation_node(precision, device_jit)

    @kernel_jit
    def kernel(field, target, place, left, share, entering, level):
        m = cuda.grid(1)
        if m < place.size:
            s = place[m]
            target[s] = field[left[m]] - taken_up(target[s], share[m], entering[m], level[m])

    return kernel


@kernel_jit
def outflow(field, value, target, place, left, node):
    """Replace what a carrier brings by what a scalar brings that leaves with it."""
    m = cuda.grid(1)
    if m < place.size:
        s = place[m]
        target[s] = field[left[m]] + value[node[m]] * target[s]


@cache
def moments(macroscopic_operator, n_moments: int, populations: Populations, lattice, precision):
    """Write what an operator computes, ``n_moments`` numbers of which the first is in stored units; stages on other
    ranks find the same numbers."""
    macroscopic = macroscopic_operator.compile(lattice, precision, strict_jit)
    load = reader(populations, precision)
    q_count, real, per_unit = lattice.q, precision.real, precision.real(1 / precision.unit)

    n_more = n_moments - 1

    def write_rest(out, i, count, found):
        for k in range(n_more):
            i += count
            out[i] = found[k + 1]

    write = device_jit(unroll(write_rest))

    @kernel_jit
    def kernel(buffer, lines, bases, first, last, out, parameters):
        i = np.uint32(cuda.grid(1))
        n, count = np.uint32(first + i), np.uint64(last - first)
        if n < last:
            f = cuda.local.array(q_count, real)
            load(buffer, lines, bases, n, f)
            found = macroscopic(f, n, parameters)
            out[i] = found[0] * per_unit
            write(out, i, count, found)

    return kernel


@cache
def reduction(macroscopic_operator, populations: Populations, is_partly_filled, lattice, precision):
    """Mass, largest speed, exact sums of speed and velocity, a partial result for each block; thread i of n takes nodes
    i, i + n, i + 2 n ... Populations of nodes at which ``fluid`` is 0 are not read if there are such nodes."""
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    load, clear = reader(populations, precision), device_jit(unroll(_clear(lattice.q, precision)))
    q_count, real, per_unit = lattice.q, precision.real, 1.0 / precision.unit
    infinity, parts = float("inf"), device_jit(in_two_parts)

    @kernel_jit
    def kernel(buffer, lines, bases, fluid, n_nodes, result, parameters):
        shared = cuda.shared.array((2, REDUCING_BLOCK), np.float64)
        counted = cuda.shared.array((8, REDUCING_BLOCK), np.int64)
        thread, scale, f = cuda.threadIdx.x, result.scale, cuda.local.array(q_count, real)
        total, largest = 0.0, 0.0
        speeds = flow_x = flow_y = flow_z = below = below_x = below_y = below_z = np.int64(0)
        for node in range(cuda.grid(1), n_nodes, cuda.gridsize(1)):
            n = np.uint32(node)
            if is_partly_filled and not fluid[n]:
                clear(f)
            else:
                load(buffer, lines, bases, n, f)
            deviation, ux, uy, uz = macroscopic(f, n, parameters)
            speed = math.sqrt(float(ux * ux + uy * uy + uz * uz))
            if speed < infinity:
                total += deviation * per_unit
                largest = max(largest, speed)
                whole, rest = parts(speed, scale)
                speeds, below = speeds + whole, below + rest
                (x, rest_x), (y, rest_y), (z, rest_z) = parts(ux, scale), parts(uy, scale), parts(uz, scale)
                flow_x, flow_y, flow_z = flow_x + x, flow_y + y, flow_z + z
                below_x, below_y, below_z = below_x + rest_x, below_y + rest_y, below_z + rest_z
            else:
                largest = infinity
        shared[0, thread], shared[1, thread], counted[0, thread], counted[1, thread] = total, largest, speeds, below
        counted[2, thread], counted[3, thread], counted[4, thread] = flow_x, below_x, flow_y
        counted[5, thread], counted[6, thread], counted[7, thread] = below_y, flow_z, below_z
        half = REDUCING_BLOCK // 2
        while half > 0:
            cuda.syncthreads()
            if thread < half:
                join(shared, counted, thread, thread + half)
            half //= 2
        if thread == 0:
            block = cuda.blockIdx.x
            result.mass[block], result.peak[block] = shared[0, 0], shared[1, 0]
            for k in range(8):
                result.flow[k, block] = counted[k, 0]

    return kernel


@cache
def sums(operators, counts, populations: Populations, is_partly_filled, lattice, precision):
    """Sums of some numbers of every node, and the largest of others, a partial result for each block; nodes as in
    :func:`reduction`."""
    measure, macroscopic = (operator.compile(lattice, precision, device_jit) for operator in operators)
    load, clear = reader(populations, precision), device_jit(unroll(_clear(lattice.q, precision)))
    q_count, real, per_unit = lattice.q, precision.real, precision.real(1 / precision.unit)
    (n_sums, n_peaks), infinity, parts = counts, float("inf"), device_jit(in_two_parts)
    n_found, n_largest = n_sums + n_peaks, n_peaks + 1

    @kernel_jit
    def kernel(buffer, lines, bases, fluid, n_nodes, result, of_measure, of_moments):
        f, found = cuda.local.array(q_count, real), cuda.local.array(n_found, np.float64)
        whole, rest = cuda.local.array(n_sums, np.int64), cuda.local.array(n_sums, np.int64)
        peak, block, scale = cuda.local.array(n_largest, np.float64), cuda.blockIdx.x, result.scale
        for k in range(n_sums):
            whole[k] = rest[k] = np.int64(0)
        for k in range(n_largest):
            peak[k] = -infinity
        for node in range(cuda.grid(1), n_nodes, cuda.gridsize(1)):
            n = np.uint32(node)
            if is_partly_filled and not fluid[n]:
                clear(f)
            else:
                load(buffer, lines, bases, n, f)
            deviation, ux, uy, uz = macroscopic(f, n, of_moments)
            measure(n, deviation * per_unit, ux, uy, uz, of_measure, found)
            for k in range(n_sums):
                if abs(found[k]) < infinity:
                    upper, lower = parts(found[k], scale)
                    whole[k] += upper
                    rest[k] += lower
                else:
                    peak[n_peaks] = infinity
            for k in range(n_peaks):
                peak[k] = max(peak[k], found[n_sums + k])
        for k in range(n_sums):
            cuda.atomic.add(result.whole, (k, block), whole[k])
            cuda.atomic.add(result.rest, (k, block), rest[k])
        for k in range(n_largest):
            cuda.atomic.max(result.peak, (k, block), peak[k])

    return kernel


@device_jit
def join(shared, counted, one, other):
    """Add the sums of another thread to those of one, and keep the larger of their largest speeds."""
    shared[0, one] += shared[0, other]
    shared[1, one] = max(shared[1, one], shared[1, other])
    for k in range(8):
        counted[k, one] += counted[k, other]


def _clear(q_count: int, precision):
    """Function that sets the populations of a node to 0."""
    zero = precision.real(0)

    def clear(f):
        for q in range(q_count):
            f[q] = zero

    return clear


@cache
def read(populations: Populations, precision):
    """Copy the populations of a node range into rows."""
    load, q_count = reader(populations, precision), len(populations.locations)
    real, storage = precision.real, precision.storage

    @kernel_jit
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
def write(populations: Populations, precision):
    """Copy rows into the populations of a node range."""
    store, q_count, real = writer(populations, precision), len(populations.locations), precision.real

    @kernel_jit
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


@kernel_jit
def gather(buffer, addresses, packed):
    """packed[i] = buffer[addresses[i]]."""
    i = cuda.grid(1)
    if i < packed.size:
        packed[i] = buffer[addresses[i]]


@kernel_jit
def scatter(packed, buffer, addresses):
    """buffer[addresses[i]] = packed[i]."""
    i = cuda.grid(1)
    if i < packed.size:
        buffer[addresses[i]] = packed[i]


@kernel_jit
def scatter_add(packed, buffer, addresses):
    """buffer[addresses[i]] += packed[i], integers."""
    i = cuda.grid(1)
    if i < packed.size:
        cuda.atomic.add(buffer, addresses[i], packed[i])


@kernel_jit
def count_step(step):
    """Increment the step number; one thread."""
    step[0] += 1
