"""LocalDomain: the nodes of one rank in run order, with the links that leave it."""

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK, neighbour_table
from geometry.nodes import NodeList
from muphy_lb.domain.halo import HaloPlan, plan_halo
from muphy_lb.domain.links import REMOTE_LINK, LinkRecords, code_records, opening_records, wall_records
from muphy_lb.domain.walls import FOLDED, SLOTTED, Mirrored, WallTreatment, mirrored_links, open_corners
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice

WARP = 32


@dataclass(frozen=True)
class LocalDomain:
    """One rank's share of a geometry.

    Run order: the edge first (nodes with a link to another rank, into an opening or into a slotted wall; the last row
    of ``WARP`` is filled up with interior nodes), then the interior; node-list order inside each. The interior needs
    nothing but the state before the step, so it runs while openings, walls and halo are prepared for the edge.

    Attributes:
        lattice: the velocity set.
        number: (n,) int64 node-list number of each local node; the rank-independent place of its values.
        voxel: (n,) int64 voxel ids.
        n_edge: the edge is local nodes ``[0, n_edge)``, the interior ``[n_edge, n)``.
        pitch: row length of a population array, a multiple of ``WARP``.
        neighbour: (Q, n) int32 local node at x + c_q, ``WALL_LINK``, ``FIRST_WALL_LINK - k``, ``REMOTE_LINK`` or
            ``FIRST_OPENING_LINK - k``.
        walls: how walls are treated.
        halo: what crosses to other ranks.
        links: the links into openings; each has a slot.
        slotted: the links into slotted walls, behind those of the openings; labelled walls go by their number, all
            others are one more.
        folded: the links into labelled walls that have no slot.
        mirrored: the links that slip walls mirror to a node of this rank (``far`` is a local node).
        n_mirrored: those that slip walls mirror to a node of any rank.
    """

    lattice: Lattice
    number: np.ndarray
    voxel: np.ndarray
    n_edge: int
    pitch: int
    neighbour: np.ndarray
    walls: WallTreatment
    halo: HaloPlan
    links: LinkRecords
    slotted: LinkRecords
    folded: LinkRecords
    mirrored: Mirrored
    n_mirrored: int

    @property
    def n_nodes(self) -> int:
        """Number of local nodes."""
        return int(self.number.size)


def build_local_domain(
    nodes: NodeList, owner: np.ndarray, rank: int, lattice: Lattice, walls: WallTreatment | None = None
) -> LocalDomain:
    """Cut one rank's domain out of a node list.

    Args:
        nodes: the whole geometry.
        owner: (n,) rank of every node, in node-list order.
        rank: whose domain to build.
        lattice: the velocity set.
        walls: how walls are treated; all folded if not given.

    Raises:
        InputError: the rank owns no node, or a two-dimensional lattice meets a three-dimensional box.
    """
    check_dimension(nodes, lattice)
    number = np.flatnonzero(owner == rank)
    if number.size == 0:
        raise InputError(
            f"rank {rank} owns none of the {nodes.n_nodes} fluid nodes; use fewer ranks or another partition"
        )
    walls = walls or WallTreatment((FOLDED,) * len(nodes.walls))
    table = open_corners(neighbour_table(nodes, lattice.c, number), walls.slip, lattice)
    mirrored = mirrored_links(table, walls, lattice)
    edge = _is_edge(table, owner, rank)
    edge[mirrored.node[owner[mirrored.far] != rank]] = True
    edge |= walls.has_slots(table)
    n_edge = min(_whole_rows(int(edge.sum())), number.size)
    if n_edge:
        order = np.concatenate((np.flatnonzero(edge), np.flatnonzero(~edge)))
        number, table = number[order], np.take(table, order, axis=1)
        mirrored = mirrored_links(table, walls, lattice)
    halo = plan_halo(nodes, owner, rank, lattice, table, mirrored)
    local_of = np.full(nodes.n_nodes, REMOTE_LINK, dtype=table.dtype)
    local_of[number] = np.arange(number.size)
    _localise(table, local_of)
    near = owner[mirrored.far] == rank
    slotted, folded = _wall_links(table, nodes.voxel[number], walls)
    return LocalDomain(
        lattice=lattice,
        number=number,
        voxel=nodes.voxel[number],
        n_edge=n_edge,
        pitch=_whole_rows(number.size),
        neighbour=table,
        walls=walls,
        halo=halo,
        links=opening_records(table, nodes.voxel[number]),
        slotted=slotted,
        folded=folded,
        mirrored=_localised(mirrored, near, local_of),
        n_mirrored=int(mirrored.node.size),
    )


def _wall_links(table, voxel, walls: WallTreatment) -> tuple[LinkRecords, LinkRecords]:
    """Links into slotted walls, and into labelled walls without slots."""
    labelled = wall_records(table, voxel)
    treatment = np.array([*walls.labelled, walls.plain])
    has_slot = treatment[labelled.boundary] == SLOTTED
    slotted = labelled.select(has_slot)
    if walls.plain == SLOTTED:
        slotted = slotted.join(code_records(table, voxel, WALL_LINK, len(walls.labelled)))
    return slotted, labelled.select(~has_slot)


def _localised(mirrored: Mirrored, near, local_of) -> Mirrored:
    """The mirrored links chosen by a mask, with local numbers of the far nodes."""
    columns = {name: column[near] for name, column in vars(mirrored).items()}
    return Mirrored(**columns | {"far": local_of[columns["far"]].astype(np.int64)})


def check_dimension(nodes: NodeList, lattice: Lattice, force=(0.0, 0.0, 0.0)) -> None:
    """Refuse a two-dimensional lattice in a box with more than one layer, or with a force along z.

    Raises:
        InputError: as said.
    """
    if lattice.dimension == 2 and nodes.shape[0] != 1:
        raise InputError(
            f"lattice {lattice.name} is two-dimensional but the geometry has {nodes.shape[0]} layers along z;"
            " use D3Q19, or a geometry with one layer"
        )
    if lattice.dimension == 2 and force[2] != 0.0:
        raise InputError(
            f"lattice {lattice.name} is two-dimensional but the body force has z component {force[2]}; set it to 0"
        )


def _whole_rows(n: int) -> int:
    return -(-n // WARP) * WARP


@njit(parallel=True, cache=True)
def _is_edge(table, owner, rank):
    edge = np.zeros(table.shape[1], dtype=np.bool_)
    for n in prange(table.shape[1]):
        for q in range(table.shape[0]):
            far = table[q, n]
            if FIRST_WALL_LINK < far <= FIRST_OPENING_LINK or (far >= 0 and owner[far] != rank):
                edge[n] = True
    return edge


@njit(parallel=True, cache=True)
def _localise(table, local_of):
    """Replace node-list numbers in the table by local ones, in place, and links to other ranks by REMOTE_LINK."""
    for n in prange(table.shape[1]):
        for q in range(table.shape[0]):
            if table[q, n] >= 0:
                table[q, n] = local_of[table[q, n]]
