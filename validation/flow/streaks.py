"""Streaks between plates: a velocity that does not vary along its own direction drives no flow across.

u(y, z) along x solves the equations with v = w = 0, whatever it is. Where the fourth moments of an equilibrium are not
isotropic, as with 19 vectors and terms of second order alone, the error of streaming makes a force of u u that drives
vortices along x. It falls with the size of a voxel and does not depend on the Mach number. The streaks near the plates
of a turbulent channel have it all the time. That such sets break the symmetry of turbulent pipes and ducts: Kang,
Hassan, J. Comput. Phys. 232, 100 (2013).

Here they are those of a channel at Re_tau = 178 (:mod:`muphy_lb.validation.flow.channel_turbulence`): on the mean
velocity a wave along z, 107 wall units long, largest 15 wall units from the plates, as strong as real ones.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, Skipped, absolute, case
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.references.channel_turbulence import CENTRE_VELOCITY, RE_TAU, mean_velocity

SIZES, QUICK_SIZES = (20, 40), (20,)
"""Half the height of the channel [voxels]: 8.9 and 4.5 wall units a voxel."""
WIDTH, PLACE, STRENGTH = 0.6, 15.0, 3.0
"""Length of the wave [half heights], where it is largest [wall units], and how large [u_tau]."""
SPEED, TIME = 0.1, 0.05
"""On the centre line [lattice units], and when the flow across is measured [half heights / u_tau]."""
TOLERANCES = {20: 0.02, 40: 0.002}
"""By half height: what moments of higher order than the stress leave, of fourth order."""

COLLISIONS = (
    *(("mrt", "D3Q19"), ("regularised", "D3Q19"), ("recursive-regularised", "D3Q19"), ("mrt", "D3Q27")),
    ("cumulant", "D3Q27"),
)
SEES_AXES = ("mrt, D3Q19", "regularised, D3Q19")
"""Schemes whose flow across is shown and not judged."""


@case("streaks", "symmetry: velocities along x that depend on y and z alone leave v = w = 0")
def streaks(settings: Settings) -> Iterator:
    """Streaks like those near the plates of a turbulent channel, and the flow across that some schemes make of them."""
    if settings.precision == HALF:
        raise Skipped("half precision rounds by more than what the flow across changes")
    for (collision, lattice), size in product(COLLISIONS, QUICK_SIZES if settings.quick else SIZES):
        found, name = flow_across(size, {"name": lattice, "collision": collision}, settings), f"{collision}, {lattice}"
        allowed = np.inf if name in SEES_AXES else TOLERANCES[size]
        yield absolute(f"{name}, H = {2 * size}: flow across / u_tau", 0.0, found, allowed)


def flow_across(half_height: int, scheme: Mapping, settings: Settings = DEFAULT) -> float:
    """Largest velocity across the channel over u_tau. ``half_height``: [voxels]; ``scheme``: keys of ``[lattice]``."""
    friction_velocity, width = SPEED / CENTRE_VELOCITY, round(WIDTH * half_height)
    options = {"length": 2, "height": 2 * half_height, "width": width}
    geometry = {"shape": "channel", "options": options}
    drive = {"acceleration_m_s2": [friction_velocity**2 / half_height, 0.0, 0.0]}
    viscosity = friction_velocity * half_height / RE_TAU
    simulation = lattice_simulation(settings, geometry, viscosity, lattice=scheme, flow=drive)
    _, y, z = simulation.nodes.coordinates().T
    from_plate = (half_height - np.abs(y - half_height - 0.5)) * RE_TAU / half_height
    wave = STRENGTH * from_plate / PLACE * np.exp(1.0 - from_plate / PLACE) * np.cos(2.0 * np.pi * z / width)
    along = friction_velocity * (mean_velocity(from_plate) + wave)
    simulation.set_velocity_m_s(np.outer(along, (1.0, 0.0, 0.0)), consistent_pressure=True)
    simulation.step(round(TIME * half_height / friction_velocity))
    return float(np.abs(simulation.velocity_m_s()[:, 1:]).max()) / friction_velocity
