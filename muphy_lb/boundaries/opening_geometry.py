"""Conditions and measures of the openings in lattice units: kind, value, profile; area, centroid, normal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.chunks import chunks
from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.boundaries.opening_walls import holding, inwards, stair_points, wall_points
from muphy_lb.boundaries.profiles import PROFILES, Profile, PulsatileProfile, plug
from muphy_lb.boundaries.sections import area_behind, gap_areas
from muphy_lb.domain import LinkRecords, open_corners, opening_records
from muphy_lb.domain.links import AXIS_TOLERANCE, plane_axes
from muphy_lb.domain.part import cuts_of
from muphy_lb.geometry.neighbours import neighbour_table
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, boundary_nodes, voxel_coordinates
from muphy_lb.lattice import Lattice, added
from muphy_lb.operators import LAYERS, PRESSURE, VELOCITY, link_momentum, oblique_shares, slanted_shares

PARTS = 2.0**20  # of a voxel, the grid of places that whole voxels may be added to
MOST_SCALED = 2.0  # area of an ellipse through walls over that of the voxels
RANK = 1e-6  # singular value over the largest one below which walls do not determine a number
LEAST_TILT, MOST_TILT = 0.03, 4.0  # tangents of the angles between a vessel and the normal of its opening that count
MOST_MISFIT = 0.3  # root mean square of a.M.a - 1 at walls up to which they are those of one vessel
# The least tangent that stairs resolve, and what share of the misfit of a straight vessel may remain where they do.
LEAST_OF_STAIRS, MOST_LEFT = 0.06, 0.9
# Root mean square distance [voxels] of stairs from a vessel (voxels alone: 0.3) from which each half of the layers must
# turn by this share of what both turn together: a step or a rib near an opening turns one half.
MOST_ROUGH, LEAST_OF_HALF = 0.4, 0.2


@dataclass(frozen=True)
class Condition:
    """The condition of one opening in lattice units."""

    kind: int  #: ``VELOCITY`` or ``PRESSURE``
    value: float  #: mean normal velocity into the fluid, or rho_out - 1
    profile: Profile = plug  #: velocity over mean velocity (velocity only)
    feedback: Feedback | None = None  #: how the value depends on the flow; then ``value`` is only the initial one
    #: the profile with its shapes and their amplitudes in time, if its shape changes; then ``profile`` is the steady
    #: one, and the amplitudes hold the waveform
    pulsatile: PulsatileProfile | None = None
    reverses: bool = False  #: whether a waveform turns its velocity round

    @property
    def lets_out(self) -> bool:
        """Whether fluid may leave: there is a pressure, or, at any time, a velocity out of the fluid."""
        return self.kind == PRESSURE or self.value < 0.0 or self.reverses


@dataclass(frozen=True)
class OpeningFrame:
    """Geometric measures of one opening in lattice units."""

    area: float  #: cross-section, up to where walls cut links
    #: cross-section of the voxels: sum of -c_q.n over the links along the axes that cross the opening (a plane of
    #: normal n is crossed by |n_i| links of axis i per unit area, and sum n_i^2 = 1)
    of_voxels: float
    centroid: np.ndarray  #: mean (x, y, z) of the link midpoints
    normal: np.ndarray  #: unit vector into the fluid
    #: of the disc of this area, up to where the walls are; half the width in two dimensions; seen along the vessel
    radius: float
    #: middle, half_widths: (x, y, z) middle and half the size of the box around the links along the axes
    middle: np.ndarray
    half_widths: np.ndarray
    conductance: float  #: sum of 2 w_q over its links, the mass that enters in a step per unit of density at the plane
    #: (3, 3) matrix M of the ellipse a.M.a = 1 across the normal, a from ``axis``, with the axes of its link midpoints,
    #: through the walls beside it or, if it has none, with its area; 0 along axes that are periodic
    ellipse: np.ndarray
    axis: np.ndarray  #: (3,) middle of the ellipse
    along: np.ndarray  #: (3,) unit vector into the fluid along the vessel, or the normal where walls do not show it
    centre: np.ndarray  #: (3,) a point of its plane [voxels]
    has_walls: bool = True  #: whether a wall that does not slip is a neighbour of any of its nodes

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the vessel and the normal; exactly 1 where they coincide."""
        return 1.0 if np.array_equal(self.along, self.normal) else float(self.along @ self.normal)

    @property
    def is_round(self) -> bool:
        """Whether walls beside it are stairs if they are those of voxels: not where it fills the box around it."""
        return self.has_walls and self.of_voxels != np.prod(2.0 * self.half_widths)

    @property
    def vessel_area(self) -> float:
        """Cross-section of the voxels of the vessel, which store its waves; ``of_voxels`` is what the plane cuts of
        it."""
        return self.of_voxels * self.cosine

    @property
    def section(self) -> np.ndarray:
        """(3, 3) matrix of the ellipse, which the vessel carries along: arms across the vessel lie on it, too."""
        if self.cosine == 1.0:
            return self.ellipse
        onto_plane = np.eye(3) - np.outer(self.along, self.normal) / self.cosine
        return onto_plane.T @ self.ellipse @ onto_plane

    def carried(self, lattice: Lattice, q: np.ndarray) -> np.ndarray:
        """(n,) mass that enters through links q per unit of normal velocity of a flow along the vessel."""
        return link_momentum(lattice, q, np.broadcast_to(self.along / self.cosine, (q.size, 3)))

    def moved(self, by: np.ndarray) -> "OpeningFrame":
        """The frame of the same opening in a geometry that lies by (3,) voxels elsewhere."""
        places = {name: getattr(self, name) + by for name in ("centroid", "middle", "axis", "centre")}
        return replace(self, **places)


