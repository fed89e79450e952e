"""The cross-section of an opening as cells in its plane, and oscillating Stokes flow through it.

A pressure gradient that oscillates with angular frequency omega drives, along a straight vessel of any cross-section,

    i omega u = G + nu (d2u/da2 + d2u/db2),    u = 0 at the walls,

which is Poisson's equation for omega = 0 (Womersley, J. Physiol. 127, 553 (1955), from memory, solved it for a circle).
The second differences next to a wall know its distance (Shortley and Weller; Morton and Mayers, Numerical Solution of
Partial Differential Equations (2005), section 6.4, from memory): half a voxel, or where the wall cuts the link.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF
from muphy_lb.domain import LinkRecords
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.lattice import Lattice

WALL = -1
"""Number of the neighbour of a cell that has none."""

ALONG_AN_AXIS = 1.0 - 1e-9
"""Least component of a normal along an axis."""


@dataclass(frozen=True)
class CrossSection:
    """Square cells of one voxel in a plane (in two dimensions on a line); their centres are
    ``origin + cell @ axes``.

    Attributes:
        origin: (3,) voxel coordinates (x, y, z).
        axes: (d, 3) unit vectors of the plane.
        cell: (n, d) int64 cell numbers along them.
        period: (d,) cells after which they repeat; 0 where they do not.
        distance: (d, 2, n) distance of the wall behind and ahead of every cell along each axis, where it has no
            neighbour there [voxels].
    """

    origin: np.ndarray
    axes: np.ndarray
    cell: np.ndarray
    period: np.ndarray
    distance: np.ndarray

    def number(self, cell: np.ndarray) -> np.ndarray:
        """(m,) number of each of the cells (m, d), ``WALL`` where there is none."""
        span = np.ptp(self.cell, axis=0) + 1
        low = self.cell.min(axis=0)
        place = np.where(self.period > 0, np.mod(cell, np.maximum(self.period, 1)), cell) - low
        grid = np.full(span, WALL, dtype=np.int64)
        grid[tuple((self.cell - low).T)] = np.arange(len(self.cell))
        is_there = np.all((place >= 0) & (place < span), axis=1)
        return np.where(is_there, grid[tuple(np.where(is_there[:, None], place, 0).T)], WALL)

    def neighbour(self, axis: int, step: int) -> np.ndarray:
        """(n,) number of the next cell of each cell along an axis, ``step`` -1 or 1."""
        return self.number(self.cell + step * np.eye(len(self.axes), dtype=np.int64)[axis])

    def solver(self) -> Callable[[complex], np.ndarray]:
        """``solve(i omega / nu) -> (n,)`` velocities that belong to G = nu; complex unless omega = 0."""
        from scipy.sparse import coo_array, eye_array  # a third of a second that other runs need not wait
        from scipy.sparse.linalg import splu

        n, numbers = len(self.cell), np.arange(len(self.cell))
        rows, columns, entries = [], [], []
        for axis in range(len(self.axes)):
            sides = [self.neighbour(axis, step) for step in (-1, 1)]
            gaps = [np.where(side == WALL, gap, 1.0) for side, gap in zip(sides, self.distance[axis], strict=True)]
            for side, gap in zip(sides, gaps, strict=True):
                share, inside = 2.0 / (gap * (gaps[0] + gaps[1])), side != WALL
                rows += [numbers, numbers[inside]]
                columns += [numbers, side[inside]]
                entries += [share, -share[inside]]
        matrix = coo_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))
        matrix, identity = matrix.tocsc(), eye_array(n, format="csc")
        if abs(matrix.sum()) < ROUNDING:  # no wall: the fluid moves as a whole
            return lambda rate: np.full(n, 1.0 / rate if rate else 1.0)
        return lambda rate: splu(matrix + rate * identity).solve(np.ones(n, np.asarray(rate).dtype))

    def at(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(m,) values (n,) of the cells at points (m, 3), interpolated linearly along each axis; what lies behind the
        rim mirrors what lies before it, with the opposite sign, up to the wall half-way, where it ends."""
        place = (points - self.origin) @ self.axes.T
        low = np.floor(place + ROUNDING).astype(np.int64)
        share = np.clip(place - low, 0.0, 1.0)
        inside, total = np.zeros(len(points)), np.zeros(len(points), dtype=values.dtype)
        for corner in product((0, 1), repeat=len(self.axes)):
            weight = np.prod(np.where(corner, share, 1.0 - share), axis=1)
            number = self.number(low + corner)
            weight = np.where(number == WALL, 0.0, weight)
            inside += weight
            total += weight * values[np.maximum(number, 0)]
        return total * np.maximum(0.0, 2.0 * inside - 1.0) / np.where(inside > 0.0, inside, 1.0)


