"""A new vessel through which a heart beats: a waveform at its inlets, at its outlets networks that give a mean pressure
and a pulse pressure.

The resistance of all outlets together is the mean pressure over the mean flow. Outlets share it by Murray's law, flow ~
radius^3 (Murray, Proc. Natl. Acad. Sci. USA 12, 207 (1926)), with another exponent, or as given; all have the same time
constants, so compliance goes with the share. Of each resistance ``CHARACTERISTIC`` lies in front of the compliance
(Laskey et al., J. Appl. Physiol. 69, 112 (1990), doi:10.1152/jappl.1990.69.1.112). The compliance is that with which
the networks alone, without the vessel, have the pulse pressure asked for: near the stroke volume over the pulse
pressure, which takes all of a stroke to be stored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, isfinite, pi, sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2, relaxation_time, viscosity
from muphy_lb.boundaries.feedback import windkessel
from muphy_lb.boundaries.waveform import FourierSeries
from muphy_lb.new import Substance, sizing
from muphy_lb.setup.numerics import GOOD_LATTICE_VELOCITY

CHARACTERISTIC = 0.056  # share of the resistance of an outlet that lies in front of its compliance
BEAT_S = 0.8  # 75 beats a minute
EXPONENT, EXPONENTS = 3.0, (1.0, 4.0)  # of Murray's law, and what it may be; 2.3 to 3 are found in arteries
EJECTION = 0.4  # share of a beat in which the heart ejects, as the square of a sine; an idealised waveform
N_HARMONICS = 8
MOST_BEATS = 40
SETTLED = 5.0  # time constants until the pressure repeats itself to the hundredth part
SUM_ERROR = 1e-3
DENSITY_CHANGE = 0.01  # change of the lattice density by the pulse: half of what an outlet may
N_PHASES = 400
PERIODIC_TOLERANCE = 0.01

MARGIN = 0.9
SERIES_A_BEAT = 100
TRANSITS_A_BEAT = 40
"""Least times that sound passes through the vessel within a beat: with fewer its slow sound resounds with the beat."""


@dataclass(frozen=True)
class Circulation:
    """The circulation that a vessel belongs to. Raises InputError: numbers that no circulation has."""

    mean_pressure_pa: float  #: mean pressure at the outlets [Pa]
    pulse_pressure_pa: float  #: highest less lowest pressure there [Pa]
    #: mean flow rate through all inlets [m3/s]; None: as the velocity of the case gives
    flow_rate_m3_s: float | None = None
    beat_s: float = BEAT_S  #: duration of a beat [s]
    exponent: float | None = None  #: of Murray's law
    #: of the flow by name of the outlet, in place of Murray's law; empty for that
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self):
        values = {"mean-pressure": self.mean_pressure_pa, "pulse-pressure": self.pulse_pressure_pa}
        values |= {"beat": self.beat_s, "flow-rate": 1.0 if self.flow_rate_m3_s is None else self.flow_rate_m3_s}
        for name, value in values.items():
            if not (value > 0.0 and isfinite(value)):
                raise InputError(f"new: --{name} is {value:g}; give a number above zero")
        if self.pulse_pressure_pa >= 2.0 * self.mean_pressure_pa:
            raise InputError(
                f"new: --pulse-pressure {self.pulse_pressure_pa:.5g} Pa around a mean of {self.mean_pressure_pa:.5g} Pa"
                " would fall below zero; give less than twice the mean (numbers are in Pa; '40 mmHg' has its unit)"
            )
        if self.exponent is not None and self.shares:
            raise InputError("new: --murray and --split are both given; the shares follow from one of them")
        low, high = EXPONENTS
        if self.exponent is not None and not low <= self.exponent <= high:
            raise InputError(f"new: --murray is {self.exponent:g}; it must be {low:g} to {high:g}, usually 3")
        if self.shares and (min(self.shares.values()) <= 0.0 or abs(sum(self.shares.values()) - 1.0) > SUM_ERROR):
            listed = ", ".join(f"{name} {share:g}" for name, share in self.shares.items())
            raise InputError(
                f"new: the shares of --split ({listed}) must be above zero and add up to 1; they add up to"
                f" {sum(self.shares.values()):g}"
            )

    def shares_of(self, radii_m: Mapping[str, float]) -> dict[str, float]:
        """Share of the flow of every outlet, by name, from their radii. Raises InputError: shares were given for other
        outlets."""
        if self.shares:
            if self.shares.keys() != radii_m.keys():
                raise InputError(
                    f"new: --split names {', '.join(self.shares)}, and the outlets are {', '.join(radii_m)}; give each"
                    " of them its share"
                )
            return {name: self.shares[name] / sum(self.shares.values()) for name in radii_m}
        powers = {name: radius_m ** (self.exponent or EXPONENT) for name, radius_m in radii_m.items()}
        return {name: power / sum(powers.values()) for name, power in powers.items()}


@dataclass(frozen=True)
class Bed:
    """All outlets together, fed by the waveform: mean flow rate, resistance [Pa s/m3], duration of a beat, compliance
    [m3/Pa]."""

    flow_rate_m3_s: float
    resistance: float
    beat_s: float
    compliance: float = 1.0

    @property
    def tau_s(self) -> float:
        """Time constant [s]."""
        return (1.0 - CHARACTERISTIC) * self.resistance * self.compliance

    def pressures_pa(self) -> np.ndarray:
        """Pressure at phases of a beat, once it repeats itself [Pa]."""
        front = CHARACTERISTIC * self.resistance
        impedance = windkessel(self.resistance - front, self.compliance, front)
        phase = 2.0 * pi * np.arange(N_PHASES) / N_PHASES
        number, waves = np.arange(1, N_HARMONICS + 1), np.array(ejection()) @ [1.0, -1j]
        answers = waves * [impedance.at(2.0 * pi * k / self.beat_s) for k in number]
        swing = (answers * np.exp(1j * np.multiply.outer(phase, number))).real.sum(axis=1)
        return self.flow_rate_m3_s * (self.resistance + swing)

    @property
    def start_pa(self) -> float:
        """Pressure in the compliance at the beginning of a beat, once beats repeat themselves [Pa]: a flow that starts
        from it is nearly periodic from its first beat on."""
        inflow_m3_s = self.flow_rate_m3_s * (1.0 + sum(cosine for cosine, _ in ejection()))
        return float(self.pressures_pa()[0]) - CHARACTERISTIC * self.resistance * inflow_m3_s

    def table(self, share: float) -> dict[str, float]:
        """The keys of the Windkessel of an outlet with a share of the flow."""
        resistance = self.resistance / share
        found = {
            "characteristic_resistance_pa_s_m3": CHARACTERISTIC * resistance,
            "resistance_pa_s_m3": (1.0 - CHARACTERISTIC) * resistance,
            "compliance_m3_pa": self.compliance * share,
            "initial_pressure_pa": self.start_pa,
        }
        return {key: float(f"{value:.5g}") for key, value in found.items()}


def ejection() -> tuple[tuple[float, float], ...]:
    """(cosine, sine) amplitudes of the harmonics of the inflow over its mean: the square of a sine during ejection."""
    phase = (np.arange(4096) + 0.5) / 4096
    wave = np.where(phase < EJECTION, np.sin(pi * phase / EJECTION) ** 2, 0.0)
    wave /= wave.mean()
    turns = [2.0 * pi * k * phase for k in range(1, N_HARMONICS + 1)]
    found = ((2.0 * (wave * np.cos(turn)).mean(), 2.0 * (wave * np.sin(turn)).mean()) for turn in turns)
    return tuple((round(float(cosine), 4) + 0.0, round(float(sine), 4) + 0.0) for cosine, sine in found)


def peak_inflow() -> float:
    """Largest inflow over its mean."""
    cosine, sine = zip(*ejection(), strict=True)
    return float(FourierSeries(1.0, 1.0, cosine, sine)(np.arange(N_PHASES) / N_PHASES).max())


def bed_of(circulation: Circulation, flow_rate_m3_s: float) -> Bed:
    """The bed with the mean pressure and the pulse pressure asked for. Raises InputError: no compliance gives this
    pulse pressure."""
    bed = Bed(flow_rate_m3_s, circulation.mean_pressure_pa / flow_rate_m3_s, circulation.beat_s)
    stroke_m3 = flow_rate_m3_s * circulation.beat_s

    def pulse_pa(factor: float) -> float:
        compliance = factor * stroke_m3 / circulation.pulse_pressure_pa
        return float(np.ptp(replace(bed, compliance=compliance).pressures_pa()))

    softest, stiffest = pulse_pa(1e4), pulse_pa(1e-6)
    if not softest < circulation.pulse_pressure_pa < stiffest:
        raise InputError(
            f"new: --pulse-pressure is {circulation.pulse_pressure_pa:.5g} Pa; with a mean of"
            f" {circulation.mean_pressure_pa:.5g} Pa and this waveform it can be {softest:.4g} to {stiffest:.4g} Pa"
        )
    factor = brentq(lambda exponent: pulse_pa(10.0**exponent) - circulation.pulse_pressure_pa, -6.0, 4.0)
    return replace(bed, compliance=10.0**factor * stroke_m3 / circulation.pulse_pressure_pa)


PEAK_OF_A_BEAT = 2.25 / 2.0 * peak_inflow()
"""Largest velocity that a case with the waveform is checked for, over that of the mean flow's paraboloid."""


