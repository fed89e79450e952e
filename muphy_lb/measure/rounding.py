"""Rounding errors of a flow in half precision.

Populations are rounded to within ``ULP`` of themselves in every step. Where a uniform force drives the flow, changes in
a step are smaller than that, and rounding holds the fluid back in each of the steps in which the force would give it
its speed. Where the pressure is larger than the velocity, as in narrow pores, its rounding hides the velocity.
"""

from collections.abc import Iterator

import numpy as np

from muphy_lb.base.precision import FP16
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.setup.force import uniform_acceleration_m_s2

ULP = 2.0**-12  # largest rounding error of a population in half precision, over the population
LOST = 0.7
"""Of ``ULP`` and of the steps in which the force would give the fluid its mean speed: share of the flow that is missing
between plates 8 to 32 voxels apart at viscosities of 0.02 to 0.5 (0.3 to 0.9); in ducts and packs of spheres a third of
that with ``trt``, less with ``bgk``."""
HIDDEN = 0.5
"""Of ``ULP`` and of the largest change of the density over the mean speed: by what share of that speed velocities at
nodes are off in rocks (0.2 to 0.6; 4 in a slit of one voxel, which rounds alike along its length); k of a rock whose
pores are a few voxels wide was off by half as much."""
LARGEST = 0.01  # share above which either gives a warning


def rounding_warnings(view: FlowView) -> tuple[str, ...]:
    """Reasons to doubt the numbers of a flow in half precision, sentences without a full stop; collective, the same on
    every rank."""
    return tuple(_warnings(view)) if view.case.compute.precision == FP16.name else ()


def lost_to_rounding(view: FlowView) -> float:
    """Share of a steady flow in half precision, driven by a uniform force, that is missing; 0 where openings or
    waveforms drive the flow. Collective, on every rank."""
    case, header = view.case, view.header
    if header.openings or case.flow.not_uniform:
        return 0.0
    force = float(np.linalg.norm(view.units.acceleration_to_lattice(uniform_acceleration_m_s2(case, header))))
    return LOST * ULP * view.health().mean_speed / force if force else 0.0


def hidden_by_rounding(view: FlowView) -> float:
    """Error of the velocity at a node of a flow in half precision over the mean speed, for the pressure there;
    collective, on every rank."""
    speed, change = view.health().mean_speed, view.largest_density_change()
    return HIDDEN * ULP * change / speed if speed else 0.0


def _warnings(view: FlowView) -> Iterator[str]:
    lost, hidden = lost_to_rounding(view), hidden_by_rounding(view)
    if lost > LARGEST:
        yield (
            f"half precision (compute.precision = 'fp16') rounds away up to {100.0 * lost:.2g} % of this flow, whose"
            " force changes populations by less than their digits in a step; give 'fp32', or a longer time step"
        )
    if hidden > LARGEST:
        yield (
            "half precision (compute.precision = 'fp16') rounds populations that hold far more pressure than velocity:"
            f" velocities at nodes are off by {100.0 * hidden:.2g} % of the mean speed or more; give 'fp32'"
        )
