"""Liquids in tanks: at rest, where nothing moves and pressure grows with depth; and a dam that breaks.

The front along the floor is compared with two columns of Martin and Moyce; they measured it behind a gate that opened
in a finite time, so one shift of the time is fitted to each table. Times are in sqrt(a / 2 g), lengths in the width a
of the column. A square column at a Reynolds number that voxels resolve is compared with itself on a finer grid, which
tells nothing of what moves the front alike on all grids: ``spreading`` has a front that is known.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf, sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.base.narrow import pair
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, is_liquid
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, at_most, case, relative
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.free_surface.liquids import TANK, columns, liquid_flow, refuse
from muphy_lb.validation.plot import Plot, Series

VISCOSITY, GRAVITY, FLAT_LENGTH, FLAT_HEIGHT = 1 / 6, 1e-5, 8, 32
DEPTH, FLAT_STEPS, QUICK_DEPTH, QUICK_FLAT_STEPS = 20.5, 20000, 4.5, 1000
TILT = np.array([1.0, 2.0, 3.0]) / sqrt(14.0)
BOTTOMS, QUICK_BOTTOMS = ("box", "wedge", "stairs"), ("stairs",)
TILTED, TILTED_STEPS, QUICK_TILTED_STEPS, QUICK_TILTED = (24, 20, 16), 10000, 200, (16, 14, 12)
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


def liquid_density(simulation: Solver, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height along ``up`` and density of all liquid cells."""
    liquid = is_liquid(on_root(simulation.model_field(CELL)))
    return whole_nodes(simulation).coordinates()[liquid] @ up, on_root(simulation.density())[liquid].astype(float)


FRONT = {
    "a = 1.125 in": (
        *((0.849, 1.245), (1.212, 1.443), (1.602, 1.884), (2.283, 2.689), (2.950, 3.728), (3.598, 4.528)),
        *((3.905, 4.999), (4.592, 5.841), (4.961, 6.271), (5.316, 6.717)),
    ),
    "a = 2.25 in": (
        *((0.832, 1.217), (1.219, 1.474), (1.997, 2.292), (2.547, 2.995), (3.345, 4.134), (4.034, 4.944)),
        *((4.418, 5.881), (5.091, 6.980), (5.685, 7.945), (6.306, 8.966), (6.822, 9.986)),
    ),
}
"""(time, place of the front)."""
WIDTHS, QUICK_WIDTHS = (32, 64), (32,)
TOP, LENGTH, LATEST, FARTHEST = 2.1, 7.0, 4.7, 6.0
QUICK_LENGTH, QUICK_LATEST, QUICK_FARTHEST = 4.5, 3.0, 3.5
MOST_SPEED = 0.1  # sqrt(2 g H), lattice units
DAM_VISCOSITY, SMAGORINSKY = 1e-3 / 32, 0.17  # viscosity over the width: all widths have one Reynolds number
SAMPLES_PER_UNIT, LONGEST_SHIFT, DAM_TOLERANCE = 20, 0.25, 0.2
WET = 0.5  # height of liquid in a column that counts
TOLERANCE_OF_MASS = MappingProxyType({"fp64": 1e-11, "fp32": 1e-5})


@case(
    "dam-break",
    "Martin, Moyce, Phil. Trans. R. Soc. A 244, 312 (1952), n^2 = 2: front, points read off figure 3 as PySPH ships"
    " them",
)
def dam_break(settings: Settings) -> Iterator:
    """Front of the liquid along the floor after a dam breaks."""
    refuse(settings)
    farthest = QUICK_FARTHEST if settings.quick else FARTHEST
    for width in QUICK_WIDTHS if settings.quick else WIDTHS:
        time, fronts, drift = collapse(width, settings)
        what = f"a = {width} cells"
        for name, table in FRONT.items():
            yield from _front_rows(f"{what}, {name}", np.array(table), time, fronts, farthest)
        yield absolute(f"{what}: change of mass", 0.0, drift, TOLERANCE_OF_MASS[settings.precision])
        points = [
            Series(f"Martin, Moyce, {name}", *pair(zip(*table, strict=True)), "points") for name, table in FRONT.items()
        ]
        yield Plot(f"Front, {what}", "t sqrt(2 g / a)", "z / a", (Series("computed", time, fronts), *points))


