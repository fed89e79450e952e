"""Flow between an inner cylinder that rotates and an outer one at rest, both off the lattice: torque and profile."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from muphy_lb.base.units import relaxation_time
from muphy_lb.lattice import lattice_named
from muphy_lb.validation.flows import creeping, forced_flow, order_of_convergence, over_two_steps, settled
from muphy_lb.validation.limits import left_out_rules, order_at_least, possible_rules
from muphy_lb.validation.plot import Plot, Series, convergence
from muphy_lb.validation.record import Validation, absolute, at_most
from muphy_lb.validation.references.couette import TaylorCouette
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "Landau, Lifshitz, Fluid Mechanics, section 18: torque 4 pi nu Omega R1^2 R2^2 / (R2^2 - R1^2) per length; errors"
    " at R1 = 10.6: another program"
)
INNER, OUTER = 10.6, 25.2
OFFSET = (0.137, -0.211)
NU = 1.0 / 6.0
MAGIC = 0.25
SURFACE_VELOCITY = 0.05
TORQUE_ERROR = {"half-way": 1.4e-2, "bouzidi": -4.4e-3}  # of another program
SIMILAR = 2e-3
SMALL = {"central-linear": 5e-3}
PROFILE_ERROR = {"half-way": 1e-2, "bouzidi": 3e-3, "central-linear": 3e-3}
BALANCE = {"fp64": 1e-8, "fp32": 1e-3, "fp16": 5e-3}
SCALES = (1, 2, 4)
LEAST_ORDER = {"half-way": 0.9, "bouzidi": 1.8, "central-linear": 1.8}
SETTLED = 1e-10


@dataclass(frozen=True)
class AnnulusFlow:
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


def taylor_couette(settings: Settings = DEFAULT) -> Validation:
    """Torque and profile between a rotating cylinder and one at rest; in full also the order of convergence."""
    scales = SCALES[: 1 if settings.quick else None]
    annuli = {
        rule: [annulus_flow(rule, scale, settings) for scale in scales]
        for rule in possible_rules(PROFILE_ERROR, settings)
    }
    rows = [row for rule, flows in annuli.items() for row in _rows(rule, flows[0], settings)]
    errors = {rule: [flow.profile_error for flow in flows] for rule, flows in annuli.items()}
    if not settings.quick:
        for rule, values in errors.items():
            what, order = f"order of convergence of the profile, {rule}", order_of_convergence(scales, values)
            rows.append(order_at_least(what, LEAST_ORDER[rule], order, 0.0, settings))
    radii = [scale * INNER for scale in scales]
    plots = (
        _profiles({rule: flows[0] for rule, flows in annuli.items()}),
        convergence("Rotating cylinder: L2 error of the velocity", "inner radius [voxels]", radii, errors, 1.0),
    )
    left_out = left_out_rules(PROFILE_ERROR, settings)
    return Validation("taylor-couette", CITATION, tuple(rows), plots=plots, left_out=left_out)


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
    tau = relaxation_time(NU, float(lattice_named("D2Q9").cs2))
    tables = {**creeping(rule, magic=MAGIC), "walls": walls}
    simulation = forced_flow({"shape": "annulus", "options": options}, tau, (0.0,) * 3, "D2Q9", settings, tables)
    torques = settled(simulation, lambda: _torques(simulation), exact.outer_radius - exact.inner_radius, SETTLED)
    x, y, _ = (simulation.nodes.coordinates() - np.array(centre)).T
    u, v, _ = over_two_steps(simulation, simulation.velocity_m_s).T
    r = np.hypot(x, y)
    return AnnulusFlow(exact, *(torques / exact.torque_per_length()).tolist(), r, (x * v - y * u) / r)


def _torques(simulation) -> np.ndarray:
    forces = simulation.wall_forces(averaged=False)
    return np.array([forces[name].torque_n_m[2] for name in ("inner", "outer")])


def _rows(rule: str, flow: AnnulusFlow, settings: Settings):
    error = flow.outer - 1.0
    if rule in TORQUE_ERROR:
        yield absolute(f"relative error of the torque, {rule}", TORQUE_ERROR[rule], error, SIMILAR)
    else:
        yield absolute(f"relative error of the torque, {rule}", 0.0, error, SMALL[rule])
    balance = flow.inner / flow.outer
    yield absolute(f"torque on the inner / on the outer, {rule}", -1.0, balance, BALANCE[settings.precision])
    yield at_most(f"L2 error of the profile, {rule}", PROFILE_ERROR[rule], flow.profile_error)


def _profiles(flows: dict[str, AnnulusFlow]) -> Plot:
    exact = next(iter(flows.values())).exact
    r = np.linspace(exact.inner_radius, exact.outer_radius, 60)
    line = Series("Landau and Lifshitz", r, exact.velocity(r) / SURFACE_VELOCITY)
    points = [Series(rule, flow.r, flow.velocity / SURFACE_VELOCITY, "points") for rule, flow in flows.items()]
    title = f"Flow between cylinders, R1 = {INNER}, R2 = {OUTER}"
    return Plot(title, "distance from the axis [voxels]", "velocity / that of the inner cylinder", (line, *points))
