"""Numerical parameters of a new case: voxel edge, lattice velocity, steps and body force within the usual bounds. The
bounds are those of :mod:`muphy_lb.setup.numerics`. Lengths with the suffix _m are in metres, others in voxels."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muphy_lb.base.units import CS2, Units, relaxation_time, viscosity
from muphy_lb.geometry.voxels import FLUID, Voxels
from muphy_lb.operators.trt import MAGIC_HALF_WAY, odd_rate
from muphy_lb.setup.advice.stability import (
    LEAST_ODD_RATE,
    MAX_CELL_REYNOLDS,
    SMAGORINSKY,
    collision_for_small_viscosity,
)

STABLE = collision_for_small_viscosity("D3Q19", "compressible")
"""Collision of a large-eddy simulation, and of relaxation times close to 1/2; for D2Q9, too."""

GOOD_LATTICE_VELOCITY = 0.04
"""Mean lattice velocity at the inlet: the maximum of a parabolic profile then stays below Mach 0.15."""

LONGEST_RELAXATION_TIME = 0.9
NODE_BUDGET = 2_000_000
"""Nodes up to which the voxels are refined for a large Reynolds number without being asked: minutes on a GPU, hours on
a CPU."""

MARGIN = 0.9  # fraction of a bound that is used: a voxelised vessel is slightly narrower than the original

CREEPING_REYNOLDS = 0.1
CREEPING_VELOCITY = 1e-3
ROCK_RELAXATION_TIME = 1.0
KOZENY = 5.0  # Kozeny-Carman constant of granular media; Dullien, Porous Media (1992), section 3.3
STAIRCASE = 2.0 / 3.0  # area of a smooth surface over that of its voxel faces, averaged over all orientations

FLOW_THROUGH_TIMES, MOST_FLOW_THROUGH_TIMES = 4.0, 10.0
"""Smallest length of a run, and largest one that waits for viscous diffusion, in flow-through times of the box at the
mean velocity: a flow that leaves the vessel before its profile has developed settles with the flow-through time."""

SETTLING_TIMES = 40.0
"""Length of a run of creeping flow, in its slowest time; narrower branches take longer than the inlet."""

ARTERIAL_SHEAR_PA, AORTIC_VELOCITY_M_S = 1.5, 0.33
"""Mean wall shear stress in arteries (Malek, Alper, Izumo, JAMA 282, 2035 (1999)), and mean velocity in the aorta
(Guyton and Hall, Textbook of Medical Physiology (1996))."""


@dataclass(frozen=True)
class Drive:
    """Numerical parameters of a flow driven from an inlet to outlets."""

    lattice_velocity: float  #: reference velocity in lattice units
    steps: int  #: maximum number of steps of the run
    interval: int  #: steps between two checks of convergence
    relaxation_time: float  #: [time steps]

    @property
    def odd_rate(self) -> float:
        """Rate of the odd moments of trt."""
        return odd_rate(1.0 / self.relaxation_time, MAGIC_HALF_WAY)

    @property
    def collision(self) -> str:
        """The collision: trt, unless it hardly damps the shortest waves."""
        return "trt" if self.odd_rate >= LEAST_ODD_RATE else STABLE

    def __str__(self):
        if self.collision != STABLE:
            return f"collision 'trt', whose walls stay in place: relaxation time {self.relaxation_time:.4g}"
        return (
            f"collision '{STABLE}': at a relaxation time of {self.relaxation_time:.4g} trt would relax odd moments with"
            f" {self.odd_rate:.2g}, below {LEAST_ODD_RATE}, and leave noise in the shortest waves"
        )


@dataclass(frozen=True)
class Resolution:
    """Resolution of a flow by voxels."""

    across: float  #: voxels per diameter
    nodes: float  #: fluid nodes, about
    needed: int  #: voxels per diameter for which no model of turbulence is needed
    nodes_needed: float  #: fluid nodes with these, about
    cell_reynolds: float  #: cell Reynolds number with the largest velocity

    @property
    def model(self) -> dict:
        """The keys of [lattice] that make up for what the voxels do not resolve; empty if they resolve the flow."""
        return {"collision": STABLE, "smagorinsky": SMAGORINSKY} if self.cell_reynolds > MAX_CELL_REYNOLDS else {}

    def __str__(self):
        text = f"{self.across:.3g} voxels across, about {rounded(self.nodes, 2):,.0f} nodes"
        if not self.model:
            return f"{text}; cell Reynolds number {self.cell_reynolds:.2g} (at most {MAX_CELL_REYNOLDS:g})"
        return (
            f"{text}; cell Reynolds number {self.cell_reynolds:.3g}, above {MAX_CELL_REYNOLDS:g}: therefore"
            f" lattice.smagorinsky = {SMAGORINSKY} and collision = '{STABLE}' (large-eddy simulation), which keep the"
            f" flow stable and make the wall shear stress an estimate. --across {self.needed} resolves the flow, with"
            f" about {rounded(self.nodes_needed, 2):,.0f} nodes; without --across and --spacing at most {NODE_BUDGET:,}"
            " are taken"
        )


class Creep(NamedTuple):
    """Driving of a creeping flow through a rock: expected mean velocity in the pores, body force per mass, and expected
    permeability [voxels squared]."""

    velocity_m_s: float
    acceleration_m_s2: float
    permeability: float


def velocity_for(reynolds: float, diameter_m: float, across: float, viscosity_m2_s: float, peak: float) -> float:
    """Mean velocity [m/s] for a Reynolds number, or for the highest one that the voxels resolve. ``reynolds``: Reynolds
    number of mean velocity and diameter; ``peak``: maximum velocity in the flow over the mean velocity at the inlet."""
    return rounded(min(reynolds, _highest_reynolds(across, peak)) * viscosity_m2_s / diameter_m, 2)


def physiological_velocity(diameter_m: float, density_kg_m3: float, viscosity_m2_s: float) -> float:
    """Mean velocity of blood in a vessel at rest [m/s]: that of arterial wall shear stress in Poiseuille flow,
    8 mu U / d, which is about the same in small vessels and large ones (Murray's law), at most that in the aorta."""
    shear_rate_1_s = ARTERIAL_SHEAR_PA / (density_kg_m3 * viscosity_m2_s)
    return rounded(min(shear_rate_1_s * diameter_m / 8.0, AORTIC_VELOCITY_M_S), 2)


def edge_for(diameter_m: float, across: int, needed: int, smallest_m: float) -> float:
    """Voxel edge [m] with ``needed`` voxels per diameter, but not below ``smallest_m``, that of the budget of nodes,
    and not above that with ``across`` voxels per diameter."""
    return rounded(min(diameter_m / across, max(diameter_m / needed, smallest_m)), 4)


def resolution(
    diameter_m: float, spacing_m: float, nodes: float, reynolds: float, peak: float, dimensions: int = 3
) -> "Resolution":
    """Resolution of a flow by voxels.

    Args:
        diameter_m: diameter of the inlet, or height of the channel [m].
        nodes: fluid nodes, about.
        reynolds: Reynolds number of mean velocity and diameter.
        peak: maximum velocity in the flow over the mean velocity at the inlet.
    """
    across, needed = diameter_m / spacing_m, across_for(1, reynolds, peak)
    return Resolution(across, nodes, needed, nodes * (needed / across) ** dimensions, reynolds * peak / across)


def across_for(across: int, reynolds: float, peak: float) -> int:
    """Voxels per diameter: ``across``, or more if a flow of this Reynolds number requires them."""
    return max(across, math.ceil(across * reynolds / _highest_reynolds(across, peak)))


def _highest_reynolds(across: float, peak: float) -> float:
    """Largest Reynolds number for which the cell Reynolds number stays below its bound."""
    return MARGIN * MAX_CELL_REYNOLDS * across / peak


def drive(cell_reynolds: float, diameter: float, length: float, narrowing: float) -> Drive:
    """Numerical parameters of a flow from an inlet to outlets.

    Args:
        cell_reynolds: mean velocity times voxel edge over kinematic viscosity.
        diameter: diameter of the inlet [voxels].
        length: length of the flow path [voxels].
        narrowing: area of the inlet over that of all outlets.
    """
    longest = viscosity(LONGEST_RELAXATION_TIME, CS2) * cell_reynolds
    velocity = rounded(min(GOOD_LATTICE_VELOCITY / max(1.0, narrowing), longest))
    viscous = (0.5 * diameter) ** 2 * cell_reynolds / velocity
    interval = round(rounded(max(200.0, FLOW_THROUGH_TIMES * length / math.sqrt(CS2)), 1))
    flow_through = length / velocity
    if cell_reynolds * diameter < 1.0:
        settled = SETTLING_TIMES * max(viscous, _pressure_time(velocity / cell_reynolds, 0.5 * diameter, length))
    else:
        settled = max(FLOW_THROUGH_TIMES * flow_through, min(2.0 * viscous, MOST_FLOW_THROUGH_TIMES * flow_through))
    tau = relaxation_time(velocity / cell_reynolds, CS2)
    return Drive(velocity, _round_up(max(settled, 10 * interval)), interval, tau)


def _pressure_time(viscosity_lattice: float, radius: float, length: float) -> float:
    """Slowest time [steps] in which the pressure spreads by diffusion along a tube, with the coefficient
    cs^2 R^2 / (8 nu), between an end of fixed flow rate and one of fixed pressure."""
    return (2.0 * length / math.pi) ** 2 * 8.0 * viscosity_lattice / (CS2 * radius**2)


def creep(voxels: Voxels, viscosity_m2_s: float, density_kg_m3: float) -> Creep:
    """The body force of a creeping flow through a rock, from its porosity and surface by the Kozeny-Carman equation."""
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
    """Number of voxel faces between fluid and other voxels inside the box, counted layer by layer."""
    fluid = (layer == FLUID for layer in voxels.flags)
    count, below = 0, None
    for layer in fluid:
        count += sum(int(np.count_nonzero(np.diff(layer, axis=axis))) for axis in (0, 1))
        count += 0 if below is None else int(np.count_nonzero(layer != below))
        below = layer
    return count


def rounded(value: float, digits: int = 3) -> float:
    """The value rounded to a number of significant digits."""
    return float(f"{value:.{digits}g}")


def _round_up(value: float) -> int:
    """The next number with one significant digit, followed by zeros."""
    scale = 10 ** math.floor(math.log10(value))
    return int(math.ceil(value / scale) * scale)
