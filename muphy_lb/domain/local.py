"""LocalDomain: the nodes of one rank in run order, with the links that leave it."""

from dataclasses import dataclass, replace

import numpy as np
from numba import njit, prange

from geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from geometry.nodes import NodeList
from muphy_lb.domain.halo import HaloPlan, plan_halo
from muphy_lb.domain.layout import GROUP, TILE, whole
from muphy_lb.domain.links import REMOTE_LINK, LinkRecords, code_records, opening_records, wall_records
from muphy_lb.domain.order import LEXICOGRAPHIC, order_keys
from muphy_lb.domain.walls import FOLDED, SLOTTED, Mirrored, WallTreatment, mirrored_links, open_corners
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice

# Nodes whose neighbours are looked up at once: a table of 150 MB in D3Q19.
PART = 1 << 20


@dataclass(frozen=True)
class LocalDomain:
    """One rank's share of a geometry.

    Run order: the edge first (nodes with a link to another rank, into an opening or into a slotted wall; filled up with
    interior nodes to a multiple of ``GROUP``), then the interior; inside each in node-list order unless told otherwise.
    The interior needs nothing but the state before the step, so it runs while openings, walls and halo are prepared for
    the edge. The table of all neighbours is never held: whoever needs it asks for one part after the other.

    Attributes:
        lattice: the velocity set.
        number: (n,) int64 node-list number of each local node; the rank-independent place of its values.
        voxel: (n,) int64 voxel ids.
        n_edge: the edge is local nodes ``[0, n_edge)``, the interior ``[n_edge, n)``.
        pitch: number of nodes that a population buffer has room for, a multiple of ``TILE``.
        walls: how walls are treated.
        halo: what crosses to other ranks.
        links: the links into openings.
        slotted: the links into slotted walls; labelled walls go by their number, all others are one more.
        folded: the links into labelled walls that have no slot.
        mirrored: the links that slip walls mirror to a node of this rank (``far`` is a local node).
        n_mirrored: those that slip walls mirror to a node of any rank.
        search: finds neighbours in the whole node list.
        local_of: local number of each node of the node list, ``REMOTE_LINK`` on other ranks; None where both are the
            same.
    """

    lattice: Lattice
    number: np.ndarray
    voxel: np.ndarray
    n_edge: int
    pitch: int
    walls: WallTreatment
    halo: HaloPlan
    links: LinkRecords
    slotted: LinkRecords
    folded: LinkRecords
    mirrored: Mirrored
    n_mirrored: int
    search: NeighbourSearch
    local_of: np.ndarray | None

    @property
    def n_nodes(self) -> int:
        """Number of local nodes."""
        return int(self.number.size)

    def neighbours(self, vectors, nodes: np.ndarray | slice) -> np.ndarray:
        """(K, m) local node one lattice vector away from each of some local nodes, ``WALL_LINK``,
        ``FIRST_WALL_LINK - k``, ``REMOTE_LINK`` or ``FIRST_OPENING_LINK - k``."""
        if self.local_of is None:
            return self.search.table(vectors, nodes)
        table = self.search.table(vectors, self.number[nodes])
        _localise(table, self.local_of)
        return table


