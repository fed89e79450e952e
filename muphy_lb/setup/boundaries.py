"""From a case's openings, walls and forces to lattice conditions, and their schedule in time."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import pi, sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import known, triple
from muphy_lb.base.units import CS2, Units, viscosity
from muphy_lb.boundaries.feedback import (
    EVERY,
    CoronaryBed,
    Impedance,
    ImposedPressure,
    LumpedOutlet,
    tube_impedance,
    wave_impedance,
    windkessel,
)
from muphy_lb.boundaries.opening_geometry import PRESSURE, VELOCITY, Condition, opening_links
from muphy_lb.boundaries.profiles import (
    PROFILES,
    TABLE_ERROR,
    Harmonics,
    PulsatileProfile,
    harmonics,
    measured,
    plug,
    pulsatile_profile,
)
from muphy_lb.boundaries.wall_balance import wall_balance
from muphy_lb.boundaries.wall_motion import (
    HALF_WAY,
    STATIONARY,
    WallMotion,
    linkwise_coefficients,
    treat_walls,
    wall_extent,
)
from muphy_lb.boundaries.waveform import DrivingForce, read_table
from muphy_lb.case.boundaries import CoronarySection, OpeningSection, WallSection
from muphy_lb.case.case import Case
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.domain import WallTreatment, streaming_named
from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER
from muphy_lb.lattice import Lattice
from muphy_lb.operators import STOKES
from muphy_lb.setup.advice.stability import share_of_rule
from muphy_lb.setup.geometry import opening_sections, remedy_for_name
from muphy_lb.setup.waveforms import factor_bounds, periods_s, waveform_factor

FEWEST_STEPS = 20  # time steps of the shortest time constant
MOST_DENSITY_CHANGE = 0.02  # largest change of the lattice density by the pressure behind an outlet

TRANSITS = 4.0
"""Times that sound takes through the box after which a share of the flow is corrected: faster, the inertia of the fluid
and the correction would oscillate."""

LATE = 0.5 / 360.0  # of a beat; largest delay of the pressure behind an outlet without a number of updates

SUM_ERROR = 1e-6  # largest difference of the shares of a flow from 1


def _lumped_outlet(section: OpeningSection, area_m2: float, extent_m: float, units: Units, cs2: float, beat_s: float):
    """The network behind an opening of a box of voxels with that longest edge, in a flow with that fastest beat; None
    where its pressure or velocity is given. InputError: a time constant is too short, or the pressure too far from the
    reference pressure."""
    impedance, imposed, answering = _network(section, area_m2, extent_m, units, cs2)
    if impedance is None:
        return None
    key = f"openings.{section.name}"
    for compliance, tau_s in impedance.modes:
        if tau_s < FEWEST_STEPS * units.time_step_s:
            raise InputError(
                f"{key}: a compliance of {compliance:.3g} m3/Pa empties in {tau_s:.3g} s, which is"
                f" {tau_s / units.time_step_s:.3g} time steps; at least {FEWEST_STEPS} are needed: give a larger"
                " compliance or resistance, or a smaller time step"
            )
    given = answering.initial_pressure_pa if answering is not None else imposed.mean_pa
    start_pa = units.reference_pressure_pa if given is None else given
    _check_start(f"{key}: the pressure at the start", start_pa, units, cs2)
    outlet = LumpedOutlet(impedance, imposed, start_pa, 1)
    if answering is None or answering.every_steps is not None:
        return outlet if answering is None else replace(outlet, every=known(answering.every_steps))
    return _in_time(outlet, wave_impedance(area_m2, units, cs2), units.time_step_s, beat_s)


def _in_time(outlet: LumpedOutlet, waves: float, time_step_s: float, beat_s: float) -> LumpedOutlet:
    """The outlet with the fewest updates that make its pressure late by ``LATE`` of a beat at most, or of 2 pi times
    its shortest time constant if the flow has no beat; a controller of shares need not be in time."""
    taus = [tau_s for _, tau_s in outlet.impedance.modes]
    late_s = LATE * min([beat_s, *(() if beat_s < math.inf else (2.0 * pi * tau_s for tau_s in taus))])
    for every in EVERY[:0:-1]:
        slower = replace(outlet, every=every)
        if math.inf in taus or slower.late_s(waves, time_step_s) <= late_s:
            return slower
    return outlet


def _check_start(what: str, pressure_pa: float, units: Units, cs2: float) -> None:
    """Raise InputError for a pressure that changes the lattice density by more than 2 %, with the time step that would
    do."""
    change = units.pressure_to_density(pressure_pa, cs2) - 1.0
    if abs(change) > MOST_DENSITY_CHANGE:
        step_s = units.time_step_s * math.sqrt(MOST_DENSITY_CHANGE / abs(change))
        raise InputError(
            f"{what} is {pressure_pa:.5g} Pa, the lattice density there would be {1.0 + change:.3g}; at most"
            f" {MOST_DENSITY_CHANGE:g} away from 1 is allowed: set flow.reference_pressure_pa near the mean pressure"
            f" (it is {units.reference_pressure_pa:g}), or a time step of {step_s:.2g} s at most"
        )


def _network(section: OpeningSection, area_m2: float, extent_m: float, units: Units, cs2: float):
    """(impedance, imposed pressure, its section) of an opening; nothing of one without a network."""
    waves = wave_impedance(area_m2, units, cs2)
    if (given := section.windkessel) is not None:
        characteristic = given.characteristic_resistance_pa_s_m3 or 0.0
        impedance = windkessel(given.resistance_pa_s_m3, given.compliance_m3_pa, characteristic)
        return impedance, ImposedPressure(given.distal_pressure_pa), given
    if (bed := section.coronary) is not None:
        return *_coronary(bed), bed
    if (split := section.flow_split) is not None:
        transit_s = extent_m / (math.sqrt(cs2) * units.speed_m_s)
        mode = (TRANSITS * transit_s / waves, math.inf)
        start_pa = split.initial_pressure_pa
        level = units.reference_pressure_pa if start_pa is None else start_pa
        return Impedance(waves, (mode,)), ImposedPressure(level), split
    if section.non_reflecting:
        return Impedance(waves), ImposedPressure(known(section.pressure_pa)), None
    return None, None, None


def _coronary(given: CoronarySection) -> tuple[Impedance, ImposedPressure]:
    bed = CoronaryBed(
        given.arterial_resistance_pa_s_m3,
        given.arterial_compliance_m3_pa,
        given.microcirculatory_resistance_pa_s_m3,
        given.myocardial_compliance_m3_pa,
        given.venous_resistance_pa_s_m3,
    )
    muscle = given.muscle_pressure
    if muscle is None:
        return bed.impedance(), ImposedPressure(given.venous_pressure_pa)
    n_waves = max(len(muscle.cosine_pa), len(muscle.sine_pa))
    series = [(*amplitudes, *[0.0] * (n_waves - len(amplitudes))) for amplitudes in (muscle.cosine_pa, muscle.sine_pa)]
    return bed.impedance(), bed.behind(given.venous_pressure_pa, ImposedPressure(0.0, muscle.period_s, *series))


WOMERSLEY = "womersley"
NEGLIGIBLE = 1e-6
"""Share of a waveform's range that its harmonics may leave without a warning: a series leaves rounding."""


