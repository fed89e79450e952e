"""Forces on labelled walls, which are measured once a step and kept: some need the step before, which may be gone."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from muphy_lb.domain import LocalDomain
from muphy_lb.engine.links_of_fluid import wall_exchange
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.wall_forces import WallForce, labelled_links, wall_forces

if TYPE_CHECKING:
    from muphy_lb.run.simulation import Simulation


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

    def kept(self, simulation: "Simulation") -> dict[str, WallForce] | None:
        """Averaged forces of the present step, measured on the first call, on rank 0; collective."""
        if self._step != simulation.step_number:
            self._forces, self._step = self.measured(simulation, averaged=True), simulation.step_number
        return self._forces

    def measured(self, simulation: "Simulation", averaged: bool) -> dict[str, WallForce] | None:
        """Forces as the populations are now, on rank 0; collective."""
        labelled, links, distance = self._labelled
        return wall_forces(simulation, links, distance, wall_exchange(simulation.engine, averaged)[labelled])

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
