"""The liquid at the start: from the tables ``[[free_surface.liquid]]`` of the case to regions in voxels, and which
share of every voxel they fill, with which pressure and velocity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt

import numpy as np

from muphy_lb.base.chunks import OF_THREAD, chunks, side_by_side
from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.geometry.shapes.packings import read_spheres
from muphy_lb.lattice import Lattice
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LIQUID, MASS, SUPPORT, SUPPORTED
from muphy_lb.setup.initial import FASTEST_MACH
from muphy_lb.setup.input_fields import read_box_array

FAR = 8.0  # distance [voxels] from spheres beyond which it is unknown


def _along(place: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(m,) components of (m, 3) positions; summed in one order, so that bits do not depend on how many there are."""
    return place[:, 0] * direction[0] + place[:, 1] * direction[1] + place[:, 2] * direction[2]


@dataclass(frozen=True)
class Region:
    """A region of liquid, in voxels from the centre of the first one."""

    velocity: np.ndarray  #: (3,) lattice units

    def distance(self, place: np.ndarray) -> np.ndarray:
        """(m,) distance of positions (m, 3) from the surface, negative inside; at least in sign and up to a voxel."""
        raise NotImplementedError

    def depth(self, place: np.ndarray, up: np.ndarray) -> np.ndarray:
        """(m,) depth of positions below the highest point of the region; 0 if it has no weight of its own."""
        raise NotImplementedError

    def holds(self, place: np.ndarray) -> np.ndarray:
        """(m,) whether liquid of the region may be in voxels (m, 3)."""
        return self.distance(place) < 1.0

    def curvature(self, place: np.ndarray, dimension: int) -> np.ndarray:
        """(m,) mean curvature of its surface nearest to positions (m, 3), where it is curved."""
        return np.zeros(len(place))

    def span(self, up: np.ndarray) -> tuple[float, float]:
        """Lowest and highest point along ``up`` (3,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class BoxRegion(Region):
    """The box between two corners (3,)."""

    low: np.ndarray
    high: np.ndarray

    def distance(self, place):
        """Largest distance beyond a face."""
        beyond = [np.maximum(self.low[k] - place[:, k], place[:, k] - self.high[k]) for k in range(3)]
        return np.maximum(np.maximum(*beyond[:2]), beyond[2])

    def depth(self, place, up):
        """Depth below the highest corner."""
        return self.span(up)[1] - _along(place, up)

    def span(self, up):
        """Lowest and highest corner along ``up``."""
        ends = self.low * up, self.high * up
        return float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum())


@dataclass(frozen=True)
class SpheresRegion(Region):
    """A union of spheres: their centres (k, 3) and radii (k,)."""

    centres: np.ndarray
    radii: np.ndarray

    def distance(self, place):
        """Distance from the nearest sphere."""
        return self._nearest(place)[0]

    def depth(self, place, up):
        """Depth 0: drops fall freely."""
        return np.zeros(len(place))

    def curvature(self, place, dimension):
        """(m,) mean curvature of the nearest sphere, or circle."""
        return (dimension - 1) / 2.0 / self._nearest(place)[1]

    def span(self, up):
        """Lowest and highest point of the spheres along ``up``."""
        middle = self.centres @ up
        return float((middle - self.radii).min()), float((middle + self.radii).max())

    def _nearest(self, place) -> tuple[np.ndarray, np.ndarray]:
        """(m,) distance from the nearest sphere, up to about ``FAR``, and its radius."""
        distance, nearest = np.full(len(place), FAR), np.full(len(place), self.radii[0])
        for radius, tree in self._trees.items():
            found = tree.query(place, distance_upper_bound=radius + FAR)[0] - radius
            nearest = np.where(found < distance, radius, nearest)
            distance = np.minimum(distance, found)
        return distance, nearest

    @cached_property
    def _trees(self) -> dict:
        """Trees of the centres, by radius."""
        from scipy.spatial import cKDTree

        return {radius: cKDTree(self.centres[self.radii == radius]) for radius in np.unique(self.radii)}


def sphere_region(velocity: np.ndarray, centre: np.ndarray, radius: float) -> SpheresRegion:
    """A sphere around ``centre`` (3,)."""
    return SpheresRegion(velocity, centre[None], np.array([radius]))


@dataclass(frozen=True)
class LevelRegion(Region):
    """The half space below a height along ``up`` (3,)."""

    height: float
    up: np.ndarray

    def distance(self, place):
        """Height above the level."""
        return _along(place, self.up) - self.height

    def depth(self, place, up):
        """Depth of liquid at rest with the same pressure: the weight along the plane moves a film without pressure."""
        return (self.height - _along(place, self.up)) * self._along(up)

    def span(self, up):
        """Range below the level; unbounded if the level is not normal to gravity."""
        return -np.inf, self.height if self._along(up) == 1.0 else np.inf

    def _along(self, up: np.ndarray) -> float:
        """Component of the normal along ``up``."""
        return 1.0 if np.array_equal(self.up, up) else float(self.up @ up)


@dataclass(frozen=True)
class ImageRegion(Region):
    """The share of every voxel that is liquid: (nz, ny, nx)."""

    shares: np.ndarray

    def distance(self, place):
        """Unknown for an image."""
        return np.full(len(place), np.inf)

    def share(self, place: np.ndarray) -> np.ndarray:
        """(m,) share of voxels (m, 3), 0 outside the image."""
        x, y, z = place.astype(np.int64).T
        return self.shares[z, y, x].astype(float)

    def holds(self, place):
        """Voxels whose share is not 0."""
        return self.share(place) > 0.0

    def depth(self, place, up):
        """Depth below the highest voxel with liquid."""
        return self.span(up)[1] - _along(place, up)

    def span(self, up):
        """Lowest and highest voxel with liquid along ``up``."""
        height = np.argwhere(self.shares)[:, ::-1] @ up
        return (float(height.min()), float(height.max())) if height.size else (0.0, 0.0)


PARTS = 8
"""Parts along each edge into which a voxel that the surface cuts is divided to measure its filling; each is filled by
the distance of its centre from the surface, as if that were parallel to a face. To count whole parts would make level
surfaces wrong by up to a sixteenth of a voxel, and the curvature of a drop of 16 voxels by a quarter."""
NOTHING = 1e-9  # share of a voxel that is rounding
CUT = 1.0
"""Distance [voxels] from the surface beyond which it does not cut a voxel, whose corners are 0.87 from its centre."""
NEAR = CUT + 2.0  # distance [voxels] from the surface beyond which it does not cut a neighbour of a voxel


class InitialLiquid:
    """The liquid at the start.

    Args:
        regions: what is liquid.
        header: of the geometry.
        gas: what of it is gas, but for images.
    """

    def __init__(self, regions: Sequence[Region], header: GeometryHeader, gas: Region | None = None):
        self._regions, self._header, self._gas = regions, header, gas
        self._images = [region for region in regions if isinstance(region, ImageRegion)]
        self._is_thick = np.array(header.shape[::-1]) > 1

    def cells(self, domain: LocalDomain, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
        """(n,) cell and (n,) filling of every node of a rank. A full voxel beside an empty one is interface. So are
        voxels beside openings; those beside inlets are full."""
        n_nodes, ghosts = domain.n_nodes, domain.part.nodes.voxel[domain.ghost_layer.position]
        shares, is_near = self._at(np.concatenate([domain.voxel, ghosts]), self._fill_and_near)
        fill, cell = shares[:n_nodes], np.full(n_nodes, GAS, dtype=np.uint8)
        cell[fill > 0.0] = INTERFACE
        cell[fill >= 1.0] = LIQUID
        near = np.flatnonzero((cell == LIQUID) & (is_near[:n_nodes] > 0.0))
        for code in domain.neighbours_with_ghosts(lattice.c[1:], near):
            beside = np.where(code < domain.pitch, code, code - domain.pitch + n_nodes)
            cell[near[(code >= 0) & (shares[np.maximum(beside, 0)] == 0.0)]] = INTERFACE
        is_inlet = np.array([opening.kind == "inlet" for opening in self._header.openings], dtype=bool)
        links = domain.links
        fill[links.node[is_inlet[links.boundary]]] = 1.0
        cell[links.node[cell[links.node] == GAS]] = INTERFACE
        return cell, fill

    def share(self, domain: LocalDomain) -> np.ndarray:
        """(n,) share of every node of a rank that lies in the regions."""
        return self._at(domain.voxel, lambda place: self._fill(place, self._distance(place)))

    def _is_beside_image(self, place: np.ndarray) -> np.ndarray:
        """(m,) whether voxels (m, 3) have neighbours across a periodic edge, where regions end without a surface."""
        size, is_periodic = np.array(self._header.shape[::-1]), np.asarray(self._header.periodic)
        return (((place == 0) | (place == size - 1)) & is_periodic).any(axis=1)

    def wets(self, domain: LocalDomain) -> list[bool]:
        """Whether each region may wet nodes of a rank."""
        voxels = [domain.voxel[some] for some in chunks(domain.n_nodes, OF_THREAD)]
        return [any(region.holds(self._place(some)).any() for some in voxels) for region in self._regions]

    def depth(self, domain: LocalDomain, up: np.ndarray) -> np.ndarray:
        """(n,) depth of the centre of every node of a rank below the top of the regions it lies in [voxels], negative
        above the surface in a voxel that it cuts; 0 outside."""

        def depth(place):
            found = np.full(len(place), -np.inf)
            for region in self._regions:
                found = np.maximum(found, np.where(region.holds(place), region.depth(place, up), -np.inf))
            return np.where(np.isinf(found), 0.0, found)

        return self._at(domain.voxel, depth)

    def curvature(self, domain: LocalDomain) -> np.ndarray:
        """(n,) mean curvature of the surface of the region that a node lies in; 0 outside."""
        dimension = int(self._is_thick.sum())

        def curvature(place):
            found = np.zeros(len(place))
            for region in self._regions:
                inside = region.holds(place)
                found[inside] = region.curvature(place[inside], dimension)
            return found

        return self._at(domain.voxel, curvature)

    def velocity(self, domain: LocalDomain) -> np.ndarray:
        """(3, n) velocity of every node of a rank, that of the last region that it lies in; (3, 1) where all rest."""
        if not any(region.velocity.any() for region in self._regions):
            return np.zeros((3, 1))

        def velocity(place):
            found = np.zeros((3, len(place)))
            for region in self._regions:
                found[:, region.holds(place)] = region.velocity[:, None]
            return found

        return self._at(domain.voxel, velocity)

    def fall(self, up: np.ndarray) -> float:
        """Height from the lowest point of the box to the highest point of the liquid in it [voxels]."""
        last = np.array(self._header.shape[::-1]) - 0.5
        lowest, highest = BoxRegion(np.zeros(3), np.full(3, -0.5), last).span(up)
        top = max(region.span(up)[1] for region in self._regions)
        return min(max(top - lowest, 0.0), highest - lowest)

    def _at(self, voxel: np.ndarray, values: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """(..., n) values of positions (m, 3) at voxel ids (n,), side by side in threads."""
        found = np.empty((*values(self._place(voxel[:0])).shape[:-1], voxel.size))

        def fill(some: slice) -> None:
            found[..., some] = values(self._place(voxel[some]))

        side_by_side(fill, voxel.size)
        return found

    def _place(self, voxel: np.ndarray) -> np.ndarray:
        """(m, 3) positions at voxel ids (m,), in memory one component after the other, as they are read."""
        return voxel_coordinates(voxel, self._header.shape).astype(float, order="F")

    def _fill_and_near(self, place: np.ndarray) -> np.ndarray:
        """(2, m) share of voxels (m, 3) that is liquid, and whether the surface may cut a neighbour."""
        distance = self._distance(place)
        return np.stack([self._fill(place, distance), (distance > -NEAR) | self._is_beside_image(place)])

    def _distance(self, place: np.ndarray) -> np.ndarray:
        found = np.min([region.distance(place) for region in self._regions], axis=0)
        return found if self._gas is None else np.maximum(found, -self._gas.distance(place))

    def _fill(self, place: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """(m,) share of voxels (m, 3), at distances (m,), that is liquid."""
        fill = (distance < 0.0).astype(float)
        cut = np.flatnonzero(np.abs(distance) < CUT)
        steps = (np.arange(PARTS) + 0.5) / PARTS - 0.5
        parts = np.stack(np.meshgrid(*[steps if thick else [0.0] for thick in self._is_thick], indexing="ij"))
        parts = parts.reshape(3, 1, -1)
        for some in np.array_split(cut, -(-cut.size * parts.size // (3 * OF_THREAD)) or 1):
            distance_of_parts = self._distance((place[some].T[:, :, None] + parts).reshape(3, -1).T)
            fill[some] = (
                np.clip(0.5 - PARTS * distance_of_parts, 0.0, 1.0).reshape(some.size, parts.shape[2]).mean(axis=1)
            )
        for image in self._images:
            fill = np.maximum(fill, image.share(place))
        return np.where(fill < NOTHING, 0.0, np.where(fill > 1.0 - NOTHING, 1.0, fill))


def initial_fields(cell: np.ndarray, fill: np.ndarray, density: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of a free surface from cells, filling and density (n,)."""
    share = np.where(cell == INTERFACE, fill, 0.0)
    support = np.full(cell.shape, SUPPORTED, np.uint8)
    return {CELL: cell, MASS: share * density, FILL: share, SUPPORT: support}


