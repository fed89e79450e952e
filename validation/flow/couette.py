"""Walls that move and walls that slip: flow between cylinders, one of which rotates, and along slipping plates."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from muphy_lb.base.narrow import pair
from muphy_lb.validation import flows
from muphy_lb.validation.case import DEFAULT, Settings, absolute, at_least, at_most, case
from muphy_lb.validation.limits import FLOOR, left_out_rules, order_at_least, possible_rules
from muphy_lb.validation.plot import Plot, Series, convergence

INNER, OUTER, OFFSET = 10.6, 25.2, (0.137, -0.211)
NU, MAGIC, SURFACE_VELOCITY = 1.0 / 6.0, 0.25, 0.05
TORQUE_ERROR = {"half-way": 1.4e-2, "bouzidi": -4.4e-3}  # of another program
SIMILAR = 2e-3
SMALL = {"central-linear": 5e-3}
PROFILE_ERROR = {"half-way": 1e-2, "bouzidi": 3e-3, "central-linear": 3e-3}
BALANCE = {"fp64": 1e-8, "fp32": 1e-3, "fp16": 5e-3}
SCALES = (1, 2, 4)
LEAST_ORDER = {"half-way": 0.9, "bouzidi": 1.8, "central-linear": 1.8}
SETTLED = 1e-10


@dataclass(frozen=True)
class TaylorCouette:
    """Circular flow u(r) = A r + B / r, steady, stable at low rotation."""

    inner_radius: float  # inner_radius, outer_radius: R1 < R2
    outer_radius: float
    inner_rotation: float  # inner_rotation, outer_rotation: angular velocities
    outer_rotation: float = 0.0
    viscosity: float = 1.0  # kinematic
    density: float = 1.0  # of the fluid

    def velocity(self, r) -> np.ndarray:
        """Azimuthal velocity at the distances ``r`` from the axis."""
        r = np.asarray(r, dtype=np.float64)
        r1, r2 = self.inner_radius**2, self.outer_radius**2
        solid = (self.outer_rotation * r2 - self.inner_rotation * r1) / (r2 - r1)
        vortex = (self.inner_rotation - self.outer_rotation) * r1 * r2 / (r2 - r1)
        return solid * r + vortex / r

    def torque_per_length(self) -> float:
        """Torque of the fluid on the outer cylinder, per length; on the inner cylinder it is the opposite.

        4 pi mu (Omega1 - Omega2) R1^2 R2^2 / (R2^2 - R1^2).
        """
        r1, r2 = self.inner_radius**2, self.outer_radius**2
        difference = self.inner_rotation - self.outer_rotation
        return 4.0 * np.pi * self.density * self.viscosity * difference * r1 * r2 / (r2 - r1)


class AnnulusFlow(NamedTuple):
    """Steady flow in the annulus between two cylinders."""

    exact: TaylorCouette  # the analytical solution
    inner: float  # inner, outer: torque of the fluid on each cylinder over the theoretical one on the outer
    outer: float
    r: np.ndarray  # r, velocity: distance from the axis and azimuthal velocity of every node
    velocity: np.ndarray

    @property
    def profile_error(self) -> float:
        """L2 error of the azimuthal velocity over the velocity of the inner cylinder."""
        return float(np.sqrt(np.mean((self.velocity - self.exact.velocity(self.r)) ** 2)) / SURFACE_VELOCITY)


@case(
    "taylor-couette",
    "Landau, Lifshitz, Fluid Mechanics, section 18: torque 4 pi nu Omega R1^2 R2^2 / (R2^2 - R1^2) per length; errors"
    " at R1 = 10.6: another program",
)
def taylor_couette(settings: Settings) -> Iterator:
    """Torque and profile between a rotating cylinder and one at rest; in full also the order of convergence."""
    scales, rules = SCALES[: 1 if settings.quick else None], possible_rules(PROFILE_ERROR, settings)
    annuli = {rule: [annulus_flow(rule, scale, settings) for scale in scales] for rule in rules}
    errors = {rule: [flow.profile_error for flow in found] for rule, found in annuli.items()}
    for rule, (flow, *_) in annuli.items():
        what, error, balance = f"relative error of the torque, {rule}", flow.outer - 1.0, flow.inner / flow.outer
        expected, allowed = (TORQUE_ERROR[rule], SIMILAR) if rule in TORQUE_ERROR else (0.0, SMALL[rule])
        yield absolute(what, expected, error, allowed)
        yield absolute(f"torque on the inner / on the outer, {rule}", -1.0, balance, BALANCE[settings.precision])
        yield at_most(f"L2 error of the profile, {rule}", PROFILE_ERROR[rule], flow.profile_error)
    for rule, values in () if settings.quick else errors.items():
        what, order = f"order of convergence of the profile, {rule}", flows.order_of_convergence(scales, values)
        yield order_at_least(what, LEAST_ORDER[rule], order, 0.0, settings)
    exact = next(iter(annuli.values()))[0].exact
    r = np.linspace(exact.inner_radius, exact.outer_radius, 60)
    curves = [Series("Landau and Lifshitz", r, exact.velocity(r) / SURFACE_VELOCITY)]
    curves += [Series(rule, flow.r, flow.velocity / SURFACE_VELOCITY, "points") for rule, (flow, *_) in annuli.items()]
    labels = "distance from the axis [voxels]", "velocity / that of the inner cylinder"
    yield Plot(f"Flow between cylinders, R1 = {INNER}, R2 = {OUTER}", *labels, tuple(curves))
    radii, title = [scale * INNER for scale in scales], "Rotating cylinder: L2 error of the velocity"
    yield convergence(title, "inner radius [voxels]", radii, errors, 1.0)
    yield from left_out_rules(PROFILE_ERROR, settings)


def annulus_flow(rule: str, scale: int = 1, settings: Settings = DEFAULT) -> AnnulusFlow:
    """Steady flow between cylinders of radius INNER and OUTER times ``scale``."""
    exact = TaylorCouette(INNER * scale, OUTER * scale, SURFACE_VELOCITY / (INNER * scale), viscosity=NU)
    half = ceil(exact.outer_radius + np.abs(OFFSET).max()) + 1
    centre = [half + OFFSET[0], half + OFFSET[1], 0.0]
    walls = (
        {"name": "inner", "rotation_rad_s": [0.0, 0.0, exact.inner_rotation], "centre_m": centre},
        {"name": "outer", "centre_m": centre},
    )
    options = {"inner": exact.inner_radius, "outer": exact.outer_radius, "centre_offset": list(OFFSET)}
    tables = {**flows.creeping(rule, magic=MAGIC), "walls": walls}
    simulation = flows.viscous_flow({"shape": "annulus", "options": options}, NU, (0.0,) * 3, "D2Q9", settings, tables)

    def torques_n_m():
        forces = simulation.wall_forces(averaged=False)
        return np.array([forces[name].torque_n_m[2] for name in ("inner", "outer")])

    torques = flows.settled(simulation, torques_n_m, exact.outer_radius - exact.inner_radius, SETTLED)
    x, y, _ = (simulation.nodes.coordinates() - np.array(centre)).T
    u, v, _ = flows.over_two_steps(simulation, simulation.velocity_m_s).T
    r = np.hypot(x, y)
    return AnnulusFlow(exact, *pair((torques / exact.torque_per_length()).tolist()), r, (x * v - y * u) / r)


LATTICES, QUICK_LATTICES = ("D2Q9", "D3Q19", "D3Q27"), ("D2Q9",)
HEIGHT, LENGTH, VISCOSITY, VELOCITY = 10, 4, 1.0 / 6.0, 0.05
N_STEPS = 500
# fp16: two roundings (2^-11) of a velocity that nothing else changes; the floor of a steady flow; and ten times the
# mass that was measured, 1.2e-6.
UNIFORM_TOLERANCE = {"fp64": 1e-13, "fp32": 1e-5, "fp16": 1e-3}
PROFILE_TOLERANCE = {"fp64": 1e-10, "fp32": 1e-4, "fp16": FLOOR}
STEADY = {"fp64": 1e-12, "fp32": 1e-6, "fp16": 1e-4}
MASS_TOLERANCE = {"fp64": 1e-12, "fp32": 1e-6, "fp16": 1e-5}
OBLIQUE_SIZE, OBLIQUE_FORCE = 20, 1e-5


@case("free-slip", "symmetry: a plate along which the fluid slips is the middle of a channel of twice the height")
def free_slip(settings: Settings) -> Iterator:
    """Uniform flow along slipping plates, half a Poiseuille profile, and the mass around slipping cylinders."""
    series, precision = [], settings.precision
    for lattice in QUICK_LATTICES if settings.quick else LATTICES:
        change = uniform_flow_change(lattice, settings)
        what = f"{lattice}: change of uniform flow / velocity in {N_STEPS} steps"
        yield absolute(what, 0.0, change, UNIFORM_TOLERANCE[precision])
        y, exact, computed = half_channel(lattice, settings)
        error = np.abs(computed - exact).max() / exact.max()
        yield absolute(f"{lattice}: error of half a profile / largest", 0.0, error, PROFILE_TOLERANCE[precision])
        series.append(Series(lattice, y / HEIGHT, computed / exact.max(), "points"))
    # (relative change of the mass, largest speed) of a flow past slipping cylinders that starts with acoustic waves.
    geometry = {"shape": "cylinder_array", "options": {"size": OBLIQUE_SIZE}}
    walls = [{"name": "cylinders", "slip": True}]
    drive = {"acceleration_m_s2": [OBLIQUE_FORCE, 0.5 * OBLIQUE_FORCE, 0.0]}
    simulation = flows.lattice_simulation(settings, geometry, VISCOSITY, walls=walls, flow=drive)
    drift, speed = flows.drift_of_mass(simulation, N_STEPS)
    what = f"relative mass change around a slipping cylinder in {N_STEPS} steps"
    yield absolute(what, 0.0, drift, MASS_TOLERANCE[precision])
    yield at_least("largest speed around it at the end (it does flow)", 100 * OBLIQUE_FORCE, speed, 0.0)
    series.append(Series("half of Poiseuille's profile", y / HEIGHT, exact / exact.max()))
    yield Plot("No-slip wall below, slip wall above", "y / H", "velocity / largest", tuple(series))


def uniform_flow_change(lattice: str, settings: Settings = DEFAULT, slip: bool = True) -> float:
    """Largest change of a uniform velocity between two plates without a force, over that velocity."""
    simulation = _channel(lattice, settings, (0, HEIGHT + 1), 0.0, slip)
    velocity = np.tile((VELOCITY, 0.0, 0.0), (simulation.nodes.n_nodes, 1))
    flows.start_from_velocity(simulation, velocity)
    simulation.step(N_STEPS)
    return float(np.abs(simulation.velocity_m_s() - velocity).max() / VELOCITY)


def half_channel(lattice: str, settings: Settings = DEFAULT, slip: bool = True):
    """(distance from the lower wall, exact velocity, computed steady velocity) below a slipping plate."""
    force = 2.0 * VISCOSITY * VELOCITY / HEIGHT**2
    simulation = _channel(lattice, settings, (HEIGHT + 1, HEIGHT + 1), force, slip)
    y = simulation.nodes.coordinates()[:, 1] - 0.5
    exact = flows.channel_velocity(y, 2.0 * HEIGHT, force, VISCOSITY)
    flows.start_along(simulation, 0, exact)
    interval = round(HEIGHT**2 / VISCOSITY)
    tolerance = STEADY[settings.precision]
    return (
        y,
        exact,
        flows.settle(simulation, lambda: simulation.velocity_m_s()[:, 0], interval, tolerance, 100 * interval),
    )


def _channel(lattice: str, settings: Settings, rows: tuple[int, int], force: float, slip: bool):
    """A periodic channel whose solid voxels between two rows slip."""
    geometry = {"shape": "channel", "options": {"length": LENGTH, "height": HEIGHT}}
    box = [[0.0, float(rows[0]), 0.0], [LENGTH - 1.0, float(rows[1]), 0.0]]
    walls = [{"name": "plate", "box_m": box, "slip": slip}]
    drive = {"acceleration_m_s2": [force, 0.0, 0.0]}
    return flows.lattice_simulation(settings, geometry, VISCOSITY, lattice={"name": lattice}, walls=walls, flow=drive)
