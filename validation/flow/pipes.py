"""Flow along round pipes, straight, tilted or of a file: velocity, flow rate and wall shear stress.

How the voxels happen to lie in a tilted pipe changes the error of one pipe by a third; errors of the velocity are
therefore means over a few pipes whose axes are moved by fixed random parts of a voxel.

The pipe of a HemeLB file has the wall distances stored in the file. A body force drives the flow along the axis; both
openings are at pressure 0. Flow rate and residual pressure gradient are evaluated over the middle half, to exclude the
effects of the openings.

With interpolated walls the stress at the wall is that of Hagen and Poiseuille. With half-way walls it is not: the flow
between a staircase and the first nodes does not see the true wall, so their stress scatters by the same share of itself
however fine the voxels are.

Indices of the wall shear stress are of a pipe whose flow a force f (m + cos(omega t)) swings through zero. The wall
shear stress is f R / 2 (m + |s| cos(omega t + arg s)), s the factor of Womersley's solution. With m = |s| / 2 it is
that of 1/2 + cos, whose indices are

    TAWSS = 2/pi (a asin(a) + sqrt(1 - a^2)) |s| f R / 2,  OSI = (1 - a |s| f R / 2 / TAWSS) / 2 = 0.15181,  a = 1/2
"""

from collections.abc import Iterator
from itertools import product
from math import asin, inf, pi, sqrt
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.gmy import FILE_DIRECTIONS, WALL_LINK_TYPE, read_sites
from muphy_lb.measure.flow_view import on_root
from muphy_lb.measure.period import PeriodWindow
from muphy_lb.measure.shear.wall_shear import WallShear, along_wall, tangents, wall_indices
from muphy_lb.validation import flows, limits
from muphy_lb.validation.case import DEFAULT, Row, Settings, Skipped, absolute, case, data_folder, relative, shown
from muphy_lb.validation.flow.womersley import PipeWomersley
from muphy_lb.validation.plot import Plot, Series, convergence

NU, DIRECTION = 1.0 / 6.0, (2, 1, 0)
RADII, VISCOSITY_RADIUS, QUICK_VISCOSITY_RADIUS = (4.3, 8.6, 17.2), 8.6, 4.3
N_OFFSETS, QUICK_OFFSETS = 4, 2
VISCOSITIES = (0.02, NU, 1.0)
CENTRE_VELOCITY = 0.05
OTHER_PROGRAM = {
    "half-way": (9.7e-2, 4.6e-2, 2.3e-2),
    "bouzidi": (9.6e-3, 2.1e-3, 3.3e-4),
    "central-linear": (2.9e-2, 6.6e-3, 1.7e-3),
}  # L2 errors for RADII
LEAST_ORDER = MappingProxyType({"half-way": 0.9, "bouzidi": 1.8, "central-linear": 1.8})
VISCOSITY_INDEPENDENT = ("half-way", "central-linear")
SIMILAR = 0.2  # not required of bouzidi, whose small errors depend most on the position of the voxels
SAME = {"fp64": 1e-5, "fp32": 1e-2, "fp16": 2e-3}  # fp16: of the velocity, 3e-4 was measured
SETTLED, ROUGHLY_SETTLED = 1e-9, 1e-6
FILE = "pipe_hemelb/cyl_l100_r5.gmy"
CENTRE = 15.5  # of the axis, in sites along x and y, as 5.16615 um / 0.3333 um
NOMINAL_RADIUS, FILE_VELOCITY = 5.0 / 0.3333, 0.02
OPENINGS = ({"name": "inlet_0", "pressure_pa": 0.0}, {"name": "outlet_0", "pressure_pa": 0.0})
FILE_RULES, FILE_TOLERANCE = ("half-way", "bouzidi", "central-linear"), 0.005
RULES = ("central-linear", "bouzidi", HALF_WAY)
STRAIGHT, TILTED = "straight", "tilted"
SHEAR_RADII = MappingProxyType({STRAIGHT: (5.0, 10.0, 20.0), TILTED: RADII})
JUDGED_RADIUS = 8.0  # finer pipes with interpolated walls must agree
TOLERANCE, OF_INDICES = 0.015, 0.01
OTHER_RMS = {
    HALF_WAY: {4.3: 0.18, 8.6: 0.16, 17.2: 0.16},
    "bouzidi": {4.3: 0.030, 8.6: 0.012},
    "central-linear": {4.3: 0.031, 8.6: 0.013},
}  # rms errors of the stress at the nodes of a tilted pipe, by radius
HALF_RADIUS = 10.0
NOT_HALF = (
    "fp16: the stress is shown, not judged, up to R = 10: the shape of a profile is rounded by up to a share of"
    " H^2 / (8 nu) 2^-11"
)

