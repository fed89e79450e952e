"""NodeNeighbours: the addresses of the neighbours of every node in arrays of fields, one record for all warps alike.

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
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.runs import LINE_UNIT, MAX_RUNS, compress
from muphy_lb.geometry.neighbours import is_opening_link
from muphy_lb.lattice.layout import WARP, whole

WALLS = 2**31
"""Base of the runs of walls, beyond all addresses."""
WIDE = 2**40
"""Size of a buffer to which any such base may belong."""


@dataclass(frozen=True)
class NodeNeighbours:
    """The neighbours of every node.

    Attributes:
        domain: the local domain.
        vectors: (K, 3) to the neighbours.
        n_slots: size of a field's array.
        exchange: the exchange of values with other ranks.
        first_outside: address of the first of the values for openings, behind the last of which is that for walls.
    """

    domain: LocalDomain
    vectors: np.ndarray
    n_slots: int
    exchange: Exchange
    first_outside: int

    def plain(self) -> np.ndarray:
        """(K, pitch) int64 addresses: the specification."""
        return np.concatenate([np.minimum(chunk, self.n_slots - 1) for chunk in self._chunks()], axis=1)

    def records(self) -> np.ndarray:
        """(n_words,) uint32 table.

        Raises:
            InputError: more nodes or records than it can address.
        """
        known: dict[bytes, int] = {}
        n_quads = whole(self.domain.pitch // WARP, LINE_UNIT) // LINE_UNIT
        begin, records = np.zeros(n_quads * LINE_UNIT, dtype=np.uint32), []
        warp, first = 0, 0
        for chunk in self._chunks():
            for record in _records(chunk, first, self.n_slots - 1):
                if record not in known:
                    known[record] = n_quads
                    records.append(record + bytes(-len(record) % (4 * LINE_UNIT)))
                    n_quads += len(records[-1]) // (4 * LINE_UNIT)
                begin[warp] = known[record]
                warp += 1
            first += chunk.shape[1]
            if self.n_slots > WALLS or n_quads * LINE_UNIT > MAX_RUNS:
                raise InputError(
                    f"one rank has {self.domain.n_nodes:,} nodes, more than a table of their neighbours can address;"
                    " use more ranks"
                )
        return np.concatenate((begin, np.frombuffer(b"".join(records), dtype=np.uint32)))

    def _chunks(self) -> Iterator[np.ndarray]:
        """The table in chunks (K, m) of consecutive nodes; at walls what climbs from node to node."""
        domain = self.domain
        for first in range(0, domain.pitch, CHUNK_NODES):
            node = np.arange(first, min(first + CHUNK_NODES, domain.pitch))
            table = np.tile(node, (len(self.vectors), 1))
            real = node[: max(domain.n_nodes - first, 0)]
            codes = domain.neighbours_with_ghosts(self.vectors, slice(first, first + real.size))
            table[:, : real.size] = codes
            k, i = np.nonzero(codes < 0)
            is_opening = is_opening_link(codes[k, i])
            table[k, i] = np.where(is_opening, self.first_outside + real[i] % WARP, WALLS + real[i])
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


def _records(addresses: np.ndarray, first: int, walls: int) -> Iterator[bytes]:
    """The record of each warp of consecutive nodes, from node ``first`` on, without padding."""
    runs = compress([addresses], len(addresses), WIDE)
    n_runs = np.diff(runs.lines[:, 0], append=runs.bases.size - 1)
    begin = first + WARP * np.arange(n_runs.size)
    bases = (runs.bases[1:] - np.repeat(begin, n_runs).astype(np.uint64)).astype(np.uint32).tobytes()
    runs.lines[:, 0] = walls
    lines, size = runs.lines.tobytes(), 4 * runs.lines.shape[1]
    end = 4 * np.cumsum(n_runs, dtype=np.int64)
    for warp, (start, stop) in enumerate(zip(end - 4 * n_runs, end, strict=True)):
        yield lines[warp * size : (warp + 1) * size] + bases[start:stop]
