"""Addresses that scalars read: of stencils and of populations, and values beyond the fluid.

A boundary half-way along a link prescribes the value T_w (Dirichlet), the step s of the value across one voxel (flux,
Neumann; zero: adiabatic), or nothing (outflow, zero gradient). With T_1 the value at the node and T_2 that at the next
node away from the wall, the value g that a stencil reads there along an axis is extrapolated:

    fixed:    g = 8/3 T_w - 2 T_1 + 1/3 T_2,   or 2 T_w - T_1 where the next node is not fluid
    flux:     g = a T_1 + s
    outflow:  g = T_1

The factor a differs from 1 for a conducting wall: with b = (conductivity of the wall over that of the fluid) / (its
thickness in voxels) and T_o on its outer side, the flux b (T_o - T_w) = g - T_1 and T_w = (g + T_1) / 2 give
a = (2 - b) / (2 + b), s = 2 b T_o / (2 + b).

Values along diagonals are extrapolated axis by axis, x before y before z, as if layers of ghost nodes were filled one
after the other (Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): "second-order extrapolation").

A field is one flat array: one value per node, then one per node of the ghost layer, then one per extrapolated value
beyond a wall. The StencilTable leads from a node to its neighbours in the order of the vectors; it is run-compressed
like that of populations.

The ScalarStreamingTable holds the addresses of the populations of a scalar that arrive at a node. They are rows of one
flat array, direction after direction: ``q * pitch + n`` is the population that left node n along q. Behind the rows are
those received from other ranks, then those returned by boundaries. With g~ the population that leaves towards a
boundary half-way along its link, and w the weight of all moving populations (1/8):

    fixed:    g = -g~ + 2 w T_w                                       (anti-bounce-back)
    flux:     g = [(1 + A) g~ + B] / (1 - A),  A = kappa (a - 1) / (w (1 + a)),  B = 2 kappa s / (1 + a)
    outflow:  g = the population that the node sent in the opposite direction

A flux of 0 is bounce-back. The flux g - g~ is kappa times that of the extrapolated value.
Ginzburg, Adv. Water Resour. 28, 1171 (2005); Yoshida, Nagaoka, J. Comput. Phys. 229, 7774 (2010).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.runs import RunTable, compress
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK
from muphy_lb.lattice import Lattice

FIXED, FLUX, OUTFLOW = 0, 1, 2
MOST_TERMS = 4


@dataclass(frozen=True)
class ScalarBoundary:
    """Boundary conditions of a scalar: labelled walls by number, all other solids, then openings by number."""

    kind: np.ndarray  #: (W + 1 + O,) ``FIXED``, ``FLUX`` or ``OUTFLOW``
    value: np.ndarray  #: (W + 1 + O,) the prescribed value, or the step across one voxel
    n_walls: int  #: W
    factor: np.ndarray | None = None  #: (W + 1 + O,) factor a of a flux condition; None: 1 everywhere

    def numbers_of(self, code: np.ndarray) -> np.ndarray:
        """Numbers of the boundaries that links with these codes lead into."""
        opening = self.n_walls + 1 + FIRST_OPENING_LINK - code
        number = np.where(code <= FIRST_WALL_LINK, FIRST_WALL_LINK - code, opening)
        return np.where(code == WALL_LINK, self.n_walls, number)

    @property
    def factors(self) -> np.ndarray:
        """(W + 1 + O,) factor a of every boundary."""
        return np.ones(len(self.kind)) if self.factor is None else self.factor


@dataclass(frozen=True)
class Extrapolations:
    """Extrapolated values as sums ``constant + sum weight * T[index]``, sorted by node."""

    #: node, k: (S,) node whose stencil reads the value, and the number of its stencil entry
    node: np.ndarray
    k: np.ndarray
    index: np.ndarray  #: (4, S) nodes that contribute
    weight: np.ndarray  #: (4, S)
    constant: np.ndarray  #: (S,)

    @property
    def is_copy(self) -> np.ndarray:
        """(S,) whether the value is simply that of a node, as beside an adiabatic wall: this needs no memory."""
        return (self.constant == 0.0) & (self.weight[0] == 1.0) & ~self.weight[1:].any(axis=0)


def extrapolate(codes: np.ndarray, nodes: np.ndarray, vectors: np.ndarray, boundary: ScalarBoundary) -> Extrapolations:
    """The extrapolated values that the stencils of some nodes read.

    Args:
        codes: (1 + K, m) index of the node itself, then of its neighbour along each vector, or the code of a link.
        nodes: (m,) their local numbers.
        vectors: (K, 3) of at most two non-zero components each, including all that have one.
    """
    there = np.full((3, 3, 3), -1, dtype=np.int64)
    there[1, 1, 1] = 0
    for number, (x, y, z) in enumerate(vectors, start=1):
        there[x + 1, y + 1, z + 1] = number
    k, column = np.nonzero(codes[1:] < 0)
    order = np.lexsort((k, column))
    k, column = k[order], column[order]
    index, weight = np.zeros((MOST_TERMS, k.size), dtype=np.int64), np.zeros((MOST_TERMS, k.size))
    constant = np.zeros(k.size)
    vectors = np.ascontiguousarray(vectors, dtype=np.int64)
    met = boundary.kind, boundary.value, boundary.factors, boundary.n_walls
    _resolve(codes, column, vectors[k], there, met, index, weight, constant)
    index = np.where(weight != 0.0, index, codes[0, column].astype(np.int64))
    return Extrapolations(nodes[column], k, index, weight, constant)


@njit(cache=True)
def _resolve(codes, column, vectors, there, boundary, index, weight, constant):
    for s in range(column.size):
        around = codes[:, column[s]]
        constant[s] = _extrapolate_one(around, vectors[s], there, boundary, index[:, s], weight[:, s])


@njit(cache=True)
def _extrapolate_one(around, vector, there, boundary, index, weight):
    """Indices and weights of one extrapolated value; returns its constant."""
    here, first, second = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)
    axes = np.flatnonzero(vector)
    first[axes[0]] = vector[axes[0]]
    if axes.size == 1:
        return _along(around, here, first, there, boundary, index, weight, 1.0)
    second[axes[1]] = vector[axes[1]]
    if _at(around, second, there) >= 0:
        return _along(around, second, first, there, boundary, index, weight, 1.0)
    if _at(around, first, there) >= 0:
        return _along(around, first, second, there, boundary, index, weight, 1.0)
    kind, value, factor = _condition(_at(around, second, there), boundary)
    if kind != FIXED:
        return value + _along(around, here, first, there, boundary, index, weight, factor)
    if _at(around, -second, there) < 0:
        return 2.0 * value + _along(around, here, first, there, boundary, index, weight, -1.0)
    inner = _along(around, -second, first, there, boundary, index, weight, 1.0 / 3.0)
    return 8.0 / 3.0 * value + _along(around, here, first, there, boundary, index, weight, -2.0) + inner


@njit(cache=True)
def _along(around, start, step, there, boundary, index, weight, scale):
    """Add ``scale`` times the value one step away from a fluid voxel, extrapolated if needed; returns the constant."""
    met = _at(around, start + step, there)
    if met >= 0:
        _add(index, weight, met, scale)
        return 0.0
    kind, value, factor = _condition(met, boundary)
    own, behind = _at(around, start, there), _at(around, start - step, there)
    if kind != FIXED:
        _add(index, weight, own, factor * scale)
        return scale * value
    if behind < 0:
        _add(index, weight, own, -scale)
        return 2.0 * scale * value
    _add(index, weight, own, -2.0 * scale)
    _add(index, weight, behind, scale / 3.0)
    return 8.0 / 3.0 * scale * value


@njit(cache=True)
def _at(around, offset, there):
    """Index or code of the voxel at an offset from the node."""
    return np.int64(around[there[offset[0] + 1, offset[1] + 1, offset[2] + 1]])


@njit(cache=True)
def _condition(code, boundary):
    kind, value, factor, n_walls = boundary
    number = n_walls
    if code <= FIRST_WALL_LINK:
        number = FIRST_WALL_LINK - code
    elif code != WALL_LINK:
        number = n_walls + 1 + FIRST_OPENING_LINK - code
    return kind[number], value[number], factor[number]


@njit(cache=True)
def _add(index, weight, node, factor):
    """Add a term, merged with an existing one of the same node."""
    for t in range(weight.size):
        if weight[t] == 0.0 or index[t] == node:
            index[t] = node
            weight[t] += factor
            return


@dataclass(frozen=True)
class StencilTable:
    """Neighbours of a stencil."""

    domain: LocalDomain  #: the local domain
    vectors: np.ndarray  #: (K, 3) to the neighbours
    n_slots: int  #: size of the field's array
    exchange: Exchange  #: the exchange of values with other ranks
    first_extrapolated: int
    #: the extrapolated values that are stored in the array, from ``first_extrapolated`` on
    extrapolated: Extrapolations
    copies: Extrapolations  #: those that are simply the value of a node

    @property
    def n_edge_extrapolated(self) -> int:
        """Number of stored extrapolated values of edge nodes, which come first."""
        return int(np.searchsorted(self.extrapolated.node, self.domain.n_edge))

    def plain(self, phase: int = 0) -> np.ndarray:
        """(K, pitch) int64 table, uncompressed: the specification; all phases are alike."""
        return np.concatenate(list(self.chunks()), axis=1)

    def runs(self, phase: int = 0) -> RunTable:
        """The run-compressed table; all phases are alike."""
        return compress(self.chunks(), len(self.vectors), self.n_slots)

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses of the neighbours of own nodes; link codes where they are not fluid."""
        return self.domain.neighbours_with_ghosts(self.vectors, nodes)

    def chunks(self) -> Iterator[np.ndarray]:
        """The table in chunks (K, m) of consecutive nodes."""
        domain = self.domain
        own = np.arange(self.first_extrapolated, self.first_extrapolated + self.extrapolated.node.size)
        for first in range(0, domain.pitch, CHUNK_NODES):
            last = min(first + CHUNK_NODES, domain.pitch)
            table = np.tile(np.arange(first, last), (len(self.vectors), 1))
            there = min(last, domain.n_nodes)
            if there > first:
                table[:, : there - first] = self.neighbours(slice(first, there))
            for values, index in ((self.extrapolated, own), (self.copies, self.copies.index[0])):
                chosen = slice(*np.searchsorted(values.node, (first, last)))
                table[values.k[chosen], values.node[chosen] - first] = index[chosen]
            yield table