def opening_links(nodes: NodeList, lattice: Lattice, slip=()) -> LinkRecords:
    """All opening links of a geometry, in rank-independent order; ``node`` is the node-list number.

    A link that :func:`muphy_lb.domain.open_corners` assigns to an opening ends in a solid voxel next to the opening, so
    its node touches the opening, too: only nodes that touch openings are examined.

    Args:
        nodes: the whole geometry, or its datasets in a file, of which only slices are read.
        lattice: the velocity set.
        slip: numbers of the labelled walls that slip.
    """
    rim, table = _rim(nodes, lattice, slip)
    links = opening_records(table, rim.voxel)
    return replace(links, node=int(nodes.group_start[1]) + links.node)


def _rim(nodes: NodeList, lattice: Lattice, slip) -> tuple[NodeList, np.ndarray]:
    """The nodes that may touch openings, and the (Q, n) table of their neighbours."""
    rim = boundary_nodes(nodes)
    return rim, open_corners(neighbour_table(rim, lattice.c), slip, lattice)


def opening_frames(nodes: NodeList, lattice: Lattice, slip=()) -> tuple[OpeningFrame, ...]:
    """Area, centroid and normal of every opening from its links; ``slip``: numbers of the labelled walls that slip.
    Raises InputError: no lattice link crosses an opening."""
    rim, table = _rim(nodes, lattice, slip)
    links = opening_records(table, rim.voxel)
    midpoint = _midpoints(nodes, lattice, links)
    mine = [np.flatnonzero(links.boundary == number) for number in range(len(nodes.openings))]
    own = [np.unique(links.node[each]) for each in mine]
    is_beside = [
        holding(table[:, each], slip) & (lattice.c @ opening.normal < AXIS_TOLERANCE)[:, np.newaxis]
        for opening, each in zip(nodes.openings, own, strict=True)
    ]
    inside = [
        inwards(nodes, lattice, rim.voxel[each[beside.any(axis=0)]], opening.normal)
        for opening, each, beside in zip(nodes.openings, own, is_beside, strict=True)
    ]
    cuts = None
    if nodes.cuts is not None and nodes.openings:
        cuts = cuts_of(nodes.cuts, np.unique(np.concatenate([*(rim.voxel[each] for each in own), *inside])))
    found = []
    straight = np.abs(lattice.c).sum(axis=1) == 1
    for number, (each, beside, behind) in enumerate(zip(own, is_beside, inside, strict=True)):
        opening, inner = nodes.openings[number], behind[: 0 if slip else behind.size]
        gap = np.zeros(each.size)
        if cuts is not None:
            gap = gap_areas(lattice, cuts, rim.voxel[each], holding(table[straight][:, each], slip))
        beyond = gap[np.searchsorted(each, links.node[mine[number]])]
        frame = _frame(nodes, lattice, links, midpoint, number, (mine[number], beyond))
        frame = replace(frame, has_walls=bool(beside.any()))
        walls, are_cut = wall_points(nodes, lattice, opening, (rim.voxel[each], beside), (cuts, inner))
        frame = _through(walls, frame)
        if not are_cut:
            frame = replace(frame, along=frame.normal)
            if beside.any() and _Arms.of(walls, frame).straight_misfit() < MOST_MISFIT:
                slanted = _through(stair_points(nodes, lattice, opening, rim.voxel[each], slip), frame, are_stairs=True)
                frame = slanted if slanted.cosine < 1.0 else frame
        if cuts is not None and not slip and plane_axes([frame])[0] < 0 and frame.has_walls:
            area = area_behind(nodes, lattice, frame)
            frame = replace(frame, area=area, radius=_equivalent_radius(area, lattice.dimension))
        found.append(replace(frame, radius=frame.radius * frame.cosine ** (1.0 / (lattice.dimension - 1))))
    return tuple(found)


