"""Node and link loops in Numba, vectorised over nodes and parallel over chunks of them.

A warp of nodes is gathered into a small block, collided there and stored. Lanes of the block lie side by side and its
shape is a constant, so LLVM compiles the loop over lanes, with the node function inlined, to packed arithmetic. Without
fused or reassociated arithmetic every lane computes what a scalar would: bits do not depend on where a node lies.
"""

import os
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

import numba
import numpy as np
from numba import config, njit, prange

from muphy_lb.backends.cpu.rows import count_bits, fence, merge_lanes, move_lanes, move_row, prefetch_row, stream_row
from muphy_lb.base.kept.functions import stored
from muphy_lb.base.kept.helpers import ahead
from muphy_lb.domain import ROW, TILE, WARP, entry, is_entry
from muphy_lb.domain.runs import LINE_UNIT
from muphy_lb.lattice.exact_sums import in_two_parts
from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators.saturation import node as saturation_node
from muphy_lb.operators.unroll import unroll

BUSY = 0.25  # load of a core, in the mean of a minute, from which on a machine counts as busy
# Threads that spin at a barrier keep the one that they wait for from its core, where other programs run as well.
with suppress(OSError):  # where the load is not known
    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# With fewer nodes the barrier between threads costs more than parallel work saves.
NODES_PER_THREAD = 4096


def on_threads(n_nodes: int, work):
    """Launch of work on a number of threads that suits its number of nodes."""
    n_threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n_nodes // NODES_PER_THREAD))

    def launch():
        numba.set_num_threads(n_threads)
        work()

    return launch


def bound(kernel, *arguments):
    """Launch of a kernel, which is compiled ahead where there are helpers."""
    ahead(kernel, arguments)
    return partial(kernel, *arguments)


# Warps of a chunk, the unit of work of a thread.
CHUNK = TILE // WARP
CHUNK_NODES = TILE
# Number of warps by which populations are prefetched: the strides are too irregular for the hardware prefetcher.
AHEAD = 8
ONE = np.uint32(1)

