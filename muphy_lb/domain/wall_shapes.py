"""Normals and curvatures of walls of voxels at the nodes beside them, from the smoothed image."""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from muphy_lb.base.chunks import OF_THREAD, chunks, side_by_side
from muphy_lb.domain.links import is_wall
from muphy_lb.domain.local import LocalDomain
from muphy_lb.domain.smoothed_fluid import TRUNCATE, SmoothedFluid, edges
from muphy_lb.geometry.neighbours import NeighbourSearch, is_opening_link
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.wall_areas import AXES
from muphy_lb.lattice import Lattice

SMOOTHINGS, ALIKE = (3.0, 1.5), 0.985
"""Standard deviations [voxels] over which walls are smoothed before derivatives are taken: the wider one where both
normals are similar, by cosine, so that neither corners nor the other side of a throat turn them."""
FACE, NEAR = 4, 8
"""Nodes on both sides of a concave corner that at least lie beside planes, and those whose normals are of these."""
MOST_BENT = 0.25  # largest curvature [1/voxel] of walls; those of smaller radii are not resolved
WALL_NORMAL, BEND = ("wall_x", "wall_y", "wall_z"), ("bend_x", "bend_y", "bend_z")
NORMALS, BENDS, AT_FACES = range(3), range(3, 6), range(6, 9)
"""Names of unit normals of walls, into the fluid, and of their curvatures: kappa_2 w + sqrt(kappa_1 - kappa_2) e, the
principal ones positive where the wall bulges into the fluid, kappa_1 the larger one, along e."""


class BesideWalls(NamedTuple):
    """Values at nodes beside walls: ascending numbers (m,) of the nodes, and rows (r, m)."""

    number: np.ndarray = np.zeros(0, np.int64)
    rows: np.ndarray = np.zeros((0, 0))

    def at(self, row: int, domain: LocalDomain) -> np.ndarray:
        """(n,) values of a row at the nodes of a rank; 0 away from walls."""
        if not self.number.size:
            return np.zeros(domain.n_nodes)
        found = np.empty(domain.n_nodes)

        def fill(some: slice) -> None:
            number = domain.number[some]
            place = np.minimum(np.searchsorted(self.number, number), self.number.size - 1)
            found[some] = np.where(self.number[place] == number, self.rows[row][place], 0.0)

        side_by_side(fill, domain.n_nodes)
        return found


def wall_shapes(nodes: NodeList, lattice: Lattice) -> tuple[BesideWalls, np.ndarray]:
    """Normals and curvatures of walls.

    Args:
        lattice: of the flow; a wall lies beside a node if one of its links leads there.

    Returns:
        Rows at the nodes beside walls: ``NORMALS``, unit vectors into the fluid; ``BENDS``, curvatures :data:`BEND`;
        ``AT_FACES``, components along the axes of the normals on faces of voxels across them, half a voxel from the
        node; and what lies along their links (Q - 1, m) (:class:`NeighbourSearch`).
    """
    search = NeighbourSearch(nodes)
    near, codes, along_axes = _near_ends(search, nodes, lattice)
    is_beside = is_wall(codes).any(axis=0)
    beside, codes = near[is_beside], codes[:, is_beside]
    of_wall = is_wall(codes)

    def own(some: np.ndarray) -> np.ndarray:
        return -np.einsum("k,ka,kn->an", lattice.w[1:], lattice.c[1:], of_wall[:, some])

    image = _surrounded(nodes, near, along_axes, int(TRUNCATE * max(SMOOTHINGS) + 0.5))
    (normal, bend), (sharper, bent) = (_smoothed(nodes, image, beside, own, width) for width in SMOOTHINGS)
    is_alike = (normal * sharper).sum(axis=0) > ALIKE
    normal, bend = np.where(is_alike, normal, sharper), np.where(is_alike, bend, bent)
    face, corner = (each[:, is_beside] for each in _faces_at_corners(along_axes, near))
    normal, bend = np.where(face.any(axis=0), face, normal), np.where(face.any(axis=0), 0.0, bend)
    at_faces = np.where(corner.any(axis=0), corner, _at_faces(normal, bend))
    return BesideWalls(beside, np.stack([*normal, *bend, *at_faces])), codes


