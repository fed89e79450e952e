"""The states of all openings in SI units, from what the device has summed over their links."""

from collections.abc import Mapping, Sequence

import numpy as np

from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.records import OpeningState


def opening_states(view: FlowView, sums: np.ndarray, answers: Mapping[str, Sequence]) -> dict[str, OpeningState]:
    """The state of every opening by name.

    Args:
        view: the flow.
        sums: (n_openings, 3) of all ranks, see :meth:`muphy_lb.engine.engine.Engine.opening_sums`.
        answers: state and value of each condition with feedback, by number of the opening.
    """
    flow = sums[:, 0] / SUM_SCALE
    deviation = sums[:, 1] / SUM_SCALE / np.maximum(sums[:, 2], 1)
    return {
        record.name: _state(view, number, float(flow[number]), float(deviation[number]), answers.get(str(number), ()))
        for number, record in enumerate(view.header.openings)
    }


def _state(view: FlowView, number: int, entering: float, deviation: float, answer: Sequence) -> OpeningState:
    record, feedback, units = view.header.openings[number], view.conditions[number].feedback, view.units
    sign = 1.0 if record.kind == "inlet" else -1.0
    pascals_per_density = units.pascals_per_density(float(view.lattice.cs2))
    return OpeningState(
        kind=record.kind,
        area_m2=view.frames[number].area * view.header.spacing_m**2,
        flow_rate_m3_s=sign * units.flow_rate_to_si(entering),
        mean_pressure_pa=units.reference_pressure_pa + pascals_per_density * deviation,
        feedback=feedback.in_si(answer[:-1]) if feedback else {},
    )