class Flowing(NamedTuple):
    """How a vessel is driven: the keys of every opening that belong to the flow, by its name; further sections of the
    case; numerical parameters, if not the usual ones; lines of text for the user."""

    conditions: Mapping[str, Mapping]
    sections: Mapping[str, Mapping] = MappingProxyType({})
    drive: sizing.Drive | None = None
    notes: tuple[str, ...] = ()


def beating(
    circulation: Circulation, ends: tuple, velocity_m_s: float, peak: float, lengths_m: tuple, fluid: Substance
) -> Flowing:
    """Inlets with the waveform, outlets with the networks that belong to it.

    Args:
        ends: inlets and outlets (:class:`~muphy_lb.geometry.openings.find.FoundOpening`).
        velocity_m_s: mean velocity at the inlets.
        peak: largest velocity anywhere over the mean one at the inlets at the same time.
        lengths_m: of the edge of a voxel and of the longest edge of the box.
        fluid: its density and viscosity.

    Raises InputError: no networks give these pressures, or shares were given for other outlets.
    """
    inlets, outlets = ends
    bed = bed_of(circulation, velocity_m_s * sum(found.area_m2 for found in inlets))
    shares = circulation.shares_of({found.opening.name: found.equivalent_radius_m for found in outlets})
    conditions = {name: {"windkessel": bed.table(share)} for name, share in shares.items()}
    conditions |= {found.opening.name: _inlet(velocity_m_s * found.area_m2, circulation) for found in inlets}
    time_step_s = _time_step_s(bed, PEAK_OF_A_BEAT * peak * velocity_m_s, lengths_m, fluid)
    tau = relaxation_time(fluid.kinematic_viscosity_m2_s * time_step_s / lengths_m[0] ** 2, CS2)
    drive = sizing.Drive(velocity_m_s * time_step_s / lengths_m[0], round(bed.beat_s / time_step_s), 0, tau)
    notes = tuple(_notes(bed, shares))
    return Flowing(conditions, _sections(bed, drive, time_step_s), drive, notes)


