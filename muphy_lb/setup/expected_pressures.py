"""What is to be expected of outlets with networks behind them: impedances, pressures, the time until they repeat."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from muphy_lb.boundaries.lumped import LumpedOutlet, wave_impedance
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.voxels import opening_title
from muphy_lb.setup.boundaries import lumped_outlets
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.lumped import MOST_DENSITY_CHANGE
from muphy_lb.setup.numerics import Numerics
from muphy_lb.setup.waveforms import waveform_factor
from muphy_lb.units import CS2

STEPS_A_PERIOD = 400
"""Times of a period at which the pressures are computed."""

MOST_PERIODS = 400
REPEATS = 0.01
"""Change from period to period, of the range of the pressure, at which it repeats."""

LATE = 0.02
"""Share of its shortest time constant by which an outlet may be late without a warning."""


def describe_outlets(case: Case, nodes: GeometryHeader, frames, numerics: Numerics) -> Iterator[str]:
    """Lines on the outlets with a network: impedance, reflection, and the pressure to be expected behind all of them.

    Args:
        case: the case.
        nodes: the geometry.
        frames: measures of its openings.
        numerics: units of the run.

    Raises:
        InputError: an outlet that cannot be.
    """
    sections, units = opening_sections(nodes, case), numerics.units
    found = lumped_outlets(nodes, sections, frames, units, CS2)
    areas_m2 = [frame.area * units.spacing_m**2 for frame in frames]
    for section, outlet, area_m2 in zip(sections, found, areas_m2, strict=True):
        if outlet is not None:
            yield from _outlet_lines(section.name, outlet, wave_impedance(area_m2, units, CS2), units.time_step_s)
    outlets = [outlet for outlet in found if outlet is not None and math.isfinite(outlet.impedance.steady)]
    inflow = [_inflow(case, *pair) for pair in zip(sections, areas_m2, strict=True) if not pair[0].has_pressure]
    if outlets and inflow:
        yield from _pressure_lines(outlets, inflow, numerics)


def _outlet_lines(name: str, outlet: LumpedOutlet, waves: float, time_step_s: float) -> Iterator[str]:
    impedance = outlet.impedance
    taus = [tau_s for _, tau_s in impedance.modes if math.isfinite(tau_s)]
    steady = f"{impedance.steady:.4g} Pa s/m3" if math.isfinite(impedance.steady) else "that of its share"
    reflected = (impedance.resistance - waves) / (impedance.resistance + waves)
    text = f"; time constants {', '.join(f'{tau_s:.3g} s' for tau_s in taus)}" if taus else ""
    yield (
        f"{opening_title('outlet', name)}: resistance to a steady flow {steady}, at once"
        f" {impedance.resistance:.4g}, of a sound wave {waves:.4g} (it reflects {reflected:+.2f} of one){text}"
    )
    late_s = outlet.late_updates(waves, time_step_s) * outlet.every * time_step_s
    if taus and late_s > LATE * min(taus):
        yield (
            f"warning: outlet {name} answers {late_s:.2g} s late, {100.0 * late_s / min(taus):.2g} % of its time"
            " constant: give every_steps = 1, a larger compliance or a smaller time step"
        )


def _inflow(case: Case, section: OpeningSection, area_m2: float):
    """(what enters through an opening [m3/s], its factor of time)."""
    rate = section.given_flow_m3_s(case.fluid.density_kg_m3)
    if section.velocity_m_s is not None:
        rate = section.velocity_m_s * area_m2
    return rate, waveform_factor(case, section.waveform)


def _pressure_lines(outlets: Sequence[LumpedOutlet], inflow, numerics: Numerics) -> Iterator[str]:
    slowest_s = max((tau_s for outlet in outlets for _, tau_s in outlet.impedance.modes), default=0.0)
    periods = [factor.period_s for _, factor in inflow if factor is not None]
    period_s = max(periods, default=slowest_s / 10.0 or STEPS_A_PERIOD * numerics.units.time_step_s)
    step_s = period_s / STEPS_A_PERIOD
    n_periods = min(MOST_PERIODS, 2 + math.ceil(6.0 * slowest_s / period_s))
    time_s = step_s * np.arange(n_periods * STEPS_A_PERIOD)
    flow = sum(rate * (np.ones_like(time_s) if factor is None else factor(time_s)) for rate, factor in inflow)
    pressure = expected_pressures_pa(outlets, flow, step_s).reshape(n_periods, STEPS_A_PERIOD)
    change = np.abs(np.diff(pressure, axis=0)).max(axis=1)
    repeats = np.flatnonzero(change <= REPEATS * max(np.ptp(pressure[-1]), REPEATS * np.abs(pressure[-1]).max()))
    least, mean, most = pressure[-1].min(), pressure[-1].mean(), pressure[-1].max()
    deviations = [numerics.units.pressure_to_density(value, CS2) - 1.0 for value in (least, most)]
    when = (
        f"repeating after {(repeats[0] + 1) * period_s:.3g} s" if repeats.size else "not repeating within the reckoning"
    )
    yield (
        f"pressure behind the outlets, without that of the vessel: {least:.4g} to {most:.4g} Pa, mean {mean:.4g} Pa,"
        f" {when}; lattice density {1.0 + deviations[0]:.4g} to {1.0 + deviations[1]:.4g}"
    )
    worst = max(deviations, key=abs)
    if abs(worst) > MOST_DENSITY_CHANGE:
        step_s = numerics.units.time_step_s * math.sqrt(MOST_DENSITY_CHANGE / abs(worst))
        yield (
            f"warning: that changes the lattice density by {100.0 * worst:+.2g} %, more than"
            f" {100.0 * MOST_DENSITY_CHANGE:g} %: set flow.reference_pressure_pa = {mean:.4g}, or a time step of"
            f" {step_s:.2g} s"
        )


def expected_pressures_pa(outlets: Sequence[LumpedOutlet], inflow_m3_s, step_s: float) -> np.ndarray:
    """(n,) pressure behind all outlets if the vessel between them had no resistance [Pa].

    Args:
        outlets: with finite resistances.
        inflow_m3_s: (n,) what enters the vessel, one number a step.
        step_s: between two of these [s].
    """
    networks = [outlet.impedance for outlet in outlets]
    stored = [np.array(outlet.stored_pa()) for outlet in outlets]
    decay = [np.exp([-step_s / tau_s for _, tau_s in network.modes]) for network in networks]
    gain = [np.array(outlet.gains(step_s)) for outlet in outlets]
    at_once = np.array([network.resistance + each.sum() for network, each in zip(networks, gain, strict=True)])
    imposed = np.array([outlet.imposed.mean_pa for outlet in outlets])
    found = np.empty(len(inflow_m3_s))
    for n, flow in enumerate(inflow_m3_s):
        stored = [kept * pressure for kept, pressure in zip(decay, stored, strict=True)]
        level = imposed + [pressure.sum() for pressure in stored]
        found[n] = (flow + (level / at_once).sum()) / (1.0 / at_once).sum()
        shares = (found[n] - level) / at_once
        stored = [pressure + each * share for pressure, each, share in zip(stored, gain, shares, strict=True)]
    return found