def build_local_domain(
    nodes: NodeList,
    owner: np.ndarray,
    rank: int,
    lattice: Lattice,
    walls: WallTreatment | None = None,
    order: str = LEXICOGRAPHIC,
) -> LocalDomain:
    """Cut one rank's domain out of a node list.

    Args:
        nodes: the whole geometry.
        owner: (n,) rank of every node, in node-list order.
        rank: whose domain to build.
        lattice: the velocity set.
        walls: how walls are treated; all folded if not given.
        order: of the nodes inside edge and interior, one of ``muphy_lb.domain.order.ORDERS``.

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
    search = NeighbourSearch(nodes)
    special = _special_nodes(search, number, owner, rank, lattice, walls)
    number, n_edge = _run_order(nodes, number, special, order)
    is_whole_list = number is None
    number = np.arange(nodes.n_nodes) if is_whole_list else number
    local_of = None if is_whole_list else _inverse(number, nodes.n_nodes)
    local = special.number if is_whole_list else local_of[special.number].astype(np.int64)
    mirrored = mirrored_links(special.table, walls, lattice)
    halo = plan_halo(nodes, owner, rank, lattice, special.table, mirrored)
    near = owner[mirrored.far] == rank
    voxel = nodes.voxel[special.number]
    slotted, folded = _wall_links(special.table, voxel, walls)
    return LocalDomain(
        lattice=lattice,
        number=number,
        voxel=nodes.voxel if is_whole_list else nodes.voxel[number],
        n_edge=n_edge,
        pitch=whole(number.size, TILE),
        walls=walls,
        halo=replace(halo, send_node=local[halo.send_node], receive_node=local[halo.receive_node]),
        links=_at(opening_records(special.table, voxel), local),
        slotted=_at(slotted, local),
        folded=_at(folded, local),
        mirrored=_localised(mirrored, near, local, local_of),
        n_mirrored=int(mirrored.node.size),
        search=search,
        local_of=local_of,
    )


@dataclass(frozen=True)
class _Special:
    """Nodes with a link that is neither an ordinary one nor one into a folded, nameless wall: their ``number`` in the
    node list, their columns of the neighbour ``table`` (Q, k) of node-list numbers and codes, and whether each belongs
    to the edge."""

    number: np.ndarray
    table: np.ndarray
    is_edge: np.ndarray


def _special_nodes(search, number, owner, rank, lattice, walls) -> _Special:
    found = []
    for first in range(0, number.size, PART):
        part = number[first : first + PART]
        table = open_corners(search.table(lattice.c, part), walls.slip, lattice)
        edge, special = _classify(table, owner, rank)
        mirrored = mirrored_links(table, walls, lattice)
        edge[mirrored.node[owner[mirrored.far] != rank]] = True
        edge |= walls.has_slots(table)
        chosen = np.flatnonzero(special | edge)
        found.append((part[chosen], table[:, chosen], edge[chosen]))
    numbers, tables, edges = zip(*found, strict=True)
    return _Special(np.concatenate(numbers), np.concatenate(tables, axis=1), np.concatenate(edges))


def _run_order(nodes, number, special: _Special, order: str) -> tuple[np.ndarray | None, int]:
    """Node-list numbers in run order, None if that is the whole list as it is, and the size of the edge."""
    edge = special.number[special.is_edge]
    n_edge = min(whole(edge.size, GROUP), number.size)
    if n_edge == 0 and order == LEXICOGRAPHIC:
        return (None if number.size == nodes.n_nodes else number), 0
    inside = np.ones(number.size, dtype=bool)
    inside[np.searchsorted(number, edge)] = False
    fill = n_edge - edge.size
    interior = number[inside]
    parts = np.concatenate((edge, interior[:fill])), interior[fill:]
    return np.concatenate([part[order_keys(nodes, part, order)] for part in parts]), n_edge


def _inverse(number, n_total) -> np.ndarray:
    local_of = np.full(n_total, REMOTE_LINK, dtype=np.int32 if n_total < 2**31 else np.int64)
    local_of[number] = np.arange(number.size)
    return local_of


def _wall_links(table, voxel, walls: WallTreatment) -> tuple[LinkRecords, LinkRecords]:
    """Links into slotted walls, and into labelled walls without slots."""
    labelled = wall_records(table, voxel)
    treatment = np.array([*walls.labelled, walls.plain])
    has_slot = treatment[labelled.boundary] == SLOTTED
    slotted = labelled.select(has_slot)
    if walls.plain == SLOTTED:
        slotted = slotted.join(code_records(table, voxel, WALL_LINK, len(walls.labelled)))
    return slotted, labelled.select(~has_slot)


def _at(links: LinkRecords, local) -> LinkRecords:
    """Records of columns as records of local nodes."""
    return replace(links, node=local[links.node])


def _localised(mirrored: Mirrored, near, local, local_of) -> Mirrored:
    """The mirrored links chosen by a mask, between local nodes."""
    columns = {name: column[near] for name, column in vars(mirrored).items()}
    far = columns["far"] if local_of is None else local_of[columns["far"]].astype(np.int64)
    return Mirrored(**columns | {"node": local[columns["node"]], "far": far})


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


@njit(parallel=True, cache=True)
def _classify(table, owner, rank):
    """Masks: nodes with a link into an opening or to another rank; those and nodes with a link into a labelled wall."""
    edge = np.zeros(table.shape[1], dtype=np.bool_)
    special = np.zeros(table.shape[1], dtype=np.bool_)
    for n in prange(table.shape[1]):
        for q in range(table.shape[0]):
            far = table[q, n]
            if FIRST_WALL_LINK < far <= FIRST_OPENING_LINK or (far >= 0 and owner[far] != rank):
                edge[n] = True
            elif far <= FIRST_WALL_LINK:
                special[n] = True
    return edge, special


@njit(parallel=True, cache=True)
def _localise(table, local_of):
    """Replace node-list numbers in the table by local ones, in place, and links to other ranks by REMOTE_LINK."""
    for n in prange(table.shape[1]):
        for q in range(table.shape[0]):
            if table[q, n] >= 0:
                table[q, n] = local_of[table[q, n]]
