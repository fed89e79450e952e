"""How a thread accesses the populations of a node: through the run table, or in the node's own rows.

Addresses are unsigned: for signed indices Numba handles negative values, which costs more than the load, and it
promotes mixed integers to 64 bits, which is why every index is converted back to its type. The loops are unrolled
(``muphy_lb.operators.unroll``), so that all local arrays become registers.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types

from muphy_lb.backends.arrays import State, StreamArrays
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.vectors import anew, load_four, load_words, opaque, pack_halves, rounded_product, store_four
from muphy_lb.domain import ROW, TILE, entry, is_entry
from muphy_lb.domain.runs import LINE_UNIT
from muphy_lb.lattice.layout import RECORD, whole
from muphy_lb.operators.unroll import unroll, with_product

RECORD_LENGTH = np.uint64(RECORD)

device_jit = cuda.jit(device=True)
# Threads run side by side, and kernels must agree: see exchanger and opaque in muphy_lb.operators.operator.
device_jit.exchange = device_jit(lambda array, index, value: cuda.atomic.exch(array, index, value))
device_jit.opaque = device_jit(lambda number: opaque(number))


@device_jit
def read_vector(array, n):
    """The three components of a vector at a node, read at once."""
    x, y, z, _ = load_four(array, np.uint64(n) * RECORD_LENGTH)
    return x, y, z


@device_jit
def write_vector(array, n, x, y, z):
    """Write them at once, and a number that means nothing behind them."""
    store_four(array, np.uint64(n) * RECORD_LENGTH, (x, y, z, z))


device_jit.read_vector, device_jit.write_vector = read_vector, write_vector


def strict_jit(function):
    """A device function each of whose products is rounded by itself. A GPU can round a product and a sum together, and
    its compilers choose which by the code around them: by how populations are loaded, say. Stages must find the same
    numbers whatever the streaming, and on all ranks."""
    return device_jit(with_product(function, rounded_product))


device_jit.strict = strict_jit
strict_jit.exchange, strict_jit.opaque = device_jit.exchange, device_jit.opaque  # type: ignore[attr-defined]
strict_jit.read_vector, strict_jit.write_vector = read_vector, write_vector  # type: ignore[attr-defined]
TILE_BITS = np.uint32(TILE.bit_length() - 1)
IN_TILE = np.uint32(TILE - 1)
UNIT = np.uint32(LINE_UNIT)
WARP_BITS, IN_WARP, ALL_LANES, ONE = np.uint32(5), np.uint32(31), np.uint32(0xFFFFFFFF), np.uint32(1)


class Populations(NamedTuple):
    """Location of the populations of a node."""

    locations: tuple[int, ...]  #: as in :class:`muphy_lb.domain.Pattern`
    n_entries: int  #: number of entries of the table that they refer to
    index_type: type  #: ``np.uint32`` or ``np.uint64``, as the bases of that table


def populations_of(state: State) -> Populations:
    """The populations that a node has stored."""
    return Populations(state.locations, state.table.n_entries, state.table.index_type)


def populations_arriving(step: StreamArrays) -> Populations:
    """The populations that a step loads at a node."""
    return Populations(step.pattern.load, step.table.n_entries, step.table.index_type)


class Access(NamedTuple):
    """Device functions of one access pattern, and the size of the array of table addresses. ``own(n)``: address of row
    0 of a node. ``find(lines, bases, n, entries)``: its table addresses; ``find_again`` the same for the store, if the
    load needs some, too, so that they occupy no registers in between. ``load(buffer, own, entries, f)`` and
    ``store(buffer, own, entries, f)``."""

    own: object
    find: object
    find_again: object
    load: object
    store: object
    n_entries: int


@cache
def access(load_locations, store_locations, n_entries: int, precision, index_type) -> Access:
    """The device functions that load from and store to given locations.

    Args:
        load_locations, store_locations: as in :class:`muphy_lb.domain.Pattern`.
        n_entries: number of entries of the table, 0 if no location is an entry.
        index_type: ``np.uint32`` or ``np.uint64``, as the bases of the table.
    """
    q_count = len(load_locations)
    own = device_jit(_own(q_count))
    find = device_jit(unroll(_find(n_entries, index_type)) if n_entries else _find_nothing)
    is_used_twice = all(any(map(is_entry, locations)) for locations in (load_locations, store_locations))
    find_again = _again(find) if is_used_twice else device_jit(_find_nothing)
    load = device_jit(unroll(_load(*_constants(load_locations), precision.real)))
    store = device_jit(unroll(_store(*_constants(store_locations), precision.storage)))
    return Access(own, find, find_again, load, store, max(1, n_entries))


def _again(find):
    return device_jit(lambda lines, bases, n, entries: find(lines, bases, anew(n), entries))


def reader(populations: Populations, precision):
    """Device function ``(buffer, lines, bases, n, f)`` that loads the populations of a node from given locations."""
    own, find, _, load, _, size = _access_to(populations, precision)
    index_type = populations.index_type

    def read(buffer, lines, bases, n, f):
        entries = cuda.local.array(size, index_type)
        find(lines, bases, n, entries)
        load(buffer, own(n), entries, f)

    return device_jit(read)


def writer(populations: Populations, precision):
    """The inverse of :func:`reader`."""
    own, find, _, _, store, size = _access_to(populations, precision)
    index_type = populations.index_type

    def write(buffer, lines, bases, n, f):
        entries = cuda.local.array(size, index_type)
        find(lines, bases, n, entries)
        store(buffer, own(n), entries, f)

    return device_jit(write)


def changer(locations, precision):
    """Device function ``(buffer, own, entries, f, changed)`` that stores those populations of a node at given locations
    whose bit is set."""
    return device_jit(unroll(_change(*_constants(locations), precision.storage)))


def fetcher(locations, precision):
    """Device function ``(buffer, own, entries, f, wanted)`` that loads those populations of a node whose bit is set
    from given locations; the others are 0."""
    return device_jit(unroll(_fetch(*_constants(locations), precision.real)))


def _access_to(populations: Populations, precision) -> Access:
    """Entries are looked up only if one of the locations is an entry."""
    locations, n_entries, index_type = populations
    needed = n_entries if any(is_entry(location) for location in locations) else 0
    return access(locations, locations, needed, precision, index_type)


def find_neighbours(n_neighbours: int):
    """Device function ``(table, n, addresses)``: addresses of the neighbours of a node
    (:mod:`muphy_lb.domain.addresses`)."""
    read, n_words = device_jit(unroll(_masks(n_neighbours))), whole(1 + n_neighbours, LINE_UNIT)
    last_word = np.uint32(n_words - 1)

    def find(table, n, addresses):
        mask = cuda.local.array(n_words, types.uint32)
        record = np.uint32(table[n >> WARP_BITS] * UNIT)
        read(table, np.uint64(record), mask)
        up_to = np.uint32(ALL_LANES >> np.uint32(IN_WARP - np.uint32(n & IN_WARP)))
        base = np.uint32(record + last_word)
        for k in range(n_neighbours):
            started = np.uint32(cuda.popc(np.uint32(mask[k + 1] & up_to)))
            address = np.uint32(table[np.uint32(base + started)] + n)
            addresses[k] = address if address < mask[0] else mask[0]
            base = np.uint32(base + np.uint32(cuda.popc(mask[k + 1])))

    return device_jit(unroll(find))


def find_neighbour(n_neighbours: int):
    """Device function ``(table, n, which)``: address of one of the neighbours of a node."""
    find = find_neighbours(n_neighbours)

    def find_one(table, n, which):
        addresses = cuda.local.array(n_neighbours, types.uint32)
        find(table, n, addresses)
        address = addresses[0]
        for k in range(n_neighbours):
            if k == which:
                address = addresses[k]
        return address

    return device_jit(unroll(find_one))


def gather_values(n_neighbours: int, index_type, real):
    """Device function ``(field, lines, bases, n, values)``: a field at a node and at its neighbours."""
    find = device_jit(unroll(_find(n_neighbours, index_type)))

    def read(field, entries, values):
        for k in range(n_neighbours):
            values[k + 1] = real(field[entries[k]])

    load = device_jit(unroll(read))

    def gather(field, lines, bases, n, values):
        entries = cuda.local.array(n_neighbours, index_type)
        find(lines, bases, n, entries)
        values[0] = real(field[n])
        load(field, entries, values)

    return device_jit(gather)


def scatter_values(n_values: int, index_type):
    """Device function ``(values, n, row, field)`` that stores a node's values in the rows of a field."""

    def scatter(values, n, row, field):
        address = index_type(n)
        for q in range(n_values):
            field[address] = values[q]
            address = index_type(address + row)

    return device_jit(unroll(scatter))


