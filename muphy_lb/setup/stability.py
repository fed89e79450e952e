"""Why a flow is, or was, unstable on its lattice, and the settings that help.

A lattice-Boltzmann flow loses its stability where the viscosity cannot damp what the voxels cannot resolve: where the
Reynolds number of a voxel, u dx / nu, is large. Shorter time steps do not help: they bring the relaxation time nearer
to 1/2. Finer voxels do, and so does an eddy viscosity. Krueger et al., The Lattice Boltzmann Method (2017), sections
4.4 and 7.2; Hou et al., Fields Inst. Commun. 6, 151 (1996).
"""

import math
from pathlib import Path

from muphy_lb.case.case import Case
from muphy_lb.files import PREPARED
from muphy_lb.units import Units, relaxation_time, viscosity

MAX_CELL_REYNOLDS = 10.0
"""Largest Reynolds number of a voxel, with the largest velocity, that is expected to be stable."""

MARGIN = 0.9
"""Fraction of a bound that a remedy uses."""

SMAGORINSKY = 0.16
"""Smagorinsky constant that is proposed; of isotropic turbulence, Lilly (1967): 0.16 to 0.18."""

STABLE = "regularised"
"""Collision that goes with it: trt at a fixed Lambda hardly damps the odd moments when the relaxation time is close to
1/2, and leaves a checkerboard of velocities behind an inlet."""

SHORT_RELAXATION_TIME = 0.51
MAX_FASTEST = 0.1
"""Largest velocity in the flow [voxels per time step] beyond which errors of compressibility are large."""

GOOD_FASTEST = 0.05
SURFACES = (".stl", ".obj", ".ply", ".vtp")
"""Endings of files whose voxel edge is free."""


def time_step_key(case: Case, units: Units, reference_m_s: float | None, cs2: float) -> str:
    """The assignment that gives the voxel edge and time step of ``units`` with the key of [lattice] that the case
    uses; ``reference_m_s`` is the velocity of lattice_velocity [m/s]."""
    if case.lattice.time_step_s is not None:
        return f"lattice.time_step_s = {units.time_step_s:.4g}"
    if case.lattice.lattice_velocity is not None:
        return f"lattice.lattice_velocity = {units.velocity_to_lattice(reference_m_s):.4g}"
    nu = units.viscosity_to_lattice(case.fluid.kinematic_viscosity_m2_s)
    return f"lattice.relaxation_time = {relaxation_time(nu, cs2):.4g}"


def resolving(case: Case, units: Units, cell_reynolds: float) -> str:
    """The settings with which voxels resolve a flow that has too large a Reynolds number of a voxel, or which make up
    for what they do not resolve."""
    factor = MARGIN * MAX_CELL_REYNOLDS / cell_reynolds
    edge_m = factor * units.spacing_m
    if case.geometry.shape or str(case.geometry.file).lower().endswith(SURFACES):
        finer = f"geometry.spacing_m = {edge_m:.3g}"
    elif Path(str(case.geometry.file)).suffix.lower() == PREPARED:
        finer = f"a geometry prepared with voxels of {edge_m:.3g} m"
    else:
        finer = f"geometry.options.resample_m = {edge_m:.3g}"
    if case.lattice.time_step_s is not None:
        finer += f" and lattice.time_step_s = {factor * units.time_step_s:.3g}"
    finer += f" ({factor**-3:.3g} times the nodes)" if 1.1 < factor**-3 < 1e6 else ""
    collision = "" if case.lattice.collision == STABLE else f"lattice.collision = '{STABLE}'"
    if case.lattice.smagorinsky is None:
        model = f"lattice.smagorinsky = {SMAGORINSKY}" + (f" and {collision}" if collision else "")
        return f"set {finer}, or keep the voxels and set {model} (large-eddy simulation)"
    return f"set {collision or f'a larger lattice.smagorinsky (it is {case.lattice.smagorinsky:g})'}, or {finer}"


def cause_and_remedy(case: Case, units: Units, fastest: float | None, reference_m_s: float | None, cs2: float) -> str:
    """Text: the most likely cause of a divergence, and settings that avoid it.

    Args:
        case: the case.
        units: those of the run.
        fastest: largest velocity that the case imposes [voxels per time step]; None if it imposes none.
        reference_m_s: velocity to which lattice.lattice_velocity refers [m/s].
        cs2: squared speed of sound of the lattice.
    """
    nu = units.viscosity_to_lattice(case.fluid.kinematic_viscosity_m2_s)
    tau = relaxation_time(nu, cs2)
    limit = case.run.max_mach * math.sqrt(cs2)
    cell_reynolds = (fastest or limit) / nu

    def slower(factor: float) -> str:
        changed = Units(units.spacing_m, factor * units.time_step_s, units.density_kg_m3)
        return time_step_key(case, changed, reference_m_s, cs2)

    if fastest is None and cell_reynolds <= 4.0 * MAX_CELL_REYNOLDS:
        return (
            "the case imposes no velocity, and its pressures or forces drive the flow faster than the lattice can carry"
            f" at this time step: set {slower(0.25)}, or a smaller drive"
        )
    if cell_reynolds > MAX_CELL_REYNOLDS:
        known = "the Reynolds number of a voxel, u dx / nu, is" if fastest else "the Reynolds number of a voxel reaches"
        slow = f", and with either {slower(GOOD_FASTEST / fastest)}" if fastest and fastest > MAX_FASTEST else ""
        return (
            f"{known} {cell_reynolds:.3g}, above {MAX_CELL_REYNOLDS:g}: the voxels are too coarse for this velocity and"
            f" viscosity, and a shorter time step does not change that: {resolving(case, units, cell_reynolds)}{slow}"
        )
    if fastest is not None and fastest > MAX_FASTEST:
        return (
            f"the velocity is {fastest:.3g} voxels per time step (Mach number {fastest / math.sqrt(cs2):.2g}): set"
            f" {slower(GOOD_FASTEST / fastest)}"
        )
    if tau < SHORT_RELAXATION_TIME and fastest:
        longest = viscosity(1.0, cs2) / nu
        return (
            f"the relaxation time {tau:.5g} is close to 0.5 because the time step is short: set"
            f" {slower(min(MAX_FASTEST / fastest, longest))}"
        )
    return (
        "velocity, viscosity and voxels fit each other, so a boundary is the likely cause: a value that rises too"
        f" quickly (set run.ramp_steps = {10 * max(100, case.run.ramp_steps)}), an outlet with flow coming back in (put"
        " it where the vessel is straight), or openings whose flows cannot all be met"
    )
