"""Why a flow is, or was, unstable on its lattice, and the settings that help.

A lattice-Boltzmann flow loses its stability where the viscosity cannot damp what the voxels cannot resolve: where the
cell Reynolds number, u dx / nu, is large. Shorter time steps do not help: they bring the relaxation time nearer
to 1/2. Finer voxels do, and so does an eddy viscosity. Krueger et al., The Lattice Boltzmann Method (2017), sections
4.4 and 7.2; Hou et al., Fields Inst. Commun. 6, 151 (1996).

In an oblique pipe with interpolated walls, at a lattice velocity of 0.1, recursive-regularised on D3Q19 diverges below
a relaxation time of 0.507; where the cell Reynolds number was below 50, no such pipe did. With the moments of
:data:`~muphy_lb.operators.RECURSIVE_REGULARISED_NEAR_WALLS` bouzidi is finite from 0.5005 on, and central-linear from
0.502 on if a tenth of it is half-way bounce-back.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from muphy_lb.base.files import PREPARED
from muphy_lb.base.units import CS2, Units, relaxation_time, viscosity
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.case import Case
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.lattice import BASES
from muphy_lb.operators import MRT, RECURSIVE_REGULARISED, RECURSIVE_REGULARISED_NEAR_WALLS, RELAXATIONS, STOKES, TRT
from muphy_lb.operators.mrt import DEFAULT_RATES
from muphy_lb.operators.trt import MAGIC, MAGIC_HALF_WAY, odd_rate

MAX_CELL_REYNOLDS = 10.0  # largest cell Reynolds number, with the largest velocity, that is expected to be stable
MARGIN = 0.9  # fraction of a bound that a remedy uses
SMAGORINSKY = 0.16  # Smagorinsky constant that is proposed; of isotropic turbulence, Lilly (1967): 0.16 to 0.18

FOR_SMALL_VISCOSITY = ("cumulant", "recursive-regularised", "regularised")
"""Collisions for a relaxation time close to 1/2, the best first; not every one is for every velocity set."""

DAMPS_LESS_IN_THE_PLANE = "cumulant"
"""The one of them that on D2Q9 keeps vortices best and damps what voxels cannot resolve less than the others do."""

LEAST_ODD_RATE = 0.05
"""Rate of the odd moments of trt below which the shortest waves hardly decay: they collect what the flow cannot
resolve, behind inlets as a checkerboard of velocities, in vortices as enstrophy many times too large."""

MAX_CELL_REYNOLDS_OF_LAMBDA = 16.0
"""Largest cell Reynolds number at which a flow through openings is stable where Lambda sets the rate of all odd
moments: plug flows in channels diverge from 18 on, with vortices or without, and not at 15."""

MAX_CELL_REYNOLDS_OF_INFLOW = 6.0
"""Largest cell Reynolds number at which the shortest waves decay, with the same collisions, at the plane of a
pressure through which fluid enters: linearised steps grow from 6 on, for relaxation times of 0.51 to 0.56."""

SLOW_ODD_RATE = 0.5  # of odd moments, below which both hold

MAX_CELL_REYNOLDS_WITHOUT_EDDIES = {"bgk": (25.0, 40.0), "regularised": (20.0, 30.0)}
"""Largest cell Reynolds number at which streams with vortices through openings stay without an eddy viscosity, by
collision: from an inlet whose plug of a profile jumps at its rim, and otherwise (benchmarks/notes/openings.md)."""

CREEPING_CELL_REYNOLDS = 0.1  # cell Reynolds number below which a flow feeds nothing into the shortest waves

SHORT_RELAXATION_TIME = 0.51
MAX_FASTEST = 0.1
"""Largest velocity in the flow [voxels per time step] beyond which errors of compressibility are large."""

GOOD_FASTEST = 0.05
SURFACES = (".stl", ".obj", ".ply", ".vtp")  # endings of files whose voxel edge is free


def time_step_key(case: Case, units: Units, reference_m_s: float | None, cs2: float) -> str:
    """The assignment that gives the voxel edge and time step of ``units`` with the key of [lattice] that the case
    uses; ``reference_m_s`` is the velocity of lattice_velocity [m/s]."""
    if case.lattice.time_step_s is not None:
        return f"lattice.time_step_s = {units.time_step_s:.4g}"
    if case.lattice.lattice_velocity is not None:
        return f"lattice.lattice_velocity = {units.velocity_to_lattice(reference_m_s):.4g}"
    nu = units.viscosity_to_lattice(case.fluid.viscosity_m2_s)
    return f"lattice.relaxation_time = {relaxation_time(nu, cs2):.4g}"


def collision_for_small_viscosity(lattice: str, equilibrium: str) -> str:
    """The best collision for a relaxation time close to 1/2 on the velocity set and with the equilibrium of these
    names, of those that damp what voxels cannot resolve."""
    names = (name for name in FOR_SMALL_VISCOSITY if (lattice, name) != ("D2Q9", DAMPS_LESS_IN_THE_PLANE))
    return next(name for name in names if RELAXATIONS[name].is_for(lattice, equilibrium))


def weak_odd_rate(case: Case, tau: float, cell_reynolds: float) -> Iterator[str]:
    """A warning of trt where its odd rate is small and the flow is not creeping; ``cell_reynolds`` is 0 if unknown."""
    section = case.lattice
    is_creeping = section.equilibrium == STOKES.name or 0.0 < cell_reynolds < CREEPING_CELL_REYNOLDS
    if section.collision != TRT.name or is_creeping or tau <= 0.5:
        return
    rate = odd_rate(1.0 / tau, (section.model_extra or {}).get(MAGIC, MAGIC_HALF_WAY))
    if rate < LEAST_ODD_RATE:
        yield (
            f"trt relaxes odd moments with {rate:.3g} at a relaxation time of {tau:.5g}, below {LEAST_ODD_RATE}: the"
            " shortest waves hardly decay and gather noise (a checkerboard of velocities behind inlets, which"
            f" falsifies pressures, and vorticity that is far too large); set {_better(section)}"
        )


def _better(section) -> str:
    """The assignment of a collision for small viscosity, and of a better one on another velocity set."""
    best = FOR_SMALL_VISCOSITY[0]
    fitting = collision_for_small_viscosity(section.name, section.equilibrium)
    text = f"lattice.collision = {fitting!r}"
    if fitting == best or (section.name == "D2Q9" and not RELAXATIONS[best].is_for(section.name, section.equilibrium)):
        return text
    solid_set = next(name for name in RELAXATIONS[best].lattices if name.startswith("D3"))
    other_set = "" if section.name == "D2Q9" else f"lattice.name = {solid_set!r} and "
    return text + f", or, for vortices that voxels just resolve, {other_set}lattice.collision = {best!r}"


def resolving(case: Case, units: Units, cell_reynolds: float) -> str:
    """The settings with which voxels resolve a flow that has too large a cell Reynolds number, or which make up
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
    stable = collision_for_small_viscosity(case.lattice.name, case.lattice.equilibrium)
    collision = "" if case.lattice.collision in FOR_SMALL_VISCOSITY else f"lattice.collision = {stable!r}"
    if case.fluid.law:
        return f"set {finer}" + (f", or {collision}" if collision else "")
    if case.lattice.smagorinsky is None:
        model = f"lattice.smagorinsky = {SMAGORINSKY}" + (f" and {collision}" if collision else "")
        return f"set {finer}, or keep the voxels and set {model} (large-eddy simulation)"
    return f"set {collision or f'a larger lattice.smagorinsky (it is {case.lattice.smagorinsky:g})'}, or {finer}"


