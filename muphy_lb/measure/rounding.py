"""The share of a flow that half precision rounds away."""

import numpy as np

from muphy_lb.base.precision import FP16
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.setup.force import uniform_acceleration_m_s2

ULP = 2.0**-12  # largest rounding error of a population in half precision, over the population
SHARE = 0.7
"""Of ``ULP`` and of the steps in which the force would give the fluid its mean speed: what is missing of the flow
between plates 8 to 32 voxels apart at viscosities of 0.02 to 0.5 (0.3 to 0.9) and in a pack of spheres."""
LARGEST_LOSS = 0.01  # share of the flow above which the loss is told


def lost_to_rounding(view: FlowView) -> float:
    """Share of a steady flow, driven by a uniform force, that is missing since half precision rounds the populations
    toward what they were; 0 in other precisions, and where openings or waveforms drive the flow. Collective, on every
    rank."""
    case, header = view.case, view.header
    if case.compute.precision != FP16.name or header.openings or case.flow.not_uniform:
        return 0.0
    force = float(np.linalg.norm(view.units.acceleration_to_lattice(uniform_acceleration_m_s2(case, header))))
    return SHARE * ULP * view.health().mean_speed / force if force else 0.0


def loss_text(share: float) -> str:
    """Warning of a loss, a sentence without a full stop."""
    return (
        f"half precision (compute.precision = 'fp16') rounds away some {100.0 * share:.2g} % of this flow, whose force"
        " changes populations by less than their digits in a step; give 'fp32', or a longer time step"
    )