def pulsatile_profiles(
    case: Case, nodes: NodeList, lattice: Lattice, frames, slip=()
) -> Mapping[int, PulsatileProfile]:
    """The profile of every opening with ``profile = "womersley"``, by number.

    The viscosity is that of the case's fluid, also with a viscosity law.

    Args:
        slip: numbers of the labelled walls that slip.

    Raises InputError: an opening without a cross-section, or walls that slip, which the profile does not know.
    """
    asking = {k: each for k, each in enumerate(opening_sections(nodes, case)) if each.profile == WOMERSLEY}
    if not asking:
        return {}
    if slip:
        name, wall = next(iter(asking.values())).name, nodes.walls[slip[0]].name
        raise InputError(
            f"openings.{name}.profile is {WOMERSLEY!r}, for which all walls are at rest, but wall {wall!r} slips; give"
            " another profile, or let the wall not slip"
        )
    links = opening_links(nodes, lattice)
    per_second = case.fluid.viscosity_m2_s / nodes.spacing_m**2
    return {
        number: pulsatile_profile(
            nodes,
            lattice,
            links.select(links.boundary == number),
            frames[number],
            (_harmonics(case, section), per_second),
        )
        for number, section in asking.items()
    }


def describe_profiles(case: Case, nodes: GeometryHeader, frames) -> Iterator[str]:
    """Lines on the openings whose flow rate pulsates: the Womersley number R sqrt(omega / nu), and the harmonics of the
    profile. Raises InputError: a waveform cannot be read."""
    sections = opening_sections(nodes, case)
    for section, frame in zip(sections, frames, strict=True):
        found = None if section.has_pressure else _harmonics(case, section)
        if found is not None:
            yield from _lines(case, section, frame.radius * nodes.spacing_m, found)


