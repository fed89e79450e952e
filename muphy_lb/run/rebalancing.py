"""Loads of the ranks, where they change as the flow does: watched, told, and balanced again while the run goes on."""

import logging
import time
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.engine.load import has_load, node_load
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.partition.weights import part_shares
from muphy_lb.run.moved_state import go_on_from, state_of
from muphy_lb.setup.geometry import share_nodes

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver

LOG = logging.getLogger(__name__)
WORTH = 0.95
"""Imbalance that other owners must come below, over the present one, for the state to move."""


class Rebalancing:
    """Watches the load of the ranks of a simulation, and gives nodes to other ranks when it is far from equal.

    The flow does not depend on it by a bit. Between two moves the fullest rank must have cost the others as much time
    as the move before took, so that moves take at most as long as what they are to save.

    Args:
        simulation: what runs.

    Attributes:
        every: number of steps between two looks; 0 where loads do not change, or there is one rank.
        imbalance: load of the fullest rank over its share, when last looked at; None before.
    """

    def __init__(self, simulation: "Solver"):
        compute, size = simulation.case.compute, simulation.communicator.size
        self._simulation, self._limit = simulation, compute.rebalance
        self.every = compute.rebalance_every_steps if size > 1 and has_load(simulation.engine) else 0
        self.imbalance: float | None = None
        self._shares = part_shares(compute.rank_speeds or None, size)
        self._n_moves, self._moving_s, self._last_s = 0, 0.0, 0.0
        self._lost_s, self._stepping_s = 0.0, 0.0

    def act(self, stepping_s: float) -> None:
        """Look at the loads, and balance them if that is worth it; collective.

        Args:
            stepping_s: time that the run has spent stepping.
        """
        simulation = self._simulation
        load = node_load(simulation.engine)
        loads = simulation.communicator.gather(float(load.sum(dtype=np.float64)))
        if simulation.communicator.broadcast(self._is_due(loads, stepping_s) if loads else None):
            self._balance(load, loads)

    def record(self) -> dict:
        """What the summary says of it; empty where loads do not change."""
        if not self.every:
            return {}
        return {"imbalance": self.imbalance, "repartitions": self._n_moves, "repartition_s": self._moving_s}

    def status(self) -> str:
        """Its part of the progress line."""
        return f" | imbalance {self.imbalance:.2f}" if self.imbalance else ""

    def _is_due(self, loads, stepping_s: float) -> bool:
        """Take note of the loads, on rank 0; whether the nodes are to be shared anew."""
        self.imbalance = self._imbalance_of(loads)
        self._lost_s += (stepping_s - self._stepping_s) * (1.0 - 1.0 / self.imbalance)
        self._stepping_s = stepping_s
        return 0.0 < self._limit < self.imbalance and self._lost_s >= self._last_s

    def _balance(self, load: np.ndarray, loads) -> None:
        simulation, before = self._simulation, time.perf_counter()
        owner, found = self._other_owners(simulation.collect(load))
        if simulation.communicator.broadcast(found is not None and found < WORTH * (self.imbalance or 0.0)):
            repartition(simulation, owner)
            self._n_moves += 1
            self._tell(loads, found, time.perf_counter() - before)
            self.imbalance = found
        self._last_s, self._lost_s = time.perf_counter() - before, 0.0
        self._moving_s += self._last_s

    def _other_owners(self, load: np.ndarray | None) -> tuple[np.ndarray | None, float | None]:
        """Owners of all nodes by their load, and the imbalance with them, on rank 0."""
        if load is None:
            return None, None
        simulation, size = self._simulation, self._simulation.communicator.size
        owner = share_nodes(whole_nodes(simulation), simulation.case, size, load)
        return owner, self._imbalance_of(np.bincount(owner, load, minlength=size))

    def _imbalance_of(self, loads) -> float:
        total = float(np.sum(loads))
        return float((np.asarray(loads) / self._shares).max() / total) if total else 1.0

    def _tell(self, loads, found: float | None, seconds: float) -> None:
        if self._simulation.communicator.rank == 0:
            LOG.info(
                "step %d: loads of the ranks %s (imbalance %.2f); nodes shared anew: imbalance %.2f, after %.2f s",
                self._simulation.step_number,
                ", ".join(f"{load:.4g}" for load in loads),
                self.imbalance,
                found,
                seconds,
            )


def repartition(simulation: "Solver", owner: np.ndarray | None) -> None:
    """Give the nodes other owners, (n,) on rank 0, and continue; collective.

    No later step, and no output of one, differs by a bit.
    """
    state = state_of(simulation)
    simulation.rebuild(owner)
    go_on_from(state, simulation)