def _near_ends(search: NeighbourSearch, nodes: NodeList, lattice: Lattice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers (n,) of the nodes that have a neighbour that is no node, along links or axes, and what lies there along
    links (Q - 1, n) and ``AXES`` (6, n)."""
    vectors, n_links = np.concatenate((lattice.c[1:], AXES)), lattice.q - 1
    counts = np.array([True] * n_links + [nodes.shape[2 - np.abs(vector).argmax()] > 1 for vector in AXES])
    numbers, codes = [np.empty(0, np.int64)], [search.table(vectors, slice(0, 0))]
    for some in chunks(nodes.n_nodes):
        table = search.table(vectors, some)
        near = np.flatnonzero((table[counts] < 0).any(axis=0))
        numbers.append(some.start + near)
        codes.append(table[:, near])
    table = np.concatenate(codes, axis=1)
    return np.concatenate(numbers), table[:n_links], table[n_links:]


def _at_faces(normal: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """(3, m) components along the axes of normals half a voxel along each of them into the wall, from those at nodes
    (3, m) and ``BEND``."""
    least = (bend * normal).sum(axis=0)
    turn = least * (1.0 - normal * normal) + (bend - least * normal) ** 2
    return np.sign(normal) * (np.abs(normal) - 0.5 * turn)


def _faces_at_corners(codes: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(3, n) normals of planes across axes at nodes beside a concave corner of two of them, and those of both planes at
    nodes in the corner, 0 elsewhere: both planes extend for ``FACE`` nodes at least, which no staircase of a smooth
    wall does. ``codes``: (6, n) neighbours along ``AXES`` of nodes of ascending numbers ``near`` (n,)."""
    place = np.minimum(np.searchsorted(near, codes), max(near.size - 1, 0))
    beside = np.where(near[place] == codes, place, -1) if near.size else codes
    of_wall, is_beside, is_in = is_wall(codes), np.zeros(codes.shape, dtype=bool), np.zeros(codes.shape, dtype=bool)

    def along(k: int, start: np.ndarray, face: int) -> np.ndarray:
        """(NEAR, m) nodes beside a face as one goes away from the wall along vector k, -1 where it has ended."""
        last, gone = start, []
        for _ in range(NEAR):
            last = np.where(last >= 0, beside[k ^ 1, last], -1)
            last = np.where((last >= 0) & of_wall[face, np.maximum(last, 0)], last, -1)
            gone.append(last)
        return np.stack(gone)

    for a, b in combinations(range(6), 2):
        corner = np.flatnonzero(of_wall[a] & of_wall[b])
        if a // 2 == b // 2 or not corner.size:
            continue
        floor, other = along(a, corner, b), along(b, corner, a)
        is_corner = (floor[FACE - 1] >= 0) & (other[FACE - 1] >= 0)
        is_in[a, corner[is_corner]] = is_in[b, corner[is_corner]] = True
        for gone, wall in ((floor[:, is_corner], b), (other[:, is_corner], a)):
            is_beside[wall, gone[gone >= 0]] = True
    found = -(AXES.T @ is_beside.astype(float))
    return found / np.maximum(np.linalg.norm(found, axis=0), 1e-30), -(AXES.T @ is_in.astype(float))


def _smoothed(nodes: NodeList, image, beside: np.ndarray, own: Callable, width: float) -> np.ndarray:
    """(2, 3, m) normals and ``BEND`` of walls that are smoothed. ``own(some)``: normals (3, k) of some where nothing is
    left of a wall; ``image``: as of :func:`_surrounded`."""
    (fluid, first), axes = image, [axis for axis in range(3) if nodes.shape[2 - axis] > 1]
    place, found = nodes.coordinates(beside)[:, ::-1] + first, np.empty((2, 3, beside.size))
    for _, members in fluid.blocks_of(place):
        _shapes(fluid.smoothed(place[members], width), place, np.arange(beside.size)[members], axes, own, found)
    return found


def _shapes(smoothed, place: np.ndarray, members: np.ndarray, axes: Sequence[int], own: Callable, found) -> None:
    """Write normals and ``BEND`` to columns ``members`` of (2, 3, m) ``found``, at places (m, 3) z, y, x."""
    smooth, low = smoothed

    def write(some: slice) -> None:
        chosen = members[some]
        normal, second = _differences(smooth, (place[chosen] - low)[:, ::-1], axes)
        size = np.linalg.norm(normal, axis=0)
        is_wall_left = size > 1e-6
        normal[:, ~is_wall_left] = own(chosen[~is_wall_left])
        normal /= np.maximum(np.linalg.norm(normal, axis=0), 1e-30)
        found[0][:, chosen] = normal
        found[1][:, chosen] = _bend(normal, np.where(is_wall_left, second / np.maximum(size, 1e-6), 0.0))

    side_by_side(write, members.size, OF_THREAD // 8)  # a hundred numbers each


def _bend(normal: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """(3, m) curvatures half a voxel below nodes, ``BEND``, from normals and second derivatives (3, 3, m) over the size
    of the gradient."""
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin(axis=0)], axisa=0)
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-30)
    second = np.cross(normal, first, axisa=0)
    a, b, c = (np.einsum("na,abn,nb->n", x, shape, y) for x, y in ((first, first), (first, second), (second, second)))
    more, turn = np.hypot(0.5 * (a - c), b), 0.5 * np.arctan2(2.0 * b, a - c)
    most, least = (np.clip(0.5 * (a + c) + sign * more, -MOST_BENT, MOST_BENT) for sign in (1.0, -1.0))
    most, least = (at_node / (1.0 - 0.5 * at_node) for at_node in (most, least))
    along = np.cos(turn) * first.T + np.sin(turn) * second.T
    return least * normal + np.sqrt(most - least) * along