def _lines(case: Case, section: OpeningSection, radius_m: float, found: Harmonics) -> Iterator[str]:
    number = radius_m * sqrt(2.0 * pi / found.factor.period_s / case.fluid.viscosity_m2_s)
    text = f"openings.{section.name}: Womersley number {number:.3g} (radius {radius_m:.3g} m)"
    if section.profile != WOMERSLEY:
        yield f"{text}; its {section.profile} profile keeps its shape (profile = {WOMERSLEY!r} would not)"
        return
    rest = found.largest_rest()
    left = f", which leave {100.0 * rest:.2g} % of the swing to the steady one" if rest > NEGLIGIBLE else ""
    yield f"{text}; profile of {found.number.size} harmonics{left}"
    if rest > TABLE_ERROR:
        yield (
            f"warning: openings.{section.name}.waveform has more harmonics than the {found.number.size} whose profiles"
            " are computed; the flow rate is right all the same: smooth its table if that is not meant"
        )


def _harmonics(case: Case, section: OpeningSection) -> Harmonics | None:
    factor = waveform_factor(case, section.waveform)
    return None if factor is None else harmonics(factor)


# Rows of the schedule that are uploaded at a time while a value changes with time.
CHUNK = 1024

NO_PROFILES: Mapping[int, PulsatileProfile] = MappingProxyType({})


class BoundarySchedule:
    """The values of openings, wall velocities and body force as functions of time.

    A step from t - 1 to t uses boundary values at t - 1/2, as populations meet the boundaries half-way, and the force
    at the time of the collision: t for pull, t - 1 for push.

    Args:
        values: (n,) values of the openings, then 1 for every labelled wall that moves and 0 for others, then 1.
        factors: a waveform, or None, for each of them; behind these, for the openings whose profiles change their
            shape, ``(times_s) -> (K, columns)`` amplitudes, which the ramp leaves alone.
        force: body force, evaluated at the time after the step.
        ramp_steps: steps over which the values rise from rest as (1 - cos) / 2.
        held_from: step from which on all but the courses stays as it is.
        courses: ``(times_s) -> (K,)`` values behind the amplitudes.
        at_rest: (n,) what has been subtracted from each value, and what a waveform multiplies as well: the reference
            pressure of openings with a pressure. Zero if not given.
    """

    def __init__(
        self,
        values: np.ndarray,
        factors,
        force: DrivingForce,
        ramp_steps: int,
        time_step_s: float,
        at_rest=None,
        held_from: float = np.inf,
        courses=(),
    ):
        self.values, self._force = values, force
        self._held_from, self._courses = held_from, tuple(courses)
        self._at_rest = np.zeros(values.size) if at_rest is None else at_rest
        self._has_values = bool(np.any(values[:-1]))
        self._factors, self._amplitudes = tuple(factors[: values.size]), tuple(factors[values.size :])
        self._ramp_steps, self._time_step_s = ramp_steps, time_step_s

    @property
    def changes(self) -> bool:
        """Whether there is anything to schedule: openings, moving walls, a time-dependent force."""
        return self._has_values or self.is_periodic

    @property
    def is_periodic(self) -> bool:
        """Whether anything changes throughout the run."""
        return self._force.changes or any(
            factor is not None for factor in (*self._factors, *self._amplitudes, *self._courses)
        )

    @property
    def rises_until(self) -> int:
        """Step up to which the values rise from rest; 0 where all of them are zero."""
        return self._ramp_steps if self._has_values else 0

    def rows(self, step: int, stride: int = 1) -> tuple[np.ndarray, float]:
        """Values of the steps after ``step``, (K, n + columns + 3), and the step up to which they are valid; of those
        that are as long as some, values of their middle."""
        left = CHUNK if self.is_periodic else max(1, self._ramp_steps - step)
        n_rows = min(CHUNK, left)
        is_last = not self.is_periodic and n_rows == left
        middle = step + 0.5 * (1.0 + stride) + stride * np.arange(n_rows)
        return self.at(middle), np.inf if is_last else step + n_rows * stride

    def at(self, steps: np.ndarray) -> np.ndarray:
        """(K, n + columns + 3) values of given steps: ``values``, amplitudes, courses, force."""
        n_rows = len(steps)
        courses = [course((steps - 0.5) * self._time_step_s)[:, None] for course in self._courses]
        steps = np.minimum(steps, self._held_from)
        progress = np.clip(steps / self._ramp_steps, 0.0, 1.0) if self._ramp_steps else np.ones(n_rows)
        ramp = 0.5 - 0.5 * np.cos(np.pi * progress)
        rows = ramp[:, None] * self.values
        for column, factor in enumerate(self._factors):
            if factor is not None:
                share = factor((steps - 0.5) * self._time_step_s)
                rows[:, column] = rows[:, column] * share + ramp * self._at_rest[column] * (share - 1.0)
        shapes = [amplitudes((steps - 0.5) * self._time_step_s) for amplitudes in self._amplitudes]
        return np.hstack((rows, *shapes, *courses, self._force(steps * self._time_step_s)))


