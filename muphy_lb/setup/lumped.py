"""From the outlets of a case that answer their flow to conditions with feedback, and what is to be expected of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.boundaries.feedback import (
    CoronaryBed,
    Impedance,
    ImposedPressure,
    LumpedOutlet,
    wave_impedance,
    windkessel,
)
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.outlets import CoronarySection, WindkesselSection

FEWEST_STEPS = 20
"""Time steps of the shortest time constant."""

MOST_DENSITY_CHANGE = 0.02
"""Largest change of the lattice density by the pressure behind an outlet."""

TRANSITS = 4.0
"""Times that sound takes through the box after which a share of the flow is corrected: faster, the inertia of the fluid
and the correction would oscillate."""

SUM_ERROR = 1e-6
"""Largest difference of the shares of a flow from 1."""


@dataclass(frozen=True)
class Place:
    """The opening that an outlet belongs to.

    Attributes:
        area_m2: its area [m2].
        extent_m: longest edge of the box of voxels [m].
        splitting: numbers of all openings with a share of the flow.
    """

    area_m2: float
    extent_m: float
    splitting: tuple[int, ...]


def lumped_outlet(section: OpeningSection, place: Place, units: Units, cs2: float) -> LumpedOutlet | None:
    """The network behind an opening; None where its pressure or velocity is given.

    Raises:
        InputError: a time constant is too short, or the pressure too far from the reference pressure.
    """
    impedance, imposed, answering = _network(section, place, units, cs2)
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
    every = answering.every_steps if answering is not None else 1
    return LumpedOutlet(impedance, imposed, start_pa, every, _beside(section, place))


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


def _network(section: OpeningSection, place: Place, units: Units, cs2: float):
    """(impedance, imposed pressure, its section) of an opening; nothing of one without a network."""
    waves = wave_impedance(place.area_m2, units, cs2)
    if (given := section.windkessel) is not None:
        return *_windkessel(given), given
    if (bed := section.coronary) is not None:
        return *_coronary(bed), bed
    if (split := section.flow_split) is not None:
        transit_s = place.extent_m / (math.sqrt(cs2) * units.speed_m_s)
        mode = (TRANSITS * transit_s / waves, math.inf)
        start_pa = split.initial_pressure_pa
        level = units.reference_pressure_pa if start_pa is None else start_pa
        return Impedance(waves, (mode,)), ImposedPressure(level), split
    if section.non_reflecting:
        return Impedance(waves), ImposedPressure(section.pressure_pa), None
    return None, None, None


def _windkessel(given: WindkesselSection) -> tuple[Impedance, ImposedPressure]:
    characteristic = given.characteristic_resistance_pa_s_m3 or 0.0
    impedance = windkessel(given.resistance_pa_s_m3, given.compliance_m3_pa, characteristic)
    return impedance, ImposedPressure(given.distal_pressure_pa)


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


def _beside(section: OpeningSection, place: Place) -> Mapping[int, float]:
    split = section.flow_split
    return {} if split is None else dict.fromkeys(place.splitting, -split.fraction)


def check_splits(sections: Sequence[OpeningSection]) -> None:
    """Raise InputError unless the shares of the flow add up to 1."""
    shares = {section.name: section.flow_split.fraction for section in sections if section.flow_split is not None}
    if shares and abs(sum(shares.values()) - 1.0) > SUM_ERROR:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        raise InputError(
            f"openings.flow_split: the fractions ({listed}) add up to {sum(shares.values()):g}; they must add up to 1:"
            " give every outlet its share, and no other outlet a pressure"
        )
