"""A flow that is frozen (``run.frozen_after_s``): whether it was steady by then."""

from collections.abc import Sequence
from math import inf

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.run.criteria import FLOW_QUANTITIES, SteadyWatch
from muphy_lb.run.openings import balance_of, is_telling

UNSETTLED = 0.01
"""Change of a frozen flow, over its flow rates or its mean speed, that may have been still to come without a word."""
LOOKS = 4  # least number of looks at a flow until it is frozen


class FrozenFlow(Observer):
    """Watches a flow until it is frozen (``run.frozen_after_s``), and objects to one that was not steady by then."""

    name = "frozen"

    def __init__(self, view: FlowView):
        self._view, self._last = view, inf
        self.follow(view)

    def follow(self, view: FlowView) -> None:
        """Look at another flow from now on, the same after a change of its case; at what still flows again."""
        is_known = self._last == view.frozen_from <= view.step_number
        self._view, self._last = view, view.frozen_from
        if is_known:
            return
        self._watch, last, run = SteadyWatch(None), self._last, view.case.run
        self.every = max(1, min(run.steady_interval_steps, int(last) // LOOKS)) if last < inf and not view.beat else 0

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """One, where the flow is to be frozen."""
        return (cls(view),) if view.frozen_from < inf else ()

    def act(self) -> None:
        """Look at the flow until it is frozen."""
        if self._view.step_number <= self._view.frozen_from:
            groups = {name: FLOW_QUANTITIES[name](self._view) for name in ("mean_speed", "flow_rates")}
            if self._view.communicator.rank == 0:
                self._watch.look(groups)

    def _to_come(self) -> float:
        return max((rest for rests in self._watch.to_come_of.values() for rest in rests.values()), default=inf)

    def finish(self) -> dict | None:
        """The change of flow rates and mean speed that was still to come, relative to the largest, on rank 0; of a flow
        that repeats a beat how much this differs from the one before."""
        to_come, beat = self._to_come(), self._view.beat
        if beat:
            is_known = self._view.step_number >= self._view.frozen_from and self._view.communicator.rank == 0
            return {"beats_differ": beat.difference} if is_known else None
        return {"to_come": to_come} if to_come < inf and self._view.communicator.rank == 0 else None

    def objections(self) -> tuple[str, ...]:
        """A flow that was frozen too early: with changes to come, or with sound in it, so that less leaves than enters
        for good, however little its looks still changed."""
        view, after_s = self._view, self._view.case.run.frozen_after_s or 0.0
        if view.step_number < view.frozen_from:
            return ()
        to_come, off = self._to_come(), self._off_balance()
        found = f"about {100.0 * to_come:.2g} % of change of its flow rates or mean speed were still to come"
        if not UNSETTLED < to_come < inf:
            if not off > UNSETTLED:
                return ()
            found = f"what left was {100.0 * off:.2g} % off what entered, and is so for good"
        return (
            f"the flow was frozen after {after_s:.4g} s, when {found}; set run.frozen_after_s = {2.0 * after_s:.4g}, or"
            " later",
        )

    def _off_balance(self) -> float:
        """Difference of what enters and what leaves over the larger of them, where both must agree, on rank 0; 0
        elsewhere. Collective."""
        view = self._view
        if view.beat or not all(physics.keeps_balance for physics in view.physics):
            return 0.0
        balance, mean_speed = balance_of(view), view.health().mean_speed
        return abs(balance.imbalance) if balance and is_telling(view, balance, mean_speed) else 0.0

    def state(self) -> dict:
        """The last look, and what had changed."""
        return self._watch.record() | {"to_come_of": self._watch.to_come_of}

    def restore(self, state: dict) -> None:
        """Continue from them."""
        self._watch.restore(state)
        self._watch.to_come_of = state["to_come_of"]
