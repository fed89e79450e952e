"""Flow rates and pressures to be expected: imposed flows, of which as much must leave as enters, since no pressure
makes up for a difference; impedances and pressures of outlets with networks, and the time until they repeat."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages
from muphy_lb.base.units import CS2
from muphy_lb.boundaries.feedback import LumpedOutlet, wave_impedance
from muphy_lb.boundaries.opening_geometry import opening_areas_m2
from muphy_lb.case.boundaries import ANSWERING, OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.voxels import opening_title
from muphy_lb.setup.advice.stability import time_step_key, what_diverges
from muphy_lb.setup.boundaries import MOST_DENSITY_CHANGE, lumped_outlets
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.numerics import GOOD_DENSITY_CHANGE, Numerics
from muphy_lb.setup.waveforms import waveform_factor

N_SAMPLES = 400  # times of a period at which the flows are added up


def imposed_flow(case: Case, section: OpeningSection, area_m2: float):
    """(what enters through an opening of given velocity or flow rate [m3/s], its factor of time or None)."""
    rate_m3_s = section.given_flow_m3_s(case.fluid.density_kg_m3)
    if section.velocity_m_s is not None:
        rate_m3_s = section.velocity_m_s * area_m2
    return rate_m3_s, waveform_factor(case, section.waveform)


def refuse_unequal_flows(case: Case, nodes: GeometryHeader, areas_m2: Mapping[str, float], numerics: Numerics) -> None:
    """Refuse a case that would change the density of its fluid by more than 10 % within the run, because every opening
    imposes a flow and their sum is not zero. Where the fluid need not fill the geometry nothing is refused.

    Args:
        areas_m2: area of each opening [m2] by name.

    Raises InputError: there is such a difference; with its size and a remedy.
    """
    sections = opening_sections(nodes, case)
    is_closed = sections and not any(section.has_pressure for section in sections)
    if not is_closed or not all(physics.keeps_balance for physics in packages(case)):
        return
    duration_s = numerics.steps * numerics.units.time_step_s
    flows = [imposed_flow(case, section, areas_m2[section.name]) for section in sections]
    period_s = max((factor.period_s for _, factor in flows if factor is not None), default=duration_s)
    time_s = period_s / N_SAMPLES * (np.arange(N_SAMPLES) + 0.5)
    net = sum(rate * (np.ones(N_SAMPLES) if factor is None else factor(time_s)) for rate, factor in flows)
    volume_m3 = nodes.n_nodes * nodes.spacing_m**3
    drift = float(net.mean()) * duration_s / volume_m3
    swing = float(np.ptp(np.cumsum(net - net.mean()))) * period_s / N_SAMPLES / volume_m3
    if max(abs(drift), swing) <= GOOD_DENSITY_CHANGE:
        return
    more, less = ("enters", "leaves") if drift > 0.0 else ("leaves", "enters")
    what = (
        f"{abs(float(net.mean())):.4g} m3/s more {more} than {less}, which would change the density by"
        f" {100.0 * drift:+,.0f} % within the run of {duration_s:.4g} s"
    )
    if swing > abs(drift):
        what = (
            f"within a period of {period_s:.4g} s what enters and what leaves differ at times, which would change the"
            f" density by {100.0 * swing:,.0f} %"
        )
    names = ", ".join(section.name for section in sections)
    raise InputError(
        f"all openings of the case ({names}) impose a velocity or a flow rate: {what}; at most"
        f" {100.0 * GOOD_DENSITY_CHANGE:g} % is allowed: give one of them a pressure (pressure_pa, or a network such as"
        " windkessel), or flows that cancel"
    )


STEPS_A_PERIOD = 400  # times of a period at which the pressures are computed

MOST_PERIODS = 400
REPEATS = 0.01  # change from period to period, of the range of the pressure, at which it repeats

NEAR = 0.02
"""Share of its swing, or of the pressure itself, by which the pressure at the start may miss that of a period that
repeats itself unmentioned in the case."""

NO_DROP, LONG = 0.01, 1e3
"""Pressure drop of all outlets over the density times the square of the velocity, and their time constants over the
length of the run, beyond which they are of no effect."""

CGS = "1 mmHg s/mL is 1.333e8 Pa s/m3, 1 dyn s/cm5 is 1e5 Pa s/m3, and 1 mL/mmHg is 7.5e-9 m3/Pa"

LATE = 0.02  # share of its shortest time constant by which an outlet may be late without a warning


@dataclass(frozen=True)
class ExpectedPressure:
    """The pressure behind all outlets of a case in its last period, if the vessel had no resistance."""

    #: least_pa, mean_pa, most_pa: [Pa]
    least_pa: float
    mean_pa: float
    most_pa: float
    #: time after which a period is like the one before [s]; None if that takes longer than was computed
    repeats_s: float | None
    #: by the name of each outlet with a compliance, the pressure there at the beginning of a period that repeats
    #: itself, without what its flow adds at once [Pa]
    starts_pa: Mapping[str, float]


BEND_PLANE, BEND_ROUND = 0.15, 0.16
"""Pressure over density times the square of the largest velocity that a uniform inflow takes to become a parabola
between plates, or in a pipe: 1/2 (2/3)^2 0.67, 1/2 (1/2)^2 1.3 (Hagenbach's factor)."""

BLASIUS = 0.316  # friction factor times Re^(1/4) of smooth pipes (Blasius 1913)
STRAIGHT = 0.1  # share by which the volume of fluid may differ from that of a straight tube between two openings
HALVINGS = 50  # of the interval in which the speed lies


def refuse_diverging(case: Case, nodes: GeometryHeader, frames, numerics: Numerics) -> None:
    """Refuse a straight tube between two steady pressures, without a velocity in its case, that would diverge with the
    speed to be expected from them. In a vessel or a rock of another volume than that tube this speed is not known.

    Raises InputError: it would; with the speed and a remedy.
    """
    pairs = zip(opening_sections(nodes, case), frames, strict=True)
    given = [
        (section.pressure_pa, section.name, frame)
        for section, frame in pairs
        if section.pressure_pa is not None and section.waveform is None
    ]
    if numerics.cell_reynolds is not None or len(given) < 2:
        return
    (low_pa, outlet, last), (high_pa, inlet, first) = (choose(given, key=lambda row: row[0]) for choose in (min, max))
    if low_pa == high_pa:
        return
    length = float(np.linalg.norm(first.centroid - last.centroid))
    tubes = (each.of_voxels * length for each in (first, last))
    if any(abs(nodes.n_nodes - tube) > STRAIGHT * tube for tube in tubes):
        return
    length_m = length * nodes.spacing_m
    tube = (length_m, min(first.radius, last.radius) * nodes.spacing_m, nodes.shape[0] == 1)
    speed_m_s = tube_speed_m_s((high_pa - low_pa) / case.fluid.density_kg_m3, tube, case.fluid.viscosity_m2_s)
    cell_reynolds = speed_m_s * nodes.spacing_m / case.fluid.viscosity_m2_s
    reason = what_diverges(case, numerics.relaxation_time, numerics.units, cell_reynolds)
    if reason is not None:
        raise InputError(
            f"the {high_pa - low_pa:.4g} Pa between {inlet} and {outlet} would drive {speed_m_s:.3g} m/s through the"
            f" straight tube between them: {reason}; or, if the flow is slower, give its velocity as"
            " lattice.reference_velocity_m_s"
        )


def tube_speed_m_s(drop: float, tube: tuple[float, float, bool], nu: float) -> float:
    """Largest velocity [m/s] in a straight tube between two pressures: what is left of their difference by a uniform
    inflow that becomes a parabola is lost by the friction of laminar or, if it is larger, of turbulent flow.

    Args:
        drop: difference of the pressures over the density [m2/s2].
        tube: length [m], radius or half the width [m], whether it is a slit.
        nu: kinematic viscosity [m2/s].
    """
    length_m, radius_m, is_slit = tube
    bend = BEND_PLANE if is_slit else BEND_ROUND
    slow, fast = 0.0, math.sqrt(drop / bend)
    for _ in range(HALVINGS):
        speed = 0.5 * (slow + fast)
        mean = speed * (2.0 / 3.0 if is_slit else 0.5)
        laminar = (2.0 if is_slit else 4.0) * nu * length_m * speed / radius_m**2
        turbulent = BLASIUS * (2.0 * radius_m * mean / nu) ** -0.25 * 0.25 * mean**2 * length_m / radius_m
        lost = max(laminar, turbulent) + bend * speed**2
        slow, fast = (slow, speed) if lost > drop else (speed, fast)
    return 0.5 * (slow + fast)


def describe_outlets(case: Case, nodes: GeometryHeader, frames, numerics: Numerics) -> Iterator[str]:
    """Lines on the outlets with a network: impedance, reflection, and the pressure to be expected behind all of them.
    Raises InputError: an outlet that cannot be, or a pressure that changes the density too much."""
    sections, units = opening_sections(nodes, case), numerics.units
    outlets = lumped_outlets(case, nodes, frames, units, CS2)
    found = {section.name: outlet for section, outlet in zip(sections, outlets, strict=True)}
    for section, outlet, frame in zip(sections, outlets, frames, strict=True):
        if outlet is not None:
            waves = wave_impedance(frame.vessel_area * units.spacing_m**2, units, CS2)
            yield from _outlet_lines(section.name, outlet, waves, units.time_step_s)
    expected = _expected_pressure(case, sections, outlets, frames, numerics)
    if expected is not None:
        yield _pressure_line(expected, numerics)
        yield from _start_line(expected, found)
        _refuse_far(expected, case, numerics)


def outlet_doubts(case: Case, nodes: GeometryHeader, frames, numerics: Numerics) -> Iterator[str]:
    """Sentences on networks that have no effect at the flow and in the time of the run, as with numbers in cgs units;
    arguments as of :func:`describe_outlets`."""
    sections, units = opening_sections(nodes, case), numerics.units
    if case.fluid.density_kg_m3 == 1.0 or not any(getattr(s, key) for s in sections for key in ANSWERING):
        return  # without networks, or in units of its own
    outlets = lumped_outlets(case, nodes, frames, units, CS2)
    found = {s.name: o.impedance for s, o in zip(sections, outlets, strict=True) if o is not None and o.tells_modes}
    steady = {name: network.steady for name, network in found.items() if math.isfinite(network.steady)}
    duration_s, density = numerics.steps * units.time_step_s, case.fluid.density_kg_m3
    flow, area_m2 = _largest_flow(case, sections, frames, units.spacing_m)
    drop_pa = flow / sum(1.0 / each for each in steady.values()) if steady else math.inf
    inertia_pa = density * (flow / area_m2) ** 2 if area_m2 else 0.0
    if drop_pa < NO_DROP * inertia_pa:
        yield (
            f"the resistance behind {', '.join(steady)} drops {drop_pa:.3g} Pa at the flow of the case, which is"
            f" negligible beside {inertia_pa:.3g} Pa, its density times the square of its velocity: {CGS}"
        )
    for name, network in found.items():
        for tau_s in (tau_s for _, tau_s in network.modes if LONG * duration_s < tau_s < math.inf):
            yield (
                f"outlet {name} has the time constant {tau_s:.3g} s, resistance times compliance, in a run of"
                f" {duration_s:.3g} s: its pressure will not change; {CGS}"
            )


def _largest_flow(case: Case, sections, frames, spacing_m: float) -> tuple[float, float]:
    """The flow rate that enters through openings of given flow [m3/s], and the area of the other openings [m2]."""
    areas_m2 = [frame.area * spacing_m**2 for frame in frames]
    pairs = list(zip(sections, areas_m2, strict=True))
    flow = sum(abs(imposed_flow(case, *pair)[0]) for pair in pairs if not pair[0].has_pressure)
    return flow, sum(area_m2 for section, area_m2 in pairs if section.has_pressure)


def refuse_density_changes(case: Case, nodes: GeometryHeader, frames, numerics: Numerics) -> None:
    """Refuse openings that would change the lattice density too much: by flows that do not cancel, or by the pressure
    to be expected behind outlets; arguments as of :func:`describe_outlets`. Raises InputError: it would change by more
    than 10 % or 2 %."""
    refuse_unequal_flows(case, nodes, opening_areas_m2(nodes, frames), numerics)
    sections = opening_sections(nodes, case)
    outlets = lumped_outlets(case, nodes, frames, numerics.units, CS2)
    expected = _expected_pressure(case, sections, outlets, frames, numerics)
    if expected is not None:
        _refuse_far(expected, case, numerics)


def _outlet_lines(name: str, outlet: LumpedOutlet, waves: float, time_step_s: float) -> Iterator[str]:
    impedance = outlet.impedance
    taus = [tau_s for _, tau_s in impedance.modes if math.isfinite(tau_s) and outlet.tells_modes]
    steady = f"{impedance.steady:.4g} Pa s/m3" if math.isfinite(impedance.steady) else "that of its share"
    reflected = (impedance.resistance - waves) / (impedance.resistance + waves)
    text = f"; time constants {', '.join(f'{tau_s:.3g} s' for tau_s in taus)}" if taus else ""
    yield (
        f"{opening_title('outlet', name)}: resistance to a steady flow {steady}, at once"
        f" {impedance.resistance:.4g}, of a sound wave {waves:.4g} (it reflects {reflected:+.2f} of one){text}; updated"
        f" every {'step' if outlet.every == 1 else f'{outlet.every} steps'}"
    )
    late_s = outlet.late_s(waves, time_step_s)
    if taus and late_s > LATE * min(taus):
        yield (
            f"warning: outlet {name} answers {late_s:.2g} s late, {100.0 * late_s / min(taus):.2g} % of its time"
            " constant: give every_steps = 1, a larger compliance or a smaller time step"
        )


def _expected_pressure(case: Case, sections, outlets, frames, numerics: Numerics) -> ExpectedPressure | None:
    """None where it does not follow from the flow that enters: without such a flow, or where some of it leaves through
    an opening of given pressure or share."""
    answering = {pair[0].name: pair[1] for pair in zip(sections, outlets, strict=True) if pair[0].has_pressure}
    known = {
        name: each for name, each in answering.items() if each is not None and math.isfinite(each.impedance.steady)
    }
    found = list(known.values())
    areas_m2 = [frame.area * numerics.units.spacing_m**2 for frame in frames]
    inflow = [imposed_flow(case, *pair) for pair in zip(sections, areas_m2, strict=True) if not pair[0].has_pressure]
    if not found or not inflow or len(found) < len(answering):
        return None
    slowest_s = max((tau_s for outlet in found for _, tau_s in outlet.impedance.modes), default=0.0)
    periods_s = [factor.period_s for _, factor in inflow if factor is not None]
    periods_s += [outlet.imposed.period_s for outlet in found if math.isfinite(outlet.imposed.period_s)]
    period_s = max(periods_s, default=slowest_s / 10.0 or STEPS_A_PERIOD * numerics.units.time_step_s)
    step_s = period_s / STEPS_A_PERIOD
    n_periods = min(MOST_PERIODS, 2 + math.ceil(6.0 * slowest_s / period_s))
    time_s = step_s * np.arange(n_periods * STEPS_A_PERIOD)
    flow = sum(rate * (np.ones_like(time_s) if factor is None else factor(time_s)) for rate, factor in inflow)
    pressures, stored_pa = expected_pressures_pa(found, flow, step_s)
    pressure = pressures.reshape(n_periods, STEPS_A_PERIOD)
    change = np.abs(np.diff(pressure, axis=0)).max(axis=1)
    repeats = np.flatnonzero(change <= REPEATS * max(np.ptp(pressure[-1]), REPEATS * np.abs(pressure[-1]).max()))
    least, mean, most = (float(value) for value in (pressure[-1].min(), pressure[-1].mean(), pressure[-1].max()))
    starts_pa = {
        name: outlet.imposed.at_start_pa + float(stored)
        for (name, outlet), stored in zip(known.items(), stored_pa, strict=True)
        if outlet.impedance.modes
    }
    return ExpectedPressure(least, mean, most, float((repeats[0] + 1) * period_s) if repeats.size else None, starts_pa)


def _pressure_line(expected: ExpectedPressure, numerics: Numerics) -> str:
    lowest, highest = (
        numerics.units.pressure_to_density(value, CS2) for value in (expected.least_pa, expected.most_pa)
    )
    when = "not repeating within the reckoning"
    if expected.repeats_s is not None:
        when = f"repeating after {expected.repeats_s:.3g} s"
    return (
        f"pressure behind the outlets, without that of the vessel: {expected.least_pa:.4g} to {expected.most_pa:.4g}"
        f" Pa, mean {expected.mean_pa:.4g} Pa, {when}; lattice density {lowest:.4g} to {highest:.4g}"
    )


def _start_line(expected: ExpectedPressure, outlets: Mapping[str, LumpedOutlet | None]) -> Iterator[str]:
    """The pressures from which the flow repeats itself sooner, unless it starts near them."""
    swing_pa = expected.most_pa - expected.least_pa
    far = [
        name
        for name, start_pa in expected.starts_pa.items()
        if (outlet := outlets[name]) is not None
        and abs(outlet.start_pa - start_pa) > NEAR * max(swing_pa, abs(start_pa))
    ]
    if far and expected.repeats_s is not None:
        listed = ", ".join(f"{expected.starts_pa[name]:.5g} ({name})" for name in far)
        yield f"a flow that starts with initial_pressure_pa = {listed} repeats itself sooner"


def _refuse_far(expected: ExpectedPressure, case: Case, numerics: Numerics) -> None:
    """Raise InputError with the reference pressure or the time step, or both, that keep the density within 2 %. The
    pressure at a non-reflecting opening is that of sound, which the Mach number bounds."""
    units = numerics.units
    changes = [units.pressure_to_density(value, CS2) - 1.0 for value in (expected.least_pa, expected.most_pa)]
    worst, swing = max(changes, key=abs), 0.5 * (changes[1] - changes[0])
    if abs(worst) <= MOST_DENSITY_CHANGE or any(section.non_reflecting for section in case.openings):
        return

    def shorter(change: float) -> str:
        time_step_s = 0.99 * units.time_step_s * math.sqrt(MOST_DENSITY_CHANGE / abs(change))
        return time_step_key(case, replace(units, time_step_s=time_step_s), numerics.reference_velocity_m_s, CS2)

    middle_pa = 0.5 * (expected.least_pa + expected.most_pa)
    time_step = f", or {shorter(worst)}" if swing <= MOST_DENSITY_CHANGE else f" and {shorter(swing)}"
    raise InputError(
        f"the pressure behind the outlets would go from {expected.least_pa:.4g} to {expected.most_pa:.4g} Pa, which"
        f" changes the lattice density by {100.0 * worst:+.2g} %; at most {100.0 * MOST_DENSITY_CHANGE:g} % is allowed:"
        f" set flow.reference_pressure_pa = {middle_pa:.4g} (it is {units.reference_pressure_pa:g}){time_step}"
    )


def expected_pressures_pa(outlets: Sequence[LumpedOutlet], inflow_m3_s, step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """(n,) pressure behind all outlets if the vessel between them had no resistance, and (n_outlets,) what the
    compliances of each add to its pressure behind the last step [Pa].

    Args:
        outlets: with finite resistances.
        inflow_m3_s: (n,) what enters the vessel, one number a step.
        step_s: between two of these [s].
    """
    networks, n_steps = [outlet.impedance for outlet in outlets], len(inflow_m3_s)
    owner = np.repeat(np.arange(len(outlets)), [len(network.modes) for network in networks])
    decay = np.exp([-step_s / tau_s for network in networks for _, tau_s in network.modes])
    gain = np.array([each for outlet in outlets for each in outlet.gains(step_s)])
    stored = np.array([pressure for outlet in outlets for pressure in outlet.stored_pa()])
    at_once = np.array([network.resistance for network in networks]) + np.bincount(owner, gain, len(outlets))
    imposed = np.stack([outlet.imposed.at(step_s * np.arange(n_steps)) for outlet in outlets], axis=1)
    conductance = 1.0 / at_once
    found, together = np.empty(n_steps), conductance.sum()
    for n, flow in enumerate(inflow_m3_s):
        stored = decay * stored
        level = imposed[n] + np.bincount(owner, stored, len(outlets))
        found[n] = (flow + level @ conductance) / together
        stored += gain * ((found[n] - level) * conductance)[owner]
    return found, np.bincount(owner, stored, len(outlets))
