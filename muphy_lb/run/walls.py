"""Forces on labelled walls, and the stress beside walls: means of two steps, of which the state holds one."""

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from muphy_lb.engine.engine import kept_wall_exchange, wall_exchange
from muphy_lb.engine.transfers import Remembered
from muphy_lb.measure.flow_view import EngineView
from muphy_lb.measure.records import WallForce
from muphy_lb.measure.shear.stress import RecordedStress
from muphy_lb.measure.wall_forces import labelled_links, wall_forces


class WallMeasures:
    """The forces on the labelled walls of a flow and, with ``output.wall_shear``, its stress beside walls.

    Both belong to the instant of the velocity: they are means of the step that has led here, measured ahead of it by
    :meth:`remember`, and of the step ahead. Moving walls may leave an oscillation of period two, which the mean lacks.
    Every method is collective.
    """

    def __init__(self, flow: EngineView):
        self._flow = flow
        self._stress: RecordedStress | None = None
        self._forces: dict[str, WallForce] | None = None
        self._step: int | None = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """Let go of the nodes of this rank and of all measurements."""
        self.__dict__.pop("_labelled", None)
        self._exchange = Remembered[Callable[[], np.ndarray]]()
        self.forget()

    @property
    def are_measured(self) -> bool:
        """Whether the flow has labelled walls or records the stress."""
        return bool(self._flow.header.walls) or self._flow.case.output.wall_shear

    def remember(self) -> None:
        """Measure ahead of a step after which forces and stress may be asked for; the first call takes longer."""
        if self._flow.header.walls:
            self._exchange.keep(self._flow.engine, kept_wall_exchange(self._flow.engine))
        if stress := self.stress():
            stress.remember()

    def forces(self, averaged: bool = True) -> dict[str, WallForce] | None:
        """Force and torque on every labelled wall by name, on rank 0.

        Args:
            averaged: the mean of two steps, which is kept; else, and before the first step, that of the step ahead.
        """
        if not averaged:
            return self._measured([])
        if self._step != self._flow.step_number:
            self._forces = self._measured(self._exchange.of_last_step(self._flow.engine))
            self._step = self._flow.step_number
        return self._forces

    def stress(self) -> RecordedStress | None:
        """The stress beside walls; None if the case does not ask for it."""
        if self._flow.case.output.wall_shear and self._stress is None:
            self._stress = RecordedStress(self._flow)
        return self._stress if self._flow.case.output.wall_shear else None

    def restore(self, forces: Mapping[str, Mapping], stress: Mapping[str, np.ndarray]) -> None:
        """Take the forces of the present step, records by name of the wall, and the record of its stress, on rank 0."""
        if forces:
            found = {name: WallForce.from_record(record) for name, record in forces.items()}
            self._forces = found if self._flow.communicator.rank == 0 else None
            self._step = self._flow.step_number
        if recorded := self.stress():
            recorded.restore(stress)

    def forget(self) -> None:
        """Measure again: the flow is another one."""
        self._forces = self._step = None
        if self._stress:
            self._stress.forget()

    def _measured(self, behind: list[Callable[[], np.ndarray]]) -> dict[str, WallForce] | None:
        """The forces in the step ahead, averaged with those of the exchange behind."""
        labelled, links, distance = self._labelled
        exchange = np.mean([*(kept() for kept in behind), wall_exchange(self._flow.engine)], axis=0)
        return wall_forces(self._flow, links, distance, exchange[labelled])

    @cached_property
    def _labelled(self):
        return labelled_links(self._flow.part_nodes, self._flow.domain)