MEAN_OF_SWING = 0.5
SWING = 2.0 / pi * (MEAN_OF_SWING * asin(MEAN_OF_SWING) + sqrt(1.0 - MEAN_OF_SWING**2))
OSI = 0.5 * (1.0 - MEAN_OF_SWING / SWING)
VISCOSITY, VELOCITY, SAMPLES = 0.05, 0.01, 40
NUMBERS, QUICK_NUMBERS = (4.0, 8.0, 12.0), (4.0,)
RADIUS_OF_NUMBER = 5.0  # voxels: the wall's layer sqrt(2 nu / omega) = sqrt(2) R / alpha then has seven of them


@case(
    "tilted-pipe",
    "Hagen-Poiseuille; orders: Bouzidi, Firdaouss, Lallemand, Phys. Fluids 13, 3452 (2001), Ginzburg, d'Humieres, Phys."
    " Rev. E 68, 066614 (2003); errors of another program (TRT, Lambda = 3/16, nu = 1/6), whose place of the axis is"
    " not known",
)
def tilted_pipe(settings: Settings) -> Iterator:
    """Velocity in a tilted pipe: order of each wall rule, and its dependence on the viscosity."""
    radii, errors = RADII[: 2 if settings.quick else None], {}
    for rule in limits.possible_rules(OTHER_PROGRAM, settings):
        errors[rule] = [mean_error(radius, rule, settings) for radius in radii]
        for radius, error, theirs in zip(radii, errors[rule], OTHER_PROGRAM[rule], strict=False):
            what = f"L2 error, {rule}, R = {radius}"
            yield shown(what, theirs, error) if rule == "bouzidi" else relative(what, theirs, error, SIMILAR)
        least, order = LEAST_ORDER[rule], flows.order_of_convergence(radii, errors[rule])
        yield limits.order_at_least(f"order of convergence, {rule}", least, order, 0.0, settings)
    first, *others = VISCOSITIES[1 if settings.quick else 0 :]
    radius = QUICK_VISCOSITY_RADIUS if settings.quick else VISCOSITY_RADIUS
    for rule in limits.possible_rules(VISCOSITY_INDEPENDENT, settings):
        reference = pipe_errors(radius, rule, first, settings)
        for nu in others:
            computed = pipe_errors(radius, rule, nu, settings)
            for name, one, other in zip(("L2", "flow"), reference, computed, strict=True):
                what = f"{name} error, {rule}, R = {radius}, nu = {nu:.3g} as at {first:.3g}"
                yield limits.share_row(what, one, other, SAME[settings.precision], settings)
    yield convergence("Tilted pipe: L2 error of the velocity", "radius [voxels]", radii, errors, 1.0)
    yield from limits.left_out_rules(OTHER_PROGRAM, settings) + limits.in_half(
        settings, limits.NO_ORDERS, limits.SHARES
    )


def mean_error(radius: float, rule: str, settings: Settings = DEFAULT) -> float:
    """L2 error of the velocity over the mean velocity, averaged over pipes with moved axes."""
    offsets = np.random.default_rng(0).random((QUICK_OFFSETS if settings.quick else N_OFFSETS, 3)).tolist()
    return float(np.mean([pipe_errors(radius, rule, NU, settings, offset, ROUGHLY_SETTLED)[0] for offset in offsets]))


