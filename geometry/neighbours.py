"""Neighbours of nodes along lattice vectors, as node numbers or link codes, and where walls cut the links between
them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.link_cuts import HALF_WAY, Cuts, MeasuredWall, WallShape, direction_code, link_keys
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.search import NOTHING, NodeIndex, index_nodes, look_up, number_type
from muphy_lb.geometry.voxels import FIRST_REGION_NUMBER, FIRST_WALL_NUMBER

WALL_LINK = NOTHING
FIRST_OPENING_LINK = -2
FIRST_WALL_LINK = FIRST_OPENING_LINK - FIRST_WALL_NUMBER


def is_opening_link(codes: np.ndarray) -> np.ndarray:
    """Whether links lead into openings, by what :func:`neighbour_table` finds at their ends."""
    return (codes <= FIRST_OPENING_LINK) & (codes > FIRST_WALL_LINK)


class NeighbourSearch:
    """Neighbour search among the nodes of a node list: indexed once, then queried for one subset of nodes after
    another.

    A node whose voxel belongs to a labelled wall belongs to a solid (:mod:`muphy_lb.geometry.labels`). The flow sees a
    wall there: a link from the fluid into the solid is a link to the labelled wall, and links from the solid to
    anything but the same solid are links to an unlabelled wall.

    The index takes 16 bytes per node near an opening, 2 bytes per labelled voxel and nothing for other nodes.
    """

    def __init__(self, nodes: NodeList):
        plain_end = int(nodes.group_start[1])
        grouped = plain_end + np.argsort(nodes.voxel[plain_end:])
        self._voxel = nodes.voxel
        index = index_nodes(nodes.shape, nodes.periodic, nodes.voxel[:plain_end])._replace(
            grouped=nodes.voxel[grouped], grouped_node=grouped
        )
        labelled, number = nodes.label_voxel, nodes.label_number
        self.solid, is_node = _solids(nodes, index)
        if self.solid is not None or nodes.regions:
            labelled, number = labelled[~is_node], number[~is_node]
        self._index = index._replace(labelled=labelled, label_code=FIRST_OPENING_LINK - number.astype(np.int16))

    def table(self, vectors, subset: np.ndarray | slice = slice(None), out: np.ndarray | None = None) -> np.ndarray:
        """Neighbour node numbers along lattice vectors, for a flow.

        Args:
            vectors: (Q, 3) integer lattice vectors (x, y, z).
            subset: the nodes to tabulate: node numbers in any order (fast where they ascend), or a slice.
            out: (Q, n) array of that type to write to, such as columns of a larger one; a new array by default.

        Returns:
            ``out``, or else (Q, n) int32 (int64 beyond 2^31 nodes): node numbers and link codes of
            :func:`neighbour_table`.

        Raises GeometryError: ``out`` has another shape.
        """
        out = self.table_through_solids(vectors, subset, out)
        if self.solid is not None:
            _separate(out, self.solid[subset], self.solid)
        return out

    def table_through_solids(
        self, vectors, subset: np.ndarray | slice = slice(None), out: np.ndarray | None = None
    ) -> np.ndarray:
        """As :meth:`table`, for fields that solids conduct: no wall lies between fluid and solid nodes."""
        vectors = np.asarray(vectors, dtype=np.int64).reshape(-1, 3)
        chosen = subset if isinstance(subset, slice) else np.asarray(subset, dtype=np.int64)
        voxel = np.ascontiguousarray(self._voxel[chosen])
        if out is None:
            out = np.empty((len(vectors), voxel.size), dtype=number_type(self._voxel.size))
        elif out.shape != (len(vectors), voxel.size):
            raise GeometryError(
                f"out has shape {out.shape}; {len(vectors)} vectors from {voxel.size} nodes need"
                f" {(len(vectors), voxel.size)}"
            )
        look_up(voxel, vectors, self._index, out)
        return out


def _solids(nodes: NodeList, index: NodeIndex) -> tuple[np.ndarray | None, np.ndarray]:
    """(n,) int16 number of the labelled wall that each node belongs to, -1 for fluid (None if all nodes are fluid), and
    a mask of the labelled voxels that are nodes."""
    is_node = nodes.label_number >= FIRST_REGION_NUMBER
    wall = np.flatnonzero((nodes.label_number >= FIRST_WALL_NUMBER) & ~is_node)
    node = np.empty((1, wall.size), dtype=number_type(nodes.n_nodes))
    look_up(nodes.label_voxel[wall], np.zeros((1, 3), dtype=np.int64), index, node)
    found = node[0] >= 0
    if not found.any():
        return None, is_node
    is_node[wall] = found
    solid = np.full(nodes.n_nodes, -1, dtype=np.int16)
    solid[node[0][found]] = nodes.label_number[wall[found]].astype(np.int16) - FIRST_WALL_NUMBER
    return solid, is_node


@njit(parallel=True, cache=True)
def _separate(table, own, solid):
    """Insert wall links between nodes of different solids, and between solid and fluid, in place."""
    for n in prange(table.shape[1]):
        for q in range(table.shape[0]):
            neighbour = table[q, n]
            if own[n] >= 0 and (neighbour < 0 or solid[neighbour] != own[n]):
                table[q, n] = WALL_LINK
            elif neighbour >= 0 and solid[neighbour] != own[n]:
                table[q, n] = FIRST_WALL_LINK - solid[neighbour]


def neighbour_table(nodes: NodeList, vectors, subset: np.ndarray | slice | None = None) -> np.ndarray:
    """Neighbour node numbers along lattice vectors.

    Args:
        vectors: (Q, 3) integer lattice vectors (x, y, z).
        subset: node numbers to tabulate, or a slice; all nodes by default.

    Returns:
        (Q, n) int32 (int64 beyond 2^31 nodes): the node at ``x + vectors[q]``; ``WALL_LINK`` (-1) where that voxel
        is solid or outside the box; ``FIRST_OPENING_LINK - k`` (-2 - k) where it belongs to opening ``k``;
        ``FIRST_WALL_LINK - k`` (-114 - k) where it belongs to labelled wall ``k``.
        Periodic axes wrap.
    """
    return NeighbourSearch(nodes).table(vectors, slice(None) if subset is None else subset)


def links_from(neighbours: np.ndarray, begin: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """(n,) least number of links of a (Q, n) table of neighbours, through nodes that are allowed (n,), from one of
    ``begin`` (n,); infinite where none lead."""
    found = np.where(begin, 0.0, np.inf)
    n_links, last = 0, np.flatnonzero(begin)
    while last.size:
        n_links += 1
        near = np.unique(neighbours[:, last])
        near = near[near >= 0]
        last = near[allowed[near] & np.isinf(found[near])]
        found[last] = n_links
    return found


SHORTEST = 1e-3  # lower bound of a cut distance: interpolation divides by it

NODES_PER_CHUNK = 2**20

#: (26, 3) vectors (x, y, z) to the neighbours of a voxel, by :func:`muphy_lb.geometry.link_cuts.direction_code`.
DIRECTIONS = np.array([vector[::-1] for vector in product((-1, 0, 1), repeat=3) if any(vector)])


def cut_links(nodes: NodeList, shape: WallShape, vectors=DIRECTIONS) -> NodeList:
    """The same nodes with the distances at which ``shape`` cuts their links into solids or labelled walls.

    Only links along ``vectors`` are considered: (Q, 3) lattice vectors (x, y, z) with components -1, 0 or 1, all 26
    directions by default; a zero vector has no links. Distances lie in [1e-3, 1]; a link into solid that does not
    intersect the wall gets 1/2, as in half-way bounce-back, and is counted in ``Cuts.n_missed``. Links across a
    non-periodic axis of one voxel are omitted: a plane flow has no such links.
    """
    chosen = [vector for vector in np.asarray(vectors) if vector.any() and not _leaves_single_layer(nodes, vector)]
    chunks = list(_cut_along(nodes, shape, chosen))
    voxel, direction, distance = (np.concatenate(column) for column in zip(*chunks, strict=True))
    order = np.argsort(link_keys(voxel, direction))
    missed = np.isnan(distance)
    distance = np.where(missed, HALF_WAY, np.clip(distance, SHORTEST, 1.0))
    cuts = Cuts(voxel[order], direction[order], distance[order], int(np.count_nonzero(missed)))
    if isinstance(shape, MeasuredWall):
        cuts = replace(cuts, area=_areas(nodes, cuts, shape))
    return replace(nodes, cuts=cuts)


def _areas(nodes: NodeList, cuts: Cuts, shape: MeasuredWall) -> np.ndarray:
    """(m,) area of the wall around the points where links along an axis meet it, 0 of other links."""
    vector = np.stack([cuts.direction // 3**i % 3 for i in range(3)], axis=1).astype(np.int64) - 1
    straight, area = np.flatnonzero(np.abs(vector).sum(axis=1) == 1), np.zeros(cuts.n_links)
    along = cuts.distance[straight, None] * vector[straight]
    points = voxel_coordinates(cuts.voxel[straight], nodes.shape) + along
    if straight.size:
        area[straight] = shape.areas(points, np.array(nodes.shape[::-1]))
    return area


def _cut_along(nodes: NodeList, shape: WallShape, vectors: Sequence[np.ndarray]):
    """Yield (voxel, direction, distance) of the cut links along some vectors, chunk by chunk."""
    search = NeighbourSearch(nodes)
    for first in range(0, nodes.n_nodes, NODES_PER_CHUNK):
        table = search.table(vectors, slice(first, min(first + NODES_PER_CHUNK, nodes.n_nodes)))
        for vector, neighbour in zip(vectors, table, strict=True):
            cut = first + np.flatnonzero((neighbour == WALL_LINK) | (neighbour <= FIRST_WALL_LINK))
            distance = shape.distances(nodes.coordinates(cut).astype(np.float64), vector) if cut.size else np.empty(0)
            yield nodes.voxel[cut], np.full(cut.size, direction_code(vector), dtype=np.uint8), distance


def _leaves_single_layer(nodes: NodeList, vector: np.ndarray) -> bool:
    """Whether a vector has a component along a non-periodic axis of one voxel."""
    single = (np.array(nodes.shape[::-1]) == 1) & ~np.array(nodes.periodic)
    return bool(np.any(single & (vector != 0)))
