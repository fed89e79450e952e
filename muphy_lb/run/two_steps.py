"""TwoSteps: what a simulation tells as a mean of two steps, of which its state holds one."""

from typing import Any

from muphy_lb.measure.recorded_stress import RecordedStress
from muphy_lb.measure.wall_forces import WallForce
from muphy_lb.run.kept_forces import KeptForces


class TwoSteps:
    """The part of a simulation that measures ahead of a last step; see :class:`muphy_lb.run.solver.Solver`."""

    _forces: KeptForces
    _stress: RecordedStress | None = None

    def wall_forces(self: Any, averaged: bool = True) -> dict[str, WallForce] | None:
        """Force and torque of the fluid on every labelled wall, on rank 0; collective.

        Args:
            averaged: over the step that has led here and the one ahead, since moving walls may leave an oscillation of
                period two; so it belongs to the instant of the velocity. The answer is kept. Otherwise, and before the
                first step, the force of the step ahead.
        """
        return self._forces.kept(self) if averaged else self._forces.measured(self, averaged)

    def recorded_stress(self: Any) -> RecordedStress | None:
        """See :meth:`muphy_lb.measure.flow_view.FlowView.recorded_stress`."""
        if self.case.output.wall_shear and self._stress is None:
            self._stress = RecordedStress(self)
        return self._stress if self.case.output.wall_shear else None

    @property
    def tells_two_steps(self: Any) -> bool:
        """Whether there is anything that is told as a mean of two steps."""
        return bool(self.header.walls) or self.case.output.wall_shear

    def _advance_engine(self: Any, n_steps: int, is_told: bool) -> None:
        """Steps of the engine; ahead of the last one, what is told as a mean is measured."""
        if not (is_told and self.tells_two_steps):
            self.engine.advance(n_steps)
            return
        self.engine.advance(n_steps - 1)
        self.remember_walls()
        self.engine.advance(1)

    def remember_walls(self: Any) -> None:
        """Measure what the step ahead brings to walls and beside them; the first call, which takes longer, sets up how.
        Collective."""
        if self.header.walls:
            self._forces.remember(self)
        if stress := self.recorded_stress():
            stress.remember()

    def _forget_two_steps(self) -> None:
        """The flow is another one."""
        self._forces.forget()
        if self._stress:
            self._stress.forget()