def build_stencil(domain: LocalDomain, vectors: np.ndarray, boundary: ScalarBoundary) -> StencilTable:
    """Fold boundaries and ghost nodes into the table of a stencil.

    Args:
        vectors: (K, 3), of at most two non-zero components each, including all that have one.
        boundary: the boundary conditions where the neighbour is not fluid.
    """
    layer, pitch = domain.ghost_layer, domain.pitch
    pieces, whole = [], np.concatenate((np.zeros((1, 3), dtype=np.int64), vectors))
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        last = min(first + CHUNK_NODES, domain.n_nodes)
        codes = domain.neighbours_with_ghosts(whole, slice(first, last))
        nodes = np.flatnonzero((codes < 0).any(axis=0))
        pieces.append(extrapolate(np.ascontiguousarray(codes[:, nodes]), first + nodes, vectors, boundary))
    columns = {name: [vars(piece)[name] for piece in pieces] for name in vars(pieces[0])}
    found = Extrapolations(**{name: np.concatenate(parts, axis=-1) for name, parts in columns.items()})
    is_copy = found.is_copy
    extrapolated, copies = chosen(found, ~is_copy), chosen(found, is_copy)
    first_extrapolated = pitch + layer.position.size
    slots = slice(pitch, first_extrapolated)
    return StencilTable(
        domain=domain,
        vectors=vectors,
        n_slots=first_extrapolated + extrapolated.node.size,
        exchange=Exchange(layer.send_node, layer.send_start, slots, layer.receive_start),
        first_extrapolated=first_extrapolated,
        extrapolated=extrapolated,
        copies=copies,
    )


