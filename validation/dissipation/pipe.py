"""Power balance of flows through pipes: what a force or a pressure drop gives is what viscosity dissipates."""

from dataclasses import dataclass
from math import inf, pi

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.dissipation.observers import FlowPower
from muphy_lb.validation.flows import lattice_simulation, order_of_convergence, start_from_velocity
from muphy_lb.validation.limits import HALF, left_out_rules, possible_rules
from muphy_lb.validation.record import Row, Validation, relative
from muphy_lb.validation.references.poiseuille import pipe_velocity
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "Poiseuille: dissipation = flow rate times pressure drop, pi R^4 f^2 L / (8 mu) with f = -dp/dz"
NU, VELOCITY, LENGTH = 0.1, 0.02, 2
RULES = ("central-linear", "bouzidi", HALF_WAY)
RADII, QUICK_RADII = (10.0, 14.0, 20.0, 28.0), (14.0,)
TOLERANCE, JUDGED_RADIUS = 0.01, 14.0
SETTLED_STEPS = 400  # from the exact profile, which the wall's rule hardly changes


@dataclass(frozen=True)
class PipePower:
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
    nodes = whole_nodes(simulation)
    x, y, _ = (nodes.coordinates() - 0.5 * (np.array(nodes.shape[::-1]) - 1.0)).T
    r = np.minimum(np.hypot(x, y), radius)
    start_from_velocity(simulation, np.outer(pipe_velocity(r, radius, force, NU), (0.0, 0.0, 1.0)))
    power = FlowPower(simulation)
    simulation.step(SETTLED_STEPS)
    dissipated, _, given = on_root(power.numbers())
    return PipePower(dissipated / given, dissipated / (pi * radius**4 * force**2 * LENGTH / (8.0 * NU)))


def pipe_dissipation(settings: Settings = DEFAULT) -> Validation:
    """Dissipation of pipes of several radii and rules of walls."""
    radii, rows = QUICK_RADII if settings.quick else RADII, []
    for rule in possible_rules(RULES, settings):
        found = [driven_pipe(radius, rule, settings) for radius in radii]
        for radius, one in zip(radii, found, strict=True):
            rows += list(_rows(one, radius, rule, settings))
        if len(radii) > 1:
            order = order_of_convergence(radii, [abs(one.of_exact - 1.0) for one in found])
            rows.append(relative(f"order of the dissipation over the exact one, {rule}", 2.0, order, inf))
    return Validation("dissipation", CITATION, tuple(rows), left_out=left_out_rules(RULES, settings))


def _rows(found: PipePower, radius: float, rule: str, settings: Settings) -> tuple[Row, Row]:
    is_judged = rule != HALF_WAY and radius >= JUDGED_RADIUS and settings.precision != HALF
    where = f"R = {radius:g}, {rule}"
    return (
        relative(f"dissipation / power of the force, {where}", 1.0, found.of_force, TOLERANCE if is_judged else inf),
        relative(f"dissipation / exact one, {where}", 1.0, found.of_exact, TOLERANCE if is_judged else inf),
    )
