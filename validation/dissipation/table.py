"""Power balance of flows through pipes: viscosity dissipates the power of a force or a pressure drop."""

from collections.abc import Iterator
from math import inf, pi
from typing import NamedTuple

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.dissipation.observers import FlowPower
from muphy_lb.validation.case import DEFAULT, Settings, case, relative
from muphy_lb.validation.flows import from_axis, lattice_simulation, order_of_convergence, pipe_velocity, start_along
from muphy_lb.validation.limits import HALF, left_out_rules, possible_rules

NU, VELOCITY, LENGTH = 0.1, 0.02, 2
RULES = ("central-linear", "bouzidi", HALF_WAY)
RADII, QUICK_RADII, TOLERANCE, JUDGED_RADIUS = (10.0, 14.0, 20.0, 28.0), (14.0,), 0.01, 14.0
SETTLED_STEPS = 400  # from the exact profile, which the wall's rule hardly changes


class PipePower(NamedTuple):
    """Dissipation of a pipe."""

    of_force: float  # over the power of the force
    of_exact: float  # over that of Poiseuille's flow through the circle


def driven_pipe(radius: float, rule: str, settings: Settings = DEFAULT) -> PipePower:
    """A pipe of ``radius`` voxels that a force drives, from Poiseuille's profile."""
    force = 4.0 * NU * VELOCITY / radius**2
    simulation = lattice_simulation(
        settings,
        {"shape": "pipe", "options": {"length": LENGTH, "radius": radius}},
        NU,
        lattice={"name": "D3Q19", "walls": rule, "equilibrium": "stokes"},
        flow={"acceleration_m_s2": [0.0, 0.0, force]},
        dissipation={},
    )
    r = np.minimum(from_axis(whole_nodes(simulation)), radius)
    start_along(simulation, 2, pipe_velocity(r, radius, force, NU))
    power = FlowPower(simulation)
    simulation.step(SETTLED_STEPS)
    dissipated, _, given = on_root(power.numbers())
    return PipePower(dissipated / given, dissipated / (pi * radius**4 * force**2 * LENGTH / (8.0 * NU)))


@case("dissipation", "Poiseuille: dissipation = flow rate times pressure drop, pi R^4 f^2 L / (8 mu) with f = -dp/dz")
def pipe_dissipation(settings: Settings) -> Iterator:
    """Dissipation of pipes of several radii and rules of walls."""
    radii = QUICK_RADII if settings.quick else RADII
    for rule in possible_rules(RULES, settings):
        errors = []
        for radius in radii:
            found, where = driven_pipe(radius, rule, settings), f"R = {radius:g}, {rule}"
            is_judged = rule != HALF_WAY and radius >= JUDGED_RADIUS and settings.precision != HALF
            allowed = TOLERANCE if is_judged else inf
            yield relative(f"dissipation / power of the force, {where}", 1.0, found.of_force, allowed)
            yield relative(f"dissipation / exact one, {where}", 1.0, found.of_exact, allowed)
            errors.append(abs(found.of_exact - 1.0))
        if len(radii) > 1:
            order = order_of_convergence(radii, errors)
            yield relative(f"order of the dissipation over the exact one, {rule}", 2.0, order, inf)
    yield from left_out_rules(RULES, settings)


CASES = (pipe_dissipation,)
