"""Liquids at rest: mass is kept, the surface stays where it is, pressure grows with depth, and nothing moves."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf, sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, LIQUID
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Row, Settings, absolute, at_most, case, relative
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.plot import Plot, Series

VISCOSITY, GRAVITY, FLAT_LENGTH, FLAT_HEIGHT = 1 / 6, 1e-5, 8, 32
DEPTH, FLAT_STEPS, QUICK_DEPTH, QUICK_FLAT_STEPS = 20.5, 20000, 4.5, 1000
TILT = np.array([1.0, 2.0, 3.0]) / sqrt(14.0)
BOTTOMS, QUICK_BOTTOMS = ("box", "wedge", "stairs"), ("stairs",)
TILTED, TILTED_STEPS, QUICK_TILTED_STEPS = (24, 20, 16), 10000, 200
QUICK_TILTED = (16, 14, 12)
MASS = MappingProxyType({"fp64": 1e-12, "fp32": 1e-6})
# At walls the slope of the pressure has fewer links: an error of second order in gravity, 9e-10.
STILL = MappingProxyType({"fp64": 1e-9, "fp32": 1e-7})
TOLERANCE, TOLERANCE_OF_HEIGHT, SPURIOUS = 1e-3, 0.01, 1e-4


@case("surface-rest", "hydrostatics: the gradient of the density is 3 rho g in lattice units, along gravity")
def surface_rest(settings: Settings) -> Iterator:
    """Liquids at rest under level and under tilted gravity, over a flat floor, a slope and stairs."""
    liquids.refuse(settings)
    yield from _flat(settings)
    for bottom in QUICK_BOTTOMS if settings.quick else BOTTOMS:
        edges = QUICK_TILTED if settings.quick else TILTED
        length, height, width = edges
        geometry = {
            "shape": liquids.TANK,
            "options": {"length": length, "height": height, "width": width, "bottom": bottom},
        }
        middle = 0.5 * (np.array(edges) - 1.0)
        liquid, lattice = ({"level_m": float(middle @ TILT)},), {"name": "D3Q19"}
        simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, -GRAVITY * TILT, liquid=liquid, lattice=lattice)
        before = liquids.mass(simulation).sum()
        simulation.step(QUICK_TILTED_STEPS if settings.quick else TILTED_STEPS)
        depth = float((middle + 0.5) @ TILT)
        places, rho = liquid_density(simulation, TILT)
        slope, change = np.polyfit(places, rho, 1)[0], liquids.mass(simulation).sum() / before - 1
        what = f"tilted, {bottom}: "
        yield relative(f"{what}gradient of the density", -3.0 * GRAVITY * rho.mean(), slope, TOLERANCE)
        still = at_most(
            f"{what}largest velocity over sqrt(g h)", SPURIOUS, liquids.speed(simulation) / sqrt(GRAVITY * depth)
        )
        yield replace(still, tolerance=inf) if settings.quick else still
        yield absolute(f"{what}relative change of mass", 0.0, change, MASS[settings.precision])
    if settings.quick:
        yield (
            "quick: the velocity of liquid at rest is shown, not judged (the full case judges it): the tank is smaller"
        )


def _flat(settings: Settings) -> Iterator[Row | Plot]:
    """A column whose surface lies within a layer of voxels."""
    depth, n_steps = (QUICK_DEPTH, QUICK_FLAT_STEPS) if settings.quick else (DEPTH, FLAT_STEPS)
    geometry = {"shape": liquids.TANK, "options": {"length": FLAT_LENGTH, "height": FLAT_HEIGHT}}
    level = ({"level_m": depth - 0.5},)
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, (0.0, -GRAVITY, 0.0), liquid=level)
    before = liquids.mass(simulation).sum()
    simulation.step(n_steps)
    y, rho = liquid_density(simulation, np.array([0.0, 1.0, 0.0]))
    slope, offset = np.polyfit(y, rho, 1)
    bottom, top = (float(np.polyval((slope, offset), place)) for place in (-0.5, depth - 0.5))
    what, change = f"level, h = {depth:g}: ", liquids.mass(simulation).sum() / before - 1
    yield relative(f"{what}gradient of the density", -3.0 * GRAVITY * 0.5 * (bottom + top), slope, TOLERANCE)
    yield absolute(f"{what}height of the surface", depth, liquids.columns(simulation).mean(), TOLERANCE_OF_HEIGHT)
    yield absolute(f"{what}largest velocity", 0.0, liquids.speed(simulation), STILL[settings.precision])
    yield absolute(f"{what}relative change of mass", 0.0, change, MASS[settings.precision])
    line = Series("3 g rho (h - y)", y, top - 1.0 + 3.0 * GRAVITY * (depth - 0.5 - y))
    yield Plot("Level liquid at rest", "y", "density - 1", (line, Series("computed", y, rho - 1.0, "points")))


def liquid_density(simulation: Simulation, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height along ``up`` and density of all liquid cells."""
    liquid = on_root(simulation.model_field(CELL)) == LIQUID
    return whole_nodes(simulation).coordinates()[liquid] @ up, on_root(simulation.density())[liquid].astype(float)
