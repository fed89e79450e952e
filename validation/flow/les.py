"""Smagorinsky's eddy viscosity in the one flow where it is known: uniform shear between two plates.

Two schemes carry uniform shear as it is: the linear equilibrium exactly, and one relaxation time near 1/2. Elsewhere a
third-order moment relaxes with tau- and adds normal stresses of the relative size tau- |S| to the shear stress that the
closure reads: with Lambda = 3/16 at nu = 0.005 the viscosity comes out 0.8 % high at C = 0.4.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, Skipped, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation, settle, start_along
from muphy_lb.validation.limits import HALF

HEIGHT, LENGTH = 16, 2
VELOCITY = 0.1
VISCOSITY = 0.005
CONSTANTS, QUICK_CONSTANTS = (0.1, 0.17, 0.4), (0.17, 0.4)
SCHEMES = MappingProxyType(
    {"BGK": {"collision": "bgk"}, "TRT, Stokes equilibrium": {"collision": "trt", "equilibrium": "stokes"}}
)
NOT_HALF = (
    "half precision has too few bits: the stress is a difference of the populations that meet the plate, and no more"
    " than two units in their last place"
)
TOLERANCE = {"fp64": 1e-6, "fp32": 1e-3}
STEADY = {"fp64": 1e-10, "fp32": 1e-5}


@case(
    "smagorinsky",
    "Smagorinsky, Mon. Weather Rev. 91, 99 (1963): nu + C^2 |S|; in uniform shear |S| is the velocity over the gap",
)
def smagorinsky(settings: Settings) -> Iterator:
    """Viscosity from the force on a sliding plate, and the profile of uniform shear."""
    if settings.precision == HALF:
        raise Skipped(NOT_HALF)
    tolerance = TOLERANCE[settings.precision]
    for (name, scheme), constant in product(SCHEMES.items(), QUICK_CONSTANTS if settings.quick else CONSTANTS):
        expected = VISCOSITY + constant**2 * VELOCITY / HEIGHT
        found, deviation = sheared(constant, scheme, settings)
        what = f"{name}, C = {constant:g}: "
        yield relative(f"{what}viscosity from the force on the plate", expected, found, tolerance)
        yield absolute(f"{what}deviation from uniform shear", 0.0, deviation, tolerance)


def sheared(constant: float, scheme: Mapping, settings: Settings = DEFAULT) -> tuple[float, float]:
    """(viscosity determined from the force on the moving plate, largest deviation from uniform shear over the
    velocity). ``constant``: Smagorinsky's; ``scheme``: keys of ``[lattice]``."""
    geometry = {"shape": "channel", "options": {"length": LENGTH, "height": HEIGHT}}
    box = [[0.0, HEIGHT + 1.0, 0.0], [LENGTH - 1.0, HEIGHT + 1.0, 0.0]]
    walls = [{"name": "plate", "box_m": box, "velocity_m_s": [VELOCITY, 0.0, 0.0]}]
    lattice = {**scheme, "smagorinsky": constant}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, lattice=lattice, walls=walls)
    velocity = VELOCITY * (simulation.nodes.coordinates()[:, 1] - 0.5) / HEIGHT
    start_along(simulation, 0, velocity)

    def measure():
        force_n = simulation.wall_forces()["plate"].force_n[0]  # before the field, which overwrites the last step
        return np.append(simulation.velocity_m_s()[:, 0], force_n)

    interval = round(0.25 * HEIGHT**2 / VISCOSITY)
    *computed, force = settle(simulation, measure, interval, STEADY[settings.precision], 100 * interval)
    stress, shear_rate = -force / LENGTH, VELOCITY / HEIGHT
    return float(stress / shear_rate), float(np.abs(computed - velocity).max() / VELOCITY)
