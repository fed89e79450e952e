"""Positions of the walls beside an opening, which determine its section and the direction of its vessel."""

from dataclasses import replace

import numpy as np

from muphy_lb.base.chunks import chunks
from muphy_lb.boundaries.wall_motion import HALF
from muphy_lb.domain.links import AXIS_TOLERANCE, is_wall
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, links_from, neighbour_table
from muphy_lb.geometry.nodes import NodeList, labels_near, voxel_coordinates
from muphy_lb.geometry.search import Vicinity
from muphy_lb.geometry.voxels import Opening
from muphy_lb.lattice import Lattice

DEPTH = 3  # layers of voxels whose cut walls give the direction of a vessel
STAIRS = 8  # layers whose stairs do: within a degree or so, four layers within three
MARGIN = 2.0  # layers more, so that links of the outermost ones are known
NOT_AT_WALL = np.iinfo(np.int32).min  # neighbour of a node at a wall that is at none


def holding(table: np.ndarray, slip) -> np.ndarray:
    """(Q, n) whether links of a table of neighbours lead into walls that do not slip."""
    return is_wall(table) & ~np.isin(table, FIRST_WALL_LINK - np.array(slip, dtype=np.int64))


def inwards(nodes: NodeList, lattice: Lattice, voxel: np.ndarray, normal) -> np.ndarray:
    """Ascending ids of ``DEPTH`` layers of voxels from some on, along links that do not lead back to the opening."""
    steps, size = lattice.c[lattice.c @ np.asarray(normal) > -AXIS_TOLERANCE], np.array(nodes.shape[::-1])
    place = voxel_coordinates(voxel, nodes.shape)
    for _ in range(DEPTH):
        place = (place[:, np.newaxis] + steps).reshape(-1, 3)
        place = np.unique(place[((place >= 0) & (place < size)).all(axis=1)], axis=0)
    return np.sort(np.ravel_multi_index(tuple(place.T[::-1]), nodes.shape)) if place.size else voxel


def wall_points(
    nodes: NodeList, lattice: Lattice, opening: Opening, beside: tuple, inside: tuple[Cuts | None, np.ndarray]
) -> tuple[np.ndarray, bool]:
    """(n, 3) where links meet walls, and whether at their cuts: those ``beside`` an opening, voxel ids (n,) of its
    nodes and (Q, n) which of their links, half-way; or, if any of them is, at their cuts, and where others are cut from
    voxels ``inside``, which give the direction of a vessel. Links across the plane end in what closes the vessel around
    it, where no wall may cut them."""
    (voxel, is_beside), (cuts, inner) = beside, inside
    centre = (np.array(opening.centre_m) - nodes.origin_m) / nodes.spacing_m
    half_way, cut = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for q in range(1, lattice.q):
        at_wall = voxel[is_beside[q]]
        half_way.append(voxel_coordinates(at_wall, nodes.shape) + HALF * lattice.c[q])
        if cuts is not None:
            start = np.union1d(at_wall, inner)
            distance, place = cuts.of(start, lattice.c[q]), voxel_coordinates(start, nodes.shape)
            ends_inside = (place + lattice.c[q] - centre) @ opening.normal > 0.0
            points = place + np.multiply.outer(distance, lattice.c[q])
            cut.append(points[ends_inside & ~np.isnan(distance)])
    are_cut = any(map(len, cut))
    return np.concatenate(cut if are_cut else half_way), are_cut


def stair_points(nodes: NodeList, lattice: Lattice, opening: Opening, voxel: np.ndarray, slip) -> np.ndarray:
    """(n, 3) half-way points of links into walls that do not slip, from nodes at walls that are joined to an opening
    within ``STAIRS`` layers; ``voxel``: ids of the nodes of the opening."""
    place, normal = voxel_coordinates(voxel, nodes.shape), np.asarray(opening.normal)
    first = float((place @ normal).min())
    corners = place.min(axis=0) - 2 * STAIRS, place.max(axis=0) + 2 * STAIRS
    near = nodes_between(nodes, corners, normal, (first - MARGIN, first + STAIRS + MARGIN))
    shell, table = _at_walls(nodes, lattice, near, slip)
    at = voxel_coordinates(near[shell], nodes.shape)
    depth = at @ normal - first
    is_whole = (depth > -1.0) & (depth < STAIRS) & ((at > corners[0]) & (at < corners[1])).all(axis=1)
    joined = np.isfinite(links_from(table, np.isin(near[shell], voxel) & is_whole, is_whole))
    points = [np.zeros((0, 3))]
    for q in range(1, lattice.q):
        ends = depth + lattice.c[q] @ normal
        mine = joined & holding(table[q], slip) & (ends > -AXIS_TOLERANCE) & (ends < STAIRS)
        points.append(at[mine] + HALF * lattice.c[q])
    return np.concatenate(points)


def nodes_between(nodes: NodeList, corners: tuple, normal: np.ndarray, depths: tuple) -> np.ndarray:
    """Ascending ids of the fluid voxels between two corners (x, y, z), and two places along a normal, read chunk by
    chunk."""
    (low, high), (least, most), layer = corners, depths, nodes.shape[1] * nodes.shape[2]
    found = [np.zeros(0, dtype=np.int64)]
    for part in chunks(nodes.n_nodes):
        voxel = nodes.voxel[part]
        voxel = voxel[(voxel >= low[2] * layer) & (voxel < (high[2] + 1) * layer)]
        x = voxel % nodes.shape[2]
        voxel = voxel[(x >= low[0]) & (x <= high[0])]  # by themselves, since most of them are far along some axis
        place = voxel_coordinates(voxel, nodes.shape)
        depth = place @ normal
        inside = ((place >= low) & (place <= high)).all(axis=1) & (depth >= least) & (depth <= most)
        found.append(voxel[inside])
    return np.sort(np.concatenate(found))


def _at_walls(nodes: NodeList, lattice: Lattice, near: np.ndarray, slip) -> tuple[np.ndarray, np.ndarray]:
    """Which of some ascending voxel ids have links into walls that do not slip, as numbers (m,); and the (Q, m) table
    of their neighbours among these, or codes of links."""
    voxel, number = labels_near(nodes, Vicinity(near, nodes.shape, nodes.periodic))
    start = np.array([0, *(near.size,) * (len(nodes.openings) + 1)])
    region = replace(nodes, voxel=near, group_start=start, label_voxel=voxel, label_number=number, cuts=None)
    found = []
    for part in chunks(near.size):
        table = neighbour_table(region, lattice.c, part)
        kept = np.flatnonzero(holding(table[1:], slip).any(axis=0))
        found.append((part.start + kept, table[:, kept]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros((lattice.q, 0), dtype=np.int64)
    shell, table = np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found], axis=1)
    place = np.minimum(np.searchsorted(shell, table), shell.size - 1)
    inner = table >= 0
    return shell, np.where(inner, np.where(shell[place] == table, place, NOT_AT_WALL), table)
