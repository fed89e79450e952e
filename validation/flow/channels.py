"""Poiseuille flow between plates and in a round pipe, driven by a body force.

With the wall at the distance d from the outermost nodes, walls W apart and the "magic" number Lambda, half-way
bounce-back (d = 1/2) and central-linear interpolation shift the whole profile by 4 (4 Lambda / 3 - d^2) / W^2 of the
centre velocity, whatever the viscosity: nothing where Lambda = 3 d^2 / 4, which is 3/16 half-way. Bouzidi's rule is of
second order, and its error depends on the viscosity.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.units import CS2, viscosity
from muphy_lb.operators.mrt import MAGIC_HALF_WAY
from muphy_lb.validation import flows, limits
from muphy_lb.validation.case import DEFAULT, Row, Settings, absolute, case, relative
from muphy_lb.validation.limits import FLOOR, NO_ORDERS, SHARES, order_at_least, share_row
from muphy_lb.validation.plot import convergence

HALF_WAY = 0.5  # distance of a wall from its nearest node
ORDER_RELAXATION_TIME, SLIP_RELAXATION_TIMES, SLIP_HEIGHT = 1.0, (0.6, 1.5), 10
SLIP_TOLERANCE = {"fp64": 1e-6, "fp32": 5e-3, "fp16": FLOOR}
HEIGHTS = (8, 16, 32, 64)
N_HEIGHTS = {"fp64": 4, "fp32": 3, "fp16": 3}  # round-off hides the error of finer channels
CENTRE_VELOCITY_TIMES_SIZE = 0.2  # diffusive scaling: the velocity falls as the resolution grows
PIPE_RELAXATION_TIME = 0.5 + np.sqrt(3.0 / 16.0)
PIPE_RADII = (4.5, 8.5, 16.5, 32.5)
STAIRCASE = 0.8  # first order: allowed error of a staircase wall times the radius
NU = 1.0 / 6.0
VISCOSITIES = (0.01, NU, 1.0)
LATTICES, QUICK_LATTICES = ("D2Q9", "D3Q15", "D3Q19", "D3Q27"), ("D2Q9", "D3Q19")
EXACT = {"fp64": 1e-10, "fp32": 1e-3, "fp16": FLOOR}
WALL_SLIP_TOLERANCE = {"fp64": 1e-6, "fp32": 1e-2, "fp16": FLOOR}
SETTLED, DISTANCES, ORDER_DISTANCES = 1e-12, (0.1, 0.25, 0.75, 1.0), (0.25, 0.75)
WALL_HEIGHTS, STABLE_MAGIC, ORDER = (8, 16, 32), 0.25, 1.9
INTERPOLATED = ("bouzidi", "central-linear")


@case(
    "plane-channel",
    "u = F y (H - y) / (2 rho nu); slip of BGK with half-way bounce-back, Ginzburg, d'Humieres,"
    " Phys. Rev. E 68, 066614 (2003)",
)
def plane_channel(settings: Settings) -> Iterator:
    """Order of convergence and slip between plates, on both lattices."""
    heights = HEIGHTS[: 3 if settings.quick else N_HEIGHTS[settings.precision]]
    tolerance, errors = SLIP_TOLERANCE[settings.precision], {}
    for lattice in ("D2Q9", "D3Q19"):
        errors[lattice] = [channel_error(height, lattice, settings=settings) for height in heights]
        order = flows.order_of_convergence(heights, errors[lattice])
        what = f"{lattice} order of convergence, H = {_listed(heights)}"
        yield order_at_least(what, 2.0, order, 0.1, settings)
        for relaxation_time in SLIP_RELAXATION_TIMES:
            slip = channel_difference(SLIP_HEIGHT, lattice, relaxation_time, settings=settings).mean()
            what = f"{lattice} slip / centre velocity, H = {SLIP_HEIGHT}, tau = {relaxation_time}"
            yield share_row(what, bounce_back_slip(SLIP_HEIGHT, relaxation_time), slip, tolerance, settings)
    yield convergence("Flow between plates", "fluid nodes across", heights, errors, 2.0)
    yield from limits.in_half(settings, NO_ORDERS, SHARES)


@case("pipe", "Hagen-Poiseuille: u = F (R^2 - r^2) / (4 rho nu), Q = pi R^4 F / (8 rho nu)")
def pipe(settings: Settings) -> Iterator:
    """Velocity and flow rate in a round pipe; the staircase wall makes it first order."""
    radii = PIPE_RADII[:3] if settings.quick else PIPE_RADII
    measured = [pipe_errors(radius, settings) for radius in radii]
    for radius, (error, flow) in zip(radii, measured, strict=True):
        yield absolute(f"L2 error / mean of the profile, R = {radius}", 0.0, error, STAIRCASE / radius)
        yield relative(f"flow rate / (pi R^4 F / (8 rho nu)), R = {radius}", 1.0, flow, STAIRCASE / radius)
    errors = {"velocity": [error for error, _ in measured], "flow rate": [abs(flow - 1.0) for _, flow in measured]}
    order = flows.order_of_convergence(radii, errors["velocity"])
    yield order_at_least(f"order of convergence, R = {_listed(radii)}", 1.0, order, 0.2, settings)
    yield convergence("Flow in a round pipe, staircase wall", "radius [voxels]", radii, errors, 1.0)
    yield from limits.in_half(settings, NO_ORDERS)


@case(
    "poiseuille-trt",
    "Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003): walls half-way are exact for Lambda = 3/16; the slip of"
    " central-linear walls at a distance d, 4 (4 Lambda / 3 - d^2) / W^2, extends it and holds to round-off",
)
def poiseuille_trt(settings: Settings) -> Iterator:
    """Exactness of two relaxation times between plates, slip, walls at any distance."""
    exact = EXACT[settings.precision]
    for lattice in QUICK_LATTICES if settings.quick else LATTICES:
        for nu in VISCOSITIES:
            error = np.abs(difference(SLIP_HEIGHT, ChannelWall(), nu, lattice, settings)).max()
            yield absolute(f"{lattice} largest error, Lambda = 3/16, nu = {nu:.3g}", 0.0, error, exact)
        yield _slip(ChannelWall(magic=STABLE_MAGIC), NU, lattice, settings)
    yield _slip(ChannelWall(magic=None), 1.0, "D2Q9", settings)
    rules, errors = limits.possible_rules(INTERPOLATED, settings), {}
    for distance in DISTANCES if rules else ():
        yield _slip(ChannelWall("central-linear", distance), NU, "D2Q9", settings)
        fitting = ChannelWall("central-linear", distance, 0.75 * distance**2)
        error = np.abs(difference(SLIP_HEIGHT, fitting, NU, settings=settings)).max()
        yield absolute(f"largest error, central-linear, Lambda = 3 d^2/4, d = {distance}", 0.0, error, exact)
    if rules:
        yield _slip(ChannelWall("central-linear", 0.25), 1.0, "D2Q9", settings)
    for wall in (ChannelWall(rule, distance) for rule in rules for distance in ORDER_DISTANCES):
        where = f"{wall.rule}, d = {wall.distance}"
        found = [difference(height, wall, NU, settings=settings) for height in WALL_HEIGHTS]
        errors[where] = [float(np.sqrt(np.mean(each**2))) for each in found]
        order = flows.order_of_convergence([wall.width(height) for height in WALL_HEIGHTS], errors[where])
        yield order_at_least(f"order of convergence, {where}", 2.0, order, 2.0 - ORDER, settings)
    if errors:
        yield convergence(
            "Flow between plates, walls at any distance d", "fluid nodes across", WALL_HEIGHTS, errors, 2.0
        )
    yield from limits.left_out_rules(INTERPOLATED, settings) + limits.in_half(settings, NO_ORDERS, SHARES)


def bounce_back_slip(height: float, relaxation_time: float) -> float:
    """Velocity at the wall over that at the centre: (16 Lambda - 3) / (3 H^2), Lambda = (tau - 1/2)^2 for BGK."""
    return (16.0 * (relaxation_time - 0.5) ** 2 - 3.0) / (3.0 * height**2)


def channel_error(
    height: int, lattice: str = "D2Q9", wall_distance: float = HALF_WAY, settings: Settings = DEFAULT
) -> float:
    """L2 norm of :func:`channel_difference` over the height."""
    difference = channel_difference(height, lattice, ORDER_RELAXATION_TIME, wall_distance, settings)
    return float(np.sqrt(np.mean(difference**2)))


def channel_difference(
    height: int, lattice: str, relaxation_time: float, wall_distance: float = HALF_WAY, settings: Settings = DEFAULT
) -> np.ndarray:
    """Computed less analytic velocity at every node, over the analytic centre velocity. ``height``: fluid nodes across;
    ``wall_distance``: of the walls of the analytic profile from the adjacent nodes."""
    nu = viscosity(relaxation_time, CS2)
    force = 8.0 * nu * (CENTRE_VELOCITY_TIMES_SIZE / height) / height**2
    geometry = {"shape": "channel", "options": {"length": 2, "height": height, "width": 1}}
    simulation = flows.forced_flow(geometry, relaxation_time, (force, 0.0, 0.0), lattice, settings)
    width = height - 1.0 + 2.0 * wall_distance
    analytic = flows.channel_velocity(simulation.nodes.coordinates()[:, 1] - 1.0 + wall_distance, width, force, nu)
    flows.start_along(simulation, 0, analytic)
    velocity = flows.until_steady(simulation, lambda: simulation.velocity_m_s()[:, 0])
    return (velocity - analytic) / (force * width**2 / (8.0 * nu))


def pipe_errors(radius: float, settings: Settings = DEFAULT) -> tuple[float, float]:
    """(L2 error of the velocity over its mean, flow rate over the analytic one) of a pipe of this radius."""
    nu = viscosity(PIPE_RELAXATION_TIME, CS2)
    force = 4.0 * nu * CENTRE_VELOCITY_TIMES_SIZE / radius**3
    geometry = {"shape": "pipe", "options": {"length": 1, "radius": radius}}
    simulation = flows.forced_flow(geometry, PIPE_RELAXATION_TIME, (0.0, 0.0, force), settings=settings)
    analytic = flows.pipe_velocity(flows.from_axis(simulation.nodes), radius, force, nu)
    flows.start_along(simulation, 2, analytic)
    velocity = flows.until_steady(simulation, lambda: simulation.velocity_m_s()[:, 2])
    error = np.sqrt(np.mean((velocity - analytic) ** 2)) / analytic.mean()
    return float(error), float(velocity.sum() / flows.pipe_flow_rate(radius, force, nu))


@dataclass(frozen=True)
class ChannelWall:
    """The walls of a channel and the collision operator."""

    rule: str = "half-way"  # ``lattice.walls`` of a case
    distance: float = 0.5  # of the true walls from the outermost fluid nodes [voxels]
    magic: float | None = MAGIC_HALF_WAY  # Lambda; None: BGK

    def slip(self, height: int, nu: float) -> float:
        """Shift of the profile over the centre velocity; see the module's docstring."""
        magic = (3.0 * nu) ** 2 if self.magic is None else self.magic
        return 4.0 * (4.0 * magic / 3.0 - self.distance**2) / self.width(height) ** 2

    def width(self, height: int) -> float:
        """Distance of the walls of a channel with ``height`` fluid nodes across."""
        return height - 1.0 + 2.0 * self.distance


