"""Numerical parameters that follow from a case before the geometry is built; impossible ones are refused with a remedy.
The bounds follow Krueger et al., The Lattice Boltzmann Method (2017), chapter 7: the relaxation time stays above 1/2,
and the Mach number small, because the flow is incompressible only up to terms of order Ma^2."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import known
from muphy_lb.base.units import CS2, Units, relaxation_time, viscosity
from muphy_lb.boundaries.wall_motion import HALF_WAY, HALF_WAY_SHEAR
from muphy_lb.boundaries.waveform import read_table
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.operators import BGK, LAYERS
from muphy_lb.setup.advice.stability import (
    MARGIN,
    MAX_CELL_REYNOLDS,
    SHORT_RELAXATION_TIME,
    SMAGORINSKY,
    resolving,
    time_step_key,
    told,
    undamped_limit,
    wants_zones,
    weak_odd_rate,
    what_diverges,
)
from muphy_lb.setup.collision import refuse_two_closures, refuse_unsuitable
from muphy_lb.setup.waveforms import (
    factor_bounds,
    fastest_wave_s,
    largest_factor,
    refuse_other_periods,
    refuse_other_units,
)

MAX_STEPS = 10**12
MIN_STEPS_OF_A_WAVE = 2  # the sampling theorem: a faster wave looks like a slower one
MAX_LATTICE_VELOCITY = 0.3
GOOD_LATTICE_VELOCITY = 0.1
GOOD_MACH = 0.175  # that of GOOD_LATTICE_VELOCITY, 0.1 * sqrt(3), rounded up
LONG_RELAXATION_TIME = 2.0
GOOD_RELAXATION_TIME = 0.8
MAX_RELAXATION_TIME = 5.0  # the error of walls and viscosity grows with its square; far above, flows lose their mass
MAX_DENSITY_CHANGE = 0.5
GOOD_DENSITY_CHANGE = 0.1
FLOW_KEYS = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s")

# Largest over mean velocity of the profiles; that of a measured one follows from its table.
_PEAKS_2D = {"plug": 1.0, "parabolic": 1.5, "rectangular": 1.5, "womersley": 1.5}
_PEAKS_3D = {"plug": 1.0, "parabolic": 2.0, "rectangular": 2.25, "womersley": 2.25}
_POINTS = 400  # of the distances at which a measured profile is averaged
_NO_AREAS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Numerics:
    """The numerical parameters of a run; None where the case gives no velocity or no length."""

    units: Units  #: sizes of the lattice units
    relaxation_time: float  #: [time steps]
    viscosity_lattice: float  #: kinematic viscosity in lattice units
    reference_velocity_m_s: float | None  #: the case's, else the largest that an opening or a wall imposes [m/s]
    lattice_velocity: float | None  #: the reference velocity in lattice units
    mach: float | None  #: Mach number of the largest velocity in the case
    cell_reynolds: float | None  #: cell Reynolds number with that velocity
    reynolds: float | None  #: Reynolds number of the reference velocity and the diameter of the largest opening
    steps: int  #: number of time steps
    has_zones: bool = False  #: whether openings have zones (:mod:`muphy_lb.operators.opening_zone`)
    warnings: tuple[str, ...] = ()  #: warnings of one sentence each


@dataclass(frozen=True)
class _Plan:
    """A case with the quantities that determine its time step; ``fastest_m_s`` is 0 if no velocity is known."""

    case: Case
    spacing_m: float
    cs2: float
    reference_m_s: float | None
    fastest_m_s: float

    @property
    def viscosity_m2_s(self) -> float:
        return self.case.fluid.viscosity_m2_s

    def time_step_s(self) -> float:
        lattice = self.case.lattice
        if lattice.time_step_s is not None:
            return lattice.time_step_s
        if lattice.lattice_velocity is not None:
            return lattice.lattice_velocity * self.spacing_m / known(self.reference_m_s)
        return self.time_step_of_s(known(lattice.relaxation_time))

    def time_step_of_s(self, relaxation_time: float) -> float:
        """Time step [s] with which the fluid has this relaxation time."""
        return viscosity(relaxation_time, self.cs2) * self.spacing_m**2 / self.viscosity_m2_s

    @property
    def max_lattice_velocity(self) -> float:
        return min(MAX_LATTICE_VELOCITY, self.case.run.max_mach * math.sqrt(self.cs2))

    def key_for(self, time_step_s: float) -> str:
        """Assignment that gives this time step with the key of [lattice] that the case uses."""
        units = Units(self.spacing_m, time_step_s, self.case.fluid.density_kg_m3)
        return time_step_key(self.case, units, self.reference_m_s, self.cs2)

    def relaxation_time(self, time_step_s: float) -> float:
        return relaxation_time(self.viscosity_m2_s * time_step_s / self.spacing_m**2, self.cs2)


def resolve(
    case: Case,
    spacing_m: float | None = None,
    opening_areas_m2: Mapping[str, float] = _NO_AREAS,
    cs2: float = CS2,
) -> Numerics:
    """The numerical parameters of a case.

    Args:
        spacing_m: voxel edge of the built geometry [m]; default: the case's.
        opening_areas_m2: area of each opening [m2] by name; default: from the case's radius.
        cs2: squared speed of sound of the lattice.

    Raises InputError: the case cannot run: no voxel edge or reference velocity, relaxation time not above 1/2, or flow
    too fast for the lattice. The message suggests a value that works.
    """
    spacing_m = spacing_m or case.geometry.spacing_m
    if spacing_m is None:
        raise InputError("geometry.spacing_m is missing and the geometry contains none; give the voxel edge [m]")
    refuse_unsuitable(case.lattice)
    refuse_two_closures(case)
    refuse_other_units(case)
    areas_m2 = {opening.name: _area_m2(opening, case, spacing_m) for opening in case.openings} | dict(opening_areas_m2)
    plan = _plan(case, spacing_m, cs2, areas_m2)
    _refuse_unstable(plan)
    _refuse_aliased(plan)
    refuse_other_periods(case)
    area_m2, diameter_m = max((area for area in areas_m2.values() if area is not None), default=None), None
    if area_m2 is not None:
        is_plane = case.lattice.name.startswith("D2")
        diameter_m = area_m2 / spacing_m if is_plane else 2.0 * math.sqrt(area_m2 / math.pi)
    numerics = _numerics(plan, diameter_m)
    _refuse_compressible(numerics, plan)
    if numerics.cell_reynolds is not None:
        reason = what_diverges(case, numerics.relaxation_time, numerics.units, numerics.cell_reynolds)
        if reason is not None:
            raise InputError(reason)
    has_zones = wants_zones(case, numerics.relaxation_time, numerics.cell_reynolds)
    numerics = replace(numerics, has_zones=has_zones)
    return replace(numerics, warnings=tuple(_warnings(numerics, plan)))


def _area_m2(opening: OpeningSection, case: Case, spacing_m: float) -> float | None:
    """Area of an opening of known radius [m2]; in two dimensions a slit one voxel deep."""
    if opening.radius_m is None:
        return None
    if case.lattice.name.startswith("D2"):
        return 2.0 * opening.radius_m * spacing_m
    return math.pi * opening.radius_m**2


def _peak(case: Case, opening: OpeningSection) -> float:
    """Largest over mean velocity of the profile of an opening; of a measured one on a disc, or a slit, as wide as its
    table."""
    is_plane = case.lattice.name.startswith("D2")
    if opening.profile_file is None:
        return (_PEAKS_2D if is_plane else _PEAKS_3D)[opening.profile]
    distance, velocity = read_table(case.folder / opening.profile_file, f"openings.{opening.name}.profile_file", "m")
    radius = np.linspace(0.0, distance[-1], _POINTS)
    values, areas = np.interp(radius, distance, velocity), np.ones(_POINTS) if is_plane else radius
    mean = np.average(values, weights=areas)
    return float(np.abs(velocity).max() / abs(mean)) if mean else 1.0


def _plan(case: Case, spacing_m: float, cs2: float, areas_m2: Mapping) -> _Plan:
    imposed = [_imposed_m_s(opening, areas_m2[opening.name], case) for opening in case.openings]
    factors = [_peak(case, opening) for opening in case.openings]
    imposed += [math.hypot(*wall.velocity_m_s) if wall.velocity_m_s else None for wall in case.walls]
    factors += [1.0] * len(case.walls)
    swings = [largest_factor(section.waveform, case) for section in (*case.openings, *case.walls)]
    speeds = [(speed, f * w) for speed, f, w in zip(imposed, factors, swings, strict=True) if speed is not None]
    largest_m_s = max((speed for speed, _ in speeds), default=0.0)
    fastest_m_s = max((speed * factor for speed, factor in speeds), default=0.0)
    reference_m_s = case.lattice.reference_velocity_m_s or largest_m_s or None
    if reference_m_s is None and case.lattice.lattice_velocity is not None:
        raise InputError(
            f"lattice.lattice_velocity is {case.lattice.lattice_velocity} but the case has no velocity to refer to;"
            " give lattice.reference_velocity_m_s, or a radius_m to the opening with flow_rate_m3_s"
        )
    return _Plan(case, spacing_m, cs2, reference_m_s, max(fastest_m_s, reference_m_s or 0.0))


def _imposed_m_s(opening: OpeningSection, area_m2: float | None, case: Case) -> float | None:
    """Mean speed that an opening imposes [m/s]; None for a pressure, or a flow rate through an unknown area."""
    if opening.velocity_m_s is not None:
        return abs(opening.velocity_m_s)
    flow_m3_s = opening.given_flow_m3_s(case.fluid.density_kg_m3)
    return abs(flow_m3_s) / area_m2 if flow_m3_s is not None and area_m2 else None


def _numerics(plan: _Plan, diameter_m: float | None) -> Numerics:
    case, reference_m_s = plan.case, plan.reference_m_s
    time_step_s = plan.time_step_s()
    units = Units(plan.spacing_m, time_step_s, case.fluid.density_kg_m3, case.flow.reference_pressure_pa)
    fastest = units.velocity_to_lattice(plan.fastest_m_s)
    steps = case.run.steps or max(1, units.time_to_steps(known(case.run.time_s)))
    if steps > MAX_STEPS:
        raise InputError(
            f"the run would take {steps:.4g} steps of {time_step_s:.4g} s; at most {MAX_STEPS:.0e} are allowed: correct"
            " run.steps or run.time_s"
        )
    return Numerics(
        units=units,
        relaxation_time=case.lattice.relaxation_time or plan.relaxation_time(time_step_s),
        viscosity_lattice=units.viscosity_to_lattice(plan.viscosity_m2_s),
        reference_velocity_m_s=reference_m_s,
        lattice_velocity=units.velocity_to_lattice(reference_m_s) if reference_m_s else None,
        mach=fastest / math.sqrt(plan.cs2) if fastest else None,
        cell_reynolds=fastest / units.viscosity_to_lattice(plan.viscosity_m2_s) if fastest else None,
        reynolds=reference_m_s * diameter_m / plan.viscosity_m2_s if reference_m_s and diameter_m else None,
        steps=steps,
    )


def _refuse_unstable(plan: _Plan) -> None:
    lattice = plan.case.lattice
    time_step_s = plan.time_step_s()
    tau = lattice.relaxation_time or plan.relaxation_time(time_step_s)
    if tau <= 0.5:
        raise InputError(f"the relaxation time is {tau:.6g}; it must be above 0.5: {_remedy(plan)}")
    velocity = plan.fastest_m_s * time_step_s / plan.spacing_m
    if velocity > plan.max_lattice_velocity:
        raise InputError(
            f"the velocity of {plan.fastest_m_s:.4g} m/s is {velocity:.4g} voxels per time step (Mach number"
            f" {velocity / math.sqrt(plan.cs2):.3g}); at most {plan.max_lattice_velocity:.3g} is allowed"
            f" (run.max_mach = {plan.case.run.max_mach:g}): {_remedy(plan)}"
        )
    if tau > MAX_RELAXATION_TIME:
        fluid = plan.case.fluid
        cause = f"check fluid.dynamic_viscosity_pa_s = {fluid.dynamic_viscosity_pa_s} Pa s"
        if fluid.kinematic_viscosity_m2_s is not None:
            cause = (
                f"check fluid.kinematic_viscosity_m2_s = {fluid.kinematic_viscosity_m2_s:g} m2/s (a dynamic viscosity"
                " [Pa s] belongs in fluid.dynamic_viscosity_pa_s)"
            )
        raise InputError(
            f"the relaxation time is {tau:.4g}; at most {MAX_RELAXATION_TIME:g} is allowed, as walls become inaccurate:"
            f" {cause}; if it is right, with the voxel edge of {plan.spacing_m:.4g} m: set {_good_key(plan)}"
        )


def _refuse_aliased(plan: _Plan) -> None:
    """Raise InputError for a waveform whose fastest wave falls between the time steps: another one would be seen."""
    case, time_step_s = plan.case, plan.time_step_s()
    for where, waveform in case.waveforms.items():
        wave_s = fastest_wave_s(waveform, case)
        if wave_s < MIN_STEPS_OF_A_WAVE * time_step_s:
            raise InputError(
                f"{where} has a wave of {wave_s:.4g} s, which is {wave_s / time_step_s:.3g} time steps; at"
                f" least {MIN_STEPS_OF_A_WAVE} are needed to follow it: correct its times [s], leave out amplitudes, or"
                " take a smaller time step"
            )


def _remedy(plan: _Plan) -> str:
    """Settings with a good lattice velocity and relaxation time; finer voxels only if necessary."""
    good_velocity = min(GOOD_LATTICE_VELOCITY, 0.9 * plan.max_lattice_velocity)
    time_step_s = plan.time_step_of_s(GOOD_RELAXATION_TIME)
    if plan.fastest_m_s:
        time_step_s = min(time_step_s, good_velocity * plan.spacing_m / plan.fastest_m_s)
    least = good_velocity / (MARGIN * undamped_limit(plan.case))
    shortest = max(SHORT_RELAXATION_TIME, relaxation_time(least, plan.cs2))
    if plan.relaxation_time(time_step_s) >= shortest:
        return f"set {plan.key_for(time_step_s)}"
    cell_reynolds = good_velocity / viscosity(shortest, plan.cs2)
    finer = replace(plan, spacing_m=cell_reynolds * plan.viscosity_m2_s / plan.fastest_m_s)
    key = finer.key_for(finer.time_step_of_s(shortest))
    return f"set geometry.spacing_m = {finer.spacing_m:.4g} and {key}"


def _longer_relaxation(plan: _Plan) -> str:
    """Settings with a longer relaxation time; where no velocity is known, the condition that it must meet."""
    if plan.fastest_m_s:
        return _remedy(plan)
    return (
        f"{_good_key(plan)} makes it {GOOD_RELAXATION_TIME}, if the flow, whose speed the case does not state, then"
        f" stays below {GOOD_LATTICE_VELOCITY} voxels a step; else take finer voxels"
        + ("" if plan.case.fluid.law else f", or set lattice.smagorinsky = {SMAGORINSKY}")
    )


def _density_changes(numerics: Numerics, plan: _Plan) -> Iterator[tuple[OpeningSection, float]]:
    """Each opening with a pressure, and the lattice density there less 1, where it is farthest from 1."""
    for opening in plan.case.openings:
        if opening.pressure_pa is not None:
            pressures_pa = (opening.pressure_pa * factor for factor in factor_bounds(opening.waveform, plan.case))
            changes = (numerics.units.pressure_to_density(pressure_pa, plan.cs2) - 1.0 for pressure_pa in pressures_pa)
            yield opening, max(changes, key=abs)


def _refuse_compressible(numerics: Numerics, plan: _Plan) -> None:
    """Raise InputError for a pressure too large for the nearly incompressible method."""
    for opening, change in _density_changes(numerics, plan):
        if abs(change) > MAX_DENSITY_CHANGE:
            shorter_s = numerics.units.time_step_s * (0.99 * MAX_DENSITY_CHANGE / abs(change)) ** 0.5
            raise InputError(
                f"openings.{opening.name}.pressure_pa is {opening.pressure_pa:g}: the lattice density there would be"
                f" {1.0 + change:.3g}; at most {MAX_DENSITY_CHANGE} away from 1 is allowed: set"
                " flow.reference_pressure_pa amid the pressures of all openings (it is"
                f" {plan.case.flow.reference_pressure_pa:g}), or {plan.key_for(shorter_s)}"
            )


def _warnings(numerics: Numerics, plan: _Plan) -> Iterator[str]:
    tau, cell_reynolds = numerics.relaxation_time, numerics.cell_reynolds or 0.0
    is_coarse, is_modelled = cell_reynolds > MAX_CELL_REYNOLDS, plan.case.lattice.smagorinsky is not None
    if tau < SHORT_RELAXATION_TIME and not (is_coarse or is_modelled):
        yield f"the relaxation time {tau:.5g} is close to 0.5: the run may become unstable: {_longer_relaxation(plan)}"
    else:
        yield from weak_odd_rate(plan.case, tau, cell_reynolds)
    yield from told(plan.case.lattice, tau, numerics.cell_reynolds)
    if tau > LONG_RELAXATION_TIME:
        yield f"the relaxation time {tau:.4g} is long (inaccurate walls): set {_good_key(plan)}"
    longest = 0.5 + (tau - 0.5) * plan.case.fluid.largest_viscosity_m2_s / plan.viscosity_m2_s
    if longest > LONG_RELAXATION_TIME >= tau and plan.case.lattice.collision == BGK.name:
        yield (
            f"the law of the viscosity reaches a relaxation time of {longest:.4g}: above {LONG_RELAXATION_TIME:g} bgk"
            " falsifies the flow, by a tenth at 5 and two fifths at 44; set lattice.collision = 'trt'"
        )
    if (numerics.mach or 0.0) > GOOD_MACH:
        yield f"the Mach number {numerics.mach:.3g} is above {GOOD_MACH} (compressible): {_remedy(plan)}"
    if is_coarse and is_modelled:
        yield (
            f"the cell Reynolds number is {cell_reynolds:.3g}, above {MAX_CELL_REYNOLDS:g}: the Smagorinsky"
            " model keeps the flow stable, but what lies between the voxels, and the wall shear stress, are estimates"
        )
    elif is_coarse:
        yield (
            f"the cell Reynolds number is {cell_reynolds:.3g}, above {MAX_CELL_REYNOLDS:g}: the run may become"
            f" unstable; {resolving(plan.case, numerics.units, cell_reynolds)}"
        )
    for opening, change in _density_changes(numerics, plan):
        if abs(change) > GOOD_DENSITY_CHANGE:
            yield f"openings.{opening.name}: its pressure changes the lattice density by {change:.2g} (compressible)"
    if plan.case.output.wall_shear and plan.case.lattice.walls == HALF_WAY:
        yield HALF_WAY_SHEAR
    openings = plan.case.openings
    if openings and not any(opening.has_pressure for opening in openings):
        yield _without_pressure(openings)


def _without_pressure(openings: Sequence[OpeningSection]) -> str:
    """The pressure to be expected where every opening has a velocity or a flow rate."""
    values = [value for opening in openings for key in FLOW_KEYS if (value := getattr(opening, key))]
    names = ", ".join(opening.name for opening in openings)
    if all(opening.waveform is None for opening in openings) and values and min(values) * max(values) > 0.0:
        way, other, change = ("enters", "leave", "rises") if values[0] > 0.0 else ("leaves", "enter", "falls")
        return (
            f"no opening of the case has a pressure: fluid {way} by {names} and cannot {other} anywhere, so that the"
            f" pressure {change} without end; add an opening with pressure_pa = 0.0"
        )
    return "no opening of the case has a pressure: if flow rates do not cancel exactly, the pressure drifts"


def _good_key(plan: _Plan) -> str:
    return plan.key_for(plan.time_step_of_s(GOOD_RELAXATION_TIME))


def describe(numerics: Numerics, n_nodes: int, n_ranks: int, bytes_per_node: float) -> str:
    """A table as text: numerical parameters and size."""
    units = numerics.units
    memory_mib = math.ceil(n_nodes / n_ranks) * bytes_per_node / 2**20
    rows = {
        "voxel edge": f"{units.spacing_m:.4g} m",
        "time step": f"{units.time_step_s:.4g} s",
        "relaxation time": f"{numerics.relaxation_time:.5g}",
        "reference velocity": _or_unknown(numerics.reference_velocity_m_s, " m/s"),
        "lattice velocity": _or_unknown(numerics.lattice_velocity),
        "Mach number": _or_unknown(numerics.mach),
        "Reynolds number": _or_unknown(numerics.reynolds),
        "steps": f"{numerics.steps:,} ({units.steps_to_time(numerics.steps):.4g} s)",
        "fluid nodes": f"{n_nodes:,}",
        "memory per rank": f"{memory_mib:,.1f} MiB on {n_ranks} {'rank' if n_ranks == 1 else 'ranks'}",
    }
    if numerics.has_zones:
        rows["zones of openings"] = f"{LAYERS} voxels, with a regularised collision and an eddy viscosity"
    lines = [f"{name:<20}{value}" for name, value in rows.items()]
    return "\n".join(lines + [f"warning: {warning}" for warning in numerics.warnings])


def _or_unknown(value: float | None, unit: str = "") -> str:
    return "unknown before the run" if value is None else f"{value:.4g}{unit}"
