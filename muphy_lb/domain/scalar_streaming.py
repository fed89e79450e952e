"""ScalarStreamingTable: the addresses of the populations of a scalar that arrive at a node.

They are rows of one flat array, direction after direction: ``q * pitch + n`` is the population that left node n along
q. Behind the rows are those received from other ranks, then those returned by boundaries. With w the weight of all
moving populations (1/8), let g be the population that enters a node through a link into a boundary, g~ the one that
left it that way, b~ the one that arrives from the other side and moves that way, too, a~ the one that left it to the
other side. A boundary at the fraction s of the link has the value T_w,

    2 w T_w = g + 2 s g~ + (1 - 2 s) b~     s < 1/2; where no node lies on the other side s is taken as 1/2
    2 w T_w = 2 s g + g~ + (1 - 2 s) a~     s >= 1/2

and returns

    fixed:    the g of that T_w: half-way anti-bounce-back, g = -g~ + 2 w T_w
    flux:     g = g~ + kappa A (s - b T_w),  A the area of the wall that belongs to the link (1 half-way)
    outflow:  g = a~

b and s as of :mod:`muphy_lb.domain.fitted_values`. A flux of 0 is bounce-back: all that is not said to enter stays.
Fixed values are of second order. So are fluxes along the normal; where the scalar changes along a wall oblique to the
lattice, it meets the stairs of the voxels, as if the wall were about a quarter of a voxel further in.

Ginzburg, Adv. Water Resour. 28, 1171 (2005); Yoshida, Nagaoka, J. Comput. Phys. 229, 7774 (2010); Li, Mei, Klausner,
J. Comput. Phys. 237, 366 (2013), their Eqs. for the interpolation of T_w.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.fitted_values import Met, met, packed
from muphy_lb.domain.halo import Exchange
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.domain.scalar_boundary import FIXED, OUTFLOW, Extrapolations, ScalarBoundary, chosen, joined
from muphy_lb.domain.stencil import StencilTable
from muphy_lb.geometry.link_cuts import HALF_WAY
from muphy_lb.geometry.wall_areas import areas_of_links
from muphy_lb.lattice import Lattice


@dataclass(frozen=True)
class ScalarStreamingTable(StencilTable):
    """Addresses of arriving populations; entry k of a node is for the one along vector k + 1 of the lattice.

    Attributes:
        slot: (R, K) addresses of the populations of each ghost node, -1 for those that are not received.
    """

    slot: np.ndarray

    def neighbours(self, nodes: slice) -> np.ndarray:
        """(K, m) addresses; link codes where they come from a boundary."""
        return _addresses(self.domain, self.domain.neighbours_with_ghosts(-self.vectors, nodes), self.slot)


def build_scalar_streaming(
    domain: LocalDomain, lattice: Lattice, boundary: ScalarBoundary, diffusivity: float
) -> ScalarStreamingTable:
    """Fold boundaries and ghost nodes into the table of a scalar's populations.

    Args:
        domain: the nodes of a rank.
        lattice: of the scalar; all its moving populations have the same weight.
        boundary: the boundary conditions where the neighbour is not fluid.
        diffusivity: in lattice units.
    """
    vectors, rows = lattice.c[1:], lattice.q * domain.pitch
    exchange, slot = _plan_exchange(domain, vectors, rows)
    found = _returned(domain, lattice, slot, boundary, diffusivity)
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


def _returned(
    domain: LocalDomain, lattice: Lattice, slot: np.ndarray, boundary: ScalarBoundary, diffusivity: float
) -> Extrapolations:
    """The populations that boundaries return, by node."""
    vectors, cuts, found = -lattice.c[1:], domain.part.nodes.cuts, []
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        nodes = slice(first, min(first + CHUNK_NODES, domain.n_nodes))
        codes = domain.neighbours_with_ghosts(vectors, nodes)
        links = met(codes, domain.voxel[nodes], vectors, boundary, cuts)
        node, away, towards = first + links.column, links.k + 1, lattice.opposite[links.k + 1]
        behind = _addresses(domain, codes, slot)[towards - 1, links.column]
        listed = node if domain.listed is None else domain.listed[node]
        area = areas_of_links(domain.part.nodes, domain.search, listed, vectors[links.k])
        weight, constant = return_rules(lattice.w[1], boundary, diffusivity, links, behind >= 0, area)
        index = np.array([towards * domain.pitch + node, np.maximum(behind, 0), away * domain.pitch + node])
        index = np.where(weight != 0.0, index, index[0])
        found.append(Extrapolations(node, links.k, *packed(index, weight), constant))
    return joined(found)


def return_rules(
    w: float, boundary: ScalarBoundary, diffusivity: float, links: Met, has_behind: np.ndarray, area: np.ndarray
):
    """(3, S) weights of the populations that left towards the boundary, arrive from the other side, and left to there;
    and (S,) constants."""
    value, a, kind = boundary.value[links.number], boundary.factors[links.number], boundary.kind[links.number]
    s = np.where(has_behind, links.distance, np.maximum(links.distance, HALF_WAY))
    is_near = s < HALF_WAY
    entering, left = np.where(is_near, 1.0, 2.0 * s), np.where(is_near, 2.0 * s, 1.0)
    others = np.array([np.where(is_near, 1.0 - 2.0 * s, 0.0), np.where(is_near, 0.0, 1.0 - 2.0 * s)])
    conducted = area * diffusivity * (1.0 - a) / (w * (1.0 + a))
    flux = area * (2.0 * diffusivity * value / (1.0 + a))
    scale = 1.0 + conducted * entering
    of_flux = np.array([1.0 - conducted * left, *(-conducted * others)]) / scale
    of_fixed = -np.array([left, *others]) / entering
    outflow = np.array([[0.0], [0.0], [1.0]])
    is_fixed, is_free = kind == FIXED, kind == OUTFLOW
    weight = np.where(is_fixed, of_fixed, np.where(is_free, outflow, of_flux))
    return weight, np.where(is_fixed, 2.0 * w * value / entering, np.where(is_free, 0.0, flux / scale))
