"""What keeps the mass at interpolated walls: what a wall node gains and loses beside the rule of each link.

An interpolated rule returns more or less through a link than has left through it. For single nodes that is right: past
a wall oblique to the lattice, a uniform shear flow loses mass through the wall links of one node and regains it through
those of the next. Only the sum over all nodes should vanish, and does not. Two corrections make it vanish:

- A wall node takes from its population at rest, which carries no momentum, what its wall links returned too much, and
  adds to it what they returned too little.
- Two wall nodes that are neighbours along the wall exchange what a shear flow carries past them in the gap between
  their common link and the wall: a share, known beforehand, of what crosses that link. Both nodes compute it from the
  same two populations, so that the sum vanishes but for round-off.

The first alone would keep the mass, too, but make walls of first order, as staircases are: no uniform shear can pass a
node at an oblique wall if nothing may cross its wall links in sum.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF, HALF_WAY, WallMotion, link_velocities, wall_velocities
from muphy_lb.domain import LINKWISE, LinkRecords, LocalDomain
from muphy_lb.domain.links import is_labelled_wall
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.lattice import Lattice
from muphy_lb.operators import link_momentum

# Coefficients, from the lowest power, of the share: what passes the gap behind the link between two wall nodes over
# what crosses the link, as a polynomial of the distance of the link's middle from the wall over that of the farthest
# possible wall node. Fitted to uniform shear along planes of random directions and positions (D2Q9, D3Q19, D3Q27);
# 0.29 to 0.39 of what crosses the wall links of a node then remains for its population at rest, and all of it with
# D3Q15, where no two neighbours have a link into the same voxel.
GAP_SHARE = (-1.32, 3.29, -1.96)
# A larger negative share would stop the flow between the nodes, or reverse it.
LEAST_SHARE = -0.7
# Eigenvalues, over the largest, below which the ends of a node's links do not determine a plane through them.
FLAT = 1e-6
# Links whose distances differ from one half by less than that belong to a wall of voxels, where nothing passes a gap.
OF_VOXELS = 1e-9


@dataclass(frozen=True)
class WallBalance:
    """Exchanges that keep the mass at interpolated walls.

    Attributes:
        inflow: (S,) mass that enters through each link into a linkwise wall per unit of the wall's value, as the wall
            moves: zero in sum over a closed wall that moves as a rigid body.
        node, q: (G,) local node of each end of the links between wall nodes, and the direction to the other end.
        share: (G,) share of the mass which that link carries to the node, net, that the node gains besides.
        inflow_along: (G,) what it gains further per unit of the wall's value, so that the share is one of the flow
            relative to the wall.
        wall: (G,) number of the wall.
    """

    inflow: np.ndarray
    node: np.ndarray
    q: np.ndarray
    share: np.ndarray
    inflow_along: np.ndarray
    wall: np.ndarray


def wall_balance(domain: LocalDomain, rule: str, motions: tuple[WallMotion, ...]) -> WallBalance | None:
    """The balance of the walls of one rank; None where each link by itself returns what it receives.

    Args:
        domain: the rank's nodes; its part of the geometry knows the cut distances.
        rule: rule of the walls.
        motions: motions of all labelled walls.
    """
    links, lattice, cuts = domain.linkwise, domain.lattice, domain.part.nodes.cuts
    if rule == HALF_WAY or links.n_links == 0 or cuts is None:
        return None
    gaps, far = _gaps(domain)
    share = _shares(gaps.voxel, far, cuts, lattice)
    inflow, inflow_along = np.zeros(links.n_links), np.zeros(gaps.n_links)
    if any(motion.moves for motion in motions):
        middle = np.full(links.n_links, HALF)
        inflow = link_momentum(lattice, links.q, link_velocities(domain, links, middle, motions))
        inflow_along = -share * _momentum_along(gaps, far, domain, motions)
    return WallBalance(inflow, gaps.node, gaps.q, share, inflow_along, gaps.boundary)


def _momentum_along(gaps: LinkRecords, far: np.ndarray, domain: LocalDomain, motions) -> np.ndarray:
    """(G,) ``link_momentum`` of the walls at the middles of links between nodes. Both ends compute it at the same
    position, so that their numbers are opposite to the last bit."""
    lattice = domain.lattice
    opposite = lattice.opposite[gaps.q]
    is_first = gaps.q < opposite
    voxel, q = np.where(is_first, gaps.voxel, far), np.where(is_first, gaps.q, opposite)
    links = LinkRecords(gaps.node, q, gaps.boundary, voxel)
    velocity = wall_velocities(domain, links, np.full(gaps.n_links, HALF), motions)
    return np.where(is_first, 1.0, -1.0) * link_momentum(lattice, q, velocity)


def _gaps(domain: LocalDomain) -> tuple[LinkRecords, np.ndarray]:
    """(links between two nodes that both have a link into the same voxel of a linkwise wall, with the number of that
    wall, or the lowest of several; (G,) voxels of their other ends)."""
    lattice, node = domain.lattice, np.unique(domain.linkwise.node)
    table = domain.search.table(lattice.c, node if domain.listed is None else domain.listed[node])
    walls = _wall_numbers(domain, table)
    number_of = {tuple(vector): q for q, vector in enumerate(lattice.c.tolist())}
    found = []
    for q in range(1, lattice.q):
        beside = [k for k in range(1, lattice.q) if number_of.get(tuple((lattice.c[k] - lattice.c[q]).tolist()), 0)]
        wall = walls[beside].min(axis=0, initial=_NO_WALL)
        chosen = np.flatnonzero((table[q] >= 0) & (wall < _NO_WALL))
        far = domain.part.nodes.voxel[table[q, chosen]]
        found.append(np.stack((node[chosen], np.full(chosen.size, q), wall[chosen], far)))
    node, q, wall, far = np.concatenate(found, axis=1)
    return LinkRecords(node, q, wall, domain.voxel[node]), far


_NO_WALL = np.iinfo(np.int64).max


def _wall_numbers(domain: LocalDomain, table: np.ndarray) -> np.ndarray:
    """(Q, n) number of the linkwise wall that each link leads into, a large number for other links."""
    treatment = np.array([*domain.walls.labelled, domain.walls.plain])
    plain = treatment.size - 1
    number = np.where(is_labelled_wall(table), FIRST_WALL_LINK - table.astype(np.int64), plain)
    is_linkwise = (is_labelled_wall(table) | (table == WALL_LINK)) & (treatment[number] == LINKWISE)
    return np.where(is_linkwise, number, _NO_WALL)


def _shares(near: np.ndarray, far: np.ndarray, cuts: Cuts, lattice: Lattice) -> np.ndarray:
    """(G,) shares of links between voxels, see ``GAP_SHARE``; the same from both ends of a link."""
    voxel, ends = np.unique(np.stack((near, far)), return_inverse=True)
    ends = ends.reshape(2, -1)
    distance, farthest = _planes(voxel, cuts, lattice)
    ratio = distance[ends].sum(axis=0) / farthest[ends].sum(axis=0)
    share = np.polynomial.polynomial.polyval(np.minimum(ratio, 1.0), GAP_SHARE)
    return np.where(np.isfinite(ratio), np.maximum(share, LEAST_SHARE), 0.0)


def _planes(voxel: np.ndarray, cuts: Cuts, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """(distance of each node from the plane through the points where its links meet the wall; that of the farthest node
    with a link through such a plane). The plane is fitted by least squares; at walls of voxels it is infinitely far."""
    matrix, vector = np.zeros((voxel.size, 3, 3)), np.zeros((voxel.size, 3))
    is_interpolated = np.zeros(voxel.size, dtype=bool)
    for q in range(1, lattice.q):
        length = cuts.of(voxel, lattice.c[q])
        is_interpolated |= np.abs(length - HALF) > OF_VOXELS
        length = np.nan_to_num(length)
        c = lattice.c[q].astype(float)
        matrix += (lattice.w[q] * length**2)[:, None, None] * np.outer(c, c)
        vector += (lattice.w[q] * length)[:, None] * c
    normal = np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=FLAT, hermitian=True), vector)
    size = np.linalg.norm(normal, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_interpolated, 1.0 / size, np.inf), (normal @ lattice.c.T).max(axis=1) / size
