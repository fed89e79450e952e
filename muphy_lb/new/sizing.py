"""Numbers of a new case: voxel edge, lattice velocity, steps and body force that raise no warning.

The bounds are those of :mod:`muphy_lb.setup.numerics`. Lengths are in metres where the name says so, else in voxels.
"""

import math
from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.flags import FLUID
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.setup.numerics import MAX_CELL_REYNOLDS
from muphy_lb.units import CS2, Units, viscosity

GOOD_LATTICE_VELOCITY = 0.04
"""Of the mean at the inlet: the fastest node of a parabolic profile then stays below Mach 0.15."""

LONGEST_RELAXATION_TIME = 0.9
MARGIN = 0.9
"""Part of a bound that is used, because a vessel of voxels is a little narrower than it is drawn."""

CREEPING_REYNOLDS = 0.1
CREEPING_VELOCITY = 1e-3
ROCK_RELAXATION_TIME = 1.0
KOZENY = 5.0
"""Constant of Kozeny and Carman for a medium of grains; Dullien, Porous Media (1992), section 3.3."""

STAIRCASE = 2.0 / 3.0
"""Area of a smooth surface over that of the voxel faces along it, the mean over all directions."""

PASSAGES = 4.0
"""Times that the mean flow crosses the box, at least, before the run ends."""


@dataclass(frozen=True)
class Drive:
    """How the flow of a new case is computed.

    Attributes:
        lattice_velocity: of the reference velocity.
        steps: most steps of the run.
        interval: steps between two looks at the change.
    """

    lattice_velocity: float
    steps: int
    interval: int


@dataclass(frozen=True)
class Creep:
    """How a creeping flow through a rock is driven.

    Attributes:
        velocity_m_s: expected mean velocity in the pores [m/s].
        acceleration_m_s2: body force per mass that drives it [m/s2].
        permeability: expected, in voxels squared.
    """

    velocity_m_s: float
    acceleration_m_s2: float
    permeability: float


def velocity_for(reynolds: float, diameter_m: float, across: float, viscosity_m2_s: float, peak: float) -> float:
    """Mean velocity [m/s] at a Reynolds number, or at a lower one where voxels are too wide for it.

    Args:
        reynolds: with the mean velocity and the diameter.
        diameter_m: of the inlet [m].
        across: voxels on the diameter.
        viscosity_m2_s: kinematic viscosity [m2/s].
        peak: largest velocity anywhere over the mean velocity at the inlet.
    """
    return rounded(min(reynolds, _highest_reynolds(across, peak)) * viscosity_m2_s / diameter_m, 2)


def across_for(across: int, reynolds: float, peak: float) -> int:
    """Voxels on a diameter: ``across``, or more where a flow of this Reynolds number needs them."""
    return max(across, math.ceil(across * reynolds / _highest_reynolds(across, peak)))


def _highest_reynolds(across: float, peak: float) -> float:
    """Reynolds number with which that of a voxel stays below the bound of preflight."""
    return MARGIN * MAX_CELL_REYNOLDS * across / peak


def drive(cell_reynolds: float, diameter: float, length: float, narrowing: float) -> Drive:
    """How to compute a flow from an inlet to outlets.

    Args:
        cell_reynolds: mean velocity times voxel edge over kinematic viscosity.
        diameter: of the inlet [voxels].
        length: of the way through [voxels].
        narrowing: area of the inlet over that of all outlets.
    """
    longest = viscosity(LONGEST_RELAXATION_TIME, CS2) * cell_reynolds
    velocity = rounded(min(GOOD_LATTICE_VELOCITY / max(1.0, narrowing), longest))
    viscous = (0.5 * diameter) ** 2 * cell_reynolds / velocity
    interval = round(rounded(max(200.0, PASSAGES * length / math.sqrt(CS2)), 1))
    return Drive(velocity, _round_up(max(PASSAGES * length / velocity, 2.0 * viscous, 10 * interval)), interval)


def creep(voxels: Voxels, viscosity_m2_s: float, density_kg_m3: float) -> Creep:
    """The body force of a creeping flow through a rock, from its porosity and surface by Kozeny and Carman's rule."""
    phi = max(1, voxels.n_fluid) / voxels.flags.size
    surface = STAIRCASE * max(1, n_wall_faces(voxels)) / voxels.flags.size
    permeability = phi**3 / (KOZENY * surface**2)
    viscosity_lattice = viscosity(ROCK_RELAXATION_TIME, CS2)
    velocity = min(CREEPING_VELOCITY, CREEPING_REYNOLDS * viscosity_lattice * surface / (4.0 * phi))
    time_step_s = viscosity_lattice * voxels.spacing_m**2 / viscosity_m2_s
    units = Units(voxels.spacing_m, time_step_s, density_kg_m3)
    acceleration = velocity * phi * viscosity_lattice / permeability
    return Creep(units.velocity_to_si(velocity), rounded(units.acceleration_to_si(acceleration)), permeability)


def n_wall_faces(voxels: Voxels) -> int:
    """Number of voxel faces between fluid and anything else inside the box, one layer after another."""
    fluid = (layer == FLUID for layer in voxels.flags)
    count, below = 0, None
    for layer in fluid:
        count += sum(int(np.count_nonzero(np.diff(layer, axis=axis))) for axis in (0, 1))
        count += 0 if below is None else int(np.count_nonzero(layer != below))
        below = layer
    return count


def rounded(value: float, digits: int = 3) -> float:
    """The value to some significant digits."""
    return float(f"{value:.{digits}g}")


def _round_up(value: float) -> int:
    """The next number with one significant digit, followed by zeros."""
    scale = 10 ** math.floor(math.log10(value))
    return int(math.ceil(value / scale) * scale)
