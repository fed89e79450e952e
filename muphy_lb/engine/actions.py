"""The actions of a model on one rank: when they are due, and the arrays that they see."""

from collections.abc import Mapping
from math import inf

import numpy as np

from muphy_lb.engine.transfers import NeighbourValues
from muphy_lb.model.model import Table


class HostArrays:
    """A rank's arrays for actions (:class:`muphy_lb.model.action.RankArrays`)."""

    def __init__(self, engine, communicator):
        self._engine, self.domain, self.communicator = engine, engine.domain, communicator

    def get(self, field: str) -> np.ndarray:
        """(n,) values of a field."""
        return self._engine.fields.get(field, self._engine.parity)

    def has(self, field: str) -> bool:
        """Whether there is a field."""
        return self._engine.fields.has(field)

    def set(self, field: str, values: np.ndarray) -> None:
        """Overwrite a field."""
        self._engine.fields.put(field, values)

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz."""
        return self._engine.moments()

    def refresh(self, table: Table) -> None:
        """Copy a table to the device."""
        self._engine.parameters.refresh(table)

    def with_ghosts(self, values: np.ndarray) -> np.ndarray:
        """(pitch + ghosts,) values of the nodes and of the ghost layer."""
        domain = self.domain
        found = NeighbourValues(domain, self.communicator).with_ghosts(values[None])[0]
        whole = np.zeros(domain.pitch + domain.ghost_layer.position.size, values.dtype)
        whole[: domain.n_nodes], whole[domain.pitch :] = np.split(found, [domain.n_nodes])
        return whole


class Actions:
    """The actions of a rank's model.

    Attributes:
        arrays: what they see.
    """

    def __init__(self, engine, communicator):
        self._actions, self.arrays = engine.model.actions, HostArrays(engine, communicator)

    def next_step(self, step: int) -> float:
        """Number of the first step behind ``step`` at which one is due; infinite without actions."""
        return min((action.next_step(step) for action in self._actions), default=inf)

    def start(self) -> None:
        """Begin at step 0."""
        for action in self._actions:
            action.start(self.arrays)

    def act(self, step: int) -> None:
        """Let those act that are due after ``step`` steps."""
        for action in self._actions:
            if action.next_step(step - 1) == step:
                action.act(self.arrays, step)

    def record(self) -> dict[str, Mapping[str, np.ndarray]]:
        """The state of each by name, for checkpoints."""
        return {action.name: action.state() for action in self._actions}

    def restore(self, record: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Continue from a record."""
        for action in self._actions:
            action.restore(self.arrays, record[action.name])