def _differences(smooth: np.ndarray, place: np.ndarray, axes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(3, m) first and (3, 3, m) second differences of a field (nz, ny, nx) at places (m, 3) x, y, z."""

    def beside(axes, steps) -> np.ndarray:
        moved = place.copy()
        for axis, step in zip(axes, steps, strict=True):
            moved[:, axis] = (moved[:, axis] + step) % smooth.shape[2 - axis]
        return smooth[moved[:, 2], moved[:, 1], moved[:, 0]]

    slope, second = np.zeros((3, len(place))), np.zeros((3, 3, len(place)))
    for axis in axes:
        up, down = beside([axis], [1]), beside([axis], [-1])
        slope[axis], second[axis, axis] = 0.5 * (up - down), up + down - 2.0 * beside([], [])
    for a, b in combinations(axes, 2):
        signs = product((1, -1), repeat=2)
        second[a, b] = second[b, a] = 0.25 * sum(steps[0] * steps[1] * beside([a, b], steps) for steps in signs)
    return slope, second


def _surrounded(nodes: NodeList, near: np.ndarray, codes: np.ndarray, depth: int) -> tuple[SmoothedFluid, np.ndarray]:
    """The fluid, with what lies so many voxels beyond the ends that do not repeat, walls and the fluid behind openings;
    and (3,) the place of the first voxel (z, y, x). ``codes``: (6, n) neighbours along ``AXES`` of nodes ``near``
    (n,)."""
    beyond = ~np.array(nodes.periodic[::-1]) & (np.array(nodes.shape) > 1)
    shape, first = np.array(nodes.shape) + 2 * depth * beyond, depth * beyond
    fluid = SmoothedFluid(shape, edges(shape, nodes.n_nodes), nodes.periodic[::-1])
    for chosen in chunks(nodes.n_nodes):
        fluid.fill(voxel_coordinates(nodes.voxel[chosen], nodes.shape)[:, ::-1] + first)
    place = nodes.coordinates(near)[:, ::-1] + first
    for vector, opens in zip(AXES[:, ::-1], is_opening_link(codes), strict=True):
        for step in range(1, depth + 1) if beyond[np.abs(vector).argmax()] else ():
            fluid.fill(place[opens] + step * vector)
    return fluid, first