def _through(walls: np.ndarray, frame: OpeningFrame, are_stairs: bool = False) -> OpeningFrame:
    """The frame with its ellipse moved and scaled to lie nearest to points (n, 3) of walls: a.M.a = a.b + c there by
    least squares, and d (a.b' + c') + d^2 c'' more by d voxels inwards, which gives the direction of the vessel: b' is
    twice M times what its axis moves aside in each of them, and with c'' a straight vessel is exact. Numbers that these
    do not determine, and ellipses that are none or far larger or smaller than before, change nothing. Walls far from
    the ellipse, as those of a rock, have no direction."""
    arms = _Arms.of(walls, frame)
    curvature, axes, here, deeper = arms.curvature, arms.axes, arms.here, arms.deeper
    least = LEAST_OF_STAIRS if are_stairs else LEAST_TILT
    most = min(MOST_MISFIT, MOST_LEFT * arms.straight_misfit()) if are_stairs else MOST_MISFIT
    for columns in (np.column_stack((here, deeper, arms.depth**2)), np.hstack((here, deeper)), here):
        found, rank = arms.fit(columns)
        middle = 0.5 * found[1 : here.shape[1]] / curvature
        square = float(_shiftable(found[0] + middle**2 @ curvature))
        if rank < columns.shape[1] or not 1.0 / MOST_SCALED < square < MOST_SCALED:
            continue
        frame = replace(frame, ellipse=frame.ellipse / square, axis=frame.centroid + axes @ middle)
        turn = found[here.shape[1] + 1 : 2 * here.shape[1]] if columns is not here else 0.0 * curvature
        aside = axes @ (0.5 * turn / curvature)
        is_near = arms.misfit(columns, found) < most * square and least < np.linalg.norm(aside) < MOST_TILT
        along = frame.normal + _shiftable(aside)
        is_tilted = is_near and (not are_stairs or arms.turn_throughout())
        return replace(frame, along=along / np.linalg.norm(along)) if is_tilted else frame
    return frame