def opening_conditions(
    case: Case, nodes: GeometryHeader, frames, units: Units, cs2: float, profiles=NO_PROFILES
) -> tuple[Condition, ...]:
    """Lattice conditions of the openings, in the geometry's order; ``profiles``: of
    :func:`muphy_lb.setup.boundaries.pulsatile_profiles`, for those that ask for one."""
    sections = opening_sections(nodes, case)
    outlets = lumped_outlets(case, nodes, frames, units, cs2)
    is_ahead = not streaming_named(case.compute.streaming).stores_before_collision
    found = []
    for section, frame, outlet in zip(sections, frames, outlets, strict=True):
        if outlet is None:
            found.append(_condition(case, section, frame, units, cs2))
        else:
            area_m2 = frame.vessel_area * units.spacing_m**2
            feedback = outlet.feedback(area_m2, units, cs2, frame.conductance if is_ahead else None)
            found.append(Condition(PRESSURE, feedback.value, feedback=feedback))
    for k, profile in profiles.items():
        found[k] = replace(found[k], profile=profile.steady, pulsatile=profile if profile.n_columns else None)
    return tuple(found)


def lumped_outlets(case: Case, nodes: GeometryHeader, frames, units: Units, cs2: float) -> list[LumpedOutlet | None]:
    """The network behind each opening, in the geometry's order; None where its pressure or velocity is given. Raises
    InputError: a network that cannot be, or shares of the flow that do not add up to 1."""
    sections = opening_sections(nodes, case)
    splits = {number: section.flow_split for number, section in enumerate(sections) if section.flow_split is not None}
    total = sum(split.fraction for split in splits.values())
    if splits and abs(total - 1.0) > SUM_ERROR:
        listed = ", ".join(f"{sections[number].name} {split.fraction:g}" for number, split in splits.items())
        raise InputError(
            f"openings.flow_split: the fractions ({listed}) add up to {total:g}; they must add up to 1:"
            " give every outlet its share, and no other outlet a pressure"
        )
    extent_m, beat_s = max(nodes.shape) * units.spacing_m, min(periods_s(case).values(), default=math.inf)
    outlets = [
        _lumped_outlet(section, frame.vessel_area * units.spacing_m**2, extent_m, units, cs2, beat_s)
        for section, frame in zip(sections, frames, strict=True)
    ]
    for number, (section, frame) in enumerate(zip(sections, frames, strict=True)):
        if section.non_reflecting:
            outlets[number] = replace(
                known(outlets[number]),
                impedance=_tube_impedance(case, nodes, frame, units, cs2),
                tells_modes=False,
                carries_waves=case.lattice.equilibrium != STOKES.name,
            )
    for number, split in splits.items():
        outlets[number] = replace(outlets[number], beside=dict.fromkeys(splits, -split.fraction))
    return outlets


