"""Heat at walls that cut the links anywhere: by populations and by finite differences, at two resolutions each.

Conduction between two circles; a cylinder and a slab that cool through their surface, of fixed temperature or by
convection (Biot number 10; Carslaw, Jaeger, Conduction of Heat in Solids (1959), sect. 3.3, 3.11, 7.6, 7.7), the slab's
half-way between voxels or elsewhere; the Nusselt numbers of developed flow
in a pipe, 48/11 with a fixed flux and, with a wall of fixed temperature, 3.657 and what conduction along the pipe adds
(Graetz; Shah, London, Laminar Flow Forced Convection in Ducts (1978)); natural convection between horizontal cylinders
(the set-up of Kuehn, Goldstein, J. Fluid Mech. 74, 695 (1976)), whose equivalent conductivity has no exact value:
beside twice the resolution.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import inf, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import SOLID, wall_flag
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.thermal.model import DIFFERENCES, METHODS, POPULATION_METHOD
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_gradients_k_m
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, Skipped, at_most, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import refuse_half

RADII = (6.3, 12.3)
QUICK_RADII = (6.3,)
RATIO = 2.5  # of the radii of an annulus that conducts
DIFFUSIVITY, VISCOSITY, SPEED = 0.05, 0.1, 0.05
FOURIER, BIOT, STORED = 0.2, 10.0, 10
# Of the modes that are left, root and amplitude on the axis, by Biot number.
COOLING = {
    inf: ((2.404826, 1.601975), (5.520078, -1.064799)),
    BIOT: ((2.179497, 1.567692), (5.033212, -0.957501)),
}
SLAB_ROOTS = {inf: (0.5 * pi, 1.5 * pi, 2.5 * pi), BIOT: (1.428870, 4.305801, 7.228110)}
HEIGHTS, OFFSETS = (12, 24), (0.5, 0.2)
# Beside walls that are not half-way, populations store heat in whole voxels: measured 1.5 and 0.6 %.
SLABS = {
    POPULATION_METHOD: {0.5: (0.005, 0.005), 0.2: (0.016, 0.006)},
    DIFFERENCES: {0.5: (0.005, 0.005), 0.2: (0.005, 0.005)},
}
# Smallest eigenvalue of T'' + T' / r + (2 Pe' b (1 - r^2) + b^2) T = 0, T(1) = 0, at Peclet numbers of 12.6 and 24.6.
FIXED_TEMPERATURE = {6.3: 3.6823, 12.3: 3.6640}
NUSSELT = {"fixed temperature": FIXED_TEMPERATURE, "fixed flux": dict.fromkeys(RADII, 48.0 / 11.0)}
CONDUCTION, COOLED = {6.3: 0.01, 12.3: 0.003}, {6.3: 0.015, 12.3: 0.005}
# The gradient of Obrecht et al. carries a temperature across the flow of a pipe too fast, to second order.
DEVELOPED = {
    6.3: {POPULATION_METHOD: 0.04, DIFFERENCES: 0.15},
    12.3: {POPULATION_METHOD: 0.01, DIFFERENCES: 0.02},
}
PRANDTL, FREE_FALL, GAP_TO_INNER, RAYLEIGH = 0.7, 0.12, 1.6, (1e4, 5e4)
INNER, QUICK_INNER, SAME, BALANCED = (15.0, 30.0), (10.0,), 0.015, {POPULATION_METHOD: 0.003, DIFFERENCES: 0.06}
OFFSET = (0.137, -0.211)


class Section(NamedTuple):
    """A layer across a pipe: flow rate and bulk temperature."""

    flow: float
    bulk: float


@case("heat-round-walls", "conduction, cooling and developed flow at round walls: exact")
def round_walls(settings: Settings) -> Iterator:
    """Heat at round walls: conduction between circles, cooling of a cylinder, Nusselt numbers of a pipe."""
    _refuse(settings)
    radii = QUICK_RADII if settings.quick else RADII
    for method in METHODS:
        errors = []
        for radius in radii:
            rows, error = _conduction(radius, method, settings)
            errors.append(error)
            yield from rows
            for biot in COOLING:
                yield _cooling(radius, biot, method, settings)
        for offset, biot in product(OFFSETS, COOLING):
            for height, tolerance in zip(HEIGHTS[: len(radii)], SLABS[method][offset][: len(radii)], strict=True):
                exact, found = _slab(height, offset, biot, method, settings)
                what = f"{method}: slab of {height}, walls at {offset}, Bi = {biot:g}"
                yield relative(what, exact, found, tolerance)
        if len(errors) == 2:
            yield at_most(f"{method}: error at twice the resolution, over 1", 2.0**-1.5, errors[1] / errors[0])
        for radius in () if settings.quick else radii:
            for condition in NUSSELT:
                yield _developed(radius, condition, method, settings)


@case("heated-annulus", "convection between horizontal cylinders, Ra = 1e4 and 5e4: the same at twice the resolution")
def heated_annulus(settings: Settings) -> Iterator:
    """Natural convection between horizontal cylinders: equivalent conductivity."""
    _refuse(settings)
    for method, rayleigh in product(METHODS, RAYLEIGH):
        sizes = QUICK_INNER if settings.quick else INNER
        found = [_equivalent(inner, rayleigh, method, settings) for inner in sizes]
        what = f"{method}: Ra = {rayleigh:.0e}"
        if len(found) == 2:
            yield relative(f"{what}, inner wall", found[1][0], found[0][0], SAME)
            yield relative(f"{what}, outer wall", found[1][1], found[0][1], SAME)
        yield relative(f"{what}, outer wall over inner wall", *found[-1], BALANCED[method])


def _refuse(settings: Settings) -> None:
    refuse_half(settings, "fp16 resolves no differences of temperatures as small as these")
    if not settings.interpolates:
        raise Skipped("interpolated walls need pull or aa")


def _annulus(inner: float, outer: float, thermal: Mapping, viscosity: float, settings: Settings) -> Solver:
    options = {"inner": inner, "outer": outer, "centre_offset": list(OFFSET)}
    walls = [{"name": "inner", "temperature_k": 1.0}, {"name": "outer", "temperature_k": 0.0}]
    tables: dict[str, Any] = {"walls": walls, "lattice": {"walls": "bouzidi"}}
    tables["thermal"] = {"reference_k": 0.5, **thermal}
    simulation = lattice_simulation(settings, {"shape": "annulus", "options": options}, viscosity, **tables)
    centre = 0.5 * (np.array(whole_nodes(simulation).shape[:0:-1]) - 1.0) + OFFSET
    radius = np.linalg.norm(whole_nodes(simulation).coordinates()[:, :2] - centre, axis=1)
    set_temperature_k(simulation, np.clip(np.log(outer / radius) / log(outer / inner), 0.0, 1.0))
    return simulation


def _conduction(radius: float, method: str, settings: Settings) -> tuple[list[Row], float]:
    """Gradients at both walls, and the error of the temperatures, root mean square."""
    outer = RATIO * radius
    thermal = {"diffusivity_m2_s": DIFFUSIVITY, "expansion_1_k": 0.0, "method": method}
    simulation = _annulus(radius, outer, thermal, VISCOSITY, settings)
    exact = on_root(temperature_k(simulation))
    simulation.step(round((outer - radius) ** 2 / DIFFUSIVITY))
    found, tolerance = wall_gradients_k_m(simulation), CONDUCTION[radius]
    rows = [
        relative(
            f"{method}: R = {radius}: gradient at the {name} wall", sign / (log(RATIO) * r), found[name], tolerance
        )
        for name, r, sign in (("inner", radius, -1.0), ("outer", outer, 1.0))
    ]
    return rows, float(np.sqrt(((on_root(temperature_k(simulation)) - exact) ** 2).mean()))


def _pipe(radius: float, length: int, wall: Mapping, method: str, settings: Settings, **tables) -> Solver:
    """A pipe along x whose wall has a label; a single layer is a cylinder at rest."""
    options = {"length": length, "radius": radius, "axis": "x", "ends": "open"}
    if length == 1:
        options |= {"axis": "z", "ends": "periodic"}
    return _walled("pipe", options, wall, method, settings, **tables)


def _walled(shape: str, options: dict, wall: Mapping, method: str, settings: Settings, **tables) -> Solver:
    """A shape with a labelled wall."""
    voxels, is_plane = build_shape(shape, **options), options["length"] == 1
    flags = np.where(voxels.flags == SOLID, wall_flag(0), voxels.flags).astype(voxels.flags.dtype)
    voxels = replace(voxels, flags=flags, walls=("wall",))
    nodes = cut_links(build_nodes(voxels), known(voxels.wall_shape))
    thermal = {"reference_k": 0.0, "diffusivity_m2_s": DIFFUSIVITY, "expansion_1_k": 0.0, "method": method}
    lattice = {"name": "D2Q9" if is_plane else "D3Q19", "walls": "bouzidi", "equilibrium": "incompressible"}
    tables |= {"thermal": thermal, "lattice": lattice, "walls": [{"name": "wall", **wall}]}
    geometry = {"shape": shape, "options": options}
    return lattice_simulation(settings, geometry, VISCOSITY, lambda table, ranks: Solver(table, ranks, nodes), **tables)


def _cooling(radius: float, biot: float, method: str, settings: Settings) -> Row:
    """The temperature nearest to the axis of a cylinder, after a while."""
    wall = {"temperature_k": 0.0}
    if biot < inf:
        wall |= {"thickness_m": radius / biot, "conductivity_ratio": 1.0}
    simulation = _pipe(radius, 1, wall, method, settings)
    set_temperature_k(simulation, 1.0)
    steps = round(FOURIER * radius**2 / DIFFUSIVITY)
    simulation.step(steps)
    fourier = steps * DIFFUSIVITY / radius**2
    exact = sum(amplitude * np.exp(-(root**2) * fourier) for root, amplitude in COOLING[biot])
    found = float(on_root(temperature_k(simulation)).max())
    return relative(f"{method}: R = {radius}: cylinder, Bi = {biot:g}", exact, found, COOLED[radius])


def _slab(height: int, offset: float, biot: float, method: str, settings: Settings) -> tuple[float, float]:
    """The temperature beside the middle of a slab of so many voxels, after a while: exact, and found."""
    half = 0.5 * height - 0.5 + offset
    wall = {"temperature_k": 0.0}
    if biot < inf:
        wall |= {"thickness_m": half / biot, "conductivity_ratio": 1.0}
    options = {"length": 1, "height": height, "wall_offset": offset}
    simulation = _walled("channel", options, wall, method, settings)
    set_temperature_k(simulation, 1.0)
    steps = round(FOURIER * half**2 / DIFFUSIVITY)
    simulation.step(steps)
    roots = np.array(SLAB_ROOTS[biot])
    amplitude = 2.0 * np.sin(roots) / (roots + np.sin(roots) * np.cos(roots))
    decay = np.exp(-(roots**2) * steps * DIFFUSIVITY / half**2)
    exact = float((amplitude * decay * np.cos(roots * 0.5 / half)).sum())
    return exact, float(on_root(temperature_k(simulation)).max())


def _developed(radius: float, condition: str, method: str, settings: Settings) -> Row:
    """Nusselt number of what the flow takes up, or of the wall's temperature, down a pipe: where all began like a
    developed flow, and before the ends of the pipe are felt. The heat that enters
    through the wall is convected, conducted along the pipe, and stored."""
    is_fixed, steps = condition == "fixed temperature", round(FOURIER * radius**2 / DIFFUSIVITY)
    reached = 2.0 * SPEED * steps
    length = round(reached + 5.0 * radius)
    wall = {"temperature_k": 0.0} if is_fixed else {"temperature_gradient_k_m": 1.0 / radius}
    inlet = {"kind": "inlet", "flow_rate_m3_s": pi * radius**2 * SPEED, "profile": "parabolic"}
    openings = [{"name": "inlet", **inlet}, {"name": "outlet", "kind": "outlet", "pressure_pa": 0.0}]
    simulation = _pipe(radius, length, wall, method, settings, openings=openings)
    position = whole_nodes(simulation).coordinates()
    squared = ((position[:, 1:] - np.ceil(radius)) ** 2).sum(axis=1) / radius**2
    along, rate, rate_of_flow = position[:, 0], DIFFUSIVITY / (SPEED * radius**2), SPEED / radius**2
    velocity = np.outer((1.0, 0.0, 0.0), 2.0 * SPEED * (1.0 - squared))
    density, own = 1.0 + 24.0 * VISCOSITY * rate_of_flow * (length - along), simulation.domain.number
    simulation.engine.start_from(density[own], velocity[:, own])
    cooling, warming = (1.0 - squared) * np.exp(-NUSSELT[condition][radius] * rate * along), squared - squared**2 / 4.0
    set_temperature_k(simulation, cooling if is_fixed else 2.0 * rate * along + warming)
    simulation.step(steps - STORED)
    before = on_root(temperature_k(simulation))
    simulation.step(STORED)
    temperature, speed = on_root(temperature_k(simulation)), on_root(simulation.velocity_m_s())[:, 0]
    first, second = (round(reached + share * radius) for share in (1.5, 2.5))
    near, far = (_section(along == x, speed, temperature) for x in (first, second))
    if is_fixed:
        decay = log(near.bulk / far.bulk) / (second - first)
        here = along == second
        stored = (temperature - before)[here].sum() / STORED - DIFFUSIVITY * decay**2 * temperature[here].sum()
        found = (decay * far.flow * far.bulk - stored) / (pi * DIFFUSIVITY * far.bulk)
    else:
        beside = (along == second) & (np.sqrt(squared) * radius > radius - 4.0)
        at_wall = np.polyfit((np.sqrt(squared[beside]) - 1.0) * radius, temperature[beside], 3)[-1]
        found = 2.0 / (at_wall - far.bulk)
    what = f"{method}: R = {radius}: Nusselt number, {condition}"
    return relative(what, NUSSELT[condition][radius], float(found), DEVELOPED[radius][method])


def _section(here: np.ndarray, velocity: np.ndarray, temperature: np.ndarray) -> Section:
    flow = float(velocity[here].sum())
    return Section(flow, float((velocity * temperature)[here].sum()) / flow)


def _equivalent(inner: float, rayleigh: float, method: str, settings: Settings) -> tuple[float, float]:
    """Heat at the inner and at the outer wall over that of conduction."""
    gap, ratio = GAP_TO_INNER * inner, 1.0 + GAP_TO_INNER
    diffusivity = FREE_FALL * gap / sqrt(rayleigh * PRANDTL)
    thermal = {
        "diffusivity_m2_s": diffusivity,
        "gravity_m_s2": [0.0, -1.0, 0.0],
        "expansion_1_k": FREE_FALL**2 / gap,
        "method": method,
    }
    simulation = _annulus(inner, ratio * inner, thermal, PRANDTL * diffusivity, settings)
    simulation.step(round(0.7 * gap**2 / diffusivity))
    found = wall_gradients_k_m(simulation)
    return -found["inner"] * inner * log(ratio), found["outer"] * ratio * inner * log(ratio)