def chosen(values: Extrapolations, mask: np.ndarray) -> Extrapolations:
    """The extrapolated values chosen by a mask."""
    return replace(values, **{name: column[..., mask] for name, column in vars(values).items()})


@dataclass(frozen=True)
class ScalarStreamingTable(StencilTable):
    """Addresses of arriving populations; entry k of a node is for the one along vector k + 1 of the lattice."""

    slot: np.ndarray  #: (R, K) addresses of the populations of each ghost node, -1 for those that are not received

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses; link codes where they come from a boundary."""
        return _addresses(self.domain, self.domain.neighbours_with_ghosts(-self.vectors, nodes), self.slot)


def build_scalar_streaming(
    domain: LocalDomain, lattice: Lattice, boundary: ScalarBoundary, diffusivity: float
) -> ScalarStreamingTable:
    """Fold boundaries and ghost nodes into the table of a scalar's populations.

    Args:
        lattice: of the scalar; all its moving populations have the same weight.
        boundary: the boundary conditions where the neighbour is not fluid.
        diffusivity: in lattice units.
    """
    vectors, rows = lattice.c[1:], lattice.q * domain.pitch
    exchange, slot = _plan_exchange(domain, vectors, rows)
    found = _returned(domain, lattice, boundary, diffusivity)
    first_extrapolated = rows + exchange.n_unpack
    extrapolated = chosen(found, ~found.is_copy)
    return ScalarStreamingTable(
        domain=domain,
        vectors=vectors,
        n_slots=first_extrapolated + extrapolated.node.size,
        exchange=exchange,
        first_extrapolated=first_extrapolated,
        extrapolated=extrapolated,
        copies=chosen(found, found.is_copy),
        slot=slot,
    )


def _plan_exchange(domain: LocalDomain, vectors: np.ndarray, rows: int) -> tuple[Exchange, np.ndarray]:
    """The exchange, sorted on both sides by neighbour, voxel and direction of the sending node; and the slots."""
    layer, pitch, edge = domain.ghost_layer, domain.pitch, slice(0, domain.n_edge)
    target = domain.neighbours_with_ghosts(vectors, edge)
    k, node = np.nonzero(target >= pitch)
    rank = np.searchsorted(layer.receive_start, target[k, node] - pitch, side="right")
    order = np.lexsort((k, domain.voxel[node], rank))
    bounds = np.arange(1, len(layer.receive_start) + 1)
    source = domain.neighbours_with_ghosts(-vectors, edge)
    row = np.broadcast_to(np.arange(len(vectors))[:, None], source.shape)[source >= pitch]
    slot = np.full((layer.position.size, len(vectors)), -1, dtype=np.int64)
    slot[source[source >= pitch] - pitch, row] = 0
    arrives = slot == 0
    slot[arrives] = rows + np.arange(np.count_nonzero(arrives))
    sent = np.append(0, np.cumsum(arrives.sum(axis=1)))
    exchange = Exchange(
        pack=((k + 1) * pitch + node)[order],
        pack_start=np.searchsorted(rank[order], bounds),
        unpack=slice(rows, rows + int(sent[-1])),
        unpack_start=sent[layer.receive_start],
    )
    return exchange, slot


def _addresses(domain: LocalDomain, source: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Addresses of the populations that own and ghost nodes sent along their directions; codes stay codes."""
    row = np.broadcast_to(np.arange(len(source))[:, None], source.shape)
    own = (source >= 0) & (source < domain.pitch)
    found = np.where(own, (row + 1) * domain.pitch + source, source)
    far = source >= domain.pitch
    found[far] = slot[source[far] - domain.pitch, row[far]]
    return found