def _tube_impedance(case: Case, nodes: GeometryHeader, frame, units: Units, cs2: float) -> Impedance:
    """The impedance of sound in the vessel ahead of an opening."""
    spacing_m, is_plane = units.spacing_m, nodes.shape[0] == 1
    waves = wave_impedance(frame.vessel_area * spacing_m**2, units, cs2)
    if not frame.has_walls:
        return Impedance(waves)
    radius_m = frame.radius * spacing_m * (2.0 if is_plane else 1.0)
    transit_s = max(nodes.shape) * spacing_m / (math.sqrt(cs2) * units.speed_m_s)
    return tube_impedance(waves, radius_m, case.fluid.viscosity_m2_s, transit_s, FEWEST_STEPS * units.time_step_s)


def wall_motions(case: Case, nodes: NodeList, units: Units) -> tuple[WallMotion, ...]:
    """The motion of each labelled wall, in the geometry's order. ``nodes``: the whole geometry, or its datasets in a
    file. Raises InputError: the case names a wall that the geometry does not have, or that no fluid touches, or that
    would turn out of the plane of a two-dimensional flow, or whose motion would change the mass without end."""
    sections = {section.name: section for section in case.walls}
    names = [wall.name for wall in nodes.walls]
    for name in sections:
        if name not in names:
            remedy = remedy_for_name(name, names, "its box_m")
            raise InputError(f"walls.{name}: the geometry has no wall of that name; {remedy}")
        if not (nodes.label_number[...] == FIRST_WALL_NUMBER + names.index(name)).any():
            raise InputError(f"walls.{name}: no fluid touches this wall; check its box_m or the label in the image")
    for section in case.walls:
        _refuse_turns_out_of_plane(section, case.lattice.name)
        if not nodes.openings:
            _refuse_growing_mass(section, case.lattice)
    return tuple(_motion(sections.get(name), k, nodes, units) for k, name in enumerate(names))


def _refuse_turns_out_of_plane(section: WallSection, lattice: str) -> None:
    p, q, _ = section.rotation_rad_s or STATIONARY
    if lattice.startswith("D2") and (p or q):
        raise InputError(
            f"walls.{section.name}: it turns about x or y, but lattice {lattice} is two-dimensional; set these"
            " components to 0"
        )


def _refuse_growing_mass(section: WallSection, lattice: LatticeSection) -> None:
    if section.waveform is not None and lattice.walls != HALF_WAY and not lattice.wall_balance:
        raise InputError(
            f"walls.{section.name}: it has a waveform, and with lattice.wall_balance = false a fluid without openings"
            " gains mass without end beside such a wall (2 % in 1,000 steps at 0.1 voxels per time step); set"
            " lattice.wall_balance = true, or lattice.walls = 'half-way'"
        )


def build_schedule(
    case: Case, nodes: GeometryHeader, conditions, force: DrivingForce, units: Units, courses=()
) -> BoundarySchedule:
    """The schedule of a case's boundary values and force, and of the ``courses`` of scalars, functions of (K,) times
    [s]."""
    sections = opening_sections(nodes, case)
    walls = {section.name: section for section in case.walls}
    moving = [walls.get(wall.name) for wall in nodes.walls]
    factors = [waveform_factor(case, section.waveform) for section in sections]
    factors = [
        None if condition.pulsatile is not None else factor
        for condition, factor in zip(conditions, factors, strict=True)
    ]
    factors += [None if section is None else waveform_factor(case, section.waveform) for section in moving]
    scales = [float(wall is not None and bool(wall.velocity_m_s or wall.rotation_rad_s)) for wall in moving]
    values = np.array([*(condition.value for condition in conditions), *scales, 1.0])
    reference = units.reference_pressure_pa / units.pascals_per_density(CS2)
    at_rest = np.zeros(values.size)
    at_rest[: len(conditions)] = [reference if condition.kind == PRESSURE else 0.0 for condition in conditions]
    if streaming_named(case.compute.streaming).stores_before_collision:
        force = replace(force, delay_s=units.time_step_s)
    amplitudes = [condition.pulsatile.amplitudes for condition in conditions if condition.pulsatile is not None]
    run, factors = case.run, [*factors, None, *amplitudes]
    held_from = np.inf if run.replayed_instants is None else units.time_to_steps(run.frozen_after_s or 0.0)
    return BoundarySchedule(
        values, factors, force, run.ramp_steps, units.time_step_s, at_rest, held_from=held_from, courses=courses
    )


