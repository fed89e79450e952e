"""What keeps the mass at interpolated walls: what a node gains and loses there, beside the rule of each link.

The rule of a link returns more or less than has left through it. That is no error where the flow passes along a wall
that is oblique to the lattice: the links of a wall node do not end at the wall, and a uniform shear flow crosses them
one way at one node and back at the next. Only the sum over all nodes should vanish, and does not. So each wall node
gives what its links returned too much, or takes what they returned too little, and both come from its population at
rest, which carries no momentum; and wall nodes that are neighbours along a wall exchange between them what a shear flow
carries through the gap between their links and the wall, which is known beforehand to be a share of what crosses their
common link. Both nodes compute it from the same two populations, so the sum over all nodes vanishes but for round-off.

Without the exchange along the wall the walls would keep mass as well, but they would be of first order, as staircases
are: a node at an oblique wall cannot be passed by a uniform shear if nothing may cross its wall links in sum.
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

# The share of what crosses the link between two wall nodes that also passes the gap behind it, as a polynomial of the
# middle's distance from the wall over that of the farthest wall node. Fitted to uniform shear along planes of random
# directions and positions (D2Q9, D3Q19, D3Q27); 0.29 to 0.39 of what crosses the wall links of a node then remains
# without a partner. Two nodes of D3Q15 have no link into the same voxel: there it is all.
GAP_SHARE = (-1.32, 3.29, -1.96)
# More than that would reverse the flow between the nodes, or stop it.
LEAST_SHARE = -0.7
# Eigenvalues, over the largest, below which the ends of a node's links do not tell where a plane through them lies.
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
        share: (G,) share of the net inflow along that link that the node gains besides.
        added: (G,) what it gains per unit of the wall's value, so that a flow as fast as the wall is none.
        wall: (G,) number of the wall.
    """

    inflow: np.ndarray
    node: np.ndarray
    q: np.ndarray
    share: np.ndarray
    added: np.ndarray
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
    inflow, added = np.zeros(links.n_links), np.zeros(gaps.n_links)
    if any(motion.moves for motion in motions):
        middle = np.full(links.n_links, HALF)
        inflow = link_momentum(lattice, links.q, link_velocities(domain, links, middle, motions))
        added = -share * _momentum_along(gaps, far, domain, motions)
    return WallBalance(inflow, gaps.node, gaps.q, share, added, gaps.boundary)


def _momentum_along(gaps: LinkRecords, far: np.ndarray, domain: LocalDomain, motions) -> np.ndarray:
    """(G,) momentum of the walls at the middles of links between nodes; from the other end it is the opposite number,
    as both ends take the same position for it."""
    lattice = domain.lattice
    opposite = lattice.opposite[gaps.q]
    is_first = gaps.q < opposite
    voxel, q = np.where(is_first, gaps.voxel, far), np.where(is_first, gaps.q, opposite)
    links = LinkRecords(gaps.node, q, gaps.boundary, voxel)
    velocity = wall_velocities(domain, links, np.full(gaps.n_links, HALF), motions)
    return np.where(is_first, 1.0, -1.0) * link_momentum(lattice, q, velocity)


def _gaps(domain: LocalDomain) -> tuple[LinkRecords, np.ndarray]:
    """(links between two nodes that both have a link into the same voxel of a linkwise wall, voxels of the other ends);
    of several walls the one with the lowest number."""
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
    """(G,) see ``GAP_SHARE``, of links between voxels; both ends of a link give the same number."""
    voxel, ends = np.unique(np.stack((near, far)), return_inverse=True)
    ends = ends.reshape(2, -1)
    distance, farthest = _planes(voxel, cuts, lattice)
    ratio = distance[ends].sum(axis=0) / farthest[ends].sum(axis=0)
    share = np.polynomial.polynomial.polyval(np.minimum(ratio, 1.0), GAP_SHARE)
    return np.where(np.isfinite(ratio), np.maximum(share, LEAST_SHARE), 0.0)


def _planes(voxel: np.ndarray, cuts: Cuts, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """(distance of each node from the plane through the points where its links meet the wall, that of the farthest node
    with a link through such a plane); the plane is fitted by least squares, and infinitely far at walls of voxels."""
    matrix, vector = np.zeros((voxel.size, 3, 3)), np.zeros((voxel.size, 3))
    is_between = np.zeros(voxel.size, dtype=bool)
    for q in range(1, lattice.q):
        length = cuts.of(voxel, lattice.c[q])
        is_between |= np.abs(length - HALF) > OF_VOXELS
        length = np.nan_to_num(length)
        c = lattice.c[q].astype(float)
        matrix += (lattice.w[q] * length**2)[:, None, None] * np.outer(c, c)
        vector += (lattice.w[q] * length)[:, None] * c
    normal = np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=FLAT, hermitian=True), vector)
    size = np.linalg.norm(normal, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_between, 1.0 / size, np.inf), (normal @ lattice.c.T).max(axis=1) / size
