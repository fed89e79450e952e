"""States of the openings: measured from the engine, or kept from the one that was there before a change of the case."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from muphy_lb.engine.links_of_fluid import opening_sums
from muphy_lb.measure.flow_view import OpeningState
from muphy_lb.measure.opening_states import opening_states

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver


class KeptOpenings:
    """States of the openings of a simulation.

    What flows through an opening follows from the populations and from the condition of the step that led to them. An
    engine to which the state has moved knows only the new condition, so for that one step the states are handed over.
    """

    def __init__(self) -> None:
        self._states: dict[str, OpeningState] | None = None
        self._step: int | None = None

    def present(self, simulation: "Solver") -> dict[str, OpeningState] | None:
        """The states of the present step by name, on rank 0; collective."""
        if self._step == simulation.step_number:
            return self._states if simulation.communicator.rank == 0 else None
        engine, communicator = simulation.engine, simulation.communicator
        sums = communicator.total(opening_sums(engine, len(simulation.header.openings)))
        if communicator.rank:
            return None
        return opening_states(simulation, sums, engine.feedback.record() if engine.feedback else {})

    def restore(self, states: Mapping[str, OpeningState] | None, step: int) -> None:
        """Take the states of a step, on rank 0."""
        self._states, self._step = dict(states or {}), step

    def forget(self) -> None:
        """The flow is another one."""
        self._states = self._step = None
