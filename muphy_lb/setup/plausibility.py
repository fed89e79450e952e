"""What the waveforms of a case will do, in words, and warnings where that or another value is hardly meant."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.voxels import Opening
from muphy_lb.setup.advice.expected_pressures import outlet_doubts
from muphy_lb.setup.numerics import FLOW_KEYS, Numerics
from muphy_lb.setup.sound import N_SAMPLES, sound_warnings
from muphy_lb.setup.stream import stream_warnings
from muphy_lb.setup.usual import unusual_values
from muphy_lb.setup.waveforms import waveform_factor

"""Times in a period at which a waveform is looked at."""

WHOLE = 0.99
"""Share of a period that counts as all of it: a run has a whole number of steps."""

ROUNDING = 1e-9
"""Mean of a waveform over its largest value below which it is 0."""

FEW_STEPS = 20
"""Fewer steps than these do not follow a period."""

USUAL_FACTORS = (0.1, 10.0)
"""Bounds of the largest factor of a waveform; a table of velocities in place of factors is usually outside."""


def plausibility(case: Case, header: GeometryHeader, frames, numerics: Numerics) -> list[str]:
    """Lines on the waveforms of a case, and warnings of values, openings and waveforms that are hardly meant.

    Args:
        case: the case.
        header: its geometry.
        frames: measures of the openings.
        numerics: the time step and the number of steps.

    Raises:
        InputError: the table of a waveform cannot be read.
    """
    lines, means = [], {}
    duration_s = numerics.steps * numerics.units.time_step_s
    waves = _waveforms(case)
    for name, factor in waves.items():
        times_s = np.arange(N_SAMPLES) * (factor.period_s / N_SAMPLES)
        values = factor(times_s)
        largest = float(np.abs(values).max())
        means[name] = float(values.mean()) if abs(values.mean()) > ROUNDING * largest else 0.0
        lines.append(
            f"{name}: period {factor.period_s:.4g} s, factors {values.min():.4g} to {values.max():.4g}, mean"
            f" {means[name]:.4g}; the run of {duration_s:.4g} s covers {duration_s / factor.period_s:.3g} periods"
        )
        doubts = _doubts(name, factor.period_s, largest, duration_s, numerics.units.time_step_s)
        lines += [f"warning: {text}" for text in doubts]
        if case.run.periodic_tolerance and WHOLE <= duration_s / factor.period_s < 1.0 + WHOLE:
            lines.append(
                f"warning: run.periodic_tolerance compares whole periods, and the run has one: give run.time_s ="
                f" {4.0 * factor.period_s:.4g} or more"
            )
    doubts = (
        *_against_their_kind(case, header.openings, means),
        *unusual_values(case, header, duration_s),
        *outlet_doubts(case, header, frames, numerics),
        *sound_warnings(case, header, {k: w for k, w in waves.items() if k.startswith("openings.")}, numerics),
        *stream_warnings(case, numerics),
    )
    return lines + [f"warning: {text}" for text in doubts]


def _waveforms(case: Case) -> Mapping:
    """The factor of every waveform, by its key in the case."""
    return {key: waveform_factor(case, section) for key, section in case.waveforms.items()}


def _doubts(name: str, period_s: float, largest: float, duration_s: float, time_step_s: float) -> Iterator[str]:
    if duration_s < WHOLE * period_s:
        yield (
            f"{name}: the run of {duration_s:.4g} s ends before one period of {period_s:.4g} s; give run.time_s ="
            f" {2.0 * period_s:.4g} or more, in place of run.steps, or check that the period is in seconds"
        )
    if period_s < FEW_STEPS * time_step_s:
        yield (
            f"{name}: its period of {period_s:.4g} s has {period_s / time_step_s:.3g} time steps, fewer than"
            f" {FEW_STEPS}; check that it is in seconds, or set lattice.time_step_s = {period_s / 1000.0:.2g} or less"
        )
    low, high = USUAL_FACTORS
    if not low <= largest <= high:
        yield (
            f"{name}: its largest factor is {largest:.4g}, usually {low:g} to {high:g}; it multiplies the value of the"
            " case: if it holds the values themselves, divide them by their mean, and give the mean as that value"
        )


def _against_their_kind(case: Case, openings: Iterable[Opening], means: Mapping[str, float]) -> Iterator[str]:
    """A text for every inlet through which fluid leaves, and outlet through which it enters."""
    sections = {section.name: section for section in case.openings}
    for opening in openings:
        section = sections[opening.name]
        key = _flow_key(section)
        mean = means.get(f"openings.{opening.name}.waveform", 1.0)
        net = 0.0 if key is None else getattr(section, key) * mean
        if net == 0.0 or (opening.kind == "inlet") == (net > 0.0):
            continue
        times = "" if mean > 0.0 else f" times {mean:.4g}, the mean of its waveform,"
        way, sign, other = ("leaves", "positive", "outlet") if net < 0.0 else ("enters", "negative", "inlet")
        # Where the geometry brings the opening it brings its kind as well, and a key would change nothing.
        meant = "" if section.centre_m is None else f" or, if it is meant, set kind = '{other}'"
        yield (
            f"openings.{opening.name}: fluid {way} by this {opening.kind}, as {key} = {getattr(section, key):g}{times}"
            f" counts along the normal, which points into the fluid; make it {sign}{meant}"
        )


def _flow_key(section: OpeningSection) -> str | None:
    """The key of the velocity or flow rate of an opening; None for a pressure."""
    return next((key for key in FLOW_KEYS if getattr(section, key) is not None), None)
