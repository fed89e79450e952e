"""The contract of an action: what a physics does on the host between two steps, on arrays of a rank."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.model.model import Table
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator


class RankArrays(Protocol):
    """Arrays of a rank that an action sees between two steps, and may change there."""

    domain: LocalDomain  #: the rank's nodes
    communicator: SerialCommunicator | MpiCommunicator  #: all ranks; sums of integers are exact whatever their number

    def get(self, field: str) -> np.ndarray:
        """(n,) values of a field of the model at the rank's nodes, in run order."""

    def has(self, field: str) -> bool:
        """Whether the model has a field."""

    def set(self, field: str, values: np.ndarray) -> None:
        """Overwrite a field by which no stage chooses its nodes."""

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz."""

    def refresh(self, table: Table) -> None:
        """Hand the device the values that a table's array has now."""

    def with_ghosts(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) of the nodes as fields hold them: padded with 0 to the pitch, then those of the ghost layer;
        collective."""


class Action:
    """Base class of what a model does between steps. Every rank calls each method at the same step, and every method
    may communicate; what one leaves must not depend on the ranks."""

    name: ClassVar[str]  #: of its state in checkpoints
    #: names of the arrays of its state that hold one value; all others have as many rows as each other
    single: ClassVar[tuple[str, ...]] = ()
    every: int  #: number of steps between two calls of :meth:`act`, unless :meth:`next_step` says otherwise

    def next_step(self, step: int) -> float:
        """The first step behind ``step`` after which it acts: a multiple of ``every``."""
        return (step // self.every + 1) * self.every

    def start(self, rank: RankArrays) -> None:
        """Begin at step 0, when fields and populations are set."""

    def act(self, rank: RankArrays, step: int) -> None:
        """Act after ``step`` steps, ahead of observers and checkpoints."""

    def state(self) -> Mapping[str, np.ndarray]:
        """The memory of the action, the same on every rank: arrays by name."""
        return {}

    def restore(self, rank: RankArrays, state: Mapping[str, np.ndarray]) -> None:
        """Continue from the state of a checkpoint, when fields and populations are set."""