def pipe_errors(
    radius: float, rule: str, nu: float = NU, settings: Settings = DEFAULT, offset=(0.0, 0.0, 0.0), tolerance=SETTLED
) -> tuple[float, float]:
    """(L2 error of the velocity over the mean velocity, flow rate over the analytic one less 1) of one tilted pipe.
    ``radius``: [voxels]; ``rule``: ``lattice.walls`` of a case; ``nu``: kinematic viscosity, lattice units; ``offset``:
    (x, y, z) of the axis from the middle of the box [voxels]; ``tolerance``: see
    :func:`muphy_lb.validation.flows.settled`."""
    axis = np.array(DIRECTION) / np.linalg.norm(DIRECTION)
    force = 4.0 * nu * CENTRE_VELOCITY / radius**2
    options = {"radius": radius, "direction": list(DIRECTION), "centre_offset": list(offset)}
    geometry = {"shape": "tilted_pipe", "options": options}
    simulation = flows.viscous_flow(geometry, nu, force * axis, settings=settings, tables=flows.creeping(rule))
    box = np.array(simulation.nodes.shape[::-1])
    position = simulation.nodes.coordinates() - (0.5 * (box - 1.0) + np.array(offset))
    nearest = np.full(len(position), np.inf)  # square of the distance from the nearest periodic image of the axis
    for image in product((-1, 0, 1), repeat=2):
        moved = position + box * np.array([*image, 0])
        across = moved - np.outer(moved @ axis, axis)
        nearest = np.minimum(nearest, np.einsum("ij,ij->i", across, across))
    analytic = flows.pipe_velocity(np.sqrt(nearest), radius, force, nu)
    flows.start_from_velocity(simulation, np.outer(analytic, axis))
    velocity = flows.settled(simulation, lambda: simulation.velocity_m_s(), radius, tolerance)
    error = np.sqrt(np.mean(np.sum((velocity - np.outer(analytic, axis)) ** 2, axis=1))) / (0.5 * CENTRE_VELOCITY)
    length = np.linalg.norm(np.where(np.array(DIRECTION) != 0, box, 0))
    return float(error), float((velocity @ axis).sum() / length / flows.pipe_flow_rate(radius, force, nu) - 1.0)


class PipeFlow(NamedTuple):
    """Steady flow of the pipe of the file."""

    radius: float  # mean distance of the walls from the axis [voxels]
    # flow rate over that of Hagen and Poiseuille for this radius, the driving force less the pressure gradient
    ratio: float
    r: np.ndarray  # r, velocity: distance from the axis [voxels] and velocity along it of the nodes of the middle layer
    velocity: np.ndarray
    force: float  # the driving force


@case(
    "gmy-pipe",
    "Hagen-Poiseuille, Q = pi R^4 g / (8 nu); the pipe of the file has flat facets inside the circle of 5 um (15.0015"
    " voxels), and R is the mean distance of its walls from the axis; file: github.com/hemelb-codes/hemelb",
)
def gmy_pipe(settings: Settings) -> Iterator:
    """Flow rate of a pipe with the wall distances of a HemeLB file, for every wall rule; full size only."""
    path = data_folder(FILE) / FILE
    if settings.quick:
        raise Skipped("212,400 nodes are too many for --quick")
    found = {rule: pipe_flow(path, rule, settings) for rule in limits.possible_rules(FILE_RULES, settings)}
    (half_way, first), *interpolated = found.items()
    for rule, flow in interpolated:
        yield relative(f"flow rate / Hagen-Poiseuille, {rule}", 1.0, flow.ratio, FILE_TOLERANCE)
    yield shown(f"flow rate / Hagen-Poiseuille, {half_way}", 1.0, first.ratio)
    for rule, flow in found.items():
        yield shown(f"the same for R = 5 um, {rule}", 1.0, flow.ratio * (flow.radius / NOMINAL_RADIUS) ** 4)
    r = np.linspace(0.0, first.radius, 60)
    line = Series("Hagen-Poiseuille", r, flows.pipe_velocity(r, first.radius, first.force, NU))
    points = [Series(rule, flow.r, flow.velocity, "points") for rule, flow in found.items()]
    yield Plot("HemeLB pipe, middle section", "distance from the axis [voxels]", "velocity", (line, *points))
    yield from limits.left_out_rules(FILE_RULES, settings)


