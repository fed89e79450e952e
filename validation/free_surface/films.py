"""Films that run down a plate: parallel to it, u = g / (2 nu) (2 h y - y^2), h^3 g / (3 nu) of flow rate a width.

The start is the exact flow at the exact level; a film that the scheme places elsewhere changes within h^2 / nu.
"""

from collections.abc import Iterator
from math import log

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.start import LevelRegion
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
