"""Cut distances: how far along each link into solid the true wall lies."""

from dataclasses import replace
from itertools import product

import numpy as np

from muphy_lb.geometry.link_cuts import Cuts, WallShape, direction_code, link_keys
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, neighbour_table
from muphy_lb.geometry.nodes import NodeList

SHORTEST = 1e-3
"""Lower bound of a cut distance: interpolation divides by it."""

HALF_WAY = 0.5
"""Distance of a link into solid that meets no wall."""

CHUNK = 2**20
"""Nodes looked at together."""

DIRECTIONS = np.array([vector[::-1] for vector in product((-1, 0, 1), repeat=3) if any(vector)])
"""(26, 3) vectors (x, y, z) to the neighbours of a voxel, by :func:`muphy_lb.geometry.link_cuts.direction_code`."""


def cut_links(nodes: NodeList, shape: WallShape, vectors=DIRECTIONS) -> NodeList:
    """The same nodes with the distances at which ``shape`` cuts their links into solid or labelled wall.

    Only links along ``vectors`` are looked at: (Q, 3) lattice vectors (x, y, z) with components -1, 0 or 1, all 26
    directions by default; a zero vector has no links. Distances are at least 1e-3 and at most 1; a link into solid that
    meets no wall gets one half, as half-way bounce-back has it, and is counted in ``Cuts.n_missed``. Links that leave a
    box one voxel thick across are left out: they are no links of a plane flow.
    """
    looked_at = [vector for vector in np.asarray(vectors) if vector.any() and not _leaves_a_sheet(nodes, vector)]
    parts = [part for vector in looked_at for part in _cut(nodes, shape, vector)]
    voxel, direction, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(link_keys(voxel, direction))
    missed = np.isnan(distance)
    distance = np.where(missed, HALF_WAY, np.clip(distance, SHORTEST, 1.0))
    cuts = Cuts(voxel[order], direction[order], distance[order], int(np.count_nonzero(missed)))
    return replace(nodes, cuts=cuts)


def _cut(nodes: NodeList, shape: WallShape, vector: np.ndarray):
    """(voxel, direction, distance) of the cut links along one vector, chunk by chunk."""
    for first in range(0, nodes.n_nodes, CHUNK):
        chunk = np.arange(first, min(first + CHUNK, nodes.n_nodes))
        far = neighbour_table(nodes, [vector], chunk)[0]
        cut = chunk[(far == WALL_LINK) | (far <= FIRST_WALL_LINK)]
        distance = shape.distances(nodes.coordinates(cut).astype(np.float64), vector) if cut.size else np.empty(0)
        yield nodes.voxel[cut], np.full(cut.size, direction_code(vector), dtype=np.uint8), distance


def _leaves_a_sheet(nodes: NodeList, vector: np.ndarray) -> bool:
    flat = (np.array(nodes.shape[::-1]) == 1) & ~np.array(nodes.periodic)
    return bool(np.any(flat & (vector != 0)))
