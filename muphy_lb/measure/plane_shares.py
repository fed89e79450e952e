"""Shares of voxels in a plane through the fluid: of its area, and of what flows through it.

A plane takes the nodes with the share of their voxel that lies within half a voxel of it: these shares are its area for
every direction and place, and for a plane along the axes the interpolation between two layers.

Beside walls at rest that know where they cut links the voxels are not those of the lumen: its area is that of the
voxels and their gaps (:func:`muphy_lb.boundaries.sections.gap_areas`). Along a link that meets the wall at the
distance d the velocity falls to 0, so that what flows through the column around it beyond the face of the voxel is

    (d - 1/2)^2 / 2  (u + u_behind) / (1 + 2 d),

the slope that of both nodes on the link. Each axis counts fully: inside, a node's velocity stands for its voxel and
exceeds the mean over it by a 24th of the Laplacian, which is a sum over the axes, and which beyond the faces comes
back. With it the flow rate is what crosses the plane in the balance of mass (own derivation; in pipes of 12 to 25
voxels across, at any angle, within 0.12 % of what enters).
"""

from typing import NamedTuple

import numpy as np

from muphy_lb.boundaries.opening_walls import holding
from muphy_lb.boundaries.sections import gap_areas
from muphy_lb.boundaries.wall_motion import HALF
from muphy_lb.domain.part import cuts_of
from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import Lattice


class PlaneShares(NamedTuple):
    """Shares of some nodes in a plane."""

    voxel: np.ndarray  #: (m,) ascending voxel ids
    area: np.ndarray  #: (m,) of its area [voxel faces]
    flow: np.ndarray  #: (m,) area by which the velocity of each counts in what flows through it [voxel faces]


def up_to_walls(nodes: NodeList, lattice: Lattice, moved: tuple[int, ...], near: tuple) -> PlaneShares:
    """The shares of the lumen up to where walls cut links.

    Args:
        nodes: the whole geometry.
        lattice: the velocity set.
        moved: numbers of the labelled walls that move or slip, at which voxels count as they are.
        near: ascending voxel ids (m,), and the shares (m,) of these voxels.
    """
    voxel, share = near
    if nodes.cuts is None:
        return PlaneShares(voxel, share, share)
    cuts, search, number = cuts_of(nodes.cuts, voxel), NeighbourSearch(nodes), nodes.numbers_of(voxel)
    axes = lattice.c[np.abs(lattice.c).sum(axis=1) == 1]
    into, behind = search.table(axes, number), search.table(-axes, number)
    holds = holding(into, moved) & (behind >= 0)
    places, shares = [voxel], [share]
    for vector, is_held, inner in zip(axes, holds, behind, strict=True):
        distance = cuts.of(voxel, vector)
        met = np.flatnonzero(is_held & ~np.isnan(distance))
        further = share[met] * (distance[met] - HALF) ** 2 / (2.0 + 4.0 * distance[met])
        places += [voxel[met], nodes.voxel[inner[met]]]
        shares += [further, further]
    found, place = np.unique(np.concatenate(places), return_inverse=True)
    areas = np.zeros(found.size)
    areas[np.searchsorted(found, voxel)] = share * (1.0 + gap_areas(lattice, cuts, voxel, holds))
    return PlaneShares(found, areas, np.bincount(place, np.concatenate(shares)))