class LiquidRegions:
    """The regions of a case, in voxels from the centre of the first one.

    Args:
        case: the case.
        header: of the geometry.
        units: of the case.
        up: (3,) direction against gravity; None without gravity.
    """

    def __init__(self, case, header: GeometryHeader, units, up: np.ndarray | None):
        self._case, self._header, self._units, self._up = case, header, units, up
        self._origin, self._spacing = np.asarray(header.origin_m), header.spacing_m

    def all(self) -> list[Region]:
        """The regions in the order of the case. Raises InputError: a file cannot be read, a level has no direction, or
        a region is too fast."""
        return [self._region(section) for section in self._case.free_surface.liquid]

    def fill_all(self) -> bool:
        """Whether a box or level contains the whole geometry, so that no gas is left."""
        corners = np.array([corner for corner in product(*zip(*self._ends(), strict=True))])
        convex = (region for region in self.all() if isinstance(region, BoxRegion | LevelRegion))
        return self.gas() is None and any((region.distance(corners) <= 0.0).all() for region in convex)

    def gas(self) -> SpheresRegion | None:
        """The region of gas in the bubbles; None without any."""
        bubbles = self._case.free_surface.bubbles
        spheres = bubbles.spheres if bubbles else ()
        if not spheres:
            return None
        centres, radii = np.array([each.centre_m for each in spheres]), np.array([each.radius_m for each in spheres])
        return SpheresRegion(np.zeros(3), self._voxels(centres), radii / self._spacing)

    def _region(self, section) -> Region:
        velocity = self._velocity(section)
        if section.box_m is not None:
            return self._box(velocity, *self._voxels(section.box_m))
        if section.centre_m is not None:
            return sphere_region(velocity, self._voxels(section.centre_m), section.radius_m / self._spacing)
        if section.spheres_file is not None:
            return self._spheres(section, velocity)
        if section.image_file is not None:
            return ImageRegion(velocity, self._shares(section.image_file))
        up = self._up if section.normal is None else np.array(section.normal) / np.linalg.norm(section.normal)
        if up is None:
            raise InputError(
                "free_surface.liquid.level_m needs a direction: flow.acceleration_m_s2 is zero; give it, a normal, or a"
                " box_m"
            )
        level = (section.level_m - self._origin @ up) / self._spacing
        return LevelRegion(velocity, min(level, BoxRegion(velocity, *self._ends()).span(up)[1]), up)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the geometry."""
        return np.full(3, -0.5), np.array(self._header.shape[::-1]) - 0.5

    def _box(self, velocity: np.ndarray, low: np.ndarray, high: np.ndarray) -> BoxRegion:
        """Intersection of a box with the geometry, which determines its depth; the box if they do not intersect."""
        first, last = self._ends()
        if (low < last).all() and (high > first).all():
            low, high = np.maximum(low, first), np.minimum(high, last)
        return BoxRegion(velocity, low, high)

    def _velocity(self, section) -> np.ndarray:
        velocity = self._units.velocity_to_lattice(np.array(section.velocity_m_s))
        mach = float(np.linalg.norm(velocity)) / sqrt(CS2)
        if mach > FASTEST_MACH:
            longest_s = self._units.time_step_s * FASTEST_MACH / mach
            raise InputError(
                f"free_surface.liquid.velocity_m_s is {list(section.velocity_m_s)}, which is Mach number {mach:.3g}"
                f" with this time step; allowed: up to {FASTEST_MACH:g}; take a time step of at most {longest_s:.3g} s"
            )
        return velocity

    def _voxels(self, place_m) -> np.ndarray:
        return (np.asarray(place_m) - self._origin) / self._spacing

    def _spheres(self, section, velocity: np.ndarray) -> Region:
        try:
            centres, radii = read_spheres(self._case.folder / section.spheres_file, section.radius_m, numbered=False)
        except GeometryError as error:
            raise InputError(f"free_surface.liquid.spheres_file: {error}") from error
        return SpheresRegion(velocity, self._voxels(centres), radii / self._spacing)

    def _shares(self, file: str) -> np.ndarray:
        key, path = "free_surface.liquid.image_file", self._case.folder / file
        shares = read_box_array(key, path, self._header.shape, "nz, ny, nx")
        low, high = float(shares.min()), float(shares.max())
        if not (low >= 0.0 and high <= 1.0):
            raise InputError(f"{key}: {path} has values from {low:g} to {high:g}; allowed: shares from 0 to 1")
        return shares
