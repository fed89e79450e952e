"""Addresses of the populations of a step, and of the values of neighbours.

A population buffer is one flat array: tiles of nodes (``layout``), then the halo slots, then one slot per opening link
and per link of a linkwise wall. The pattern (``streaming``) determines what a step loads and stores through the
AddressTable, into which geometry, walls, periodicity, halo and openings are folded. The bulk loop has no branch.

In place (A-A) the slot of a link and the row of its node swap roles in every step: one holds what leaves while the
other is filled with what enters. So the latter can be filled again, and the former can be interpolated and measured.

NodeNeighbours holds the addresses of the neighbours of every node in arrays of fields, one record for all warps alike.
A field is one flat array: one value per node, then one per node of the ghost layer, then ``WARP`` values for openings,
one for each lane, and a last one for all walls. Addresses are kept relative to the node, so that in a box most warps of
nodes have the same few records, where a run table (:mod:`muphy_lb.domain.runs`) has a line of its own for each. The
table is one array of words: for each warp where its record begins, in units of ``LINE_UNIT``, then the records. A
record is the address of walls, for each direction the mask of the lanes where a run starts, and one base for each run.
With ``first`` the index of the direction's first base,

    address(n) = min(base[first + popcount(mask & lanes up to and including that of n) - 1] + n, address of walls)

modulo 2^32. At walls the base is so large that it is always the latter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numba import prange

from muphy_lb.base.errors import InputError
from muphy_lb.base.kept.functions import njit
from muphy_lb.domain.halo import Exchange, plan_exchanges
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.runs import LINE_UNIT, MAX_RUNS, RunTable, compress
from muphy_lb.domain.streaming import Pattern, Streaming, entry, is_entry
from muphy_lb.geometry.neighbours import is_opening_link
from muphy_lb.lattice.layout import ROW, TILE, WARP, buffer_size, flat_address, whole

# Buffers of halves are also seen as buffers of 32-bit words.
WORDS = 2


@dataclass(frozen=True)
class LinkAddresses:
    """Flat addresses (L,) of links that leave the fluid."""

    outgoing: np.ndarray  #: of the population that leaves through the link
    incoming: np.ndarray  #: of the one that enters; where there is a slot, a kernel stores it there


@dataclass(frozen=True)
class Overrides:
    """Table entries that do not follow from the neighbours alone: for direction ``q`` of ``node``, sorted by node."""

    node: np.ndarray
    q: np.ndarray
    address: np.ndarray


@dataclass(frozen=True)
class AddressTable:
    """The addresses from which each population is loaded and to which it is stored."""

    domain: LocalDomain  #: the local domain
    patterns: tuple[Pattern, ...]  #: one per phase; consecutive steps cycle through the phases
    n_slots: int  #: size of one population buffer
    n_halo: int  #: number of halo slots, the first of which follows the tiles
    overrides: Overrides  #: entries changed by the halo, by opening and wall links, and by specular reflection
    exchanges: tuple[Exchange, ...]  #: the halo exchange of each phase
    links: tuple[LinkAddresses, ...]  #: addresses of the opening links before a step of each phase
    #: for each phase, (3, L) addresses of the populations that the plane of the opening may reflect into each link q of
    #: node x, with its mirror image m of node y: those that leave x in direction m, y in direction q, and y in
    #: direction m; all three the one that leaves through the link if it has no image
    reflected: tuple[np.ndarray, ...]
    linkwise: tuple[LinkAddresses, ...]  #: the same for the links into linkwise walls
    in_table: LinkAddresses  #: the same for the links into other labelled walls; only read, to measure forces

    def plain(self, phase: int) -> np.ndarray:
        """(K, pitch) int64 table of a phase, uncompressed: the specification."""
        return np.concatenate(list(self.chunks(phase)), axis=1)

    def runs(self, phase: int) -> RunTable:
        """The table of a phase, compressed."""
        return compress(self.chunks(phase), len(self.patterns[phase].directions), self.n_slots)

    def chunks(self, phase: int) -> Iterator[np.ndarray]:
        """The table of a phase in chunks (K, m) of consecutive nodes."""
        for first in range(0, self.domain.pitch, CHUNK_NODES):
            yield self._entries(self.patterns[phase], np.arange(first, min(first + CHUNK_NODES, self.domain.pitch)))

    def at(self, q: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Table addresses of single entries: direction ``q`` of ``node``, in the phase that has one."""
        nodes, column = np.unique(node, return_inverse=True)
        return self.entries(nodes)[q - 1, column]

    def leaving(self, phase: int, q: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Addresses of the populations that have left nodes in directions ``q``, before a step of a phase."""
        pattern, back = self.patterns[phase], self.domain.lattice.opposite[q]
        if not pattern.upstream:
            return self.at(q, node)
        if not pattern.in_place:
            return flat_address(q, node, self.domain.lattice.q)
        at_node = flat_address(back, node, self.domain.lattice.q)
        return np.where(pattern.exchanges(q), at_node, self.at(back, node))

    def entries(self, nodes: np.ndarray) -> np.ndarray:
        """(Q - 1, m) table addresses of ascending local nodes, of every direction in the phase that has one."""
        table = np.empty((self.domain.lattice.q - 1, nodes.size), dtype=np.int64)
        for pattern in self.patterns:
            table[np.array(pattern.directions) - 1] = self._entries(pattern, nodes)
        return table

    def _entries(self, pattern: Pattern, nodes: np.ndarray) -> np.ndarray:
        """(K, m) addresses of ascending local nodes; padding nodes have their own rows."""
        domain, directions = self.domain, np.array(pattern.directions)
        lattice = domain.lattice
        table = np.empty((directions.size, nodes.size), dtype=np.int64)
        n_real = int(np.searchsorted(nodes, domain.n_nodes))
        table[:, n_real:] = flat_address(directions[:, None], nodes[n_real:], lattice.q)
        real = nodes[:n_real]
        is_contiguous = n_real > 0 and real[-1] - real[0] == n_real - 1
        chosen = slice(int(real[0]), int(real[-1]) + 1) if is_contiguous else real
        towards = lattice.c[lattice.opposite[directions] if pattern.upstream else directions]
        rows = np.array([[row[q] for q in pattern.directions] for row in (pattern.far_row, pattern.wall_row)])
        layout = lattice.q * ROW, TILE.bit_length() - 1, ROW
        _fill(table, domain.neighbours(towards, chosen), real, rows, layout)
        self._override(table, directions, real)
        return table

    def _override(self, table, directions, nodes) -> None:
        over = self.overrides
        first, last = np.searchsorted(over.node, (nodes[0], nodes[-1] + 1)) if nodes.size else (0, 0)
        node, q, address = over.node[first:last], over.q[first:last], over.address[first:last]
        column = np.searchsorted(nodes, node)
        row = np.searchsorted(directions, q)
        there = (nodes[np.minimum(column, nodes.size - 1)] == node) & np.isin(q, directions)
        table[row[there], column[there]] = address[there]

    def resolve(self, phase: int, locations: tuple[int, ...], nodes: np.ndarray) -> np.ndarray:
        """(Q, m) flat addresses of given locations of ascending local nodes; table entries are those of a phase."""
        table = self._entries(self.patterns[phase], nodes)
        rows = np.empty((len(locations), nodes.size), dtype=np.int64)
        for q, location in enumerate(locations):
            own = not is_entry(location)
            rows[q] = flat_address(location, nodes, self.domain.lattice.q) if own else table[entry(location)]
        return rows

    def locations_after(self, phase: int) -> tuple[int, ...]:
        """Locations of a node's populations after a step of a phase."""
        pattern = self.patterns[phase]
        return pattern.store if pattern.in_place else tuple(range(self.domain.lattice.q))


def build_addresses(domain: LocalDomain, streaming: Streaming) -> AddressTable:
    """Build the address table of a local domain for a streaming scheme. Half-way bounce-back: the population that would
    come from a wall is the node's own, reversed (Ladd, J. Fluid Mech. 271, 285 (1994))."""
    kinds = streaming.patterns(domain.lattice)
    pattern = kinds[0]
    opposite, q_count = domain.lattice.opposite, domain.lattice.q
    halo, links, linkwise = domain.halo, domain.links, domain.linkwise
    halo_start = buffer_size(domain.pitch, q_count)
    n_halo = halo.n_receive if pattern.upstream else halo.n_send
    link_start = halo_start + n_halo
    records = links.join(linkwise)
    slot = link_start + _slot_order(records, links.n_links)
    table_q = opposite[records.q] if pattern.upstream else records.q
    crossing = (halo.receive_q, halo.receive_node) if pattern.upstream else (halo.send_q, halo.send_node)
    streams = np.ones(n_halo, dtype=bool)
    streams[halo.received_images if pattern.upstream else halo.sent_images] = False
    halo_entries = (*crossing, halo_start + np.arange(n_halo))
    entries = [_specular_entries(domain, pattern), tuple(column[streams] for column in halo_entries)]
    entries += [(table_q, records.node, slot)]
    joined = [_joined_links(kind, records, slot, opposite, q_count) for kind in kinds]
    first, rest = slice(None, links.n_links), slice(links.n_links, None)
    bare = AddressTable(
        domain=domain,
        patterns=kinds,
        n_slots=whole(link_start + records.n_links, WORDS),
        n_halo=n_halo,
        overrides=_sorted(entries),
        exchanges=(),
        links=tuple(LinkAddresses(each.outgoing[first], each.incoming[first]) for each in joined),
        reflected=(),
        linkwise=tuple(LinkAddresses(each.outgoing[rest], each.incoming[rest]) for each in joined),
        in_table=LinkAddresses(*np.empty((2, 0), dtype=np.int64)),
    )
    table = _with_images(bare, halo_start)
    return table if domain.in_table.n_links == 0 else _with_in_table(table)


def _with_images(table: AddressTable, halo_start: int) -> AddressTable:
    """The table with the exchanges, and the addresses of the populations that planes of openings reflect."""
    domain, phases, upstream = table.domain, range(len(table.patterns)), table.patterns[0].upstream
    halo, links, mirrors = domain.halo, domain.links, domain.mirrors
    near, far = mirrors.link[: mirrors.node.size], mirrors.link[mirrors.node.size :]
    beside = [table.leaving(phase, mirrors.q, links.node[mirrors.link]) for phase in phases]
    mailbox = halo_start + (halo.received_images if upstream else halo.sent_images).reshape(2, -1)
    reflected, images = [], []
    for phase, of_link in zip(phases, (at.outgoing for at in table.links), strict=True):
        rows, q = np.tile(of_link, (3, 1)), mirrors.q[: near.size]
        rows[0, mirrors.link] = beside[phase]
        rows[1, near] = table.leaving(phase, links.q[near], mirrors.node)
        rows[2, near] = table.leaving(phase, q, mirrors.node)
        rows[1, far], rows[2, far] = mailbox[1], mailbox[0]
        reflected.append(rows)
        images.append(np.concatenate((of_link[far], beside[phase][near.size :])))
    exchanges = plan_exchanges(domain, table.patterns, halo_start, images)
    return replace(table, exchanges=exchanges, reflected=tuple(reflected))


def _slot_order(records, n_openings: int) -> np.ndarray:
    """Number of the slot of each link: of openings in the order of the records; of walls direction after direction, so
    that consecutive nodes along a wall access consecutive slots."""
    order = np.arange(records.n_links)
    order[n_openings + np.lexsort((records.node[n_openings:], records.q[n_openings:]))] = order[n_openings:].copy()
    return order


def _joined_links(pattern: Pattern, records, slot, opposite, q_count) -> LinkAddresses:
    """Addresses of all links before a step of a pattern."""
    entering = flat_address(opposite[records.q], records.node, q_count)
    if pattern.in_place:
        fills_slot = pattern.exchanges(records.q)
        return LinkAddresses(np.where(fills_slot, entering, slot), np.where(fills_slot, slot, entering))
    leaving = flat_address(records.q, records.node, q_count)
    return LinkAddresses(leaving, slot) if pattern.upstream else LinkAddresses(slot, entering)


def _with_in_table(table: AddressTable) -> AddressTable:
    """The table with the addresses of links into labelled walls without slots: one at the node, one from its entry."""
    in_table, pattern = table.domain.in_table, table.patterns[0]
    opposite, q_count = table.domain.lattice.opposite, table.domain.lattice.q
    back = opposite[in_table.q]
    at_node = flat_address(in_table.q if _gathers(pattern) else back, in_table.node, q_count)
    via_table = table.at(back if pattern.upstream else in_table.q, in_table.node)
    ends = (at_node, via_table) if pattern.upstream else (via_table, at_node)
    return replace(table, in_table=LinkAddresses(*ends))


def _gathers(pattern: Pattern) -> bool:
    """Whether all populations are gathered from upstream and stored at the node itself."""
    return pattern.upstream and not pattern.in_place


def _specular_entries(domain: LocalDomain, pattern: Pattern) -> tuple:
    """Free slip: the population that would come from the wall is the one that left the reflected node, and vice
    versa."""
    specular, opposite, q_count = domain.specular, domain.lattice.opposite, domain.lattice.q
    if _gathers(pattern):
        return specular.q_in, specular.node, flat_address(opposite[specular.q_far], specular.far, q_count)
    q = specular.q_in if pattern.upstream else specular.q_out
    return q, specular.node, flat_address(specular.q_far, specular.far, q_count)


def _sorted(entries) -> Overrides:
    """Overrides sorted by node; of two for the same entry the later takes effect, so it comes last."""
    q, node, address = (np.concatenate(column) for column in zip(*entries, strict=True))
    order = np.argsort(node, kind="stable")
    return Overrides(node[order], q[order], address[order])


@njit(parallel=True, cache=True, usually="(int64[:,::1], int32[:,::1], int64[::1], int64[:,::1], UniTuple(int64, 3))")
def _fill(table, codes, nodes, rows, layout):
    """Fill in entries from the neighbours alone: a row of the neighbour where there is one, of the node itself
    elsewhere. The sizes of the layout are arguments, as cached compiled code does not notice that constants of another
    file change."""
    for block in prange((nodes.size + TILE - 1) // TILE):
        some = slice(block * TILE, min((block + 1) * TILE, nodes.size))
        for k in range(table.shape[0]):
            _fill_row(table[k, some], codes[k, some], nodes[some], rows[:, k], layout)


@njit(cache=True)
def _fill_row(addresses, codes, nodes, rows, layout):
    """Entries of some nodes for one direction."""
    tile_size, tile_bits, row_size = layout
    within = (1 << tile_bits) - 1
    for n in range(nodes.size):
        far = np.int64(codes[n])
        node, row = (far, rows[0]) if far >= 0 else (nodes[n], rows[1])
        addresses[n] = (node >> tile_bits) * tile_size + row * row_size + (node & within)


WALLS = 2**31  # base of the runs of walls, beyond all addresses
WIDE = 2**40  # size of a buffer to which any such base may belong


@dataclass(frozen=True)
class NodeNeighbours:
    """The neighbours of every node."""

    domain: LocalDomain  #: the local domain
    vectors: np.ndarray  #: (K, 3) to the neighbours
    n_slots: int  #: size of a field's array
    exchange: Exchange  #: the exchange of values with other ranks
    first_outside: int  #: address of the first of the values for openings, behind the last of which is that for walls

    def plain(self) -> np.ndarray:
        """(K, pitch) int64 addresses: the specification."""
        return np.concatenate([np.minimum(chunk, self.n_slots - 1) for chunk in self._chunks()], axis=1)

    def records(self) -> np.ndarray:
        """(n_words,) uint32 table. Raises InputError: more nodes or records than it can address."""
        n_warps = self.domain.pitch // WARP
        used = whole(n_warps, LINE_UNIT)
        words, begin = np.zeros(2 * used, dtype=np.uint32), np.zeros(used, dtype=np.uint32)
        slots = np.zeros(2 * n_warps, dtype=np.uint32)
        for first, addresses in zip(range(0, self.domain.pitch, CHUNK_NODES), self._chunks(), strict=True):
            runs = compress([addresses], len(addresses), WIDE)
            most = used + len(runs.lines) * (runs.lines.shape[1] + LINE_UNIT) + runs.bases.size
            if most > words.size:
                words = np.concatenate((words, np.empty(max(words.size, most - words.size), dtype=np.uint32)))
            used = _enter(words, used, slots, begin[first // WARP :], (runs.lines, runs.bases), first, self.n_slots - 1)
            if self.n_slots > WALLS or used > MAX_RUNS:
                raise InputError(
                    f"one rank has {self.domain.n_nodes:,} nodes, more than a table of their neighbours can address;"
                    " use more ranks"
                )
        words[: begin.size] = begin
        return words[:used]

    def _chunks(self) -> Iterator[np.ndarray]:
        """The table in chunks (K, m) of consecutive nodes; at walls what climbs from node to node."""
        domain = self.domain
        rows = np.array([[0], [WALLS]]).repeat(len(self.vectors), axis=1)
        for first in range(0, domain.pitch, CHUNK_NODES):
            node = np.arange(first, min(first + CHUNK_NODES, domain.pitch))
            table = np.empty((len(self.vectors), node.size), dtype=np.int64)
            real = node[: max(domain.n_nodes - first, 0)]
            table[:, real.size :] = node[real.size :]
            codes = domain.neighbours_with_ghosts(self.vectors, slice(first, first + real.size))
            _fill(table, codes, real, rows, (TILE, TILE.bit_length() - 1, 1))
            if domain.part.nodes.openings:
                k, i = np.nonzero(is_opening_link(codes))
                table[k, i] = self.first_outside + real[i] % WARP
            yield table


def build_neighbours(domain: LocalDomain, vectors: np.ndarray) -> NodeNeighbours:
    """The neighbours of every node of a rank, at (K, 3) vectors from it."""
    layer, pitch = domain.ghost_layer, domain.pitch
    outside = pitch + layer.position.size
    return NodeNeighbours(
        domain=domain,
        vectors=vectors,
        n_slots=outside + WARP + 1,
        exchange=Exchange(layer.send_node, layer.send_start, slice(pitch, outside), layer.receive_start),
        first_outside=outside,
    )


@njit(cache=True)
def _enter(words, used, slots, begin, runs, node, walls):
    """Append the records of consecutive warps, from a node on, to a table of ``used`` words, but for those that it has
    already; returns its new size. ``slots``: a hash table of where records begin."""
    lines, bases = runs
    for warp in range(len(lines)):
        first = np.int64(lines[warp, 0]) + 1
        last = np.int64(lines[warp + 1, 0]) + 1 if warp + 1 < len(lines) else bases.size
        words[used], end = walls, used + lines.shape[1]
        for k in range(1, lines.shape[1]):
            words[used + k] = lines[warp, k]
        for k in range(first, last):
            words[end + k - first] = bases[k] - np.uint64(node + warp * WARP)
        end += last - first
        while end % LINE_UNIT:
            words[end] = 0
            end += 1
        slot = _slot(words, used, end - used, slots)
        if slots[slot] == 0:
            slots[slot] = used // LINE_UNIT
            used = end
        begin[warp] = slots[slot]
    return used


@njit(cache=True)
def _slot(words, start, size, slots):
    """Position of a record, or of an empty slot for it, in a hash table."""
    key = np.uint64(0)
    for k in range(start, start + size):
        key = (key ^ words[k]) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(key >> np.uint64(32)) % slots.size
    while slots[slot] and not _are_alike(words, np.int64(slots[slot]) * LINE_UNIT, start, size):
        slot = (slot + 1) % slots.size
    return slot


@njit(cache=True)
def _are_alike(words, first, second, size):
    for k in range(size):
        if words[first + k] != words[second + k]:
            return False
    return True
