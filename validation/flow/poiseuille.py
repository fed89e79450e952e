"""Poiseuille flow between plates and in a round pipe, driven by a body force."""

import numpy as np

from muphy_lb.base.units import viscosity
from muphy_lb.lattice import lattice_named
from muphy_lb.validation.flows import forced_flow, order_of_convergence, start_from_velocity, until_steady
from muphy_lb.validation.limits import FLOOR, NO_ORDERS, SHARES, in_half, order_at_least, share_row
from muphy_lb.validation.plot import convergence
from muphy_lb.validation.record import Validation, absolute, relative
from muphy_lb.validation.references.poiseuille import channel_velocity, pipe_flow_rate, pipe_velocity
from muphy_lb.validation.settings import DEFAULT, Settings

HALF_WAY = 0.5  # distance of a wall from its nearest node
PLATES_CITATION = (
    "u = F y (H - y) / (2 rho nu); slip of BGK with half-way bounce-back, Ginzburg, d'Humieres,"
    " Phys. Rev. E 68, 066614 (2003)"
)
PIPE_CITATION = "Hagen-Poiseuille: u = F (R^2 - r^2) / (4 rho nu), Q = pi R^4 F / (8 rho nu)"
ORDER_RELAXATION_TIME = 1.0
SLIP_RELAXATION_TIMES = (0.6, 1.5)
SLIP_HEIGHT = 10
SLIP_TOLERANCE = {"fp64": 1e-6, "fp32": 5e-3, "fp16": FLOOR}
HEIGHTS = (8, 16, 32, 64)
N_HEIGHTS = {"fp64": 4, "fp32": 3, "fp16": 3}  # round-off hides the error of finer channels
CENTRE_VELOCITY_TIMES_SIZE = 0.2  # diffusive scaling: the velocity falls as the resolution grows
PIPE_RELAXATION_TIME = 0.5 + np.sqrt(3.0 / 16.0)
PIPE_RADII = (4.5, 8.5, 16.5, 32.5)
STAIRCASE = 0.8  # first order: allowed error of a staircase wall times the radius


def plane_channel(settings: Settings = DEFAULT) -> Validation:
    """Order of convergence and slip between plates, on both lattices."""
    heights = HEIGHTS[: 3 if settings.quick else N_HEIGHTS[settings.precision]]
    tolerance, rows, errors = SLIP_TOLERANCE[settings.precision], [], {}
    for lattice in ("D2Q9", "D3Q19"):
        errors[lattice] = [channel_error(height, lattice, settings=settings) for height in heights]
        order = order_of_convergence(heights, errors[lattice])
        what = f"{lattice} order of convergence, H = {_listed(heights)}"
        rows.append(order_at_least(what, 2.0, order, 0.1, settings))
        for relaxation_time in SLIP_RELAXATION_TIMES:
            slip = channel_difference(SLIP_HEIGHT, lattice, relaxation_time, settings=settings).mean()
            what = f"{lattice} slip / centre velocity, H = {SLIP_HEIGHT}, tau = {relaxation_time}"
            rows.append(share_row(what, bounce_back_slip(SLIP_HEIGHT, relaxation_time), slip, tolerance, settings))
    plot = convergence("Flow between plates", "fluid nodes across", heights, errors, 2.0)
    left_out = in_half(settings, NO_ORDERS, SHARES)
    return Validation("plane-channel", PLATES_CITATION, tuple(rows), plots=(plot,), left_out=left_out)


def pipe(settings: Settings = DEFAULT) -> Validation:
    """Velocity and flow rate in a round pipe; the staircase wall makes it first order."""
    radii = PIPE_RADII[:3] if settings.quick else PIPE_RADII
    measured = [pipe_errors(radius, settings) for radius in radii]
    rows = []
    for radius, (error, flow) in zip(radii, measured, strict=True):
        tolerance = STAIRCASE / radius
        rows.append(absolute(f"L2 error / mean of the profile, R = {radius}", 0.0, error, tolerance))
        rows.append(relative(f"flow rate / (pi R^4 F / (8 rho nu)), R = {radius}", 1.0, flow, tolerance))
    errors = {"velocity": [error for error, _ in measured], "flow rate": [abs(flow - 1.0) for _, flow in measured]}
    order = order_of_convergence(radii, errors["velocity"])
    rows.append(order_at_least(f"order of convergence, R = {_listed(radii)}", 1.0, order, 0.2, settings))
    plot = convergence("Flow in a round pipe, staircase wall", "radius [voxels]", radii, errors, 1.0)
    return Validation("pipe", PIPE_CITATION, tuple(rows), plots=(plot,), left_out=in_half(settings, NO_ORDERS))


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
    ``lattice``: velocity set; ``relaxation_time``: [time steps]; ``wall_distance``: distance of the walls of the
    analytic profile from the adjacent nodes."""
    nu = viscosity(relaxation_time, float(lattice_named(lattice).cs2))
    centre_velocity = CENTRE_VELOCITY_TIMES_SIZE / height
    force = 8.0 * nu * centre_velocity / height**2
    geometry = {"shape": "channel", "options": {"length": 2, "height": height, "width": 1}}
    simulation = forced_flow(geometry, relaxation_time, (force, 0.0, 0.0), lattice, settings)
    y = simulation.nodes.coordinates()[:, 1] - 1.0 + wall_distance
    width = height - 1.0 + 2.0 * wall_distance
    analytic = channel_velocity(y, width, force, nu)
    return (_steady_along(simulation, 0, analytic) - analytic) / (force * width**2 / (8.0 * nu))


def pipe_errors(radius: float, settings: Settings = DEFAULT) -> tuple[float, float]:
    """(L2 error of the velocity over its mean, flow rate over the analytic one) of a pipe of this radius."""
    nu = viscosity(PIPE_RELAXATION_TIME, float(lattice_named("D3Q19").cs2))
    force = 4.0 * nu * CENTRE_VELOCITY_TIMES_SIZE / radius**3
    geometry = {"shape": "pipe", "options": {"length": 1, "radius": radius}}
    simulation = forced_flow(geometry, PIPE_RELAXATION_TIME, (0.0, 0.0, force), settings=settings)
    x, y, _ = (simulation.nodes.coordinates() - 0.5 * (np.array(simulation.nodes.shape[::-1]) - 1.0)).T
    analytic = pipe_velocity(np.hypot(x, y), radius, force, nu)
    velocity = _steady_along(simulation, 2, analytic)
    error = np.sqrt(np.mean((velocity - analytic) ** 2)) / analytic.mean()
    return float(error), float(velocity.sum() / pipe_flow_rate(radius, force, nu))


def _steady_along(simulation, axis: int, analytic: np.ndarray) -> np.ndarray:
    """(n,) steady velocity along an axis, reached from the analytic one."""
    velocity = np.zeros((analytic.size, 3))
    velocity[:, axis] = analytic
    start_from_velocity(simulation, velocity)
    return until_steady(simulation, lambda: simulation.velocity_m_s()[:, axis])


def _listed(values) -> str:
    return ", ".join(f"{value:g}" for value in values)
