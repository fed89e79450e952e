"""Films that run down a plate: parallel to it, u = g / (2 nu) (2 h y - y^2), h^3 g / (3 nu) of flow rate a width.

The start is the exact flow at the exact level; a film that the scheme places elsewhere changes within h^2 / nu.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import hypot, log

import numpy as np

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.start import LevelRegion, Region
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, at_least, at_most, case, relative, shown
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.free_surface.tanks import liquid_density
from muphy_lb.validation.plot import Plot, Series

VISCOSITY, SPEED, STEEPNESS = 0.1, 5e-3, 2.0
"""Kinematic viscosity, speed of the surface, and body force along the plate over that towards it."""
DEPTHS, QUICK_DEPTHS, DEPTH_3D, DIRECTION_3D = (6.5, 12.3, 20.5), (6.5, 12.3), 16.5, (0.8, 0.6)
FLOW, OF_PROFILE, OF_FLOOR, ORDER, COARSE = 0.01, 0.01, 0.003, 1.8, 12.0
DURATION = 2.0
"""Of the computation, over h^2 / nu."""
ACROSS, OBLIQUE_DEPTH, PLATE, ROWS = (1, 2), 12.3, 4.0, 32
"""Normal of an oblique plate, of voxels, depth of its film, its thickness, and the height of the periodic box."""


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
        yield _oblique(settings)


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


def _oblique(settings: Settings) -> Row:
    """Flow rate of a film from rest down a plate of voxels that is oblique to the lattice, over that of a film of the
    same volume; the box repeats along x and y."""
    a, b = ACROSS
    size = hypot(a, b)
    normal, along, length = np.array([a, b, 0.0]) / size, np.array([b, -a, 0.0]) / size, ROWS * a * b / size
    y, x = np.mgrid[: ROWS * a, : ROWS * b]
    is_plate = np.mod(a * x + b * y, ROWS * a * b) / size < PLATE
    flags = np.where(is_plate, SOLID, FLUID).astype(FLAG_DTYPE)[None]
    nodes = build_nodes(Voxels(flags, periodic=(True, True, False)))
    drive = 2.0 * VISCOSITY * SPEED / OBLIQUE_DEPTH**2
    force, make = drive * along - drive / STEEPNESS * normal, partial(Solver, nodes=nodes)
    flow = liquids.liquid_flow(settings, {"shape": "channel"}, VISCOSITY, tuple(force), make=make)
    surface = (np.ceil(PLATE * size) - 0.5) / size + OBLIQUE_DEPTH
    liquids.fill_with(flow, _FilmRegion(np.zeros(3), surface, normal, length))
    flow.step(round(2.0 * DURATION * OBLIQUE_DEPTH**2 / VISCOSITY))
    share = np.nan_to_num(on_root(fill(flow)).astype(float))
    width = is_plate.size / length
    depth, rate = share.sum() / width, float((on_root(flow.velocity_m_s()) @ along * share).sum()) / width
    what = f"D2Q9, depth {OBLIQUE_DEPTH:g}, plate of voxels along ({b}, {-a}): flow rate"
    return relative(what, drive * depth**3 / (3.0 * VISCOSITY), rate, FLOW)


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
