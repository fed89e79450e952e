"""The balance of mass at interpolated walls.

Shares of what links along a wall carry, with which wall nodes balance any flow that does not slip.

Past a wall oblique to the lattice, a flow leaves one wall node through its links into the wall and comes back through
those of the next: it passes in the gap between the nodes and the wall. Let d be the distance from the wall, n its
normal into the fluid, r the position along it. Flows that meet the wall at rest are, to second order in d and r,

    u = d a                              a shear a along the wall,
    u = d G r - d^2 n trace(G) / 2       one that changes along the wall, and so draws fluid towards it or away.

Of such a flow a link c carries 6 w c.u(r + c/2) away from its node. The links of a node into the wall must carry the
same as its links along the wall with their shares, for every a and every symmetric G. The latter decide what passes
the gap on average, which the former leave open: an error there lets the flow through walls whose shear changes.

There are more equations than shares, and one link has two nodes. The shares are those of least squares, but for what
``SWEEPS`` steps of Chebyshev's semi-iteration leave (Golub, Varga, Numer. Math. 3, 147 (1961)). Each step takes numbers
from the other ends of links alone, in an order that does not depend on the ranks.

Conservation of mass at interpolated walls: the gains and losses of a wall node beside the rule of each link.

An interpolated rule returns more or less through a link than has left through it. For single nodes that is right: past
a wall oblique to the lattice, a uniform shear flow loses mass through the wall links of one node and regains it through
those of the next. Only the sum over all nodes should vanish, and does not. Two corrections make it vanish:

- A wall node takes from its population at rest, which carries no momentum, what its wall links returned too much, and
  adds to it what they returned too little.
- Two wall nodes that are neighbours along the wall exchange what a shear flow carries past them in the gap between
  their common link and the wall: a share, known beforehand, of what crosses that link (:mod:`.gap_shares`). Both nodes
  compute it from the same two populations, so that the sum vanishes but for round-off.

The first alone would keep the mass, too, but make walls of first order, as staircases are: no uniform shear can pass a
node at an oblique wall if nothing may cross its wall links in sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import known
from muphy_lb.base.remembered import remembered
from muphy_lb.boundaries.wall_motion import HALF, HALF_WAY, WallMotion, link_velocities, wall_velocities
from muphy_lb.domain import LINKWISE, LocalDomain
from muphy_lb.domain.links import LinkRecords, is_labelled_wall
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice import Lattice
from muphy_lb.operators import link_momentum

# Eigenvalues, over the largest, below which the ends of a node's links do not determine a plane through them.
FLAT = 1e-6
# Links whose distances differ from one half by less than that belong to a wall of voxels, where nothing passes a gap.
OF_VOXELS = 1e-9
# What does not come back on planes of random directions, root mean square over what leaves into the wall, after these
# steps and by least squares: of a shear 0.07 and 0.07 (D2Q9), 0.07 and 0.05 (D3Q19), 0.06 and 0.04 (D3Q27); of one that
# changes 0.18 and 0.18, 0.17 and 0.11, 0.16 and 0.09.
SWEEPS = 8
# Eigenvalues of the scaled equations from which on a step damps errors; none is above 1.
LEAST_DAMPED = 0.1
# A larger negative share would stop the flow between the nodes, or reverse it.
LARGEST_SHARE = 0.8
PAIRS_OF_AXES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class Gaps:
    """Links between two nodes that both have a link into the same voxel of a wall; each is there from both ends."""

    links: LinkRecords  #: node and direction of each end, with the number of the wall, or the lowest of several
    far: np.ndarray  #: (G,) voxel of the other end
    far_rank: np.ndarray  #: (G,) rank of the other end


def gap_shares(gaps: Gaps, cuts: Cuts, lattice: Lattice, communicator) -> np.ndarray:
    """(G,) shares, the same from both ends of a link, whatever the ranks; ranks that share a link must all call.

    Args:
        gaps: the links of this rank's nodes.
        cuts: distances of the wall from these nodes.
        lattice: the velocity set.
        communicator: the ranks.
    """
    links, from_far = gaps.links, far_values(gaps, lattice, communicator)
    voxel, node = np.unique(links.voxel, return_inverse=True)
    distance, normal = wall_planes(voxel, cuts, lattice)
    is_interpolated = np.isfinite(distance)
    distance = np.where(is_interpolated, distance, 0.0)
    carried = _carried(distance[node], normal[node], links.q, lattice)
    wanted = np.zeros((voxel.size, carried.shape[1]))
    for q in range(1, lattice.q):
        into = np.flatnonzero(np.isfinite(cuts.of(voxel, lattice.c[q])))
        wanted[into] += _carried(distance[into], normal[into], np.full(into.size, q), lattice)

    def of_links(factors, values):
        """Scalar products with the equations of both ends."""
        near = _of_links(factors, node, values)
        return near + from_far(near)

    size = np.abs(carried)
    scale = of_links(size, _of_nodes(size, np.ones(links.n_links), node, voxel.size))
    applies = is_interpolated[node] & from_far(is_interpolated[node]) & (scale > 0.0)
    scale[~applies] = np.inf
    share = step = np.zeros(links.n_links)
    for of_gradient, of_step in _chebyshev():
        missing = wanted - _of_nodes(carried, share, node, voxel.size)
        step = of_step * step + of_gradient * of_links(carried, missing) / scale
        share = share + step
    return np.clip(share, -LARGEST_SHARE, LARGEST_SHARE)


@njit(cache=True)
def _of_nodes(factors, values, node, n_nodes):
    """(n, 9) sums over the links of each node of (G,) values times (G, 9) factors."""
    found = np.zeros((n_nodes, factors.shape[1]))
    for link in range(node.size):
        for k in range(factors.shape[1]):
            found[node[link], k] += factors[link, k] * values[link]
    return found


@njit(parallel=True, cache=True)
def _of_links(factors, node, values):
    """(G,) scalar products of (G, 9) factors with the values (n, 9) of the node of each link."""
    found = np.zeros(node.size)
    for link in prange(node.size):
        for k in range(factors.shape[1]):
            found[link] += factors[link, k] * values[node[link], k]
    return found


def far_values(gaps: Gaps, lattice: Lattice, communicator) -> Callable[[np.ndarray], np.ndarray]:
    """A function of (G,) values at the near ends of links, which returns those at the far ends."""
    links, far, rank = gaps.links, gaps.far, gaps.far_rank
    given = np.lexsort((links.q, links.voxel, rank))
    taken = np.lexsort((lattice.opposite[links.q], far, rank))
    ranks, start = np.unique(rank[given], return_index=True)
    messages = dict(zip(ranks.tolist(), pairwise([*start.tolist(), rank.size]), strict=True))

    def from_far(values):
        sent = {other: values[given[slice(*bounds)]] for other, bounds in messages.items()}
        received = {other: sent.pop(other) for other in (communicator.rank,) if other in sent}
        if sent:
            received |= communicator.swap(sent)
        found = np.empty_like(values)
        found[taken] = np.concatenate([values[:0], *(received[other] for other in messages)])
        return found

    return from_far


def _chebyshev():
    """Factors of the gradient and of the last step, of each step."""
    middle, width = 0.5 * (1.0 + LEAST_DAMPED), 0.5 * (1.0 - LEAST_DAMPED)
    ratio = middle / width
    last = 1.0 / ratio
    yield 1.0 / middle, 0.0
    for _ in range(SWEEPS - 1):
        factor = 1.0 / (2.0 * ratio - last)
        yield 2.0 * factor / width, factor * last
        last = factor


def _carried(distance: np.ndarray, normal: np.ndarray, q: np.ndarray, lattice: Lattice) -> np.ndarray:
    """(n, 9) a sixth of what a link carries away from its node, of the flows of the three components of a and of the
    six of G (in the order of ``PAIRS_OF_AXES``, off the diagonal times the root of two, so that no direction along the
    wall is preferred).

    Args:
        distance: (n,) of the node from the wall.
        normal: (n, 3) of the wall there, into the fluid.
        q: (n,) direction of the link.
        lattice: the velocity set.
    """
    axes = np.arange(3) < lattice.dimension
    c, n = lattice.c[q].T.astype(float), normal.T
    across = sum(c * n)
    along, middle = c - across * n, distance + 0.5 * across
    first, second = np.array(PAIRS_OF_AXES).T
    projector = (first == second) & axes[first], n[first] * n[second]
    tensor = middle * along[first] * along[second] - middle**2 * across * (projector[0][:, None] - projector[1])
    symmetric = np.where(first == second, HALF, HALF * np.sqrt(2.0))[:, None] * tensor
    return (lattice.w[q] * np.concatenate((middle * along, symmetric))).T


def wall_planes(voxel: np.ndarray, cuts: Cuts, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """((n,) distance of each node from the plane through the points where its links meet the wall, (n, 3) its normal
    towards the node). The plane is fitted by least squares; at walls of voxels it is infinitely far."""
    matrix, vector = np.zeros((voxel.size, 3, 3)), np.zeros((voxel.size, 3))
    is_interpolated = np.zeros(voxel.size, dtype=bool)
    for q in range(1, lattice.q):
        length = cuts.of(voxel, lattice.c[q])
        is_interpolated |= np.abs(length - HALF) > OF_VOXELS
        length = np.nan_to_num(length)
        c = lattice.c[q].astype(float)
        matrix += (lattice.w[q] * length**2)[:, None, None] * np.outer(c, c)
        vector += (lattice.w[q] * length)[:, None] * c
    inverse = np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=FLAT, hermitian=True), vector)
    size = np.linalg.norm(inverse, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_interpolated, 1.0 / size, np.inf), np.nan_to_num(-inverse / size[:, None])


@dataclass(frozen=True)
class WallBalance:
    """Exchanges that keep the mass at interpolated walls."""

    #: (S,) mass that enters through each link into a linkwise wall per unit of the wall's value, as the wall moves:
    #: zero in sum over a closed wall that moves as a rigid body
    inflow: np.ndarray
    #: node, q: (G,) local node of each end of the links between wall nodes, and the direction to the other end
    node: np.ndarray
    q: np.ndarray
    share: np.ndarray  #: (G,) share of the mass which that link carries to the node, net, that the node gains besides
    #: (G,) what it gains further per unit of the wall's value, so that the share is one of the flow relative to the
    #: wall
    inflow_along: np.ndarray
    wall: np.ndarray  #: (G,) number of the wall


def wall_balance(domain: LocalDomain, rule: str, motions: tuple[WallMotion, ...], communicator) -> WallBalance | None:
    """The balance of the walls of one rank; None where each link by itself returns what it receives.

    Args:
        domain: the rank's nodes; its part of the geometry knows the cut distances.
        rule: rule of the walls.
        motions: motions of all labelled walls.
        communicator: the ranks; those with nodes that are neighbours along a wall must all call.
    """
    links, lattice = domain.linkwise, domain.lattice
    if rule == HALF_WAY or links.n_links == 0 or domain.part.nodes.cuts is None:
        return None
    gaps, share = _shared_gaps(domain, communicator)
    inflow, inflow_along = np.zeros(links.n_links), np.zeros(gaps.links.n_links)
    if any(motion.moves for motion in motions):
        middle = np.full(links.n_links, HALF)
        inflow = link_momentum(lattice, links.q, link_velocities(domain, links, middle, motions))
        inflow_along = -share * _momentum_along(gaps, domain, motions)
    return WallBalance(inflow, gaps.links.node, gaps.links.q, share, inflow_along, gaps.links.boundary)


@remembered
def _shared_gaps(domain: LocalDomain, communicator) -> tuple[Gaps, np.ndarray]:
    """The links between the wall nodes of a rank whose walls cut links, and their shares."""
    gaps = _gaps(domain)
    return gaps, gap_shares(gaps, known(domain.part.nodes.cuts), domain.lattice, communicator)


def _momentum_along(gaps: Gaps, domain: LocalDomain, motions) -> np.ndarray:
    """(G,) ``link_momentum`` of the walls at the middles of links between nodes. Both ends compute it at the same
    position, so that their numbers are opposite to the last bit."""
    lattice, links = domain.lattice, gaps.links
    opposite = lattice.opposite[links.q]
    is_first = links.q < opposite
    voxel, q = np.where(is_first, links.voxel, gaps.far), np.where(is_first, links.q, opposite)
    from_first = LinkRecords(links.node, q, links.boundary, voxel)
    velocity = wall_velocities(domain, from_first, np.full(links.n_links, HALF), motions)
    return np.where(is_first, 1.0, -1.0) * link_momentum(lattice, q, velocity)


def _gaps(domain: LocalDomain) -> Gaps:
    """Links between two nodes that both have a link into the same voxel of a linkwise wall."""
    lattice, node, part = domain.lattice, distinct(domain.linkwise.node), domain.part
    table = domain.search.table(lattice.c, node if domain.listed is None else domain.listed[node])
    walls = _wall_numbers(domain, table)
    number_of = {tuple(vector): q for q, vector in enumerate(lattice.c.tolist())}
    found = []
    for q in range(1, lattice.q):
        beside = [k for k in range(1, lattice.q) if number_of.get(tuple((lattice.c[k] - lattice.c[q]).tolist()), 0)]
        wall = walls[beside].min(axis=0, initial=_NO_WALL)
        chosen = np.flatnonzero((table[q] >= 0) & (wall < _NO_WALL))
        found.append(np.stack((node[chosen], np.full(chosen.size, q), wall[chosen], table[q, chosen])))
    node, q, wall, far = np.concatenate(found, axis=1)
    return Gaps(LinkRecords(node, q, wall, domain.voxel[node]), part.nodes.voxel[far], part.owner[far])


_NO_WALL = np.iinfo(np.int64).max


def _wall_numbers(domain: LocalDomain, table: np.ndarray) -> np.ndarray:
    """(Q, n) number of the linkwise wall that each link leads into, a large number for other links."""
    treatment = np.array([*domain.walls.labelled, domain.walls.plain])
    plain = treatment.size - 1
    number = np.where(is_labelled_wall(table), FIRST_WALL_LINK - table.astype(np.int64), plain)
    is_linkwise = (is_labelled_wall(table) | (table == WALL_LINK)) & (treatment[number] == LINKWISE)
    return np.where(is_linkwise, number, _NO_WALL)