def store_pairs(q_count: int):
    """Device function ``(words, own, f, g)`` that stores two consecutive nodes' populations in half precision, the
    first of them even, in their own rows of a buffer of 32-bit words."""
    offset = tuple(np.uint64(q * ROW // 2) for q in range(q_count))
    one = np.uint64(1)

    def store(words, own, f, g):
        word = own >> one
        for q in range(q_count):
            words[word + offset[q]] = pack_halves(f[q], g[q])

    return device_jit(unroll(store))


def _own(q_count: int):
    tile_size = np.uint64(q_count * ROW)

    def own(n):
        return np.uint64(n >> TILE_BITS) * tile_size + np.uint64(n & IN_TILE)

    return own


def find_pairs(n_entries: int, index_type):
    """Device function ``(lines, bases, n, entries, entries_next)``: ``Access.find`` of an even node and of the next,
    which belongs to the same warp."""
    decode, address = device_jit(unroll(_masks(n_entries))), device_jit(_address(index_type))

    def find(lines, bases, n, entries, entries_next):
        lane = np.uint32(n & IN_WARP)
        next_lane = np.uint32(lane + ONE)
        mask = cuda.local.array(n_words, types.uint32)
        decode(lines, np.uint64(n >> WARP_BITS) * words, mask)
        first = mask[0]
        for k in range(n_entries):
            entries[k] = address(bases, first, mask[k + 1], lane)
            entries_next[k] = address(bases, first, mask[k + 1], next_lane)
            first = np.uint32(first + np.uint32(cuda.popc(mask[k + 1])))

    n_words = whole(1 + n_entries, LINE_UNIT)
    words = np.uint64(n_words)
    return device_jit(unroll(find))


def _find_nothing(lines, bases, n, entries):
    pass


def _find(n_entries: int, index_type):
    """Decode the run table (``muphy_lb.domain.runs``)."""
    decode, address = device_jit(unroll(_masks(n_entries))), device_jit(_address(index_type))
    n_words = whole(1 + n_entries, LINE_UNIT)
    words = np.uint64(n_words)

    def find(lines, bases, n, entries):
        lane = np.uint32(n & IN_WARP)
        mask = cuda.local.array(n_words, types.uint32)
        decode(lines, np.uint64(n >> WARP_BITS) * words, mask)
        first = mask[0]
        for k in range(n_entries):
            entries[k] = address(bases, first, mask[k + 1], lane)
            first = np.uint32(first + np.uint32(cuda.popc(mask[k + 1])))

    return find


def _address(index_type):
    """Function for the address of a lane, from the mask of a direction and the number of its first run."""

    def address(bases, first, mask, lane):
        up_to = np.uint32(ALL_LANES >> np.uint32(IN_WARP - lane))
        started = np.uint32(cuda.popc(np.uint32(mask & up_to)))
        return index_type(bases[np.uint32(first + started)] + lane)

    return address


def _masks(n_entries: int):
    """Function that reads a line of a table, which begins with a given word: a number, and the masks."""
    n_quads = whole(1 + n_entries, LINE_UNIT) // LINE_UNIT
    quad = tuple(np.uint64(k * LINE_UNIT) for k in range(n_quads))

    def read(lines, line, mask):
        for k in range(n_quads):
            a, b, c, d = load_words(lines, line + quad[k])
            mask[4 * k] = a
            mask[4 * k + 1] = b
            mask[4 * k + 2] = c
            mask[4 * k + 3] = d

    return read


def _constants(locations) -> tuple[int, tuple, tuple, tuple]:
    """Number of locations; for each: whether it is an entry, its number if so, and otherwise the offset of its row."""
    in_table = tuple(int(is_entry(location)) for location in locations)
    number = tuple(entry(location) if is_entry(location) else 0 for location in locations)
    offset = tuple(np.uint64(max(location, 0) * ROW) for location in locations)
    return len(locations), in_table, number, offset


def _load(q_count, in_table, number, offset, real):
    def load(buffer, own, entries, f):
        for q in range(q_count):
            if in_table[q]:
                f[q] = real(buffer[entries[number[q]]])
            else:
                f[q] = real(buffer[own + offset[q]])

    return load


def _store(q_count, in_table, number, offset, storage):
    def store(buffer, own, entries, f):
        for q in range(q_count):
            if in_table[q]:
                buffer[entries[number[q]]] = storage(f[q])
            else:
                buffer[own + offset[q]] = storage(f[q])

    return store


def _change(q_count, in_table, number, offset, storage):
    def change(buffer, own, entries, f, changed):
        for q in range(q_count):
            if changed & (1 << q):
                if in_table[q]:
                    buffer[entries[number[q]]] = storage(f[q])
                else:
                    buffer[own + offset[q]] = storage(f[q])

    return change


def _fetch(q_count, in_table, number, offset, real):
    zero = real(0)

    def fetch(buffer, own, entries, f, wanted):
        for q in range(q_count):
            f[q] = zero
            if wanted & (1 << q):
                if in_table[q]:
                    f[q] = real(buffer[entries[number[q]]])
                else:
                    f[q] = real(buffer[own + offset[q]])

    return fetch
