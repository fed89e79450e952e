"""Cut distances: the fraction of each fluid-solid link at which the true wall lies."""

from dataclasses import replace
from itertools import product

import numpy as np

from muphy_lb.geometry.link_cuts import Cuts, WallShape, direction_code, link_keys
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, neighbour_table
from muphy_lb.geometry.nodes import NodeList

SHORTEST = 1e-3
"""Lower bound of a cut distance: interpolation divides by it."""

HALF_WAY = 0.5
"""Distance of a link into solid that does not intersect the wall."""

NODES_PER_CHUNK = 2**20

DIRECTIONS = np.array([vector[::-1] for vector in product((-1, 0, 1), repeat=3) if any(vector)])
"""(26, 3) vectors (x, y, z) to the neighbours of a voxel, by :func:`muphy_lb.geometry.link_cuts.direction_code`."""


def cut_links(nodes: NodeList, shape: WallShape, vectors=DIRECTIONS) -> NodeList:
    """The same nodes with the distances at which ``shape`` cuts their links into solids or labelled walls.

    Only links along ``vectors`` are considered: (Q, 3) lattice vectors (x, y, z) with components -1, 0 or 1, all 26
    directions by default; a zero vector has no links. Distances lie in [1e-3, 1]; a link into solid that does not
    intersect the wall gets 1/2, as in half-way bounce-back, and is counted in ``Cuts.n_missed``. Links across a
    non-periodic axis of one voxel are omitted: a plane flow has no such links.
    """
    chosen = [vector for vector in np.asarray(vectors) if vector.any() and not _leaves_single_layer(nodes, vector)]
    chunks = [chunk for vector in chosen for chunk in _cut_along(nodes, shape, vector)]
    voxel, direction, distance = (np.concatenate(column) for column in zip(*chunks, strict=True))
    order = np.argsort(link_keys(voxel, direction))
    missed = np.isnan(distance)
    distance = np.where(missed, HALF_WAY, np.clip(distance, SHORTEST, 1.0))
    cuts = Cuts(voxel[order], direction[order], distance[order], int(np.count_nonzero(missed)))
    return replace(nodes, cuts=cuts)


def _cut_along(nodes: NodeList, shape: WallShape, vector: np.ndarray):
    """Yield (voxel, direction, distance) of the cut links along one vector, chunk by chunk."""
    for first in range(0, nodes.n_nodes, NODES_PER_CHUNK):
        chunk = np.arange(first, min(first + NODES_PER_CHUNK, nodes.n_nodes))
        neighbour = neighbour_table(nodes, [vector], chunk)[0]
        cut = chunk[(neighbour == WALL_LINK) | (neighbour <= FIRST_WALL_LINK)]
        distance = shape.distances(nodes.coordinates(cut).astype(np.float64), vector) if cut.size else np.empty(0)
        yield nodes.voxel[cut], np.full(cut.size, direction_code(vector), dtype=np.uint8), distance


def _leaves_single_layer(nodes: NodeList, vector: np.ndarray) -> bool:
    """Whether a vector has a component along a non-periodic axis of one voxel."""
    single = (np.array(nodes.shape[::-1]) == 1) & ~np.array(nodes.periodic)
    return bool(np.any(single & (vector != 0)))
