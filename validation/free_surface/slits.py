"""Suction of liquids between plates and in tubes: 2 sigma cos(theta) / gap, or / radius, below the gas, however their
surfaces started.

Flat surfaces at several heights within a voxel have to move along the walls before they rest.
"""

from collections.abc import Iterator
from itertools import product
from math import cos, radians

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, is_liquid
from muphy_lb.validation.case import Settings, at_most, case
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.plot import Plot, Series

TENSION, VISCOSITY = 5e-3, 1 / 6
GAPS, QUICK_GAPS = (12, 24), (8,)
ANGLES, QUICK_ANGLES = (30, 45, 60, 70, 75, 80, 105, 120, 135, 150), (70,)  # degrees
LEVELS, QUICK_LEVELS = (0.1, 0.35, 0.6, 0.85), (0.35,)  # of the flat surface above a layer of voxels
STEPS, QUICK_STEPS = 40.0, 10.0  # over the gap^2
SUCTION = 0.04
RADIUS, SLUG, PIPE = 6.3, 14.5, 30  # of a tube, and the lengths of the liquid in it and of the tube
ANGLES_IN_TUBES, PLACES, STEPS_IN_TUBES = (30, 45, 75, 120, 150), (0.05, 0.55), 4000


@case("surface-suction", "Young, Laplace: p_gas - p = 2 sigma cos(theta) / gap between plates, / radius in tubes")
def surface_suction(settings: Settings) -> Iterator:
    """Suction between plates and in a tube at contact angles, from flat surfaces."""
    liquids.refuse(settings)
    angles, levels = (QUICK_ANGLES, QUICK_LEVELS) if settings.quick else (ANGLES, LEVELS)
    for gap in QUICK_GAPS if settings.quick else GAPS:
        found = [suction(gap, *each, settings) for each in product(angles, levels)]
        errors = np.abs(np.array(found) - 1.0)
        yield at_most(f"gap of {gap}: error of the suction, mean", SUCTION, float(errors.mean()))
        yield at_most(f"gap of {gap}: error of the suction, worst", SUCTION, float(errors.max()))
        where = np.repeat(np.array(angles, dtype=float), len(levels))
        line, points = (
            Series("theory", where, np.ones(where.size)),
            Series("computed", where, np.array(found), "points"),
        )
        yield Plot(
            f"Suction between plates, gap of {gap}", "contact angle", "over 2 sigma cos(theta) / gap", (line, points)
        )
    if settings.quick:
        yield "quick: one angle, before it rests, and no tube"
        return
    found = [suction_in_tube(RADIUS, *each, settings) for each in product(ANGLES_IN_TUBES, PLACES)]
    yield at_most(f"tube of radius {RADIUS}: error of the suction, worst", SUCTION, max(abs(x - 1.0) for x in found))


def suction(gap: int, angle: float, level: float, settings: Settings) -> float:
    """Suction of a liquid between plates at rest over 2 sigma cos(theta) / gap. ``angle``: contact angle [degrees];
    ``level``: of the flat surface at the start above a layer of voxels."""
    geometry = {"shape": liquids.TANK, "options": {"length": gap, "height": 2 * gap}}
    liquid, surface = ({"box_m": [[-1.0] * 3, [gap, gap + level - 0.5, 1.0]]},), {"contact_angle_deg": float(angle)}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, tension=TENSION, liquid=liquid, surface=surface)
    simulation.step(round((QUICK_STEPS if settings.quick else STEPS) * gap * gap))
    low = whole_nodes(simulation).coordinates()[:, 1] < 0.5 * gap
    return _suction(simulation, low) * gap / (2.0 * TENSION * cos(radians(angle)))


def suction_in_tube(radius: float, angle: float, place: float, settings: Settings) -> float:
    """Suction of a slug of liquid in a tube at rest over 2 sigma cos(theta) / radius. ``angle``: contact angle
    [degrees]; ``place``: of the flat surface at the start above a layer of voxels."""
    geometry = {"shape": "pipe", "options": {"length": PIPE, "radius": radius}}
    first = 0.25 * PIPE + place
    liquid, surface = ({"box_m": [[-1e3, -1e3, first], [1e3, 1e3, first + SLUG]]},), {"contact_angle_deg": float(angle)}
    given = {"tension": TENSION, "liquid": liquid, "surface": surface, "lattice": {"name": "D3Q19"}}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, **given)
    simulation.step(STEPS_IN_TUBES)
    return _suction(simulation, slice(None)) * radius / (2.0 * TENSION * cos(radians(angle)))


def _suction(simulation, chosen) -> float:
    """Mean pressure of full cells among chosen nodes, below that of the gas."""
    within = is_liquid(on_root(simulation.model_field(CELL)))[chosen]
    return (1.0 - float(on_root(simulation.density())[chosen][within].astype(float).mean())) / 3.0