def wall_treatment(case: Case, motions: tuple[WallMotion, ...]) -> WallTreatment:
    """Treatment of the links into the walls of a case."""
    return treat_walls(case.lattice.walls, motions, streaming_named(case.compute.streaming).in_place)


def refuse_unreadable_walls(case: Case) -> None:
    """Raise InputError for interpolated walls with a streaming scheme that overwrites what they read."""
    if case.lattice.walls != HALF_WAY and not streaming_named(case.compute.streaming).fills_slots:
        raise InputError(
            f"lattice.walls is {case.lattice.walls!r}, which compute.streaming = {case.compute.streaming!r} does"
            f" not offer: there, what walls read is overwritten before; set compute.streaming = 'pull' or 'aa', or"
            f" lattice.walls = {HALF_WAY!r}"
        )


def link_conditions(
    domain, weights: tuple, conditions, walls: tuple[LatticeSection, float, float | None], motions, communicator
) -> tuple[LinkConditions, int]:
    """Conditions of one rank's links, and the number of interpolated links that use half-way bounce-back instead.

    Args:
        domain: the rank's nodes, with its part of the geometry.
        weights: (L,) weights of its opening links, and those of profiles that change their shape by number of the
            opening.
        walls: section of the case with the rule of the walls, the relaxation time [time steps], and the Reynolds
            number of a voxel, if known.
    """
    (lattice, tau, _), nodes = walls, domain.part.nodes
    is_creeping, has_eddies = lattice.equilibrium == STOKES.name, lattice.smagorinsky and lattice.walls == HALF_WAY
    nu = math.inf if is_creeping or has_eddies else viscosity(tau, float(domain.lattice.cs2))
    coefficients, n_fallback = linkwise_coefficients(nodes, domain, lattice.walls, motions, share_of_rule(*walls), nu)
    kind = np.array([condition.kind for condition in conditions], dtype=np.int64)
    value = np.append([condition.value for condition in conditions], np.ones(len(motions) + 1))
    feedback = {k: condition.feedback for k, condition in enumerate(conditions) if condition.feedback}
    balance = wall_balance(domain, lattice.walls, motions, communicator) if lattice.wall_balance else None
    momentum, profiles = weights
    return LinkConditions(momentum, kind, coefficients, value, feedback, balance, profiles), n_fallback


def _condition(case: Case, section: OpeningSection, frame, units: Units, cs2: float) -> Condition:
    if section.pressure_pa is not None:
        return Condition(PRESSURE, units.pressure_to_density(section.pressure_pa, cs2) - 1.0)
    profile = PROFILES.get(section.profile, plug)
    if section.profile_file:
        key = f"openings.{section.name}.profile_file"
        radius_m, velocity = read_table(case.folder / section.profile_file, key, "m")
        profile = measured(radius_m / units.spacing_m, velocity)
    value = units.velocity_to_lattice(section.velocity_m_s or 0.0)
    if section.velocity_m_s is None:
        value = units.flow_rate_to_lattice(section.given_flow_m3_s(units.density_kg_m3)) / frame.area
    return Condition(VELOCITY, value, profile, reverses=factor_bounds(section.waveform, case)[0] < 0.0)


def _motion(section: WallSection | None, number: int, nodes: NodeList, units: Units) -> WallMotion:
    extent = wall_extent(nodes, number)
    if section is None:
        return WallMotion(centre=extent.centre, extent=extent)
    velocity = np.array(section.velocity_m_s or STATIONARY)
    rotation = np.array(section.rotation_rad_s or STATIONARY)
    centre = np.array(extent.centre)
    if section.centre_m is not None:
        centre = (np.array(section.centre_m) - nodes.origin_m) / nodes.spacing_m
    vectors = (units.velocity_to_lattice(velocity), rotation * units.time_step_s, centre)
    return WallMotion(*triple(triple(vector.tolist()) for vector in vectors), section.slip, extent)
