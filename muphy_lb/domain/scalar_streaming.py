"""ScalarStreamingTable: the addresses of the populations of scalars that arrive at a node.

They are rows of one flat array, scalar after scalar and direction after direction: ``q * pitch + n`` is the population
of the first scalar that left node n along q. Behind the rows are those received from other ranks, then those returned
by boundaries. With w the weight of all moving populations (1/8), let g be the population that enters a node through a
link into a boundary, g~ the one that left it that way, b~ the one that arrives from the other side and moves that way,
too, a~ the one that left it to the other side. A boundary at the fraction s of the link has the value T_w,

    2 w T_w = g + 2 s g~ + (1 - 2 s) b~     s < 1/2; where no node lies on the other side s is taken as 1/2
    2 w T_w = 2 s g + g~ + (1 - 2 s) a~     s >= 1/2

and returns

    fixed:    the g of that T_w: half-way anti-bounce-back, g = -g~ + 2 w T_w
    flux:     g = g~ + kappa A (s - b T_w),  A the area of the wall that belongs to the link (1 half-way), or an uptake
              that saturates (:mod:`muphy_lb.operators.saturation`)
    outflow:  g = g~ + T (h - h~), T of the node: what leaves by diffusion comes back, the rest leaves with the fluid
    inflow:   g = g~ + T_w (h - h~),  h of the carrier: what enters with the fluid has the value T_w, and nothing is
              conducted against it (Danckwerts, Chem. Eng. Sci. 2, 1 (1953))

b and s as of :mod:`muphy_lb.domain.fitted_values`. A flux of 0 is bounce-back: all that is not said to enter stays.
Fixed values are of second order. So are fluxes along the normal; where the scalar changes along a wall oblique to the
lattice, it meets the stairs of the voxels, as if the wall were about a quarter of a voxel further in.

With the product 1/4 (:mod:`muphy_lb.operators.scalar_transport`) the steady scalar behind an outflow is that of a node
beyond with the same T: the zero gradient lies at the opening, half-way, whatever the relaxation times. A scalar without
a carrier has, in the place of T (h - h~), its like from its own populations, of which the odd part that leaves is that
of the equilibrium and a share 1 - r of that on arrival:

    outflow:  g = a~ + (1 - r) (b~ - g~),   1 - r = (D - w) / (D + w)

In a carrier r = 1; in solids g = g~.

Scalars that share a carrier (:mod:`muphy_lb.operators.scalar_transport`) travel with it, which is the first of them.
For these, 2 w T_w stands for T_w times the same combination of the carrier's populations, so that a scalar that is T_w
everywhere stays T_w.

Ginzburg, Adv. Water Resour. 28, 1171 (2005); Yoshida, Nagaoka, J. Comput. Phys. 229, 7774 (2010); Li, Mei, Klausner,
J. Comput. Phys. 237, 366 (2013), their Eqs. for the interpolation of T_w.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muphy_lb.domain.fitted_values import Met, met, packed
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.scalar_boundary import FIXED, INFLOW, OUTFLOW, Extrapolations, ScalarBoundary, chosen, joined
from muphy_lb.domain.stencil import StencilTable
from muphy_lb.geometry.link_cuts import HALF_WAY
from muphy_lb.geometry.wall_areas import areas_of_links
from muphy_lb.lattice import Lattice


class ScalarSet(NamedTuple):
    """The populations of a scalar: the beginning of the names of their fields, their conditions at boundaries, the
    diffusivity in lattice units, and, if it has a carrier, the name of the field of its value."""

    name: str
    boundary: ScalarBoundary
    diffusivity: float
    value: str = ""


class Returned(NamedTuple):
    """The populations that boundaries return, as sums of others."""

    #: (3, S) weights of the scalar's own populations: those that left towards the boundary, those that arrive from the
    #: other side, those that left to there
    own: np.ndarray
    carrier: np.ndarray  #: (3, S) weights of the same populations of the carrier
    constant: np.ndarray  #: (S,)
    is_carried: np.ndarray  #: (S,) whether the sum is that of the carrier, h - h~ of an outflow
    #: (3, S) A, e and level of walls that saturate (:mod:`muphy_lb.operators.saturation`), for which the sum is Y;
    #: elsewhere the level is infinite
    saturation: np.ndarray

    @property
    def saturates(self) -> np.ndarray:
        """(S,) whether a wall saturates."""
        return np.isfinite(self.saturation[2])


@dataclass(frozen=True)
class ScalarStreamingTable(StencilTable):
    """Addresses of arriving populations; entry k of a node is for the population k + 1 of all its scalars in order."""

    #: (R, K) addresses of the populations of each ghost node, -1 for those that are not received; a table for each
    #: scalar
    slot: tuple[np.ndarray, ...]

    @property
    def n_entries(self) -> int:
        """Number of entries of a node."""
        return len(self.slot) * (1 + len(self.vectors)) - 1

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses; link codes where they come from a boundary."""
        domain, row = self.domain, (1 + len(self.vectors)) * self.domain.pitch
        source, own = domain.neighbours_with_ghosts(-self.vectors, nodes), np.arange(nodes.start, nodes.stop)
        found = []
        for k, slot in enumerate(self.slot):
            found += [own[None] + k * row, _addresses(domain, source, slot, k * row)]
        return np.concatenate(found)[1:]


