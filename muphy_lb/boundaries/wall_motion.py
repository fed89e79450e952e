"""Wall conditions in lattice units: motion, interpolation, slip."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain import IN_TABLE, LINKWISE, SPECULAR, LinkRecords, LocalDomain, WallTreatment
from muphy_lb.domain.links import is_wall
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER
from muphy_lb.lattice import Lattice
from muphy_lb.operators import link_momentum, wall_coefficients

HALF_WAY, HALF = "half-way", 0.5
HALF_WAY_SHEAR = (
    "walls are half-way: on staircases the wall shear stress of single nodes scatters by a tenth of itself, which does"
    " not fall with the voxel edge; use lattice.walls = 'bouzidi' or 'central-linear'"
)
MAX_WALL_VELOCITY = 0.3
FASTEST_STAIRS = 10.0
"""Largest cell Reynolds number with the velocity of a half-way wall that moves through the faces of its voxels:
to 10 all collisions but regularised stayed at their torque, at 15 trt and mrt, at 25 all diverged or left it."""
STATIONARY = (0.0, 0.0, 0.0)
ALONG_ITSELF = 1e-9  # component of a velocity along itself that is rounding


@dataclass(frozen=True)
class WallExtent:
    """Centre and period of a labelled wall."""

    #: (x, y, z) centre of the bounding box of its voxels (voxel coordinates), which may cross a periodic face
    centre: tuple[float, float, float]
    #: (x, y, z) period of the wall; infinite along axes that are not periodic, or that it spans completely
    period: tuple[float, float, float]

    def arm(self, position: np.ndarray, centre) -> np.ndarray:
        """(n, 3) vectors from a centre to the nearest periodic image of each position."""
        arm = position - np.asarray(centre)
        period = np.array(self.period)
        return arm - np.round(arm / period) * np.where(np.isfinite(period), period, 0.0)


def components(vector: np.ndarray) -> tuple[float, float, float]:
    """A vector (x, y, z) as plain numbers."""
    x, y, z = vector.tolist()
    return x, y, z


def wall_extent(nodes: NodeList, number: int) -> WallExtent:
    """Centre and period of labelled wall ``number``; the arrays of the whole list may be datasets of a file."""
    mine = nodes.label_voxel[...][nodes.label_number[...] == FIRST_WALL_NUMBER + number]
    centre, period = np.zeros(3), np.full(3, np.inf)
    for axis, position in enumerate(voxel_coordinates(mine, nodes.shape).T if mine.size else ()):
        size, layers = nodes.shape[2 - axis], np.unique(position)
        first = layers[0]
        if nodes.periodic[axis] and layers.size < size:
            gaps = np.diff(layers, append=layers[0] + size)
            first, period[axis] = layers[(np.argmax(gaps) + 1) % layers.size], size
        centre[axis] = (first + 0.5 * np.max((layers - first) % size)) % size
    return WallExtent(components(centre), components(period))


UNKNOWN_EXTENT = WallExtent(STATIONARY, (np.inf,) * 3)


@dataclass(frozen=True)
class WallMotion:
    """Motion and slip of one labelled wall."""

    velocity: tuple[float, float, float] = STATIONARY  #: (x, y, z) of the wall at ``centre``
    rotation: tuple[float, float, float] = STATIONARY  #: angular velocity (x, y, z) [1 / time step]
    centre: tuple[float, float, float] = STATIONARY  #: (x, y, z) centre of the rotation, in voxel coordinates
    slips: bool = False  #: whether the fluid slips along it
    extent: WallExtent = UNKNOWN_EXTENT  #: its centre and period
    #: whether no node may gain or lose mass by its motion, as none does beside a true wall that moves along itself. In
    #: voxels they do: where a flat wall meets another one, and on the stairs of a round one.
    keeps_mass: bool = False

    @property
    def moves(self) -> bool:
        """Whether it translates or rotates."""
        return bool(np.any(self.velocity) or np.any(self.rotation))

    def at(self, position: np.ndarray) -> np.ndarray:
        """(n, 3) velocity of the wall at (n, 3) positions."""
        return np.array(self.velocity) + np.cross(self.rotation, self.extent.arm(position, self.centre))


def treat_walls(rule: str, motions: tuple[WallMotion, ...], in_place: bool = False) -> WallTreatment:
    """How the links of every wall are treated, given the rule of all walls that do not slip, and whether populations
    stream in place."""
    plain = IN_TABLE if rule == HALF_WAY else LINKWISE
    labelled = [SPECULAR if motion.slips else LINKWISE if motion.moves else plain for motion in motions]
    return WallTreatment(tuple(labelled), plain, reads_behind=in_place and rule != HALF_WAY)


def linkwise_coefficients(
    nodes: NodeList,
    domain: LocalDomain,
    rule: str,
    motions: tuple[WallMotion, ...],
    share: float = 1.0,
    viscosity: float = np.inf,
) -> tuple[np.ndarray, int]:
    """(4, S) coefficients of the links into linkwise walls, and the number of those that use half-way bounce-back
    instead.

    This is the case where the node behind, at x - c_q, is not fluid. A diagonal link that passes a stationary wall on
    its way to a moving one has the velocity of the stationary wall. ``share`` is that of the rule, see
    :func:`~muphy_lb.operators.wall_coefficients`; ``viscosity`` is kinematic, infinite in creeping flow.

    Raises InputError: interpolation without known distances to the wall; a wall that keeps mass and moves into the
    fluid; half-way stairs that move too fast for the viscosity.
    """
    links, lattice = domain.linkwise, domain.lattice
    distance, fallback = np.full(links.n_links, HALF), np.zeros(links.n_links, dtype=bool)
    if rule != HALF_WAY and links.n_links:
        distance = _distances(nodes, links, lattice, rule)
        behind = _codes(domain, lattice.opposite[links.q], links.node)
        fallback = is_wall(behind)
        distance[fallback] = HALF
    momentum, reynolds = np.zeros((2, links.n_links))
    if any(motion.moves for motion in motions):
        velocity = link_velocities(domain, links, distance, motions)
        momentum = link_momentum(lattice, links.q, velocity)
        reynolds = np.linalg.norm(velocity, axis=1) / viscosity
        if rule == HALF_WAY:
            _refuse_fast_stairs(nodes, links, velocity, reynolds, lattice)
    for number, motion in enumerate(motions):
        if motion.moves and motion.keeps_mass:
            _refuse_to_displace(nodes.walls[number].name, motion, lattice.c[links.q[links.boundary == number]])
            momentum = _without_sources(momentum, links, links.boundary == number, lattice)
    return wall_coefficients(rule, distance, momentum, share, reynolds), int(fallback.sum())


def _refuse_fast_stairs(nodes: NodeList, links: LinkRecords, velocity, reynolds, lattice: Lattice) -> None:
    """Raise InputError if a half-way wall moves through faces of its voxels faster than ``FASTEST_STAIRS``."""
    c = lattice.c[links.q]
    is_face, speed = np.abs(c).sum(axis=1) == 1, np.linalg.norm(velocity, axis=1)
    is_stair = is_face & (np.abs((c * velocity).sum(axis=1)) > ALONG_ITSELF * speed)
    for number in np.unique(links.boundary[is_stair]):
        largest = reynolds[is_stair & (links.boundary == number)].max()
        if largest > FASTEST_STAIRS:
            raise InputError(
                f"walls.{nodes.walls[number].name}: the cell Reynolds number with the velocity of this wall is"
                f" {largest:.3g}, above {FASTEST_STAIRS:g}, beyond which flows along moving staircases slowly leave the"
                " solution; set lattice.smagorinsky, or finer voxels, a slower wall or a larger viscosity, or, where"
                " the distance to the wall is known and there is no free surface, lattice.walls = 'bouzidi'"
            )


def _refuse_to_displace(name: str, motion: WallMotion, vectors: np.ndarray) -> None:
    """Raise InputError if a wall with links along ``vectors`` (m, 3) moves through its own faces."""
    across = vectors[np.abs(vectors).sum(axis=1) == 1] @ np.array(motion.velocity)
    if np.abs(across).max(initial=0.0) > ALONG_ITSELF * np.linalg.norm(motion.velocity):
        raise InputError(
            f"walls.{name}: velocity_m_s leads through faces of this wall, where it would displace fluid that has"
            " nowhere to go; here walls may only move along themselves: give a velocity along all its faces, or"
            " rotation_rad_s for a round wall"
        )


def _without_sources(momentum: np.ndarray, links: LinkRecords, mine: np.ndarray, lattice: Lattice) -> np.ndarray:
    """The momentum of links, with those chosen by a mask changed by the same density each so that a node gains
    nothing."""
    order = np.flatnonzero(mine)
    order = order[np.argsort(links.q[order], kind="stable")]  # sums that do not depend on the ranks
    _, node = np.unique(links.node[order], return_inverse=True)
    weight = lattice.w[links.q[order]]
    net = np.bincount(node, momentum[order]) / np.bincount(node, weight)
    changed = momentum.copy()
    changed[order] -= weight * net[node]
    return changed


def link_velocities(domain: LocalDomain, links: LinkRecords, distance: np.ndarray, motions) -> np.ndarray:
    """(L, 3) velocity that each link finds at a fraction ``distance`` of it: of its wall, or of a stationary wall that
    it passes before. Raises InputError: a wall moves faster than ``MAX_WALL_VELOCITY``."""
    velocity = wall_velocities(domain, links, distance, motions)
    velocity[_passes_a_stationary_wall(domain, links, motions)] = 0.0
    return velocity


def wall_velocities(domain: LocalDomain, links: LinkRecords, distance: np.ndarray, motions) -> np.ndarray:
    """(L, 3) velocity of the wall of each link at a fraction ``distance`` of it. Raises InputError: a wall moves faster
    than ``MAX_WALL_VELOCITY``."""
    lattice = domain.lattice
    position = voxel_coordinates(links.voxel, domain.part.nodes.shape) + distance[:, None] * lattice.c[links.q]
    velocity = np.zeros((links.n_links, 3))
    for number, motion in enumerate(motions):
        mine = links.boundary == number
        if motion.moves and mine.any():
            velocity[mine] = motion.at(position[mine])
    fastest = float(np.linalg.norm(velocity, axis=1).max(initial=0.0))
    if fastest > MAX_WALL_VELOCITY:
        raise InputError(
            f"a wall moves {fastest:.3g} voxels per time step where the fluid meets it; at most {MAX_WALL_VELOCITY} is"
            " allowed: take a smaller time step (lattice_velocity, time_step_s) or a slower rotation_rad_s"
        )
    return velocity


def _distances(nodes, links: LinkRecords, lattice, rule) -> np.ndarray:
    if nodes.cuts is None:
        raise InputError(
            f"lattice.walls is {rule!r}, which needs the distance to the wall along every link, and this geometry does"
            " not know it; use a surface, a shape or a .gmy file (prepared: muphy-lb geometry ... --cut-distances), or"
            " lattice.walls = 'half-way'"
        )
    return cut_distances(nodes, links, lattice)


def cut_distances(nodes: NodeList, links: LinkRecords, lattice: Lattice) -> np.ndarray:
    """(L,) fraction of each link at which it meets the wall: one half where it is unknown."""
    if nodes.cuts is None:
        return np.full(links.n_links, HALF)
    distance = nodes.cuts.of(links.voxel, lattice.c[links.q])
    return np.where(np.isnan(distance), HALF, distance)


def _passes_a_stationary_wall(domain: LocalDomain, links: LinkRecords, motions) -> np.ndarray:
    """(S,) mask of diagonal links one of whose components alone would lead into a wall that does not move."""
    lattice, mask = domain.lattice, np.zeros(links.n_links, dtype=bool)
    still = np.array([not motion.moves for motion in motions] + [True])
    for axis in range(lattice.dimension):
        for sign in (1, -1):
            vector = sign * np.eye(3, dtype=int)[axis]
            q = int(np.flatnonzero((lattice.c == vector).all(axis=1))[0])
            code = _codes(domain, np.full(links.n_links, q), links.node)
            wall = np.where(code == WALL_LINK, len(motions), FIRST_WALL_LINK - code)
            touches = is_wall(code) & still[np.where(is_wall(code), wall, 0)]
            mask |= touches & (lattice.c[links.q, axis] == sign) & (np.abs(lattice.c[links.q]).sum(axis=1) > 1)
    return mask


def _codes(domain: LocalDomain, q: np.ndarray, node: np.ndarray) -> np.ndarray:
    """(S,) local node or link code along direction ``q[i]`` from ``node[i]``."""
    nodes, place = np.unique(node, return_inverse=True)
    return domain.neighbours(domain.lattice.c, nodes)[q, place]
