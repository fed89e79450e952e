"""LocalDomain: the nodes of one rank in run order, with the links that leave it."""

from dataclasses import dataclass

import numpy as np

from geometry.neighbours import neighbour_table
from geometry.nodes import NodeList
from muphy_lb.domain.halo import HaloPlan, plan_halo
from muphy_lb.domain.links import REMOTE_LINK, LinkRecords, record_links
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice

WARP = 32


@dataclass(frozen=True)
class LocalDomain:
    """One rank's share of a geometry.

    Run order: nodes with a link to another rank first (rows of ``WARP``: the last row is filled up with interior
    nodes), then the interior; node-list order inside each.

    Attributes:
        lattice: the velocity set.
        number: (n,) int64 node-list number of each local node; the rank-independent place of its values.
        voxel: (n,) int64 voxel ids.
        n_edge: local nodes ``[0, n_edge)`` are computed when the halo has arrived, ``[n_edge, n)`` meanwhile.
        pitch: row length of a population array, a multiple of ``WARP``.
        neighbour: (Q, n) int32 local node at x + c_q, ``WALL_LINK``, ``REMOTE_LINK`` or ``FIRST_OPENING_LINK - k``.
        halo: what crosses to other ranks.
        links: the links into openings.
    """

    lattice: Lattice
    number: np.ndarray
    voxel: np.ndarray
    n_edge: int
    pitch: int
    neighbour: np.ndarray
    halo: HaloPlan
    links: LinkRecords

    @property
    def n_nodes(self) -> int:
        """Number of local nodes."""
        return int(self.number.size)


def build_local_domain(nodes: NodeList, owner: np.ndarray, rank: int, lattice: Lattice) -> LocalDomain:
    """Cut one rank's domain out of a node list.

    Args:
        nodes: the whole geometry.
        owner: (n,) rank of every node, in node-list order.
        rank: whose domain to build.
        lattice: the velocity set.

    Raises:
        InputError: the rank owns no node, or a two-dimensional lattice meets a three-dimensional box.
    """
    check_dimension(nodes, lattice)
    number = np.flatnonzero(owner == rank)
    if number.size == 0:
        raise InputError(f"rank {rank} owns none of the {nodes.n_nodes} fluid nodes; use fewer ranks or another partition")
    table = neighbour_table(nodes, lattice.c, number)
    edge = np.zeros(number.size, dtype=bool)
    for row in table:
        edge |= (row >= 0) & (owner[row] != rank)
    n_edge = min(_whole_rows(int(edge.sum())), number.size)
    order = np.concatenate((np.flatnonzero(edge), np.flatnonzero(~edge)))
    order[n_edge:].sort()
    number, table = number[order], table[:, order]
    halo = plan_halo(nodes, owner, rank, lattice, table)
    _localise(table, number, owner, rank)
    return LocalDomain(
        lattice=lattice,
        number=number,
        voxel=nodes.voxel[number],
        n_edge=n_edge,
        pitch=_whole_rows(number.size),
        neighbour=table,
        halo=halo,
        links=record_links(table, nodes.voxel[number]),
    )


def check_dimension(nodes: NodeList, lattice: Lattice) -> None:
    """Refuse a two-dimensional lattice in a box with more than one layer.

    Raises:
        InputError: as said.
    """
    if lattice.dimension == 2 and nodes.shape[0] != 1:
        raise InputError(
            f"lattice {lattice.name} is two-dimensional but the geometry has {nodes.shape[0]} layers along z;"
            " use D3Q19, or a geometry with one layer"
        )


def _whole_rows(n: int) -> int:
    return -(-n // WARP) * WARP


def _localise(table, number, owner, rank) -> None:
    """Replace node-list numbers in the table by local ones, in place, and links to other ranks by REMOTE_LINK."""
    sorter = np.argsort(number)
    ascending = number[sorter]
    for row in table:
        fluid = row >= 0
        target = row[fluid]
        place = np.minimum(np.searchsorted(ascending, target), ascending.size - 1)
        row[fluid] = np.where(owner[target] == rank, sorter[place], REMOTE_LINK)
