"""Forces on labelled walls, measured once a step and kept: the mean of two steps, of which the state holds one."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.engine.links_of_fluid import kept_wall_exchange, wall_exchange
from muphy_lb.engine.remembered import Remembered
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.wall_forces import WallForce, labelled_links, wall_forces

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver


class KeptForces:
    """Forces on the labelled walls of a simulation.

    Args:
        nodes: this rank's part of the geometry.
        domain: the same with its links.
    """

    def __init__(self, nodes: NodeList, domain: LocalDomain):
        self._nodes, self._domain = nodes, domain
        self._forces: dict[str, WallForce] | None = None
        self._step: int | None = None
        self._exchange = Remembered[Callable[[], np.ndarray]]()

    def remember(self, simulation: "Solver") -> None:
        """Measure what the step ahead exchanges with walls; it is the last one before forces are told. Collective."""
        self._exchange.keep(simulation.engine, kept_wall_exchange(simulation.engine))

    def kept(self, simulation: "Solver") -> dict[str, WallForce] | None:
        """Forces of the present step, measured on the first call, on rank 0; collective. They are the mean of the step
        that has led here and the one ahead, so they belong to the instant of the velocity."""
        if self._step != simulation.step_number:
            self._forces, self._step = self.measured(simulation, averaged=True), simulation.step_number
        return self._forces

    def measured(self, simulation: "Solver", averaged: bool) -> dict[str, WallForce] | None:
        """Forces in the step ahead, or the mean with those of the last step if ``averaged``, on rank 0; collective."""
        labelled, links, distance = self._labelled
        behind = self._exchange.of_last_step(simulation.engine) if averaged else []
        exchange = np.mean([*(kept() for kept in behind), wall_exchange(simulation.engine)], axis=0)
        return wall_forces(simulation, links, distance, exchange[labelled])

    def restore(self, records: Mapping[str, Mapping] | None, step: int) -> None:
        """Take records of the forces of a step, by name of the wall, on rank 0."""
        found = {name: WallForce.from_record(record) for name, record in (records or {}).items()}
        self._forces, self._step = found or None, step

    def forget(self) -> None:
        """The flow is another one."""
        self._forces = self._step = None

    @cached_property
    def _labelled(self):
        return labelled_links(self._nodes, self._domain)