def _returned(domain: LocalDomain, lattice: Lattice, boundary: ScalarBoundary, diffusivity: float) -> Extrapolations:
    """The populations that boundaries return, by node."""
    weight, constant, returns = _rules(lattice, boundary, diffusivity)
    nodes, entries, numbers = [], [], []
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        codes = domain.neighbours_with_ghosts(-lattice.c[1:], slice(first, min(first + CHUNK_NODES, domain.n_nodes)))
        k, node = np.nonzero(codes < 0)
        order = np.lexsort((k, node))
        nodes.append(first + node[order])
        entries.append(k[order])
        numbers.append(boundary.numbers_of(codes[k, node][order].astype(np.int64)))
    node, k, number = (np.concatenate(parts) for parts in (nodes, entries, numbers))
    sent = np.where(returns[number], lattice.opposite[k + 1], k + 1) * domain.pitch + node
    index, weights = np.zeros((MOST_TERMS, k.size), dtype=np.int64), np.zeros((MOST_TERMS, k.size))
    index[:], weights[0] = sent, weight[number]
    return Extrapolations(node, k, index, weights, constant[number])


def _rules(lattice: Lattice, boundary: ScalarBoundary, diffusivity: float):
    """Weight and constant of each boundary, and whether they apply to the population that leaves towards it."""
    w, a = lattice.w[1], boundary.factors
    inner = diffusivity * (a - 1.0) / (w * (1.0 + a))
    weight, constant = (1.0 + inner) / (1.0 - inner), 2.0 * diffusivity * boundary.value / (1.0 + a) / (1.0 - inner)
    is_fixed, is_free = boundary.kind == FIXED, boundary.kind == OUTFLOW
    weight = np.where(is_fixed, -1.0, np.where(is_free, 1.0, weight))
    constant = np.where(is_fixed, 2.0 * w * boundary.value, np.where(is_free, 0.0, constant))
    return weight, constant, ~is_free
