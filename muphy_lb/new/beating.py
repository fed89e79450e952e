"""The tables of a new vessel through which a heart beats: its inlets, its outlets, its run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np

from muphy_lb.base.units import CS2, relaxation_time, viscosity
from muphy_lb.new import sizing
from muphy_lb.new.circulation import (
    MOST_BEATS,
    PERIODIC_TOLERANCE,
    SETTLED,
    Bed,
    Circulation,
    bed_of,
    ejection,
    longest_time_step_s,
    peak_inflow,
)
from muphy_lb.new.presets import Substance
from muphy_lb.setup.numerics import GOOD_LATTICE_VELOCITY

MARGIN = 0.9
SERIES_A_BEAT = 100
TRANSITS_A_BEAT = 40
"""Least times that sound passes through the vessel within a beat: with fewer its slow sound resounds with the beat."""
PEAK_OF_A_BEAT = 2.25 / 2.0 * peak_inflow()
"""Largest velocity that a case with the waveform is checked for, over that of the mean flow's paraboloid."""


@dataclass(frozen=True)
class Extent:
    """Sizes of a vessel.

    Attributes:
        spacing_m: voxel edge [m].
        length_m: longest edge of its box [m].
        peak: largest velocity anywhere over the mean one at the inlets at the same time.
    """

    spacing_m: float
    length_m: float
    peak: float


@dataclass(frozen=True)
class Flowing:
    """How a vessel is driven.

    Attributes:
        conditions: the keys of every opening that belong to the flow, by its name.
        sections: sections of the case that follow, besides the usual ones.
        drive: numerical parameters, if not the usual ones.
        notes: lines of text for the user.
    """

    conditions: Mapping[str, Mapping]
    sections: Mapping[str, Mapping] = field(default_factory=dict)
    drive: sizing.Drive | None = None
    notes: tuple[str, ...] = ()


def beating(circulation: Circulation, ends: tuple, velocity_m_s: float, extent: Extent, fluid: Substance) -> Flowing:
    """Inlets with the waveform, outlets with the networks that belong to it.

    Args:
        circulation: what is known of it.
        ends: inlets and outlets (:class:`~muphy_lb.geometry.openings.find.FoundOpening`).
        velocity_m_s: mean velocity at the inlets.
        extent: of the vessel.
        fluid: its density and viscosity.

    Raises:
        InputError: no networks give these pressures, or shares were given for other outlets.
    """
    inlets, outlets = ends
    bed = bed_of(circulation, velocity_m_s * sum(found.area_m2 for found in inlets))
    shares = circulation.shares_of({found.opening.name: found.equivalent_radius_m for found in outlets})
    conditions = {name: {"windkessel": bed.table(share)} for name, share in shares.items()}
    conditions |= {found.opening.name: _inlet(velocity_m_s * found.area_m2, circulation) for found in inlets}
    time_step_s = _time_step_s(bed, velocity_m_s, extent, fluid)
    tau = relaxation_time(fluid.kinematic_viscosity_m2_s * time_step_s / extent.spacing_m**2, CS2)
    drive = sizing.Drive(velocity_m_s * time_step_s / extent.spacing_m, round(bed.beat_s / time_step_s), 0, tau)
    notes = tuple(_notes(bed, shares))
    return Flowing(conditions, _sections(bed, drive, time_step_s), drive, notes)


def _inlet(flow_rate_m3_s: float, circulation: Circulation) -> dict:
    cosine, sine = zip(*ejection(), strict=True)
    waveform = {"period_s": circulation.beat_s, "cosine": list(cosine), "sine": list(sine)}
    return {"flow_rate_m3_s": sizing.rounded(flow_rate_m3_s, 5), "profile": "womersley", "waveform": waveform}


def _time_step_s(bed: Bed, velocity_m_s: float, extent: Extent, fluid: Substance) -> float:
    """The longest one with which pressures, velocities, viscosity and sound are what they should."""
    spacing_m, fastest_m_s = extent.spacing_m, PEAK_OF_A_BEAT * extent.peak * velocity_m_s
    bounds_s = (
        longest_time_step_s(bed, spacing_m, fluid.density_kg_m3, CS2),
        GOOD_LATTICE_VELOCITY * spacing_m / fastest_m_s,
        viscosity(sizing.LONGEST_RELAXATION_TIME, CS2) * spacing_m**2 / fluid.kinematic_viscosity_m2_s,
        bed.beat_s / TRANSITS_A_BEAT * spacing_m * sqrt(CS2) / extent.length_m,
    )
    return sizing.rounded(MARGIN * min(bounds_s), 2)


def _sections(bed: Bed, drive: sizing.Drive, time_step_s: float) -> dict:
    """The sections [flow], [lattice], [run] and [output]."""
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
