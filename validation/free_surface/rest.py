"""Liquids at rest: mass is kept, the surface stays where it is, pressure grows with depth, and nothing moves."""

from math import sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, LIQUID
from muphy_lb.run.solver import Solver
from muphy_lb.validation.free_surface.liquids import (
    LEFT_OUT,
    TANK,
    columns,
    judged_in_full,
    liquid_flow,
    mass,
    skipped,
    speed,
)
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Row, Validation, absolute, at_most, relative
from muphy_lb.validation.settings import DEFAULT, Settings

NAME = "surface-rest"
CITATION = "hydrostatics: the gradient of the density is 3 rho g in lattice units, along gravity"
VISCOSITY = 1 / 6
GRAVITY = 1e-5
FLAT_LENGTH, FLAT_HEIGHT = 8, 32
DEPTH, FLAT_STEPS = 20.5, 20000
QUICK_DEPTH, QUICK_FLAT_STEPS = 4.5, 1000
TILT = np.array([1.0, 2.0, 3.0]) / sqrt(14.0)
BOTTOMS, QUICK_BOTTOMS = ("box", "wedge", "stairs"), ("stairs",)
TILTED, TILTED_STEPS, QUICK_TILTED_STEPS = (24, 20, 16), 10000, 200
QUICK_TILTED = (16, 14, 12)
MASS = MappingProxyType({"fp64": 1e-12, "fp32": 1e-6})
# At walls the slope of the pressure has fewer links: an error of second order in gravity, 9e-10.
STILL = MappingProxyType({"fp64": 1e-9, "fp32": 1e-7})
TOLERANCE, TOLERANCE_OF_HEIGHT, SPURIOUS = 1e-3, 0.01, 1e-4


def surface_rest(settings: Settings = DEFAULT) -> Validation:
    """Liquids at rest under level and under tilted gravity, over a flat floor, a slope and stairs."""
    refused = skipped(NAME, CITATION, settings)
    if refused:
        return refused
    rows, plot = _flat(settings)
    for bottom in QUICK_BOTTOMS if settings.quick else BOTTOMS:
        rows += _tilted(bottom, settings)
    left_out = (LEFT_OUT,) if settings.quick else ()
    return Validation(NAME, CITATION, tuple(rows), plots=(plot,), left_out=left_out)


def _flat(settings: Settings) -> tuple[list[Row], Plot]:
    """A column whose surface lies within a layer of voxels."""
    depth, n_steps = (QUICK_DEPTH, QUICK_FLAT_STEPS) if settings.quick else (DEPTH, FLAT_STEPS)
    geometry = {"shape": TANK, "options": {"length": FLAT_LENGTH, "height": FLAT_HEIGHT}}
    level = ({"level_m": depth - 0.5},)
    simulation = liquid_flow(settings, geometry, VISCOSITY, (0.0, -GRAVITY, 0.0), liquid=level)
    before = mass(simulation).sum()
    simulation.step(n_steps)
    y, rho = liquid_density(simulation, np.array([0.0, 1.0, 0.0]))
    slope, offset = np.polyfit(y, rho, 1)
    bottom, top = (float(np.polyval((slope, offset), place)) for place in (-0.5, depth - 0.5))
    what = f"level, h = {depth:g}: "
    rows = [
        relative(f"{what}gradient of the density", -3.0 * GRAVITY * 0.5 * (bottom + top), slope, TOLERANCE),
        absolute(f"{what}height of the surface", depth, columns(simulation).mean(), TOLERANCE_OF_HEIGHT),
        absolute(f"{what}largest velocity", 0.0, speed(simulation), STILL[settings.precision]),
        absolute(f"{what}relative change of mass", 0.0, mass(simulation).sum() / before - 1, MASS[settings.precision]),
    ]
    lines = (Series("3 g rho (h - y)", y, top - 1.0 + 3.0 * GRAVITY * (depth - 0.5 - y)),)
    return rows, Plot("Level liquid at rest", "y", "density - 1", (*lines, Series("computed", y, rho - 1.0, "points")))


def _tilted(bottom: str, settings: Settings) -> list[Row]:
    """A tank half full whose gravity points into a corner."""
    edges = QUICK_TILTED if settings.quick else TILTED
    length, height, width = edges
    geometry = {"shape": TANK, "options": {"length": length, "height": height, "width": width, "bottom": bottom}}
    middle = 0.5 * (np.array(edges) - 1.0)
    liquid = ({"level_m": float(middle @ TILT)},)
    lattice = {"name": "D3Q19"}
    simulation = liquid_flow(settings, geometry, VISCOSITY, -GRAVITY * TILT, liquid=liquid, lattice=lattice)
    before = mass(simulation).sum()
    simulation.step(QUICK_TILTED_STEPS if settings.quick else TILTED_STEPS)
    depth = float((middle + 0.5) @ TILT)
    height_, rho = liquid_density(simulation, TILT)
    slope = np.polyfit(height_, rho, 1)[0]
    what = f"tilted, {bottom}: "
    still = at_most(f"{what}largest velocity over sqrt(g h)", SPURIOUS, speed(simulation) / sqrt(GRAVITY * depth))
    return [
        relative(f"{what}gradient of the density", -3.0 * GRAVITY * rho.mean(), slope, TOLERANCE),
        judged_in_full(still, settings),
        absolute(f"{what}relative change of mass", 0.0, mass(simulation).sum() / before - 1, MASS[settings.precision]),
    ]


def liquid_density(simulation: Solver, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height along ``up`` and density of all liquid cells."""
    liquid = on_root(simulation.model_field(CELL)) == LIQUID
    return whole_nodes(simulation).coordinates()[liquid] @ up, on_root(simulation.density())[liquid].astype(float)