def difference(
    height: int, wall: ChannelWall, nu: float, lattice: str = "D2Q9", settings: Settings = DEFAULT
) -> np.ndarray:
    """(n,) computed less analytic velocity of every node over the analytic centre velocity, in Stokes flow."""
    width = wall.width(height)
    force = 8.0 * nu * CENTRE_VELOCITY_TIMES_SIZE / height / width**2
    options = {"length": 2, "height": height, "width": 1, "wall_offset": wall.distance}
    tables = flows.creeping(wall.rule, **({"collision": "bgk"} if wall.magic is None else {"magic": wall.magic}))
    simulation = flows.viscous_flow(
        {"shape": "channel", "options": options}, nu, (force, 0.0, 0.0), lattice, settings, tables
    )
    analytic = flows.channel_velocity(simulation.nodes.coordinates()[:, 1] - 1.0 + wall.distance, width, force, nu)
    flows.start_along(simulation, 0, analytic)
    velocity = flows.settled(simulation, lambda: simulation.velocity_m_s()[:, 0], width, SETTLED)
    return (velocity - analytic) / (force * width**2 / (8.0 * nu))


def _slip(wall: ChannelWall, nu: float, lattice: str, settings: Settings) -> Row:
    collision = "BGK" if wall.magic is None else f"Lambda = {wall.magic:.4g}"
    what = f"{lattice} slip, {wall.rule}, d = {wall.distance}, {collision}, nu = {nu:.3g}"
    slip = difference(SLIP_HEIGHT, wall, nu, lattice, settings).mean()
    return share_row(what, wall.slip(SLIP_HEIGHT, nu), slip, WALL_SLIP_TOLERANCE[settings.precision], settings)


def _listed(values) -> str:
    return ", ".join(f"{value:g}" for value in values)
