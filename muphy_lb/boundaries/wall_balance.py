"""What keeps the mass at interpolated walls: what a wall node gains and loses beside the rule of each link.

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

from dataclasses import dataclass

import numpy as np

from muphy_lb.boundaries.gap_shares import Gaps, gap_shares
from muphy_lb.boundaries.wall_motion import HALF, HALF_WAY, WallMotion, link_velocities, wall_velocities
from muphy_lb.domain import LINKWISE, LinkRecords, LocalDomain
from muphy_lb.domain.links import is_labelled_wall
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.operators import link_momentum


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


def wall_balance(domain: LocalDomain, rule: str, motions: tuple[WallMotion, ...], communicator) -> WallBalance | None:
    """The balance of the walls of one rank; None where each link by itself returns what it receives.

    Args:
        domain: the rank's nodes; its part of the geometry knows the cut distances.
        rule: rule of the walls.
        motions: motions of all labelled walls.
        communicator: the ranks; those with nodes that are neighbours along a wall must all call.
    """
    links, lattice, cuts = domain.linkwise, domain.lattice, domain.part.nodes.cuts
    if rule == HALF_WAY or links.n_links == 0 or cuts is None:
        return None
    gaps = _gaps(domain)
    share = gap_shares(gaps, cuts, lattice, communicator)
    inflow, inflow_along = np.zeros(links.n_links), np.zeros(gaps.links.n_links)
    if any(motion.moves for motion in motions):
        middle = np.full(links.n_links, HALF)
        inflow = link_momentum(lattice, links.q, link_velocities(domain, links, middle, motions))
        inflow_along = -share * _momentum_along(gaps, domain, motions)
    return WallBalance(inflow, gaps.links.node, gaps.links.q, share, inflow_along, gaps.links.boundary)


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
    lattice, node, part = domain.lattice, np.unique(domain.linkwise.node), domain.part
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