def courses_of(sets: Sequence[ScalarSet]) -> tuple[Callable, ...]:
    """The factors over time of values at boundaries of some scalars, each once; :class:`Extrapolations` number them."""
    return tuple(dict.fromkeys(course for each in sets for course in each.boundary.courses.values()))


def build_scalar_streaming(
    domain: LocalDomain, lattice: Lattice, sets: Sequence[ScalarSet], has_carrier: bool
) -> ScalarStreamingTable:
    """Fold boundaries and ghost nodes into the table of the populations of some scalars.

    Args:
        lattice: of the scalars; all its moving populations have the same weight.
        has_carrier: whether the first is the carrier of the others.
    """
    vectors = lattice.c[1:]
    exchange, slots = _plan_exchange(domain, vectors, len(sets))
    found = joined([_returned(domain, lattice, slots, sets, k, has_carrier) for k in range(len(sets))])
    first_extrapolated = len(sets) * lattice.q * domain.pitch + exchange.n_unpack
    extrapolated = chosen(found, ~found.is_copy)
    return ScalarStreamingTable(
        domain=domain,
        vectors=vectors,
        n_slots=first_extrapolated + extrapolated.node.size,
        exchange=exchange,
        first_extrapolated=first_extrapolated,
        extrapolated=extrapolated,
        copies=chosen(found, found.is_copy),
        slot=slots,
    )


def _plan_exchange(domain: LocalDomain, vectors: np.ndarray, n_sets: int) -> tuple[Exchange, tuple[np.ndarray, ...]]:
    """The exchange, sorted on both sides by neighbour, scalar, voxel and direction of the sending node; and the slots
    of each scalar."""
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
    sent = np.append(0, np.cumsum(arrives.sum(axis=1)))
    row_length = (1 + len(vectors)) * pitch
    pack, pack_start = ((k + 1) * pitch + node)[order], np.searchsorted(rank[order], bounds)
    unpack_start = sent[layer.receive_start]
    packed_at, arrives_at = (_in_messages(start, n_sets) for start in (pack_start, unpack_start))
    whole_pack = np.empty(n_sets * pack.size, dtype=pack.dtype)
    slots = []
    for number in range(n_sets):
        whole_pack[packed_at[number]] = pack + number * row_length
        slots.append(slot.copy())
        slots[-1][arrives] = n_sets * row_length + arrives_at[number]
    first = n_sets * row_length
    exchange = Exchange(
        pack=whole_pack,
        pack_start=n_sets * pack_start,
        unpack=slice(first, first + n_sets * int(sent[-1])),
        unpack_start=n_sets * unpack_start,
    )
    return exchange, tuple(slots)


def _in_messages(start: np.ndarray, n_sets: int) -> np.ndarray:
    """(n_sets, S) places of the entries of each scalar where every message holds one scalar after the other. ``start``:
    of the messages with the entries of one scalar."""
    length = np.diff(start)
    message = np.repeat(np.arange(length.size), length)
    within = np.arange(int(start[-1]) if start.size else 0) - start[message]
    return n_sets * start[message] + np.arange(n_sets)[:, None] * length[message] + within


def _addresses(domain: LocalDomain, source: np.ndarray, slot: np.ndarray, first: int) -> np.ndarray:
    """Addresses of the populations, of a scalar whose rows begin at ``first``, that own and ghost nodes sent along
    their directions; codes stay codes."""
    row = np.broadcast_to(np.arange(len(source))[:, None], source.shape)
    own = (source >= 0) & (source < domain.pitch)
    found = np.where(own, first + (row + 1) * domain.pitch + source, source)
    far = source >= domain.pitch
    found[far] = slot[source[far] - domain.pitch, row[far]]
    return found


