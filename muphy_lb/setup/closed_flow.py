"""Flows that all openings of a case impose: what enters must leave, since no pressure makes up for a difference."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.numerics import GOOD_DENSITY_CHANGE, Numerics
from muphy_lb.setup.waveforms import waveform_factor

N_SAMPLES = 400
"""Times of a period at which the flows are added up."""


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
        case: the case.
        nodes: the geometry.
        areas_m2: area of each opening [m2] by name.
        numerics: units and length of the run.

    Raises:
        InputError: there is such a difference; with its size and a remedy.
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