# NumPy's error model: no exception branch around divisions. Fused or reassociated arithmetic stays off. A node function
# that is called instead of inlined would stop the vectoriser. Only kernels are called from Python, and none from C;
# wrappers for that would take a quarter of the time of compilation.
node_jit = njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# Parallel loops take up to three times as long to compile: kernels that run once per output are serial, and all are
# where there is one thread, as in most MPI ranks. The arithmetic and its order are the same, and so are the bits.
sweep_jit = stored(njit(error_model="numpy", no_cfunc_wrapper=True))
loop_jit = stored(njit(error_model="numpy", parallel=config.NUMBA_NUM_THREADS > 1, no_cfunc_wrapper=True))
# Kernels that allocate nothing need not count references to arrays; those of particles read so many that it takes most
# of their time.
bare_node_jit = njit(error_model="numpy", _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
bare_sweep_jit = stored(njit(error_model="numpy", _nrt=False, no_cfunc_wrapper=True))


class BlockRows(NamedTuple):
    """Where the rows of a block are loaded from or stored to: row ``row[i]`` of the block is the nodes' own row
    ``own[i]``, row ``through[k]`` is addressed by entry k of the table; ``through`` is empty if no entry is needed."""

    row: tuple[int, ...]
    own: tuple[int, ...]
    through: tuple[int, ...]


def split(locations) -> BlockRows:
    """Locations of the populations q = 0, 1, ..., separated into own rows and table entries."""
    own = [q for q, location in enumerate(locations) if not is_entry(location)]
    by_entry = {entry(location): q for q, location in enumerate(locations) if is_entry(location)}
    return BlockRows(tuple(own), tuple(locations[q] for q in own), tuple(by_entry[k] for k in sorted(by_entry)))


@node_jit
def first_address(warp, q_count):
    """Address of population 0 of the first node of a warp."""
    return warp // np.int64(CHUNK) * np.int64(q_count * ROW) + warp % np.int64(CHUNK) * np.int64(WARP)


@node_jit
def from_lowest(starts):
    """Mask of the lanes from the first set bit on; empty if no bit is set."""
    return ~((starts & (~starts + ONE)) - ONE) if starts else np.uint32(0)


@node_jit
def first_of_field(warp, q_count):
    """Address of the first node of a warp in a field, which is contiguous."""
    return warp * np.int64(WARP)


@cache
def gather(source: BlockRows, q_count: int, first_address=first_address):
    """Factory of the function that loads the populations of a warp into a block, run by run for table entries."""
    rows, own, through = source
    n_own, n_through = len(rows), len(through)

    @node_jit
    def load(block, buffer, lines, bases, warp):
        start = first_address(warp, q_count)
        for i in range(n_own):
            move_row(block, rows[i] * WARP, buffer, start + own[i] * ROW)
        if n_through:
            run = np.int64(lines[warp, 0]) + 1
            for k in range(n_through):
                starts = lines[warp, 1 + k]
                if starts == ONE:
                    move_row(block, through[k] * WARP, buffer, np.int64(bases[run]))
                    run += 1
                    continue
                while starts:
                    later = starts & (starts - ONE)
                    lanes = from_lowest(starts) & ~from_lowest(later)
                    merge_lanes(block, through[k] * WARP, buffer, np.int64(bases[run]), lanes)
                    starts = later
                    run += 1

    return load


@cache
def prefetch(n_through: int):
    """Factory of the function that prefetches the first run, mostly the only one, of every table entry of a warp."""

    @node_jit
    def prefetch_runs(buffer, lines, bases, warp):
        run = np.int64(lines[warp, 0]) + 1
        for k in range(n_through):
            prefetch_row(buffer, np.int64(bases[run]))
            run += np.int64(count_bits(lines[warp, 1 + k]))

    return prefetch_runs


@cache
def scatter(target: BlockRows, q_count: int, streams: bool):
    """Factory of the function that stores a block; ``streams``: non-temporal stores, for buffers larger than the
    caches."""
    rows, own, through = target
    n_own, n_through = len(rows), len(through)
    store_row = stream_row if streams else move_row

    @node_jit
    def store(block, buffer, lines, bases, warp):
        start = first_address(warp, q_count)
        for i in range(n_own):
            store_row(buffer, start + own[i] * ROW, block, rows[i] * WARP)
        if n_through:
            run = np.int64(lines[warp, 0]) + 1
            for k in range(n_through):
                starts = lines[warp, 1 + k]
                if starts == ONE:
                    move_row(buffer, np.int64(bases[run]), block, through[k] * WARP)
                    run += 1
                    continue
                while starts:
                    later = starts & (starts - ONE)
                    lanes = from_lowest(starts) & ~from_lowest(later)
                    move_lanes(buffer, np.int64(bases[run]), block, through[k] * WARP, lanes)
                    starts = later
                    run += 1

    return store


@cache
def stream_collide(collide_operator, pattern, lattice, precision, streams, has_occupancy=False):
    """Load the populations of a node, collide, store them. The skeleton processes whole warps; the nodes of the last
    one exist as padding, also in arrays among the parameters. ``has_occupancy``: a further array, by node, is 0 where
    there is no fluid, and warps without fluid are left out."""
    collide = collide_operator.compile(lattice, precision, node_jit)
    q_count, real = lattice.q, precision.real
    load, store = gather(split(pattern.load), q_count), scatter(split(pattern.store), q_count, streams)
    prefetch_ahead = prefetch(len(split(pattern.load).through))

    @sweep_jit
    def sweep(old, new, lines, bases, first, last, parameters, occupied):
        block = np.empty((q_count, WARP), real)
        last_warp = np.int64(lines.shape[0] - 1)
        for warp in range(first, last):
            if has_occupancy and not occupied[0][warp * WARP : (warp + 1) * WARP].any():
                continue
            load(block, old, lines, bases, warp)
            prefetch_ahead(old, lines, bases, min(warp + AHEAD, last_warp))
            n = np.uint64(warp * WARP)
            for lane in range(WARP):
                collide(block[:, lane], n + np.uint64(lane), parameters)
            store(block, new, lines, bases, warp)
        fence()

    @loop_jit
    def skeleton(old, new, lines, bases, first, last, parameters, occupied):
        for chunk in prange((last - first + CHUNK - 1) // CHUNK):
            start = first + chunk * CHUNK
            sweep(old, new, lines, bases, start, min(last, start + CHUNK), parameters, occupied)

    skeleton.sweep = sweep
    return skeleton


@cache
def advance(update_operator, n_neighbours, has_populations, is_chosen, lattice, precision):
    """Advance a field from the values of a node and of its neighbours, or, of several components, from the arriving
    populations; at all nodes, or at the chosen ones."""
    update, real, n_values = update_operator.compile(lattice, precision, node_jit), precision.real, 1 + n_neighbours
    load = gather(split((0, *(-k for k in range(1, n_values)))), n_values, first_of_field)

    @node_jit
    def updated(values, new, place, begin, end, row, parameters):
        for n in range(place + begin, place + end):
            new[n] = update(values[:, n % WARP], n, parameters)

    @node_jit
    def collided(values, new, place, begin, end, row, parameters):
        n = np.uint64(place)
        if begin == 0 and end == WARP:  # a loop of constant length is vectorised
            for lane in range(WARP):
                update(values[:, lane], n + np.uint64(lane), parameters)
        else:
            for lane in range(begin, end):
                update(values[:, lane], n + np.uint64(lane), parameters)
        for k in range(n_values):
            for lane in range(begin, end):
                new[k * row + place + lane] = values[k, lane]

    store = collided if has_populations else updated

    @node_jit
    def store_chosen(values, new, place, begin, end, row, array, mask, parameters):
        for lane in range(begin, end):
            if array[place + lane] & mask:
                store(values, new, place, lane, lane + 1, row, parameters)

    @node_jit
    def has_chosen(place, begin, end, array, mask):
        for lane in range(begin, end):
            if array[place + lane] & mask:
                return True
        return False

    @loop_jit
    def skeleton(old, new, lines, bases, first, last, array, mask, row, parameters):
        first_warp, last_warp = first // WARP, (last + WARP - 1) // WARP
        for chunk in prange((last_warp - first_warp + CHUNK - 1) // CHUNK):
            values = np.empty((n_values, WARP), real)
            start = first_warp + chunk * CHUNK
            for warp in range(start, min(last_warp, start + CHUNK)):
                place = warp * WARP
                begin, end = max(first - place, 0), min(last - place, WARP)
                if not is_chosen:
                    load(values, old, lines, bases, warp)
                    store(values, new, place, begin, end, row, parameters)
                elif has_chosen(place, begin, end, array, mask):
                    load(values, old, lines, bases, warp)
                    store_chosen(values, new, place, begin, end, row, array, mask, parameters)

    return skeleton


@node_jit
def decode(addresses, lines, bases, warp, lane):
    """Addresses of all entries of one lane of a warp."""
    run = np.int64(lines[warp, 0])
    up_to = np.uint32(0xFFFFFFFF) >> np.uint32(WARP - 1 - lane)
    for k in range(addresses.size):
        mask = lines[warp, 1 + k]
        addresses[k] = np.int64(bases[run + np.int64(count_bits(mask & up_to))]) + lane
        run += np.int64(count_bits(mask))


@node_jit
def find_neighbours(addresses, count, table, n):
    """Addresses of the first neighbours of a node (:mod:`muphy_lb.domain.addresses`)."""
    record = np.int64(table[n // WARP]) * LINE_UNIT
    up_to = np.uint32(0xFFFFFFFF) >> np.uint32(WARP - 1 - n % WARP)
    walls, base = np.int64(table[record]), record + (addresses.size + LINE_UNIT) // LINE_UNIT * LINE_UNIT - 1
    for k in range(count):
        mask = table[record + 1 + k]
        address = np.uint32(table[base + np.int64(count_bits(mask & up_to))] + np.uint32(n))
        addresses[k] = min(np.int64(address), walls)
        base += np.int64(count_bits(mask))


@loop_jit
def extrapolation(field, target, stencils):
    """Extrapolate values beyond walls from those of nodes."""
    index, weight, constant = stencils.index, stencils.weight, stencils.constant
    n_values = constant.size
    for s in prange(n_values):
        value = constant[s]
        for t in range(s, index.size, n_values):
            value += weight[t] * field[index[t]]
        target[s] = value


@cache
def saturation(precision):
    """Replace sums at walls that saturate by the populations that these return."""
    taken_up = saturation_node(precision, node_jit)

    @loop_jit
    def skeleton(field, target, walls):
        for m in prange(walls.place.size):
            s = walls.place[m]
            target[s] = field[walls.left[m]] - taken_up(target[s], walls.share[m], walls.entering[m], walls.level[m])

    return skeleton


@loop_jit
def outflow(field, value, target, links):
    """Replace what a carrier brings by what a scalar brings that leaves with it."""
    for m in prange(links.place.size):
        s = links.place[m]
        target[s] = field[links.left[m]] + value[links.node[m]] * target[s]


@cache
def moments(macroscopic_operator, count: int, locations, lattice, precision):
    """Write what an operator computes, ``count`` numbers, of the nodes of a range."""
    macroscopic, write = macroscopic_operator.compile(lattice, precision, node_jit), set_all(count)
    q_count, real = lattice.q, precision.real
    load = gather(split(locations), q_count)

    @sweep_jit
    def skeleton(buffer, lines, bases, first, last, out, parameters):
        for warp in range(first // WARP, (last + WARP - 1) // WARP):
            block = np.empty((q_count, WARP), real)
            load(block, buffer, lines, bases, warp)
            for n in range(max(first, warp * WARP), min(last, (warp + 1) * WARP)):
                write(out[:, n - first], macroscopic(block[:, n % WARP], n, parameters))

    return skeleton


@cache
def set_all(count: int):
    """Function that sets ``count`` places to the numbers of a tuple."""

    def write(places, numbers):
        for k in range(count):
            places[k] = numbers[k]

    return node_jit(unroll(write))


@cache
def arriving(macroscopic_operator, locations, lattice, precision, is_chosen):
    """Write the velocity of the populations at given locations of all nodes, or of the chosen ones."""
    macroscopic = macroscopic_operator.compile(lattice, precision, node_jit)
    q_count, real = lattice.q, precision.real
    load = gather(split(locations), q_count)

    @loop_jit
    def skeleton(buffer, lines, bases, first, last, array, mask, out, parameters):
        first_warp, last_warp = first // WARP, (last + WARP - 1) // WARP
        for chunk in prange((last_warp - first_warp + CHUNK - 1) // CHUNK):
            block = np.empty((q_count, WARP), real)
            start = first_warp + chunk * CHUNK
            for warp in range(start, min(last_warp, start + CHUNK)):
                low, high = max(first, warp * WARP), min(last, (warp + 1) * WARP)
                if is_chosen and not (array[low:high] & mask).any():
                    continue
                load(block, buffer, lines, bases, warp)
                for n in range(low, high):
                    k = RECORD * n
                    _, out[k], out[k + 1], out[k + 2] = macroscopic(block[:, n % WARP], n, parameters)

    return skeleton


@cache
def reduction(macroscopic_operator, locations, lattice, precision):
    """Mass, largest speed and exact sums of speed and velocity, one partial result per chunk."""
    macroscopic = macroscopic_operator.compile(lattice, precision, node_jit)
    q_count, real = lattice.q, precision.real
    load, parts = gather(split(locations), q_count), node_jit(in_two_parts)

    @loop_jit
    def skeleton(buffer, lines, bases, n_nodes, result, parameters):
        mass, peak, flow = result.mass, result.peak, result.flow  # writes to arrays in a tuple would go to copies
        scale = result.scale
        for chunk in prange(mass.size):
            block = np.empty((q_count, WARP), real)
            total, largest = 0.0, 0.0
            speeds = flow_x = flow_y = flow_z = below = below_x = below_y = below_z = 0
            for n in range(chunk * CHUNK_NODES, min(n_nodes, (chunk + 1) * CHUNK_NODES)):
                if n % WARP == 0:
                    load(block, buffer, lines, bases, n // WARP)
                deviation, ux, uy, uz = macroscopic(block[:, n % WARP], n, parameters)
                speed = np.sqrt(np.float64(ux * ux + uy * uy + uz * uz))
                if np.isfinite(speed):
                    total += deviation
                    largest = max(largest, speed)
                    whole, rest = parts(speed, scale)
                    speeds, below = speeds + whole, below + rest
                    (x, rest_x), (y, rest_y), (z, rest_z) = parts(ux, scale), parts(uy, scale), parts(uz, scale)
                    flow_x, flow_y, flow_z = flow_x + x, flow_y + y, flow_z + z
                    below_x, below_y, below_z = below_x + rest_x, below_y + rest_y, below_z + rest_z
                else:
                    largest = np.inf
            mass[chunk], peak[chunk], flow[0, chunk], flow[1, chunk] = total, largest, speeds, below
            flow[2, chunk], flow[3, chunk], flow[4, chunk] = flow_x, below_x, flow_y
            flow[5, chunk], flow[6, chunk], flow[7, chunk] = below_y, flow_z, below_z

    return skeleton


@cache
def sums(operators, counts, locations, lattice, precision):
    """Sums of some numbers of every node, and the largest of others, one partial result per chunk."""
    measure, macroscopic = (operator.compile(lattice, precision, node_jit) for operator in operators)
    (n_sums, n_peaks), q_count, real = counts, lattice.q, precision.real
    load, parts, per_unit = gather(split(locations), q_count), node_jit(in_two_parts), real(1 / precision.unit)

    @node_jit
    def add(found, whole, rest, peak, chunk, scale):
        for k in range(n_sums):
            if np.isfinite(found[k]):
                upper, lower = parts(found[k], scale)
                whole[k, chunk] += upper
                rest[k, chunk] += lower
            else:
                peak[n_peaks, chunk] = np.inf
        for k in range(n_peaks):
            peak[k, chunk] = max(peak[k, chunk], found[n_sums + k])

    @loop_jit
    def skeleton(buffer, lines, bases, n_nodes, result, of_measure, of_moments):
        whole, rest, peak, scale = result.whole, result.rest, result.peak, result.scale
        for chunk in prange(whole.shape[1]):
            block, found = np.empty((q_count, WARP), real), np.empty(n_sums + n_peaks, np.float64)
            for n in range(chunk * CHUNK_NODES, min(n_nodes, (chunk + 1) * CHUNK_NODES)):
                if n % WARP == 0:
                    load(block, buffer, lines, bases, n // WARP)
                deviation, ux, uy, uz = macroscopic(block[:, n % WARP], n, of_moments)
                measure(n, deviation * per_unit, ux, uy, uz, of_measure, found)
                add(found, whole, rest, peak, chunk, scale)

    return skeleton


@cache
def read(locations, q_count, real):
    """Copy the populations of a node range into rows."""
    load = gather(split(locations), q_count)

    @sweep_jit
    def skeleton(buffer, lines, bases, first, last, rows):
        for warp in range(first // WARP, (last + WARP - 1) // WARP):
            block = np.empty((q_count, WARP), real)
            load(block, buffer, lines, bases, warp)
            for n in range(max(first, warp * WARP), min(last, (warp + 1) * WARP)):
                for q in range(q_count):
                    rows[q, n - first] = block[q, n % WARP]

    return skeleton


@cache
def write(locations, q_count, real):
    """Copy rows into the populations of a node range, which begins with a warp; padding gets zeros."""
    store = scatter(split(locations), q_count, False)

    @sweep_jit
    def skeleton(buffer, lines, bases, first, last, rows):
        for warp in range(first // WARP, (last + WARP - 1) // WARP):
            block = np.zeros((q_count, WARP), real)
            for n in range(warp * WARP, min(last, (warp + 1) * WARP)):
                for q in range(q_count):
                    block[q, n % WARP] = rows[q, n - first]
            store(block, buffer, lines, bases, warp)

    return skeleton


@loop_jit
def copy(source, target):
    """target = source, to measure the memory bandwidth."""
    for i in prange(source.size):
        target[i] = source[i]


@loop_jit
def clear(array):
    """Set to zero by the threads that will use the array: memory is placed near the thread that touches it first."""
    for chunk in prange((array.size + ROW - 1) // ROW):
        array[chunk * ROW : (chunk + 1) * ROW] = 0