def _returned(
    domain: LocalDomain, lattice: Lattice, slots, sets: Sequence[ScalarSet], number: int, has_carrier: bool
) -> Extrapolations:
    """The populations of a scalar that boundaries return, by node."""
    vectors, cuts, found = -lattice.c[1:], domain.part.nodes.cuts, []
    (_, boundary, diffusivity, _), row = sets[number], lattice.q * domain.pitch
    carrier = sets[0].boundary if has_carrier and number else None
    course = np.full(boundary.kind.size, -1)
    for of, each in boundary.courses.items():
        course[of] = courses_of(sets).index(each)
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        nodes = slice(first, min(first + CHUNK_NODES, domain.n_nodes))
        codes = domain.neighbours_with_ghosts(vectors, nodes)
        links = met(codes, domain.voxel[nodes], vectors, boundary, cuts)
        node, away, towards = first + links.column, links.k + 1, lattice.opposite[links.k + 1]
        listed = node if domain.listed is None else domain.listed[node]
        area = areas_of_links(domain.part.nodes, domain.search, listed, vectors[links.k])

        def places(of: int, codes=codes, node=node, away=away, towards=towards, links=links) -> np.ndarray:
            behind = _addresses(domain, codes, slots[of], of * row)[towards - 1, links.column]
            own = of * row + node
            return np.array([towards * domain.pitch + own, behind, away * domain.pitch + own])

        index = places(number)
        is_solid = np.zeros(node.size, dtype=bool) if domain.solid is None else domain.solid[node] >= 0
        rules = return_rules(lattice.w[1], boundary, diffusivity, links, index[1] >= 0, area, carrier, is_solid)
        left = index[0]
        weight, index = np.concatenate(rules[:2]), np.concatenate((index, places(0)))
        index = np.where(weight != 0.0, index, index[0])
        entry, terms = links.k + number * lattice.q, packed(index, weight)
        own = course[links.number], left, *rules.saturation, np.where(rules.is_carried, number, -1)
        found.append(Extrapolations(node, entry, *terms, rules.constant, *own))
    return joined(found)


def return_rules(
    w: float,
    boundary: ScalarBoundary,
    diffusivity: float,
    links: Met,
    has_behind: np.ndarray,
    area: np.ndarray,
    carrier: ScalarBoundary | None = None,
    is_solid: np.ndarray | bool = False,
) -> Returned:
    """The sums for the links of a scalar. ``carrier``: conditions of its carrier; None without one."""
    value, a, kind = boundary.value[links.number], boundary.factors[links.number], boundary.kind[links.number]
    s = np.where(has_behind, links.distance, np.maximum(links.distance, HALF_WAY))
    is_near = s < HALF_WAY
    entering, left = np.where(is_near, 1.0, 2.0 * s), np.where(is_near, 2.0 * s, 1.0)
    others = np.array([np.where(is_near, 1.0 - 2.0 * s, 0.0), np.where(is_near, 0.0, 1.0 - 2.0 * s)])
    conducted = area * diffusivity * (1.0 - a) / (w * (1.0 + a))
    flux = area * (2.0 * diffusivity * value / (1.0 + a))  # that of an inflow is its carrier's
    scale = 1.0 + conducted * entering
    of_flux = np.array([1.0 - conducted * left, *(-conducted * others)]) / scale
    of_fixed = -np.array([left, *others]) / entering
    kept = np.where(has_behind, (diffusivity - w) / (diffusivity + w), 0.0)
    outflow = np.where(is_solid, [[1.0], [0.0], [0.0]], [-kept, kept, np.ones(kept.size)])
    is_fixed, is_free, has_carried = kind == FIXED, kind == OUTFLOW, (kind == FIXED) | (kind == INFLOW)
    level = np.full(boundary.kind.size, np.inf)
    level[list(boundary.levels)] = list(boundary.levels.values())
    saturation = np.array([conducted, entering, 2.0 * w * level[links.number]])
    of_flux = np.where(np.isfinite(saturation[2]), np.array([entering + left, *others]), of_flux)
    weight = np.where(is_fixed, of_fixed, np.where(is_free, outflow, of_flux))
    constant = np.where(is_fixed, 2.0 * w * value / entering, np.where(is_free, 0.0, flux / scale))
    if carrier is None:
        return Returned(weight, np.zeros_like(weight), constant, np.zeros(kind.size, dtype=bool), saturation)
    carried = np.where(is_free, 1.0, np.where(has_carried, value, 0.0))
    plain = return_rules(w, carrier, w, links, has_behind, area)  # with relaxation times of 1
    constant = np.where(has_carried | is_free, carried * plain.constant, constant)
    stays = np.array([[1.0], [0.0], [0.0]])
    of_carrier = carried * (plain.own - np.where(is_free, stays, weight))
    return Returned(np.where(is_free, 0.0, weight), of_carrier, constant, is_free, saturation)