@dataclass(frozen=True)
class _Arms:
    """Points of walls seen from the centroid of an opening."""

    curvature: np.ndarray  #: (m,) those eigenvalues of its ellipse that are not 0
    axes: np.ndarray  #: (3, m) their vectors
    here: np.ndarray  #: (n, 1 + m) 1, and the arms a along them
    target: np.ndarray  #: (n,) a.M.a
    depth: np.ndarray  #: (n,) how far inwards [voxels]

    @classmethod
    def of(cls, walls: np.ndarray, frame: OpeningFrame) -> "_Arms":
        """The arms of points (n, 3)."""
        curvature, axes = np.linalg.eigh(frame.ellipse)
        is_bounded = curvature > AXIS_TOLERANCE * curvature.max()
        curvature, axes = curvature[is_bounded], axes[:, is_bounded]
        arm, depth = (walls - frame.centroid) @ axes, (walls - frame.centroid) @ frame.normal
        return cls(curvature, axes, np.column_stack((np.ones(len(arm)), arm)), arm**2 @ curvature, depth)

    @property
    def deeper(self) -> np.ndarray:
        """(n, 1 + m) ``here`` times how far inwards."""
        return self.depth[:, np.newaxis] * self.here

    def straight_misfit(self) -> float:
        """Root mean square of how far they lie from an ellipse straight inwards, over its square; 0 of no points."""
        return self.misfit(self.here, self.fit(self.here)[0]) if len(self.target) else 0.0

    def fit(self, columns: np.ndarray, those=slice(None)) -> tuple[np.ndarray, int]:
        """(k,) coefficients of columns (n, k) that lie nearest to a.M.a of some points by least squares, and the rank
        of these."""
        found, _, rank, _ = np.linalg.lstsq(columns[those], self.target[those], rcond=RANK)
        return found, rank

    def misfit(self, columns: np.ndarray, found: np.ndarray) -> float:
        """Root mean square of what columns (n, k) with coefficients (k,) leave of a.M.a."""
        return float(np.sqrt(np.mean((columns @ found - self.target) ** 2)))

    def turn_throughout(self) -> bool:
        """Whether they lie near a vessel at an angle, or show its turn in both halves of their layers."""
        columns, is_near = np.hstack((self.here, self.deeper)), self.depth < 0.5 * (self.depth.min() + self.depth.max())
        whole, near, far = (self.fit(columns, those)[0] for those in (slice(None), is_near, ~is_near))
        if 0.5 * self.misfit(columns, whole) < MOST_ROUGH * np.sqrt(self.curvature.max()):
            return True
        together, *halves = (0.5 * found[-self.curvature.size :] / self.curvature for found in (whole, near, far))
        return bool(min(half @ together for half in halves) > LEAST_OF_HALF * (together @ together))


def opening_areas_m2(nodes: NodeList | GeometryHeader, frames) -> dict[str, float]:
    """Cross-section of every opening by name, up to where walls cut links [m^2]."""
    openings = zip(nodes.openings, frames, strict=True)
    return {opening.name: frame.area * nodes.spacing_m**2 for opening, frame in openings}


def unscaled_flow(nodes: NodeList, lattice: Lattice, frames, conditions, slip=()) -> np.ndarray:
    """(n_openings,) mass flow through all links of each opening per unit of its value, profile included, unscaled.

    Args:
        nodes, lattice, slip: as of :func:`opening_links`.
        frames, conditions: of all openings.

    Raises InputError: a profile gives no flow.
    """
    return _unscaled(nodes, lattice, opening_links(nodes, lattice, slip), frames, conditions)


def link_weights(nodes, lattice: Lattice, links: LinkRecords, frames, conditions, unscaled=None) -> np.ndarray:
    """(L,) mass that enters through each link per unit of its opening's velocity, profile included; 0 where a pressure
    is given.

    Links are scaled so that the flow is exactly area times mean velocity; otherwise the diagonal links that end in the
    wall at the rim would be missing.

    Args:
        nodes: the geometry, or its header.
        lattice: the velocity set.
        links: some of the opening links.
        frames, conditions: of all openings.
        unscaled: flow of all links of each opening (:func:`unscaled_flow`); by default that of ``links``.
    """
    flow = _unscaled(nodes, lattice, links, frames, conditions) if unscaled is None else unscaled
    weights = np.zeros(links.n_links)
    for number, (frame, condition) in enumerate(zip(frames, conditions, strict=True)):
        if condition.kind == VELOCITY:
            mine = np.flatnonzero(links.boundary == number)
            momentum = _shaped_momentum(nodes, lattice, links.select(mine), frame, condition)
            weights[mine] = momentum * (frame.area / flow[number])
    return weights