def cause_and_remedy(
    case: Case, units: Units, fastest: float | None, reference_m_s: float | None, cs2: float, is_pushed: bool = False
) -> str:
    """Text: the most likely cause of a divergence, and settings that avoid it.

    Args:
        fastest: largest velocity that the case imposes [voxels per time step]; None if it imposes none.
        reference_m_s: velocity to which lattice.lattice_velocity refers [m/s].
        cs2: squared speed of sound of the lattice.
        is_pushed: whether pressures or forces drive the flow, so that it may be faster than what is imposed.
    """
    nu = units.viscosity_to_lattice(case.fluid.viscosity_m2_s)
    tau = relaxation_time(nu, cs2)
    limit = case.run.max_mach * math.sqrt(cs2)
    cell_reynolds = (fastest or limit) / nu

    def slower(factor: float) -> str:
        changed = Units(units.spacing_m, factor * units.time_step_s, units.density_kg_m3)
        return time_step_key(case, changed, reference_m_s, cs2)

    pushed = (
        "pressures or forces drive the flow faster than the lattice can carry at this time step: set"
        f" {slower(0.25)}, or a smaller drive"
    )
    if fastest is None and cell_reynolds <= 4.0 * MAX_CELL_REYNOLDS:
        return f"the case imposes no velocity, and its {pushed}"
    if cell_reynolds > MAX_CELL_REYNOLDS:
        known = "the cell Reynolds number, u dx / nu, is" if fastest else "the cell Reynolds number reaches"
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
    if is_pushed:
        return pushed
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


def wants_zones(case: Case, relaxation_time: float, cell_reynolds: float | None) -> bool:
    """Whether the openings of a case have zones (:mod:`muphy_lb.operators.opening_zone`): the Reynolds number of a
    voxel is large, or would be with the largest velocity for which errors of compressibility are small, if the case
    tells none; a creeping flow needs none."""
    most = MAX_CELL_REYNOLDS
    if cell_reynolds is None:
        cell_reynolds = MAX_FASTEST / viscosity(relaxation_time, CS2)
        if _odd_rate_of_lambda(case.lattice, relaxation_time) < SLOW_ODD_RATE:
            most = MAX_CELL_REYNOLDS_OF_INFLOW
    is_creeping = case.lattice.equilibrium == STOKES.name
    return bool(case.openings) and not is_creeping and cell_reynolds > most


