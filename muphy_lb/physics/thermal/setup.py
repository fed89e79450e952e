"""From the case's temperatures to the parameters of a thermal model. Lattice temperatures are kelvin above a zero: the
temperature without buoyancy, or, for populations, the middle of the fixed temperatures."""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.boundaries import WallSection
from muphy_lb.case.case import Case
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, ScalarBoundary
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.physics.scalar import Condition, scalar_boundary
from muphy_lb.physics.thermal.model import POPULATION_METHOD, Heat
from muphy_lb.physics.thermal.section import solid_walls

WITH_ENERGY = ("D3Q19", "D2Q9")


@dataclass(frozen=True)
class ThermalSetup:
    """The temperatures of a case, and the parameters of its thermal model."""

    heat: Heat  #: parameters of the model, in lattice units
    zero_k: float  #: temperature that is zero in lattice units [K]
    difference_k: float  #: largest difference between fixed temperatures
    fixed_k: dict[str, float]  #: temperature of each wall that has one, by name
    #: for each wall with a thermal resistance, by name: outer temperature [K], and its conductivity over that of the
    #: fluid, divided by its thickness in voxels
    conducting: dict[str, tuple[float, float]]
    conductivity: np.ndarray  #: (n_walls,) conductivity of walls with conjugate heat transfer over that of the fluid

    def heat_in(self, solid: np.ndarray | None) -> Heat:
        """Parameters for a rank whose nodes belong to these solids (:class:`muphy_lb.domain.LocalDomain`)."""
        if solid is None:
            return self.heat
        of_fluid = self.heat.diffusivity
        diffusivity = np.where(solid < 0, of_fluid, of_fluid * self.conductivity[solid])
        return replace(self.heat, media=(diffusivity, np.where(solid < 0, 1.0, 0.0)))


def thermal_setup(case: Case, header: GeometryHeader, units: Units) -> ThermalSetup:
    """The temperatures of a case with [thermal]. Raises InputError: a Rayleigh number without two temperatures, or
    thermal data together with a force that is not uniform and constant."""
    thermal = case.thermal
    flow = case.flow
    if flow.not_uniform:
        raise InputError(f"[thermal] goes with a uniform constant force only; remove {', '.join(flow.not_uniform)}")
    _check_solids(case)
    sections = (*case.walls, *case.openings)
    fixed_k = {section.name: section.temperature_k for section in sections if section.temperature_k is not None}
    temperatures = [*fixed_k.values()]
    difference_k = max(temperatures) - min(temperatures) if temperatures else 0.0
    zero_k = thermal.reference_k
    if temperatures and thermal.method == POPULATION_METHOD:
        zero_k = 0.5 * (max(temperatures) + min(temperatures))
    diffusivity_m2_s = thermal.diffusivity_m2_s or case.fluid.viscosity_m2_s / thermal.prandtl
    buoyancy = -_expansion(case, diffusivity_m2_s, difference_k) * np.array(thermal.gravity_m_s2)
    heat = Heat(
        diffusivity=units.viscosity_to_lattice(diffusivity_m2_s),
        buoyancy=tuple(units.acceleration_to_lattice(buoyancy).tolist()),
        boundary=_boundary(case, header, zero_k, units.spacing_m),
        offset=zero_k - thermal.reference_k,
        method=thermal.method,
        energy=_energy(thermal.energy_coupling, difference_k, case.lattice.name),
    )
    there = {wall.name for wall in header.walls}
    conducting = {
        wall.name: (wall.temperature_k, _conductance(wall, units.spacing_m))
        for wall in case.walls
        if wall.thickness_m is not None and wall.name in there
    }
    solids, of_wall = solid_walls(case), {wall.name: wall for wall in case.walls}
    ratios = [of_wall[wall.name].conductivity_ratio if wall.name in solids else 1.0 for wall in header.walls]
    of_walls = {name: value for name, value in fixed_k.items() if name in there - conducting.keys()}
    return ThermalSetup(heat, zero_k, difference_k, of_walls, conducting, np.array(ratios))


def _check_solids(case: Case) -> None:
    """Heat spreads in solids by populations, between half-way walls, with no force that would reach into them."""
    solids = ", ".join(solid_walls(case))
    if not solids:
        return
    if case.thermal.method != POPULATION_METHOD:
        raise InputError(f"heat spreads in the walls {solids}; set thermal.method = {POPULATION_METHOD!r} for that")
    if case.lattice.walls != HALF_WAY:
        raise InputError(f"heat spreads in the walls {solids}; set lattice.walls = {HALF_WAY!r} for that")
    if any(case.flow.acceleration_m_s2) or any(case.flow.pressure_drop_pa):
        raise InputError(
            f"heat spreads in the walls {solids}, and a body force would move what is in them; drive the flow by its"
            " openings, or let it rise"
        )


def _energy(coupling: float, difference_k: float, lattice: str) -> float:
    if coupling and not (difference_k > 0.0 and lattice in WITH_ENERGY):
        raise InputError(
            f"thermal.energy_coupling is {coupling}: it needs two walls or openings of different temperature_k, and"
            f" lattice.name {' or '.join(WITH_ENERGY)}; leave it out or give these"
        )
    return coupling / difference_k if coupling else 0.0


def _expansion(case: Case, diffusivity_m2_s: float, difference_k: float) -> float:
    thermal = case.thermal
    if thermal.rayleigh is None:
        return thermal.expansion_1_k
    if not difference_k > 0.0:
        raise InputError(
            "thermal.rayleigh needs two different temperatures; give temperature_k to two of the walls or openings, or"
            " give thermal.expansion_1_k"
        )
    scale = np.linalg.norm(thermal.gravity_m_s2) * difference_k * thermal.length_m**3
    return thermal.rayleigh * case.fluid.viscosity_m2_s * diffusivity_m2_s / scale


def _conductance(wall: WallSection, spacing_m: float) -> float:
    """Conductance of a wall that conducts straight through, over that of a voxel of fluid."""
    return wall.conductivity_ratio * spacing_m / wall.thickness_m


def _boundary(case: Case, header: GeometryHeader, zero_k: float, spacing_m: float) -> ScalarBoundary:
    """Boundary conditions of the temperature: walls without one are adiabatic; openings without one are outflows."""
    conditions = {each.name: _condition(each, zero_k, spacing_m) for each in (*case.walls, *case.openings)}
    given = {name: condition for name, condition in conditions.items() if condition}
    return scalar_boundary(header, given, at_inlets=OUTFLOW)


def _condition(section, zero_k: float, spacing_m: float) -> Condition | None:
    """The condition at a wall or an opening; None without one."""
    if getattr(section, "thickness_m", None) is not None:
        b = _conductance(section, spacing_m)
        return Condition(FLUX, 2.0 * b * (section.temperature_k - zero_k) / (2.0 + b), (2.0 - b) / (2.0 + b))
    if section.temperature_k is not None:
        return Condition(FIXED, section.temperature_k - zero_k)
    gradient_k_m = getattr(section, "temperature_gradient_k_m", None)
    return None if gradient_k_m is None else Condition(FLUX, gradient_k_m * spacing_m)