def oblique_weights(nodes, lattice: Lattice, links: LinkRecords, openings: tuple, omega: float) -> np.ndarray:
    """(2, L) populations that enter through each link into a plane with a pressure and with walls around it, if it is
    oblique or not across its vessel: per unit of c_q.u of its node and of u along the vessel, gamma and eta of
    :mod:`muphy_lb.operators.openings`; 0 elsewhere.

    Args:
        nodes: the geometry, or its header.
        lattice: the velocity set.
        links: some of the opening links.
        openings: frames and conditions of all openings.
        omega: rate of relaxation of the shear stress.
    """
    weights = np.zeros((2, links.n_links))
    for number, (frame, condition) in enumerate(zip(*openings, strict=True)):
        is_oblique, is_slanted = plane_axes([frame])[0] < 0, frame.cosine < 1.0
        if condition.kind != PRESSURE or not (is_oblique or is_slanted):
            continue
        if not (frame.has_walls and frame.ellipse.any()):
            continue
        mine = links.boundary == number
        q, x = links.q[mine], voxel_coordinates(links.voxel[mine], nodes.shape)
        axis, centre = _shiftable(frame.axis), _shiftable(frame.centre if is_oblique else frame.centroid)
        section = frame.section
        ends = x - axis, x + lattice.c[q] - axis
        middle = 0.5 / np.trace(section)
        psi = tuple((1.0 - _square(section, arm)) / (2.0 * np.trace(section)) for arm in ends)
        if is_slanted:
            onto_plane = frame.along * (((centre - axis) @ frame.normal) / frame.cosine)
            inside = _along(x + 0.5 * lattice.c[q] - axis - onto_plane, frame.along)
            weights[:, mine] = slanted_shares(lattice, q, omega, psi, middle, inside)
            continue
        across = np.array([_along(arm, frame.normal) for arm in (lattice.c[q], x + 0.5 * lattice.c[q] - centre)])
        place = across[1] / np.where(across[0] < 0.0, across[0], -1.0)
        weights[0, mine] = oblique_shares(lattice, q, omega, psi, place)
    return weights


def _shiftable(place: np.ndarray) -> np.ndarray:
    """The nearest place from which whole voxels differ exactly, so that a geometry beside others keeps its bits."""
    return np.rint(place * PARTS) / PARTS


def _along(arm: np.ndarray, normal: np.ndarray) -> np.ndarray:
    return added(arm[:, axis] * normal[axis] for axis in range(3))


