"""Pulsating flow beside the sound in it: a lattice fluid is compressible, and a wave needs its time through a vessel.

Between an inlet of given flow and an outlet of given pressure, L apart, a wave of angular frequency w stands as
cos(w (L - x) / c_s): the flow at the outlet is 1 / cos(w L / c_s) times that at the inlet, and resonates where sound
takes a quarter of the period. So the share of the period that sound takes is to be small for each harmonic that counts.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from muphy_lb.base.units import CS2
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.setup.advice.stability import MARGIN, time_step_key
from muphy_lb.setup.numerics import Numerics

LARGEST_SWELL = 0.05
"""Share of the largest harmonic by which sound may change another one, or that one, on its way."""

RESONANT = 0.2
"""Share of a period from which on a wave is said to resonate."""

LISTED = 4
"""Harmonics of which the shares are told."""

N_SAMPLES = 400
"""Times in a period at which a waveform is looked at."""


def sound_warnings(case: Case, header: GeometryHeader, waves: Mapping, numerics: Numerics) -> Iterator[str]:
    """A warning of each waveform of an opening of which sound takes a noticeable share, with a time step that helps.

    Args:
        case: the case.
        header: its geometry; sound goes at least from opening to opening, and through a bent vessel further.
        waves: the factors of the openings by their keys, with ``period_s``.
        numerics: the time step and the number of steps.
    """
    n_voxels, units = _way(header), numerics.units
    sound_s = n_voxels / math.sqrt(CS2) * units.time_step_s
    for name, factor in waves.items():
        size = _harmonics(factor)
        share = np.arange(1, size.size + 1) * sound_s / factor.period_s
        allowed = np.sqrt(2.0 * LARGEST_SWELL * size.max() / np.maximum(size, 1e-30)) / (2.0 * math.pi)
        late = np.flatnonzero((share > allowed) & (size > LARGEST_SWELL * size.max()))
        if not late.size:
            continue
        slower = float((allowed[late] / share[late]).min())
        listed = ", ".join(f"{100.0 * share[k]:.2g} % of harmonic {k + 1}" for k in late[:LISTED])
        more = f" and more of {late.size - LISTED} others" if late.size > LISTED else ""
        yield (
            f"{name}: sound takes {sound_s / units.time_step_s:,.0f} steps from opening to opening, {n_voxels} voxels,"
            f" which is {listed}{more} (of its period): {_effect(share[late])}; set"
            f" {_remedy(case, numerics, MARGIN * slower)}, or cut the geometry to"
            f" {max(1, int(MARGIN * slower * n_voxels))} voxels"
        )


def _way(header: GeometryHeader) -> int:
    """Longest distance of two openings [voxels]; of one from the other end of the box."""
    centres = [opening.centre_m for opening in header.openings]
    ways = [math.dist(a, b) / header.spacing_m for a, b in combinations(centres, 2)]
    return round(max(ways, default=max(header.shape)))


def _harmonics(factor) -> np.ndarray:
    """Amplitudes of the harmonics 1, 2, ... of a factor."""
    values = factor(np.arange(N_SAMPLES) * (factor.period_s / N_SAMPLES))
    return np.abs(np.fft.rfft(values))[1 : N_SAMPLES // 4] * (2.0 / N_SAMPLES)


def _effect(share: np.ndarray) -> str:
    worst = float(share.max())
    if worst >= RESONANT:
        return "the fluid resonates, so that phases and amplitudes within are not those of incompressible flow"
    swell = 1.0 / math.cos(2.0 * math.pi * worst) - 1.0
    return f"phases within lag behind, and amplitudes are up to {100.0 * swell:.2g} % too large"


def _remedy(case: Case, numerics: Numerics, factor: float) -> str:
    """Settings with a shorter time step by a factor, for the same time."""
    units = replace(numerics.units, time_step_s=factor * numerics.units.time_step_s)
    key = time_step_key(case, units, numerics.reference_velocity_m_s, CS2)
    steps = f" and run.steps = {math.ceil(numerics.steps / factor)}" if case.run.steps is not None else ""
    return f"{key}{steps}"
