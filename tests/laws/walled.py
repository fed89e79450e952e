"""Geometries with labelled walls, with or without distances to them: what the laws of walls range over."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from muphy_lb.backends.arrays import WallArrays
from muphy_lb.base.precision import Precision
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.implicit import RoundWall, plane_pair
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, LATTICES, Lattice
from muphy_lb.operators import WALL_RULES, WALLS
from tests.support import box_shape, random_voxels, with_openings

INTERPOLATED = tuple(rule for rule in WALL_RULES if rule != "half-way")
BODY_SIZE, BODY_RADIUS, BODY_CENTRE = 26, 7.3, np.array([12.6, 12.3, 12.4])
# One wall drifts and turns, the other rests.
MOVING = (WallMotion((0.02, -0.01, 0.0), (0.0, 0.0, 0.002), (3.0, 2.0, 0.0)), WallMotion())

# Every lattice with pull and every streaming in the plane; that all streamings agree is shown for every lattice.
STEADY = pytest.mark.parametrize(
    ("lattice", "streaming"),
    [
        pytest.param(lattice, streaming, id=f"{lattice.name}-{streaming}", marks=marks)
        for lattice, streaming in product(LATTICES.values(), STREAMINGS)
        for marks in [() if streaming == "pull" or lattice is D2Q9 else pytest.mark.night]
    ],
)


@dataclass(frozen=True)
class SameDistance:
    """A wall that cuts every link at the same fraction."""

    fraction: float

    def distances(self, start, vector):
        """That fraction."""
        return np.full(len(start), self.fraction)


class ScatteredDistances:
    """A wall that cuts every link elsewhere, on both sides of the middle, whichever rank asks."""

    def distances(self, start, vector):
        """Fractions between 0.05 and 0.95."""
        return 0.5 + 0.45 * np.sin(start @ (1.0, 2.3, 3.7) + np.dot(vector, (0.7, 1.9, 5.3)))


def walled_nodes(lattice: Lattice, cuts=None, seed=1, fluid=0.8, periodic=(True, True, True), shape=None) -> NodeList:
    """Nodes of a random box in which every solid voxel belongs to one of two labelled walls."""
    voxels = random_voxels(shape or box_shape(lattice), seed, fluid, periodic)
    side = np.random.default_rng(seed + 1).integers(2, size=voxels.shape)
    flags = np.where(voxels.flags == FLUID, FLUID, wall_flag(0) + side).astype(FLAG_DTYPE)
    nodes = build_nodes(Voxels(flags, periodic=periodic, walls=("one", "other")))
    return nodes if cuts is None else cut_links(nodes, cuts)


def between_openings(lattice: Lattice, fluid=0.9) -> NodeList:
    """Nodes of a random box with two openings, whose walls cut every link elsewhere."""
    voxels = random_voxels(box_shape(lattice), 2, fluid, periodic=(False, True, False))
    return cut_links(build_nodes(with_openings(voxels)), ScatteredDistances())


def channel(lattice: Lattice, height: int, low=0.5, high=0.5) -> NodeList:
    """Nodes of a channel between walls ``bottom`` and ``top``, which lie ``low`` and ``high`` beyond the last nodes.

    Nodes across y are 1 to ``height``; y = 0 and y = ``height`` + 1 are wall voxels. Periodic along x and z.
    """
    flags = np.full((3 if lattice.dimension == 3 else 1, height + 2, 4), FLUID, FLAG_DTYPE)
    flags[:, 0], flags[:, -1] = wall_flag(0), wall_flag(1)
    nodes = build_nodes(Voxels(flags, periodic=(True, False, True), walls=("bottom", "top")))
    return cut_links(nodes, plane_pair(1, 1.0 - low, height + high))


def body(lattice: Lattice) -> tuple[NodeList, np.ndarray]:
    """(nodes around a cylinder, or a sphere in three dimensions, in a periodic box; its centre)."""
    is_plane = lattice.dimension == 2
    centre = np.where([True, True, not is_plane], BODY_CENTRE, 0.0)
    wall = RoundWall(centre, BODY_RADIUS, (0.0, 0.0, float(is_plane)))
    z, y, x = np.indices((1 if is_plane else BODY_SIZE, BODY_SIZE, BODY_SIZE))
    radius = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
    flags = np.where(radius <= BODY_RADIUS, wall_flag(0), FLUID).astype(FLAG_DTYPE)
    voxels = Voxels(flags, periodic=(True,) * 3, walls=("body",), wall_shape=wall)
    return cut_links(build_nodes(voxels), wall), centre


def random_walls(lattice: Lattice, n: int, keeps_mass=True, seed=3) -> WallArrays:
    """Arrays of n nodes at a moving wall, with every number at random."""
    rng, size = np.random.default_rng(seed), (lattice.q - 1) * n
    links, others = rng.integers(0, 2**lattice.q, size=(2, n), dtype=np.uint32) & np.uint32(2**lattice.q - 2)
    numbers = {name: rng.normal(size=size) for name in ("b", "c", "d", "inflow")}
    exchanges = others & ~links if keeps_mass else np.zeros(0, np.uint32)
    where = {"rest": np.zeros(n, np.uint32), "entry": np.zeros(size, np.uint32), "wall": np.zeros(size, np.uint8)}
    return WallArrays(into_walls=links, along_walls=exchanges, needed=links, value=np.array([0.7]), **where, **numbers)


def after_walls(walls: WallArrays, lattice: Lattice, precision: Precision, arriving, leaving):
    """(Q, n) what arrives at each node after its walls, and (n,) the bits of what was changed, by the node function."""
    update, result = WALLS.compile(lattice, precision, lambda function: function), np.array(arriving)
    changed, n = [], walls.rest.size
    for m in range(n):
        f = result[:, m].copy()
        changed.append(update(f, leaving[:, m], walls.b[m::n], m, m, n, walls))
        result[:, m] = f
    return result, np.array(changed)