def collapse(width: int, settings: Settings) -> tuple[np.ndarray, np.ndarray, float]:
    """(n,) times, fronts over the width, and the relative change of mass."""
    length, latest = (QUICK_LENGTH, QUICK_LATEST) if settings.quick else (LENGTH, LATEST)
    gravity = MOST_SPEED**2 / (4.0 * width)
    geometry = {"shape": TANK, "options": {"length": round(length * width), "height": round(TOP * width)}}
    liquid = ({"box_m": [[-1.0, -1.0, -1.0], [width - 0.5, 2.0 * width - 0.5, 1.0]]},)
    more = {"liquid": liquid, "lattice": {"smagorinsky": SMAGORINSKY}}
    simulation = liquid_flow(settings, geometry, DAM_VISCOSITY * width, (0.0, -gravity, 0.0), **more)
    unit = sqrt(width / (2.0 * gravity))
    time, fronts = [0.0], [1.0]
    for sample in range(1, round(latest * SAMPLES_PER_UNIT) + 1):
        simulation.step(round(sample * unit / SAMPLES_PER_UNIT) - simulation.step_number)
        time.append(simulation.step_number / unit)
        fronts.append(front(columns(simulation)) / width)
    return np.array(time), np.array(fronts), simulation.health().mass_drift


def front(height: np.ndarray) -> int:
    """Columns with liquid, of which (nx,) heights are given, from the wall up to the first gap."""
    return int(np.argmax(np.append(height, 0.0) < WET))


def _front_rows(what: str, table: np.ndarray, time: np.ndarray, fronts: np.ndarray, farthest: float) -> Iterator[Row]:
    """The shift of time that fits best, and the largest distance from the table behind it."""
    table = table[table[:, 1] <= farthest]

    def far(shift):
        return float(np.abs(np.interp(table[:, 0] - shift, time, fronts) - table[:, 1]).max())

    best = min(np.linspace(0.0, LONGEST_SHIFT, 251), key=far)
    yield absolute(f"{what}: front up to {farthest:g} a, farthest [a]", 0.0, far(best), DAM_TOLERANCE)
    yield at_most(f"{what}: shift of time (searched up to 0.25)", LONGEST_SHIFT, best)


COLLISIONS, FRONT_WIDTHS, FINEST, PLACES = ("regularised", "trt"), (16, 32), 128, (2.0, 3.0, 4.0)
ARRIVALS = (1.199, 1.976, 2.913)  # of the finest column, computed with trt and fp64; 256 voxels: +2.2 % at 4 a
FRONT_SPEED, FRONT_REYNOLDS, FRONT_DEPTH = 0.05, 400.0, 0.02  # sqrt(g a); of it and a; depth over a that counts
FRONT_SAMPLES, LATEST_ARRIVAL, ARRIVAL = 200, 4.0, 0.05


@case("dry-bed", "arrival of the front of a square column on a dry floor, Re 400: the same with a finer grid")
def dry_bed(settings: Settings) -> Iterator:
    """Times at which the front of a column that collapses arrives at places along the floor."""
    refuse(settings)
    finest = ARRIVALS if settings.quick else arrivals(FINEST, "trt", settings)
    for collision, width in product(COLLISIONS, FRONT_WIDTHS):
        if settings.quick and (collision, width) != (COLLISIONS[0], FRONT_WIDTHS[0]):
            continue
        for place, exact, found in zip(PLACES, finest, arrivals(width, collision, settings), strict=True):
            what = f"{collision}, a = {width} cells: arrival at {place:g} a [sqrt(a / g)]"
            yield relative(what, exact, found, ARRIVAL)
    if settings.quick:
        yield "quick: one width and collision, beside recorded times of the finest grid"


def arrivals(width: int, collision: str, settings: Settings) -> list[float]:
    """Times at which columns at ``PLACES`` are deeper than ``FRONT_DEPTH`` widths, in sqrt(a / g)."""
    gravity, unit = FRONT_SPEED**2 / width, width / FRONT_SPEED
    geometry = {"shape": TANK, "options": {"length": round(5.5 * width), "height": round(1.5 * width)}}
    liquid = ({"box_m": [[-1.0, -1.0, -1.0], [width - 0.5, width - 0.5, 1.0]]},)
    viscosity = FRONT_SPEED * width / FRONT_REYNOLDS
    more = {"liquid": liquid, "lattice": {"collision": collision}}
    simulation = liquid_flow(settings, geometry, viscosity, (0.0, -gravity, 0.0), **more)
    at, time, depths = np.array([round(place * width) for place in PLACES]), [0.0], [np.zeros(len(PLACES))]
    while depths[-1].min() < FRONT_DEPTH * width and time[-1] < LATEST_ARRIVAL:
        simulation.step(max(1, round(unit / FRONT_SAMPLES)))
        height = columns(simulation)
        time.append(simulation.step_number / unit)
        depths.append(0.5 * (height[at - 1] + height[at]))
    first = [int(np.argmax(depth >= FRONT_DEPTH * width)) for depth in np.array(depths).T]
    return [
        float(np.interp(FRONT_DEPTH * width, (depths[i - 1][k], depths[i][k]), (time[i - 1], time[i]))) if i else inf
        for k, i in enumerate(first)
    ]