def _square(matrix: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """(n,) a.M.a of arms (n, 3)."""
    return added(arm[:, i] * matrix[i, j] * arm[:, j] for i in range(3) for j in range(3))


def outlets_of(frames: Sequence[OpeningFrame], conditions: Sequence[Condition]) -> list[OpeningFrame]:
    """The frames of the openings that let fluid out."""
    return [frame for frame, condition in zip(frames, conditions, strict=True) if condition.lets_out]


def opening_layers(nodes: GeometryHeader, voxel: np.ndarray, frames) -> np.ndarray:
    """(n,) uint8 layer of voxels of these ids in the zone of the nearest opening, counted from its plane along its
    normal, ``LAYERS`` where there is none (:mod:`muphy_lb.operators.opening_zone`). Beside the normal a zone is as wide
    as the box around the links of its opening."""
    layer = np.full(voxel.size, LAYERS, dtype=np.uint8)
    for part in chunks(voxel.size):
        x = voxel_coordinates(voxel[part], nodes.shape)
        for frame in frames:
            depth = added((x[:, axis] - frame.centroid[axis]) * frame.normal[axis] for axis in range(3))
            aside = np.abs(x - np.multiply.outer(depth, frame.normal) - frame.middle)
            inside = (depth > 0.0) & (depth < LAYERS) & (aside <= frame.half_widths + 1.0).all(axis=1)
            layer[part][inside] = np.minimum(layer[part][inside], depth[inside].astype(np.uint8))
    return layer


def pulsatile_weights(
    nodes, lattice: Lattice, links: LinkRecords, openings: tuple, weights: np.ndarray
) -> dict[int, np.ndarray]:
    """Mass that enters through the links of each opening whose profile changes its shape, (columns, links) by number.

    Args:
        nodes: the geometry, or its header.
        lattice: the velocity set.
        links: some of the opening links.
        openings: frames and conditions of all openings.
        weights: (L,) from :func:`link_weights`.
    """
    found = {}
    for number, (frame, condition) in enumerate(zip(*openings, strict=True)):
        if condition.pulsatile is not None:
            mine = links.boundary == number
            midpoint, q = _midpoints(nodes, lattice, links.select(mine)), links.q[mine]
            momentum = frame.carried(lattice, q)
            found[number] = condition.pulsatile.weights(frame, midpoint, momentum, weights[mine])
    return found


def _unscaled(nodes, lattice, links: LinkRecords, frames, conditions) -> np.ndarray:
    """(n_openings,) mass flow through some links per unit of their opening's value."""
    flow = np.zeros(len(frames))
    for number, (frame, condition) in enumerate(zip(frames, conditions, strict=True)):
        mine = links.select(links.boundary == number)
        flow[number] = _shaped_momentum(nodes, lattice, mine, frame, condition).sum()
        if not abs(flow[number]) > 0.0:
            raise InputError(
                f"opening {nodes.openings[number].name!r}: its profile gives no flow through any link; check the"
                " profile's radii against the opening's size"
            )
    return flow


def _shaped_momentum(nodes, lattice, links, frame, condition) -> np.ndarray:
    momentum = frame.carried(lattice, links.q)
    return momentum * condition.profile(frame, _midpoints(nodes, lattice, links))


def _midpoints(nodes, lattice, links):
    return voxel_coordinates(links.voxel, nodes.shape) + 0.5 * lattice.c[links.q]


def _frame(nodes, lattice, links, midpoint, number, own: tuple[np.ndarray, np.ndarray]) -> OpeningFrame:
    """``own``: numbers of its links, and the area between the voxel of each one's node and the walls."""
    (mine, beyond), opening = own, nodes.openings[number]
    normal = np.asarray(opening.normal)
    momentum = link_momentum(lattice, links.q[mine], np.broadcast_to(normal, (mine.size, 3)))
    is_straight = np.abs(lattice.c[links.q[mine]]).sum(axis=1) == 1
    crossed = -(lattice.c[links.q[mine][is_straight]] @ normal)
    of_voxels = float(crossed.sum())
    area = of_voxels + float(crossed @ beyond[is_straight])
    if not (of_voxels > 0.0 and momentum.sum() > 0.0):
        raise InputError(
            f"no {lattice.name} link of the fluid crosses opening {opening.name!r} (centre {opening.centre_m} m);"
            " move its plane into the fluid or check its normal"
        )
    centroid = (momentum[:, None] * midpoint[mine]).sum(axis=0) / momentum.sum()
    straight = midpoint[mine][is_straight]
    low, high = straight.min(axis=0), straight.max(axis=0)
    middle, half_widths = 0.5 * (low + high), 0.5 * (high - low) + 0.5
    radius = _equivalent_radius(area, lattice.dimension)
    conductance = 2.0 * float(lattice.w[links.q[mine]].sum())
    moments = _second_moments(midpoint[mine] - centroid, momentum / momentum.sum(), normal, nodes.periodic)
    ellipse = _ellipse(moments, radius, lattice.dimension)
    centre = (np.array(opening.centre_m) - nodes.origin_m) / nodes.spacing_m
    box = middle, half_widths
    return OpeningFrame(area, of_voxels, centroid, normal, radius, *box, conductance, ellipse, centroid, normal, centre)


def _second_moments(arm: np.ndarray, weight: np.ndarray, normal: np.ndarray, periodic) -> np.ndarray:
    """(3, 3) second moments across the normal of arms (n, 3) with weights, 0 along axes that are periodic."""
    arm = arm - np.outer(arm @ normal, normal)
    arm[:, np.array(periodic) & (np.abs(normal) < AXIS_TOLERANCE)] = 0.0
    return np.einsum("l,li,lj->ij", weight, arm, arm)


def _ellipse(moments: np.ndarray, radius: float, dimension: int) -> np.ndarray:
    """(3, 3) matrix of the ellipse with the axes of second moments and the area of the disc of a radius; along
    one axis alone, if another is periodic, with these moments."""
    variance, axes = np.linalg.eigh(moments)
    axes, variance = axes[:, variance > AXIS_TOLERANCE], variance[variance > AXIS_TOLERANCE]
    if variance.size == dimension - 1:
        variance *= radius**2 / variance.prod() ** (1.0 / variance.size)
    else:
        variance *= variance.size + 2
    return (axes / variance) @ axes.T


def _equivalent_radius(area: float, dimension: int) -> float:
    """Radius of the disc of this area; half the width in two dimensions."""
    return float(np.sqrt(area / np.pi)) if dimension == 3 else area / 2


__all__ = [
    "PRESSURE",
    "PROFILES",
    "VELOCITY",
    "Condition",
    "OpeningFrame",
    "unscaled_flow",
    "link_weights",
    "oblique_weights",
    "opening_areas_m2",
    "opening_frames",
    "opening_layers",
    "opening_links",
    "pulsatile_weights",
]