def what_diverges(case: Case, tau: float, units: Units, cell_reynolds: float) -> str | None:
    """Why a flow through openings diverges at a cell Reynolds number, with a remedy; None where it stays. Either
    its collision relaxes all odd moments slowly, at which flows diverge behind their inlets, but with a law, or, in the
    plane, with an eddy viscosity; or it damps little, and nothing adds to its viscosity."""
    section = case.lattice
    is_plane = section.name.startswith("D2")
    is_modelled = (is_plane and section.smagorinsky is not None) or case.fluid.law is not None
    rate, speed_m_s = _odd_rate_of_lambda(section, tau), cell_reynolds * case.fluid.viscosity_m2_s / units.spacing_m
    number = f"the cell Reynolds number is {cell_reynolds:.3g}, at {speed_m_s:.3g} m/s"
    is_fast = cell_reynolds > MAX_CELL_REYNOLDS_OF_LAMBDA and wants_zones(case, tau, cell_reynolds)
    if is_fast and not is_modelled and rate < SLOW_ODD_RATE:
        model = f", or lattice.smagorinsky = {SMAGORINSKY}" if is_plane else ""
        return (
            f"{number}, and lattice.collision = {section.collision!r} relaxes odd moments with {rate:.3g} at a"
            f" relaxation time of {tau:.5g}: above {MAX_CELL_REYNOLDS_OF_LAMBDA:g} flow through openings diverges with"
            f" them; set {_better(section)}{model}"
        )
    most = undamped_limit(case)
    if cell_reynolds > most:
        inlet = " from an inlet with a plug profile" if _has_plug(case) else ""
        return (
            f"{number}: above {most:g} flow through openings{inlet} diverges with lattice.collision ="
            f" {section.collision!r} and no eddy viscosity: {resolving(case, units, cell_reynolds)}"
        )
    return None


def undamped_limit(case: Case) -> float:
    """Largest cell Reynolds number at which a flow through openings stays although its collision damps little and
    nothing adds to its viscosity; infinite where this is no concern."""
    section = case.lattice
    limits = MAX_CELL_REYNOLDS_WITHOUT_EDDIES.get(section.collision)
    is_creeping = section.equilibrium == STOKES.name
    if limits is None or section.smagorinsky is not None or case.fluid.law or is_creeping or not case.openings:
        return math.inf
    return limits[0 if _has_plug(case) else 1]


def _has_plug(case: Case) -> bool:
    return any(opening.profile == "plug" and not opening.has_pressure for opening in case.openings)


def _odd_rate_of_lambda(section: LatticeSection, tau: float) -> float:
    """The rate of all odd moments where Lambda sets it; infinite where anything else does."""
    given = section.model_extra or {}
    if section.collision == MRT.name:
        basis = BASES[section.name]
        default = DEFAULT_RATES[section.name] if given.get(MAGIC) is None else {}
        rates = default | given.get("rates", {})
        odd = (family for family in basis.adjustable if not basis.is_even(family))
        if any(rates.get(family, MAGIC) != MAGIC for family in odd):
            return math.inf
    elif section.collision != TRT.name:
        return math.inf
    return odd_rate(1.0 / tau, given.get(MAGIC, MAGIC_HALF_WAY))


BLENDED, SHORTEST_UNBLENDED = "central-linear", 0.505
"""The rule that needs half-way bounce-back besides, and the relaxation time below which it does."""

SHARE = 0.9  # share of that rule: a larger one diverges in narrow pipes, a smaller one makes walls less accurate


def wants_other_moments(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> bool:
    """Whether the collision of a section [lattice] is replaced by the one for the neighbourhood of walls; not where the
    cell Reynolds number is known to be small."""
    name, is_interpolated = RECURSIVE_REGULARISED.name, section.walls != HALF_WAY
    is_for = section.name in RECURSIVE_REGULARISED_NEAR_WALLS.lattices
    is_slow = cell_reynolds is not None and cell_reynolds <= MAX_CELL_REYNOLDS
    is_short = relaxation_time < SHORT_RELAXATION_TIME
    return section.collision == name and is_interpolated and is_for and is_short and not is_slow


def share_of_rule(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> float:
    """Share of the rule ``section.walls`` in what links into walls return; the rest is half-way bounce-back."""
    is_blended = section.walls == BLENDED and relaxation_time < SHORTEST_UNBLENDED
    return SHARE if is_blended and wants_other_moments(section, relaxation_time, cell_reynolds) else 1.0


def told(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> Iterator[str]:
    """The lines in the log of a run where anything of this applies."""
    if not wants_other_moments(section, relaxation_time, cell_reynolds):
        return
    share, blend = share_of_rule(section, relaxation_time, cell_reynolds), ""
    if share < 1.0:
        blend = f", and that walls return {1.0 - share:g} of what half-way ones would and {share:g} of their own rule"
    yield (
        f"{section.collision} with lattice.walls = {section.walls!r} diverges at oblique walls at a relaxation time of"
        f" {relaxation_time:.5g}: what keeps it finite is that its moments of third and fourth order are others than"
        f" from {SHORT_RELAXATION_TIME} on{blend}; lattice.collision = 'mrt', or 'cumulant' on 'D3Q27', needs neither"
    )
