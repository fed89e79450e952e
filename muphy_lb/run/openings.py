"""Flow rates and pressures of openings: summed over links, in SI units, kept over a change, and their balance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.arrays import WEIGHT_SHARE
from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.engine.engine import opening_sums
from muphy_lb.measure.flow_view import EngineView, FlowView, OpeningState


class KeptOpenings:
    """States of the openings of a flow.

    The flow through an opening follows from the populations and from the condition of the step that led to them. An
    engine to which the state has moved knows only the new condition, so for that one step the states are handed over.
    """

    def __init__(self) -> None:
        self._states: dict[str, OpeningState] | None = None
        self._step: int | None = None

    def present(self, flow: EngineView) -> dict[str, OpeningState] | None:
        """The states of the present step by name, on rank 0; collective."""
        if self._step == flow.step_number:
            return self._states if flow.communicator.rank == 0 else None
        sums = flow.communicator.total(opening_sums(flow.engine, len(flow.header.openings)))
        feedback = flow.engine.feedback
        return None if flow.communicator.rank else opening_states(flow, sums, feedback.record() if feedback else {})

    def restore(self, states: Mapping[str, OpeningState] | None, step: int) -> None:
        """Take the states of a step, on rank 0."""
        self._states, self._step = dict(states or {}), step

    def forget(self) -> None:
        """Measure again: the flow is another one."""
        self._states = self._step = None


def opening_states(view: FlowView, sums: np.ndarray, answers: Mapping[str, Sequence]) -> dict[str, OpeningState]:
    """The state of every opening by name. ``sums``: (n_openings, 3) of all ranks, see
    :meth:`muphy_lb.engine.engine.Engine.opening_sums`; ``answers``: state and value of each condition with feedback, by
    number of the opening."""
    flow = sums[:, 0] / SUM_SCALE
    deviation = WEIGHT_SHARE * sums[:, 1] / np.maximum(sums[:, 2], 1)
    return {
        record.name: _state(view, number, float(flow[number]), float(deviation[number]), answers.get(str(number), ()))
        for number, record in enumerate(view.header.openings)
    }


def _state(view: FlowView, number: int, entering: float, deviation: float, answer: Sequence) -> OpeningState:
    record, feedback, units = view.header.openings[number], view.conditions[number].feedback, view.units
    sign = 1.0 if record.kind == "inlet" else -1.0
    rate = units.flow_rate_to_si(entering)
    if feedback and feedback.flow is not None and view.step_number > 0:
        rate = -answer[feedback.flow]
    pascals_per_density = units.pascals_per_density(float(view.lattice.cs2))
    return OpeningState(
        kind=record.kind,
        area_m2=view.frames[number].area * view.header.spacing_m**2,
        flow_rate_m3_s=sign * rate,
        mean_pressure_pa=units.reference_pressure_pa + pascals_per_density * deviation,
        feedback=feedback.in_si(answer[:-1]) if feedback else {},
    )


@dataclass(frozen=True)
class Balance:
    """Inflow and outflow through all openings: at the last step, or averaged over a last period [s]."""

    inflow_m3_s: float
    outflow_m3_s: float
    period_s: float | None = None

    @classmethod
    def of_rates(cls, view: FlowView, rates_m3_s: Mapping[str, float], period_s: float | None = None) -> "Balance":
        """The balance of flow rates by the name of the opening, positive in the direction of its kind."""
        inlets = {opening.name for opening in view.header.openings if opening.kind == "inlet"}
        entering = [rate if name in inlets else -rate for name, rate in rates_m3_s.items()]
        inflow_m3_s, outflow_m3_s = (sum(max(sign * rate, 0.0) for rate in entering) for sign in (1.0, -1.0))
        return cls(inflow_m3_s, outflow_m3_s, period_s)

    @property
    def imbalance(self) -> float:
        """Inflow less outflow over the larger of them; 0 where nothing flows."""
        larger = max(self.inflow_m3_s, self.outflow_m3_s)
        return (self.inflow_m3_s - self.outflow_m3_s) / larger if larger > 0.0 else 0.0

    def __str__(self):
        return f"{self.inflow_m3_s:.5g} m3/s in, {self.outflow_m3_s:.5g} m3/s out"


def balance_of(view: FlowView) -> Balance | None:
    """The present balance of the openings, on rank 0; None without openings; collective."""
    states = view.openings() if view.header.openings else None
    return Balance.of_rates(view, {name: state.flow_rate_m3_s for name, state in states.items()}) if states else None


LEAST_CROSSING = 1e-3
"""Mean speed across openings over that inside, below which their balance consists of rounding and sound alone."""


def is_telling(view: FlowView, balance: Balance, mean_speed: float) -> bool:
    """Whether openings let through enough of what flows inside, at a mean speed [voxels per time step], for their
    balance to judge the flow; a vessel with one opening and a lid that moves does not."""
    least = view.units.flow_rate_to_si(LEAST_CROSSING * mean_speed * sum(frame.area for frame in view.frames))
    return not max(balance.inflow_m3_s, balance.outflow_m3_s) < least
