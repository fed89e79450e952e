"""Free-slip walls: they exert no drag, and mass is conserved for any shape."""

from collections.abc import Iterator

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, absolute, at_least, case
from muphy_lb.validation.flows import drift_of_mass, lattice_simulation, settle, start_along, start_from_velocity
from muphy_lb.validation.limits import FLOOR
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.references.poiseuille import channel_velocity

LATTICES, QUICK_LATTICES = ("D2Q9", "D3Q19", "D3Q27"), ("D2Q9",)
HEIGHT, LENGTH = 10, 4
VISCOSITY = 1.0 / 6.0
VELOCITY = 0.05
N_STEPS = 500
# fp16: two roundings (2^-11) of a velocity that nothing else changes; the floor of a steady flow; and ten times the
# mass that was measured, 1.2e-6.
UNIFORM_TOLERANCE = {"fp64": 1e-13, "fp32": 1e-5, "fp16": 1e-3}
PROFILE_TOLERANCE = {"fp64": 1e-10, "fp32": 1e-4, "fp16": FLOOR}
STEADY = {"fp64": 1e-12, "fp32": 1e-6, "fp16": 1e-4}
MASS_TOLERANCE = {"fp64": 1e-12, "fp32": 1e-6, "fp16": 1e-5}
OBLIQUE_SIZE = 20
OBLIQUE_FORCE = 1e-5


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
    drift, speed = oblique_mass(settings)
    what = f"relative mass change around a slipping cylinder in {N_STEPS} steps"
    yield absolute(what, 0.0, drift, MASS_TOLERANCE[precision])
    yield at_least("largest speed around it at the end (it does flow)", 100 * OBLIQUE_FORCE, speed, 0.0)
    series.append(Series("half of Poiseuille's profile", y / HEIGHT, exact / exact.max()))
    yield Plot("No-slip wall below, slip wall above", "y / H", "velocity / largest", tuple(series))


def uniform_flow_change(lattice: str, settings: Settings = DEFAULT, slip: bool = True) -> float:
    """Largest change of a uniform velocity between two plates without a force, over that velocity."""
    simulation = _channel(lattice, settings, (0, HEIGHT + 1), 0.0, slip)
    velocity = np.tile((VELOCITY, 0.0, 0.0), (simulation.nodes.n_nodes, 1))
    start_from_velocity(simulation, velocity)
    simulation.step(N_STEPS)
    return float(np.abs(simulation.velocity_m_s() - velocity).max() / VELOCITY)


def half_channel(lattice: str, settings: Settings = DEFAULT, slip: bool = True):
    """(distance from the lower wall, exact velocity, computed steady velocity) below a slipping plate."""
    force = 2.0 * VISCOSITY * VELOCITY / HEIGHT**2
    simulation = _channel(lattice, settings, (HEIGHT + 1, HEIGHT + 1), force, slip)
    y = simulation.nodes.coordinates()[:, 1] - 0.5
    exact = channel_velocity(y, 2.0 * HEIGHT, force, VISCOSITY)
    start_along(simulation, 0, exact)
    interval = round(HEIGHT**2 / VISCOSITY)
    tolerance = STEADY[settings.precision]
    return y, exact, settle(simulation, lambda: simulation.velocity_m_s()[:, 0], interval, tolerance, 100 * interval)


def oblique_mass(settings: Settings = DEFAULT) -> tuple[float, float]:
    """(relative change of the mass, largest speed) of a flow past slipping cylinders that starts with acoustic
    waves."""
    geometry = {"shape": "cylinder_array", "options": {"size": OBLIQUE_SIZE}}
    walls = [{"name": "cylinders", "slip": True}]
    drive = {"acceleration_m_s2": [OBLIQUE_FORCE, 0.5 * OBLIQUE_FORCE, 0.0]}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, walls=walls, flow=drive)
    return drift_of_mass(simulation, N_STEPS)


def _channel(lattice: str, settings: Settings, rows: tuple[int, int], force: float, slip: bool):
    """A periodic channel whose solid voxels between two rows slip."""
    geometry = {"shape": "channel", "options": {"length": LENGTH, "height": HEIGHT}}
    box = [[0.0, float(rows[0]), 0.0], [LENGTH - 1.0, float(rows[1]), 0.0]]
    walls = [{"name": "plate", "box_m": box, "slip": slip}]
    drive = {"acceleration_m_s2": [force, 0.0, 0.0]}
    return lattice_simulation(settings, geometry, VISCOSITY, lattice={"name": lattice}, walls=walls, flow=drive)