ROUNDING = 1e-9
"""What may be missing of a whole number of cells."""


def cross_section(nodes: NodeList, lattice: Lattice, links: LinkRecords, frame) -> CrossSection:
    """The cross-section of an opening.

    Across an axis the cells are the nodes with links straight into the opening, and walls are where they cut the links
    of these nodes; else those squares of a grid in the plane whose middle lies in a voxel of a node or of the opening
    beside a link, and walls lie half-way.

    Args:
        nodes: the whole geometry.
        lattice: the velocity set.
        links: the links of the opening.
        frame: its measures.

    Raises:
        InputError: no cell at all: the opening is smaller than a voxel.
    """
    axis = int(np.argmax(np.abs(frame.normal)))
    is_straight = abs(frame.normal[axis]) > ALONG_AN_AXIS
    found = _of_nodes(nodes, lattice, links, axis) if is_straight else _of_plane(nodes, lattice, links, frame)
    if not len(found.cell):
        raise InputError(f"an opening of {frame.area:.3g} voxels has no cross-section; refine geometry.spacing_m")
    return found


def _of_nodes(nodes: NodeList, lattice: Lattice, links: LinkRecords, axis: int) -> CrossSection:
    straight = np.abs(lattice.c).sum(axis=1)[links.q] == 1
    voxel = np.unique(links.voxel[straight & (lattice.c[links.q][:, axis] != 0)])
    coordinates = voxel_coordinates(voxel, nodes.shape)
    others = [k for k in range(lattice.dimension) if k != axis]
    axes, sizes = np.eye(3)[others], np.array(nodes.shape[::-1])[others]
    period = np.where(np.array(nodes.periodic)[others], sizes, 0)
    origin = np.where(np.isin(np.arange(3), others), 0.0, coordinates.mean(axis=0))
    steps = [[-direction, direction] for direction in np.eye(3, dtype=np.int64)[others]]
    distance = np.array([[_wall_distance(nodes.cuts, voxel, step) for step in pair] for pair in steps])
    return CrossSection(origin, axes, coordinates[:, others], period, distance)


def _wall_distance(cuts: Cuts | None, voxel: np.ndarray, step: np.ndarray) -> np.ndarray:
    """(n,) distances of the wall from voxels along a unit vector; half a voxel where it is not known."""
    found = np.full(voxel.size, np.nan) if cuts is None else cuts.of(voxel, step)
    return np.where(np.isnan(found), HALF, found)


def _of_plane(nodes: NodeList, lattice: Lattice, links: LinkRecords, frame) -> CrossSection:
    axes = _plane_axes(frame.normal, lattice.dimension)
    near = voxel_coordinates(links.voxel, nodes.shape)
    voxels = np.unique(np.concatenate((near, near + lattice.c[links.q])), axis=0)
    reach = np.ceil(np.abs((voxels - frame.centroid) @ axes.T).max(axis=0)).astype(np.int64) + 1
    cell = np.array(list(product(*(range(-extent, extent + 1) for extent in reach))), dtype=np.int64)
    middle = np.rint(frame.centroid + cell @ axes).astype(np.int64)
    low = voxels.min(axis=0)
    grid = np.zeros(np.ptp(voxels, axis=0) + 1, dtype=bool)
    grid[tuple((voxels - low).T)] = True
    place = middle - low
    is_there = np.all((place >= 0) & (place < grid.shape), axis=1)
    is_there[is_there] = grid[tuple(place[is_there].T)]
    chosen = cell[is_there]
    distance = np.full((len(axes), 2, len(chosen)), HALF)
    return CrossSection(frame.centroid, axes, chosen, np.zeros(len(axes), dtype=np.int64), distance)


def _plane_axes(normal: np.ndarray, dimension: int) -> np.ndarray:
    """(d, 3) unit vectors across a normal, the first of them in the plane of x and y; in two dimensions only that."""
    first = np.array([-normal[1], normal[0], 0.0])
    if np.linalg.norm(first) < ROUNDING:
        first = np.array([1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])[: dimension - 1]
