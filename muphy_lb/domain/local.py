"""LocalDomain: the nodes of one rank in run order, with the links that leave it. The run table is shortest where
consecutive nodes are neighbours along x: lexicographic order. The other orders are for comparison."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import prange

from muphy_lb.base.chunks import side_by_side
from muphy_lb.base.errors import InputError
from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import known
from muphy_lb.base.remembered import remembered
from muphy_lb.domain.halo import HaloPlan, plan_halo
from muphy_lb.domain.links import (
    IN_TABLE,
    LINKWISE,
    REMOTE_LINK,
    LinkRecords,
    Mirrors,
    SpecularLinks,
    WallTreatment,
    code_records,
    mirrored_links,
    open_corners,
    opening_records,
    specular_links,
    wall_records,
)
from muphy_lb.domain.part import GhostLayer, Part, cut_part, plan_ghost_layer
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice import Lattice
from muphy_lb.lattice.layout import GROUP, TILE, whole

LEXICOGRAPHIC = "lexicographic"
ORDERS = (LEXICOGRAPHIC, "tiles", "curve")
# Edge of a tile in voxels; along x a whole warp, so that runs stay long.
TILE_XYZ = (32, 8, 8)


def order_keys(nodes: NodeList, number: np.ndarray, order: str):
    """The index that sorts (n,) node-list numbers into an order. Raises InputError: unknown order."""
    if order not in ORDERS:
        raise InputError(f"order is {order!r}; allowed: {', '.join(ORDERS)}")
    if order == LEXICOGRAPHIC or number.size == 0:
        return slice(None)
    if order == "curve":
        from muphy_lb.partition.curve import hilbert_index

        return np.argsort(hilbert_index(nodes.coordinates(number)), kind="stable")
    voxel, (nz, ny, nx), (x, y, z) = nodes.voxel[number], nodes.shape, TILE_XYZ
    rows = np.arange(nz * ny)
    first = (rows // ny // z * -(-ny // y) + rows % ny // y) * -(-nx // x)  # tile of each row of the box
    tile = np.empty(number.size, dtype=first.dtype)

    def find(some: slice) -> None:
        row = voxel[some] // nx
        tile[some] = first[row] + (voxel[some] - row * nx) // x

    side_by_side(find, number.size)
    return np.lexsort((voxel, tile))


# Nodes whose neighbours are looked up at a time: tables of 10 and 20 MB in D3Q19, whose memory is used again.
CHUNK_NODES = 1 << 17


@dataclass(frozen=True)
class LocalDomain:
    """One rank's share of a geometry.

    Run order: the edge first (nodes with a link to another rank, into an opening or into a linkwise wall, and the nodes
    behind the latter where these are read; padded with interior nodes to a multiple of ``GROUP``), then the interior;
    within each in node-list order by default. The interior needs nothing but the state before the step, so it runs
    while openings, walls and halo are prepared for the edge. The table of all neighbours is never stored as a whole; it
    is computed chunk by chunk where it is needed.
    """

    lattice: Lattice  #: the velocity set
    number: np.ndarray  #: (n,) int64 node-list number of each local node: its rank-independent name
    voxel: np.ndarray  #: (n,) int64 voxel ids
    n_edge: int  #: the edge is local nodes ``[0, n_edge)``, the interior ``[n_edge, n)``
    pitch: int  #: number of nodes that a population buffer is allocated for, a multiple of ``TILE``
    walls: WallTreatment  #: how walls are treated
    halo: HaloPlan  #: populations that cross to other ranks
    ghost_layer: GhostLayer  #: the adjacent nodes of other ranks
    links: LinkRecords  #: the links into openings
    mirrors: Mirrors  #: their mirror images
    #: the links into linkwise walls; the number of all unlabelled walls follows those of the labelled ones
    linkwise: LinkRecords
    in_table: LinkRecords  #: the links into labelled walls that are treated in the address table
    specular: SpecularLinks  #: the links that slip walls reflect to a node of this rank (``far`` is a local node)
    n_specular: int  #: number of links that slip walls reflect to a node of any rank
    search: NeighbourSearch  #: neighbour search in the rank's part of the node list
    part: Part  #: the rank's part of the geometry
    listed: np.ndarray | None  #: (n,) int64 position of each local node in that part
    #: local number of each node of that part, ``REMOTE_LINK`` for those of other ranks. Both are None where local
    #: numbers and positions are the same.
    local_of: np.ndarray | None

    @property
    def n_nodes(self) -> int:
        """Number of local nodes."""
        return int(self.number.size)

    def neighbours(self, vectors, nodes: np.ndarray | slice) -> np.ndarray:
        """(K, m) local node one lattice vector away from each of some local nodes, ``WALL_LINK``,
        ``FIRST_WALL_LINK - k``, ``REMOTE_LINK`` or ``FIRST_OPENING_LINK - k``."""
        if self.listed is None or self.local_of is None:
            return self.search.table(vectors, nodes)
        table = self.search.table(vectors, self.listed[nodes])
        _localise(table, self.local_of)
        return table

    @property
    def solid(self) -> np.ndarray | None:
        """(n,) number of the wall that each node belongs to, -1 for fluid; None if all are fluid."""
        solid = self.search.solid
        return None if solid is None else _chosen(solid, self.listed)

    def neighbours_with_ghosts(self, vectors, nodes: np.ndarray | slice) -> np.ndarray:
        """As :meth:`neighbours`, but also through walls of solids; a node of another rank is ``pitch`` plus its
        position in the ghost layer."""
        if self.listed is None or self.local_of is None:
            return self.search.table_through_solids(vectors, nodes)
        table = self.search.table_through_solids(vectors, self.listed[nodes])
        _localise(table, self._with_ghosts)
        return table

    @cached_property
    def _with_ghosts(self) -> np.ndarray:
        numbers = known(self.local_of).copy()
        numbers[self.ghost_layer.position] = self.pitch + np.arange(self.ghost_layer.position.size)
        return numbers


def build_local_domain(
    nodes: NodeList,
    owner: np.ndarray,
    rank: int,
    lattice: Lattice,
    walls: WallTreatment | None = None,
    order: str = LEXICOGRAPHIC,
) -> LocalDomain:
    """Build one rank's domain from the whole node list.

    Args:
        owner: (n,) rank of every node, in node-list order.
        rank: whose domain to build.
        lattice, walls, order: as of :func:`domain_from_part`.

    Raises InputError: the rank owns no node, or a two-dimensional lattice meets a three-dimensional box.
    """
    return domain_from_part(cut_part(nodes, owner, rank), lattice, walls, order)


@remembered
def domain_from_part(
    part: Part, lattice: Lattice, walls: WallTreatment | None = None, order: str = LEXICOGRAPHIC
) -> LocalDomain:
    """Build the local domain of a rank's part of a geometry.

    Args:
        part: its own nodes and ghost nodes.
        walls: how walls are treated; by default all in the address table.
        order: of the nodes inside edge and interior, one of ``muphy_lb.domain.local.ORDERS``.

    Raises InputError: a two-dimensional lattice meets a three-dimensional box.
    """
    nodes = part.nodes
    check_dimension(nodes, lattice)
    walls = walls or WallTreatment((IN_TABLE,) * len(nodes.walls))
    search, own = NeighbourSearch(nodes), part.own
    special = _special_nodes(search, own, part, lattice, walls)
    listed, n_edge = _run_order(nodes, own, special, order)
    place, local_of = (own, None) if listed is None else (listed, _inverse(listed, nodes.n_nodes))
    local = special.listed if local_of is None else local_of[special.listed].astype(np.int64)
    specular = specular_links(special.table, walls, lattice)
    mirrored = mirrored_links(
        special.table, nodes.openings, lattice, lambda vector, chosen: search.table(vector, special.listed[chosen])[0]
    )
    halo = plan_halo(part, lattice, special, specular, mirrored)
    halo = replace(halo, send_node=local[halo.send_node], receive_node=local[halo.receive_node])
    near = part.owner[specular.far] == part.rank
    voxel = nodes.voxel[special.listed]
    links = _at(opening_records(special.table, voxel), local)
    linkwise, in_table = _wall_links(special.table, voxel, walls)
    return LocalDomain(
        lattice=lattice,
        number=place if part.number is None else part.number[place],
        voxel=_chosen(nodes.voxel, listed),
        n_edge=n_edge,
        pitch=whole(own.size, TILE),
        walls=walls,
        halo=halo,
        ghost_layer=plan_ghost_layer(part, special.through_solids, local, halo.neighbours),
        links=links,
        mirrors=_mirrors(links, _localised(mirrored, slice(None), local, local_of), lattice),
        linkwise=_at(linkwise, local),
        in_table=_at(in_table, local),
        specular=_localised(specular, near, local, local_of),
        n_specular=int(specular.node.size),
        search=search,
        part=part,
        listed=listed,
        local_of=local_of,
    )


def _chosen(values: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
    """The values at given positions, all of them for None."""
    return values if positions is None else values[positions]


@dataclass(frozen=True)
class _Special:
    """Nodes with a link to another rank, into an opening, or into a wall that is labelled or has slots."""

    listed: np.ndarray  #: (k,) their positions in the part
    table: np.ndarray  #: (Q, k) positions in the part of their neighbours, or link codes
    through_solids: np.ndarray  #: the same without the walls of solids
    is_edge: np.ndarray  #: (k,) whether each belongs to the edge
    behind: np.ndarray  #: positions of further nodes of the edge, which wait for what linkwise walls read


def _special_nodes(search, own, part: Part, lattice, walls) -> _Special:
    found = []
    if part.number is None and not part.nodes.walls and walls.plain == IN_TABLE:
        own = own[part.nodes.group_start[1] :]  # those beside openings
    for first in range(0, max(1, own.size), CHUNK_NODES):
        nodes = own[first : first + CHUNK_NODES]
        table = open_corners(search.table(lattice.c, nodes), walls.slip, lattice)
        edge, special = _classify(table, part.owner, part.rank)
        specular = specular_links(table, walls, lattice)
        edge[specular.node[part.owner[specular.far] != part.rank]] = True
        edge |= walls.has_linkwise(table)
        through = table
        if search.solid is not None:
            through = search.table_through_solids(lattice.c, nodes)
            edge |= _classify(through, part.owner, part.rank)[0]
        chosen = np.flatnonzero(special | edge)
        behind = walls.behind(table, lattice)
        behind = behind[part.owner[behind] == part.rank]
        found.append((nodes[chosen], table[:, chosen], through[:, chosen], edge[chosen], behind))
    listed, tables, throughs, edges, behinds = zip(*found, strict=True)
    table, through_solids = np.concatenate(tables, axis=1), np.concatenate(throughs, axis=1)
    return _Special(np.concatenate(listed), table, through_solids, np.concatenate(edges), np.concatenate(behinds))


def _run_order(nodes, own, special: _Special, order: str) -> tuple[np.ndarray | None, int]:
    """Positions of the own nodes in run order, None if that is the whole list as it is, and the size of the edge."""
    edge = distinct(np.concatenate((special.listed[special.is_edge], special.behind)))
    n_edge = min(whole(edge.size, GROUP), own.size)
    if n_edge == 0 and order == LEXICOGRAPHIC:
        return (None if own.size == nodes.n_nodes else own), 0
    inside = np.ones(own.size, dtype=bool)
    inside[np.searchsorted(own, edge)] = False
    fill = n_edge - edge.size
    interior = own[inside]
    parts = np.concatenate((edge, interior[:fill])), interior[fill:]
    return np.concatenate([part[order_keys(nodes, part, order)] for part in parts]), n_edge


def _inverse(listed, n_total) -> np.ndarray:
    local_of = np.full(n_total, REMOTE_LINK, dtype=np.int32 if n_total < 2**31 else np.int64)
    local_of[listed] = np.arange(listed.size)
    return local_of


def _wall_links(table, voxel, walls: WallTreatment) -> tuple[LinkRecords, LinkRecords]:
    """Links into linkwise walls, and into labelled walls treated in the address table."""
    labelled = wall_records(table, voxel)
    treatment = np.array([*walls.labelled, walls.plain])
    is_linkwise = treatment[labelled.boundary] == LINKWISE
    linkwise = labelled.select(is_linkwise)
    if walls.plain == LINKWISE:
        linkwise = linkwise.join(code_records(table, voxel, WALL_LINK, len(walls.labelled)))
    return linkwise, labelled.select(~is_linkwise)


def _at(links: LinkRecords, local) -> LinkRecords:
    """Records of columns as records of local nodes."""
    return replace(links, node=local[links.node])


def _localised(specular: SpecularLinks, near, local, local_of) -> SpecularLinks:
    """The specular links chosen by a mask, between local nodes; ``far`` is ``REMOTE_LINK`` on other ranks."""
    chosen = specular.select(near)
    far = chosen.far if local_of is None else local_of[chosen.far].astype(np.int64)
    return replace(chosen, node=local[chosen.node], far=far)


def _mirrors(links: LinkRecords, mirrored: SpecularLinks, lattice: Lattice) -> Mirrors:
    """The mirror images of opening links between local nodes; those on other ranks stay in their order."""
    order = np.argsort(mirrored.far == REMOTE_LINK, kind="stable")
    mirrored = mirrored.select(order)
    key, wanted = (each.node * lattice.q + q for each, q in ((links, links.q), (mirrored, mirrored.q_out)))
    ascending = np.argsort(key)
    return Mirrors(
        link=ascending[np.searchsorted(key, wanted, sorter=ascending)],
        q=lattice.opposite[mirrored.q_far],
        node=mirrored.far[mirrored.far >= 0],
    )


def check_dimension(nodes: NodeList | GeometryHeader, lattice: Lattice, force=(0.0, 0.0, 0.0)) -> None:
    """Refuse a two-dimensional lattice in a box with more than one layer, or with a force along z. Raises InputError:
    the lattice is two-dimensional, and the box or the force is not."""
    if lattice.dimension == 2 and nodes.shape[0] != 1:
        raise InputError(
            f"lattice {lattice.name} is two-dimensional but the geometry has {nodes.shape[0]} layers along z;"
            " use D3Q19, or a geometry with one layer"
        )
    if lattice.dimension == 2 and force[2] != 0.0:
        raise InputError(
            f"lattice {lattice.name} is two-dimensional but the body force has z component {force[2]}; set it to 0"
        )


@njit(parallel=True, cache=True, usually="(int32[:,::1], Array(int32, 1, 'A', True), int64)")
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


@njit(parallel=True, cache=True, usually="(int32[:,::1], int32[::1])")
def _localise(table, local_of):
    """Replace positions in the part by local numbers, and links to other ranks by REMOTE_LINK, in place."""
    places = table.reshape(-1)
    for k in prange(places.size):
        if places[k] >= 0:
            places[k] = local_of[places[k]]
