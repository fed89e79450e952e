"""Falls that are too fast for the lattice or its voxels, and which collision keeps surface tension stable where the
surface is not resolved.

The shortest waves of a surface, of two voxels, swing by its tension with omega^2 = sigma pi^3 / (rho dx^3) and decay
with 2 nu pi^2 / dx^2 (Lamb, Hydrodynamics, sections 266, 348). The square of the ratio of both is La / (4 pi) with the
Laplace number of a voxel La = sigma dx / (rho nu^2), which the time step does not change. Collisions that relax odd
moments with a rate of their own, trt and mrt, hardly relax them at a small viscosity, so that what a splash leaves in
these waves grows. A dam of 32 x 40 voxels on D2Q9 that breaks with trt continues at La = 100 and ends in NaN at La =
300, at all relaxation times from 0.504 to 0.536, with or without bounds for the curvature. A dam of 16 x 20 x 12 voxels
on D3Q19 ends so at La = 10, not at 3, with a relaxation time of 0.504, at 1000 also with an eddy viscosity. With the
collisions named here both stay finite, the former up to La = 10,000.
"""

from collections.abc import Iterator

import numpy as np

from muphy_lb.base.units import CS2, Units
from muphy_lb.operators import COMPRESSIBLE, MRT, TRT
from muphy_lb.operators.recursive_regularised import RECURSIVE_REGULARISED
from muphy_lb.operators.regularised import REGULARISED
from muphy_lb.setup.advice.stability import MAX_CELL_REYNOLDS, resolving, time_step_key

HARDLY_DAMPED = (TRT.name, MRT.name)
LARGEST_LAPLACE = 3.0  # Laplace number of a voxel up to which these collisions keep splashes stable


FASTEST_FALL = 0.1  # speed of falls [voxels a step] up to which the flow counts as incompressible
TOO_FAST_FALL = 0.2  # speed of falls [voxels a step] from which a run may diverge; splashes are up to twice as fast
DENSER = 0.01  # share by which the weight of the liquid may make it denser beside walls that move


NO_GAS = "the liquid fills all voxels: there is no free surface; check that [[free_surface.liquid]] is in metres"


def fall_warnings(case, units: Units, speed: float) -> Iterator[str]:
    """Warnings of the speed [voxels a step] that a fall through the height of the liquid reaches."""
    if speed > TOO_FAST_FALL:
        yield (
            f"a fall through the height of the liquid reaches {speed:.3g} voxels a step, above {TOO_FAST_FALL:g}: set"
            f" {_shorter(case, units, FASTEST_FALL / speed)}"
        )
    denser = 0.5 * speed**2 / CS2
    if denser > DENSER and any(
        np.any(wall.velocity_m_s or 0.0) or np.any(wall.rotation_rad_s or 0.0) for wall in case.walls
    ):
        yield (
            f"walls move, with the momentum of liquid of the density of the case; its weight makes it {denser:.2%}"
            " denser at the bottom, where they move it that much too slowly: set"
            f" {_shorter(case, units, np.sqrt(0.5 * DENSER / denser))}"
        )
    cell_reynolds = speed / units.viscosity_to_lattice(case.fluid.viscosity_m2_s)
    if cell_reynolds > MAX_CELL_REYNOLDS and case.lattice.smagorinsky is None:
        yield (
            "the liquid is not resolved: the cell Reynolds number, with the speed of a fall through the height of"
            f" the liquid, is {cell_reynolds:.3g}, above {MAX_CELL_REYNOLDS:g}; {resolving(case, units, cell_reynolds)}"
        )


def _shorter(case, units: Units, share: float) -> str:
    """The assignment of a time step that is a share of the present one."""
    reference = case.lattice.lattice_velocity
    reference_m_s = None if reference is None else units.velocity_to_si(reference)
    return time_step_key(
        case, Units(units.spacing_m, share * units.time_step_s, units.density_kg_m3), reference_m_s, CS2
    )


def tension_warnings(case, laplace: float) -> Iterator[str]:
    """A warning where the collision of a case does not go with its surface tension; ``laplace``: number of a voxel."""
    section = case.lattice
    if section.collision not in HARDLY_DAMPED or laplace <= LARGEST_LAPLACE:
        return
    kinds = (RECURSIVE_REGULARISED, REGULARISED)
    damping = (kind.name for kind in kinds if kind.is_for(section.name, COMPRESSIBLE.name))
    yield (
        f"lattice.collision is {section.collision!r} with surface tension: the Laplace number of a voxel, sigma dx /"
        f" (rho nu^2), is {laplace:.3g}, above {LARGEST_LAPLACE:g}, so that splashes, and sheets and drops of few"
        f" voxels, may end in NaN, whatever the time step: set lattice.collision = {next(damping)!r}"
    )
