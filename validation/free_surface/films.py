"""Films that run down a plate: parallel to it, u = g / (2 nu) (2 h y - y^2), h^3 g / (3 nu) of flow rate a width.

The start is the exact flow at the exact level; a film that the scheme places elsewhere changes within h^2 / nu.

Stairs of voxels hold the liquid up to a tenth of a voxel before the plane that they stand for, with a surface or
without: 1.5 to 2.5 % of the flow rate of a film of 12 voxels. So where a plate of voxels is oblique its plane of no
slip is found by the flow rate G H^3 / (12 nu) between two of them: flow rates above it tell the error of the surface
alone, those above the stairs that of both. Both are judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import cbrt, hypot, log

import numpy as np

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.start import LevelRegion, Region
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, at_least, at_most, case, relative, shown
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.free_surface.tanks import liquid_density
from muphy_lb.validation.plot import Plot, Series

VISCOSITY, SPEED, STEEPNESS = 0.1, 5e-3, 2.0
"""Kinematic viscosity, speed of the surface, and body force along the plate over that towards it."""
DEPTHS, QUICK_DEPTHS, DEPTH_3D, DIRECTION_3D = (6.5, 12.3, 20.5), (6.5, 12.3), 16.5, (0.8, 0.6)
FLOW, OF_PROFILE, OF_FLOOR, ORDER, COARSE = 0.01, 0.01, 0.003, 1.8, 12.0
DURATION = 2.0  # of the computation, over h^2 / nu
ACROSS, OBLIQUE_DEPTH, PLATE, LENGTH = ((1, 2), (1, 3), (2, 3)), 12.3, 4.0, 28.0
"""Normals of oblique plates, of voxels, depth of their films, their thickness, and the least distance at which they
repeat."""


@case("surface-film", "u = g / (2 nu) (2 h y - y^2): Bird, Stewart, Lightfoot, Transport Phenomena, section 2.2")
def surface_film(settings: Settings) -> Iterator:
    """Flow rate, velocity and pressure of films whose surface lies within a layer of voxels."""
    liquids.refuse(settings)
    errors = []
    for depth in QUICK_DEPTHS if settings.quick else DEPTHS:
        flow, others = _film(settings, depth, "D2Q9", (1.0, 0.0))
        errors.append(flow.error)
        yield from (flow, *others) if depth > COARSE else (shown(flow.quantity, flow.reference, flow.computed),)
    if not settings.quick:
        if settings.precision == "fp64":
            order = log(errors[0] / errors[-1]) / log(DEPTHS[-1] / DEPTHS[0])
            yield at_least("order of the flow rate", ORDER, order, 0.0)
        flow, others = _film(settings, DEPTH_3D, "D3Q19", DIRECTION_3D)
        yield from (flow, *others)
        for across in ACROSS:
            yield from _oblique(settings, Plates(*across))


@dataclass(frozen=True)
class _FilmRegion(Region):
    """Liquid up to a depth above planes that repeat by a length along ``normal`` (3,)."""

    depth_of_film: float
    normal: np.ndarray
    length: float

    def distance(self, place):
        return np.mod(place @ self.normal + 1e-9, self.length) - self.depth_of_film

    def depth(self, place, up):
        return np.zeros(len(place))

    def span(self, up):
        return -np.inf, np.inf


@dataclass(frozen=True)
class Plates:
    """Plates of voxels across (a, b) that repeat along their normal, in a box that repeats along x and y."""

    a: int
    b: int

    @property
    def size(self) -> float:
        """Length of (a, b): its layers of voxels are 1 / size apart."""
        return hypot(self.a, self.b)

    @property
    def rows(self) -> int:
        """Height of the box over a, and length over b."""
        return round(np.ceil(LENGTH * self.size / (self.a * self.b)))

    @property
    def length(self) -> float:
        """Distance at which the plates repeat."""
        return self.rows * self.a * self.b / self.size

    @property
    def normal(self) -> np.ndarray:
        """(3,) unit normal."""
        return np.array([self.a, self.b, 0.0]) / self.size

    @property
    def along(self) -> np.ndarray:
        """(3,) unit vector along the plates."""
        return np.array([self.b, -self.a, 0.0]) / self.size

    @property
    def is_plate(self) -> np.ndarray:
        """(ny, nx) voxels that are solid."""
        y, x = np.mgrid[: self.rows * self.a, : self.rows * self.b]
        return np.mod(self.a * x + self.b * y, self.rows * self.a * self.b) / self.size < PLATE

    @property
    def width(self) -> float:
        """Area of the periodic domain over the length of the plates."""
        return self.is_plate.size / self.length

    def make(self) -> partial:
        """Makes simulations between the plates."""
        flags = np.where(self.is_plate, SOLID, FLUID).astype(FLAG_DTYPE)[None]
        return partial(Solver, nodes=build_nodes(Voxels(flags, periodic=(True, True, False))))

    def no_slip(self, settings: Settings) -> float:
        """Distance of the plane of no slip before that of the stairs, by the flow rate between two plates."""
        gap = float((~self.is_plate).sum()) / self.width
        drive = 12.0 * VISCOSITY * SPEED / gap**2
        flow = {"acceleration_m_s2": [float(x) for x in drive * self.along]}
        channel = lattice_simulation(settings, {"shape": "channel"}, VISCOSITY, flow=flow, make=self.make())
        channel.step(round(gap**2 / VISCOSITY))
        rate = float((on_root(channel.velocity_m_s()) @ self.along).sum()) / self.width
        return 0.5 * (gap - cbrt(12.0 * VISCOSITY * rate / drive))


def _oblique(settings: Settings, plates: Plates) -> Iterator[Row]:
    """Flow rate of a film from rest down a plate of voxels that is oblique to the lattice, over that of a film of the
    same volume, from the plane of the stairs and from that of no slip."""
    drive = 2.0 * VISCOSITY * SPEED / OBLIQUE_DEPTH**2
    force = drive * plates.along - drive / STEEPNESS * plates.normal
    flow = liquids.liquid_flow(settings, {"shape": "channel"}, VISCOSITY, tuple(force), make=plates.make())
    surface = (np.ceil(PLATE * plates.size) - 0.5) / plates.size + OBLIQUE_DEPTH
    liquids.fill_with(flow, _FilmRegion(np.zeros(3), surface, plates.normal, plates.length))
    flow.step(round(2.0 * DURATION * OBLIQUE_DEPTH**2 / VISCOSITY))
    share = np.nan_to_num(on_root(fill(flow)).astype(float))
    depth = share.sum() / plates.width
    rate = float((on_root(flow.velocity_m_s()) @ plates.along * share).sum()) / plates.width
    what = f"D2Q9, depth {OBLIQUE_DEPTH:g}, plate of voxels along ({plates.b}, {-plates.a}): flow rate"
    free = depth - plates.no_slip(settings)
    yield relative(f"{what} above the plane of no slip", drive * free**3 / (3.0 * VISCOSITY), rate, FLOW)
    yield relative(f"{what} above the stairs", drive * depth**3 / (3.0 * VISCOSITY), rate, FLOW)


def _film(
    settings: Settings, depth: float, lattice: str, direction: tuple[float, float]
) -> tuple[Row, list[Row | Plot]]:
    """A film that runs along ``direction`` in the plane of the plate: its flow rate, and all else."""
    drive = 2.0 * VISCOSITY * SPEED / depth**2
    force = drive * direction[0], -drive / STEEPNESS, drive * direction[1]
    width = 1 if lattice == "D2Q9" else 4
    geometry = {"shape": "channel", "options": {"length": 4, "height": round(depth) + 4, "width": width}}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, force, lattice={"name": lattice})
    level = depth + 0.5  # the channel's lower plate is a layer of voxels

    def exact(y):
        return SPEED * (1.0 - (1.0 - (y - 0.5) / depth) ** 2)

    def weight(place):
        return 3.0 * drive / STEEPNESS * np.maximum(level - place[:, 1], 0.0)

    def velocity(place):
        return np.stack((direction[0] * exact(place[:, 1]), np.zeros(len(place)), direction[1] * exact(place[:, 1])))

    region = LevelRegion(np.zeros(3), level, np.array([0.0, 1.0, 0.0]))
    liquids.fill_with(simulation, region, weight, velocity)
    simulation.step(round(DURATION * depth**2 / VISCOSITY))
    y = whole_nodes(simulation).coordinates()[:, 1]
    along = on_root(simulation.velocity_m_s())[:, [0, 2]] @ np.array(direction)
    share = np.nan_to_num(on_root(fill(simulation)).astype(float))
    flow, is_full = float((along * share).sum()) / (4 * width), share == 1.0
    heights, density = liquid_density(simulation, np.array([0.0, 1.0, 0.0]))
    slope, offset = np.polyfit(heights, density - 1.0, 1)
    what = f"{lattice}, depth {depth:g}: "
    rate = relative(f"{what}flow rate", drive * depth**3 / (3.0 * VISCOSITY), flow, FLOW)
    far = float(np.abs(along - exact(y))[is_full].max()) / SPEED
    profile = at_most(f"{what}velocity, worst, over the surface", OF_PROFILE, far)
    floor = relative(f"{what}pressure at the floor", drive / STEEPNESS * depth, (offset + 0.5 * slope) / 3.0, OF_FLOOR)
    line = Series("exact", y[:: 4 * width], exact(y[:: 4 * width]))
    points = Series("computed", y[is_full], along[is_full], "points")
    plot = Plot(f"Film of {depth:g} voxels, {lattice}", "y", "velocity", (line, points))
    return rate, [profile, floor, plot]