def pipe_flow(path: Path, rule: str, settings: Settings = DEFAULT) -> PipeFlow:
    """The steady flow of the file with a wall rule, started from the analytical solution."""
    force = 4.0 * NU * FILE_VELOCITY / NOMINAL_RADIUS**2
    tables = {**flows.creeping(rule), "openings": OPENINGS}
    simulation = flows.viscous_flow(
        {"file": str(path.resolve())}, NU, (0.0, 0.0, -force), settings=settings, tables=tables
    )
    r, radius = np.hypot(*(simulation.nodes.positions_m()[:, :2] - CENTRE).T), wall_radius(path)
    flows.start_along(simulation, 2, -flows.pipe_velocity(np.minimum(r, radius), radius, force, NU))
    velocity = -flows.settled(simulation, lambda: simulation.velocity_m_s()[:, 2], radius, ROUGHLY_SETTLED)
    layer = simulation.nodes.coordinates()[:, 2].astype(np.int64)
    low, high = np.quantile(layer, (0.25, 0.75)).astype(np.int64)
    kept = (layer >= low) & (layer < high)
    layers, index = np.unique(layer[kept], return_inverse=True)
    pressure = np.bincount(index, simulation.pressure_pa()[kept]) / np.bincount(index)
    gradient = np.polyfit(layers, pressure, 1)[0]
    ratio = velocity[kept].sum() / layers.size / flows.pipe_flow_rate(radius, force + gradient, NU)
    middle = layer == layers[layers.size // 2]
    return PipeFlow(radius, float(ratio), r[middle], velocity[middle], force)


def wall_radius(path: Path) -> float:
    """Mean distance [voxels] from the axis of the points where the links of the file intersect the wall."""
    _, links = read_sites(path)
    walls = links.where(links.kind == WALL_LINK_TYPE)
    points = walls.site + walls.distance[:, np.newaxis] * FILE_DIRECTIONS[walls.direction]
    return float(np.hypot(*(points[:, :2] - CENTRE).T).mean())


class Spread(NamedTuple):
    """Wall shear stress of the nodes of a pipe over 4 mu Q / (pi R^3)."""

    mean: float  # 1 if right
    scatter: float  # standard deviation
    rms: float  # rms, largest: distance from 1
    largest: float


@case(
    "wall-shear",
    "tau = 4 mu Q / (pi R^3), Hagen-Poiseuille, Q as computed; rms errors of another program (tilted pipe, exact"
    " normals, each node against the stress at its own radius): with half-way walls they do not converge",
)
def wall_shear(settings: Settings) -> Iterator:
    """Wall shear stress in a straight (in full also a tilted) pipe for every wall rule."""
    for pipe in (STRAIGHT,) if settings.quick else (STRAIGHT, TILTED):
        radii = [radius for radius in SHEAR_RADII[pipe] if settings.precision != limits.HALF or radius <= HALF_RADIUS]
        errors: dict[str, list[float]] = {}
        for rule, radius in product(limits.possible_rules(RULES, settings), radii):
            spread = shear_spread(pipe, radius, rule, settings)
            errors.setdefault(rule, []).append(spread.rms)
            yield from shear_rows(pipe, radius, rule, spread, settings)
        title = f"Wall shear stress at the nodes of a {pipe} pipe, rms error"
        yield convergence(title, "radius [voxels]", radii, errors, 1.0)
    yield from limits.left_out_rules(RULES, settings) + limits.in_half(settings, NOT_HALF)


def shear_spread(pipe: str, radius: float, rule: str, settings: Settings = DEFAULT) -> Spread:
    """The stress in one pipe, from rest on until the flow has settled. ``pipe``: ``"straight"`` or ``"tilted"``;
    ``radius``: [voxels]; ``rule``: ``lattice.walls`` of a case."""
    along, geometry = np.array((0, 0, 1)), {"shape": "pipe", "options": {"length": 1, "radius": radius}}
    if pipe == TILTED:
        options = {"radius": radius, "direction": list(DIRECTION)}
        along, geometry = np.array(DIRECTION), {"shape": "tilted_pipe", "options": options}
    axis = along / np.linalg.norm(along)
    force = 4.0 * NU * CENTRE_VELOCITY / radius**2
    simulation = flows.viscous_flow(geometry, NU, force * axis, settings=settings, tables=flows.creeping(rule))
    velocity = flows.settled(simulation, lambda: simulation.velocity_m_s(), radius, ROUGHLY_SETTLED)
    length = np.linalg.norm(np.where(along != 0, simulation.nodes.shape[::-1], 0))
    reference = 4.0 * NU * float((velocity @ axis).sum()) / length / (pi * radius**3)
    return spread_of(np.linalg.norm(on_root(WallShear(simulation).traction_pa()), axis=1) / reference)


def spread_of(shear: np.ndarray) -> Spread:
    """Statistics of the differences of (m,) relative stresses from 1."""
    error = shear - 1.0
    rms = sqrt(float(error @ error) / len(error))
    return Spread(float(shear.mean()), float(shear.std()), rms, float(abs(error).max()))


def shear_rows(pipe: str, radius: float, rule: str, spread: Spread, settings: Settings = DEFAULT) -> Iterator[Row]:
    """Rows of one pipe; fine pipes with interpolated walls are judged, the rest is shown."""
    where = f"{pipe} pipe, {rule}, R = {radius:g}"
    is_judged = rule != HALF_WAY and radius > JUDGED_RADIUS and settings.precision != limits.HALF
    yield relative(f"mean shear, {where}", 1.0, spread.mean, TOLERANCE if is_judged else inf)
    yield absolute(f"scatter (std), {where}", 0.0, spread.scatter, TOLERANCE if is_judged else inf)
    yield absolute(f"largest error, {where}", 0.0, spread.largest, inf)
    if pipe == TILTED and radius in OTHER_RMS[rule]:
        yield shown(f"rms error, {where}", OTHER_RMS[rule][radius], spread.rms)


@case(
    "wall-indices",
    "Womersley, J. Physiol. 127, 553 (1955); He, Ku, J. Biomech. Eng. 118, 74 (1996); closed form of 1/2 + cos",
)
def wall_indices_of_a_pipe(settings: Settings) -> Iterator:
    """TAWSS, OSI and transverse stress of a pipe for several Womersley numbers and rules of walls."""
    rules, numbers = (RULES[:1], QUICK_NUMBERS) if settings.quick else (RULES, NUMBERS)
    for rule, number in product(limits.possible_rules(rules, settings), numbers):
        radius = RADIUS_OF_NUMBER * number
        frequency = number**2 * VISCOSITY / radius**2
        force = VELOCITY * frequency
        flow = PipeWomersley(radius, VISCOSITY, force, frequency)
        mean, period = MEAN_OF_SWING * abs(flow.stress_factor()), 2.0 * pi / frequency
        waveform = {"period_s": period, "mean": mean, "cosine": [1.0]}
        drive = {"acceleration_m_s2": [0.0, 0.0, force], "waveform": waveform}
        geometry = {"shape": "pipe", "options": {"length": 1, "radius": radius}}
        lattice = {"name": "D3Q19", "walls": rule, "equilibrium": "stokes"}
        simulation = flows.lattice_simulation(settings, geometry, VISCOSITY, lattice=lattice, flow=drive)
        r = np.minimum(flows.from_axis(simulation.nodes), radius)
        flows.start_along(
            simulation, 2, flow.velocity(r, 0.0) + mean * flows.pipe_velocity(r, radius, force, VISCOSITY)
        )
        shear, window = WallShear(simulation), PeriodWindow(period, SAMPLES)
        directions = tangents(shear.surface.normal)
        while simulation.step_number < 2.0 * period:  # the indices are of the period after the first one
            simulation.step(window.every)
            if simulation.step_number > period:
                window.add(simulation.step_number, along_wall(on_root(shear.traction_pa()), directions))
        found, area = wall_indices(window), shear.areas.area
        tawss = SWING * abs(flow.stress_factor()) * force * radius / 2.0  # of the closed form
        where, relative_tawss = f"alpha = {number:g}, R = {radius:g}, {rule}", found.tawss / tawss
        mean_tawss, mean_osi = (float(np.average(each, weights=area)) for each in (relative_tawss, found.osi))
        # With half-way walls the means over the wall do not converge.
        allowed, of_osi = (inf, inf) if rule == HALF_WAY else (OF_INDICES, OF_INDICES * OSI)
        yield relative(f"TAWSS, {where}", 1.0, mean_tawss, allowed)
        yield absolute(f"OSI, {where}", OSI, mean_osi, of_osi)
        yield absolute(f"largest transWSS / TAWSS, {where}", 0.0, float((found.transwss / tawss).max()), inf)
        scatter = float(np.abs(relative_tawss - mean_tawss).max())
        yield absolute(f"largest deviation of a node's TAWSS, {where}", 0.0, scatter, inf)
    yield from limits.left_out_rules(rules, settings)