def _inlet(flow_rate_m3_s: float, circulation: Circulation) -> dict:
    cosine, sine = zip(*ejection(), strict=True)
    waveform = {"period_s": circulation.beat_s, "cosine": list(cosine), "sine": list(sine)}
    return {"flow_rate_m3_s": sizing.rounded(flow_rate_m3_s, 5), "profile": "womersley", "waveform": waveform}


def _time_step_s(bed: Bed, fastest_m_s: float, lengths_m: tuple, fluid: Substance) -> float:
    """The longest one with which the change of density by the pulse, velocities, viscosity and sound are as they should
    be."""
    spacing_m, length_m = lengths_m
    swing_pa = float(np.abs(bed.pressures_pa() - bed.pressures_pa().mean()).max())
    bounds_s = (
        spacing_m / sqrt(swing_pa / (fluid.density_kg_m3 * CS2 * DENSITY_CHANGE)),
        GOOD_LATTICE_VELOCITY * spacing_m / fastest_m_s,
        viscosity(sizing.LONGEST_RELAXATION_TIME, CS2) * spacing_m**2 / fluid.kinematic_viscosity_m2_s,
        bed.beat_s / TRANSITS_A_BEAT * spacing_m * sqrt(CS2) / length_m,
    )
    return sizing.rounded(MARGIN * min(bounds_s), 2)


def _sections(bed: Bed, drive: sizing.Drive, time_step_s: float) -> dict:
    beats = min(MOST_BEATS, 3 + ceil(SETTLED * bed.tau_s / bed.beat_s))
    return {
        "flow": {"reference_pressure_pa": sizing.rounded(bed.flow_rate_m3_s * bed.resistance, 5)},
        "lattice": {"name": "D3Q19", "collision": drive.collision, "time_step_s": time_step_s},
        "run": {
            "time_s": sizing.rounded(beats * bed.beat_s, 6),
            "ramp_steps": 0,
            "periodic_tolerance": PERIODIC_TOLERANCE,
        },
        "output": {"series_every_steps": max(1, drive.steps // SERIES_A_BEAT)},
    }


def _notes(bed: Bed, shares: Mapping[str, float]) -> Iterator[str]:
    pressures = bed.pressures_pa()
    crude = bed.flow_rate_m3_s * bed.beat_s / np.ptp(pressures)
    yield (
        f"outlets: resistance {bed.resistance:.4g} Pa s/m3 and compliance {bed.compliance:.4g} m3/Pa together (stroke"
        f" volume over pulse pressure: {crude:.4g}), time constant {bed.tau_s:.3g} s; shares of the flow:"
        f" {', '.join(f'{name} {share:.3g}' for name, share in shares.items())}"
    )
    yield (
        f"expected behind the outlets: {pressures.min():.5g} to {pressures.max():.5g} Pa, mean {pressures.mean():.5g}"
        f" Pa, at a mean flow of {bed.flow_rate_m3_s:.4g} m3/s and {60.0 / bed.beat_s:.3g} beats a minute; the waveform"
        " is an idealised one: put a measured one into [openings.waveform]"
    )
