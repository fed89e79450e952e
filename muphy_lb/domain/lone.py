"""A domain of a single node in the middle of walls: enough to bind the kernels of a case whose nodes are not known."""

import numpy as np

from muphy_lb.domain.halo import HaloPlan
from muphy_lb.domain.links import LinkRecords, Mirrors, SpecularLinks, WallTreatment
from muphy_lb.domain.local import LocalDomain
from muphy_lb.domain.part import GhostLayer, Part
from muphy_lb.geometry.neighbours import WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.lattice.layout import TILE

NONE = np.zeros(0, dtype=np.int64)
AT_ONCE = np.zeros(1, dtype=np.int64)  # of messages to nobody


class _WallsAround(NeighbourSearch):
    """A search that finds walls, without one that is compiled."""

    def __init__(self):
        self.solid = None

    def table_through_solids(self, vectors, subset=slice(None), out=None) -> np.ndarray:
        """(Q, n) links to walls; the node itself at rest."""
        found = np.full((len(vectors), np.arange(1)[subset].size), WALL_LINK, dtype=np.int32)
        found[~np.any(vectors, axis=1)] = 0
        return found


def lone_domain(header: GeometryHeader, lattice: Lattice) -> LocalDomain:
    """The domain of one rank with the first voxel of a geometry as its only node."""
    frame = {name: value for name, value in vars(header).items() if name != "n_nodes"}
    first, groups = np.zeros(1, dtype=np.int64), np.ones(len(header.openings) + 2, dtype=np.int64)
    groups[0] = 0
    nodes = NodeList(**frame, voxel=first, group_start=groups, label_voxel=NONE, label_number=NONE.astype(np.uint8))
    links = LinkRecords(NONE, NONE, NONE, NONE)
    return LocalDomain(
        lattice=lattice,
        number=first,
        voxel=first,
        n_edge=0,
        pitch=TILE,
        walls=WallTreatment(),
        halo=HaloPlan((), AT_ONCE, NONE, NONE, AT_ONCE, NONE, NONE, NONE, NONE),
        ghost_layer=GhostLayer(AT_ONCE, NONE, AT_ONCE, NONE),
        links=links,
        mirrors=Mirrors(NONE, NONE, NONE),
        linkwise=links,
        in_table=links,
        specular=SpecularLinks(NONE, NONE, NONE, NONE, NONE),
        n_specular=0,
        search=_WallsAround(),
        part=Part(0, nodes, None, np.zeros(1, dtype=np.int32)),
        listed=None,
        local_of=None,
    )
