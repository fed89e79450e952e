"""Costs of nodes and messages: the parameters of node weights and predicted step times."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange, PartLoads


@dataclass(frozen=True)
class NodeCost:
    """Cost of a node by kind, in arbitrary units.

    Attributes:
        bulk: a node with fluid on all sides.
        wall: a node with at least one link to solid.
        opening: a node that touches an opening.
    """

    bulk: float = 1.0
    wall: float = 1.0
    opening: float = 3.0


# Assumed, not measured: a half-way wall is an entry of the address table and costs nothing; an opening's links are
# filled by a kernel of their own.
NODE_COSTS: Mapping[str, NodeCost] = MappingProxyType({"numpy": NodeCost(), "cpu": NodeCost(), "cuda": NodeCost()})


def step_seconds(interior, halo, after, overlaps: bool = True):
    """Time [s] of a step of a part: the interior overlaps with the halo exchange; the rest follows when both are done.

    Args:
        interior: time [s] of the nodes that need no message, a number or (P,).
        halo: time [s] of the messages, including their packing if it overlaps with the interior.
        after: time [s] of the work that waits for both.
        overlaps: whether the halo is exchanged while the interior is computed.
    """
    return (np.maximum(interior, halo) if overlaps else interior + halo) + after


@dataclass(frozen=True)
class StepCost:
    """Parameters of the model of the time of a step.

    The defaults are those of an H200 in single precision.

    Attributes:
        node_s: seconds per node of the cheapest kind; measured: 25 000 million node updates per second.
        latency_s: additional seconds per message; assumed for GPUs with peer access, where one kernel sends to all
            neighbours at once.
        bytes_per_s: send bandwidth of a part; measured between two H200 with 0.13 to 4.5 MB.
        exchange_s: fixed overhead of an exchange [s]; measured between two H200.

    Raises:
        PartitionError: a negative or non-finite cost, or a time per node or bandwidth of zero.
    """

    node_s: float = 4.0e-11
    latency_s: float = 1.0e-6
    bytes_per_s: float = 2.8e11
    exchange_s: float = 8.0e-6

    def __post_init__(self):
        waits = min(self.latency_s, self.exchange_s), max(self.latency_s, self.exchange_s)
        if not (0 < self.node_s < np.inf and 0 <= waits[0] <= waits[1] < np.inf and 0 < self.bytes_per_s):
            raise PartitionError(
                f"costs of a step are {self.node_s} s a node, {self.latency_s} s a message, {self.bytes_per_s} bytes/s;"
                " they must be finite and positive (the latency may be 0)"
            )

    def seconds(self, load: PartLoads, exchange: Exchange, shares: np.ndarray) -> np.ndarray:
        """(P,) predicted time [s] of a step of each part.

        The edge nodes are updated after the messages. Packing or unpacking a population moves as much memory as the
        update does for one direction.

        Args:
            load: the work and the communication of the parts.
            exchange: the data exchanged between parts.
            shares: (P,) positive relative speeds of the ranks; the fastest needs ``node_s``.
        """
        node_s = self.node_s * shares.max() / shares
        interior = (load.work - load.edge_work) * node_s
        messages = (load.neighbours > 0) * self.exchange_s + load.neighbours * self.latency_s
        messages = messages + load.populations * exchange.bytes_per_population / self.bytes_per_s
        packing = 2 * load.populations / (len(exchange.vectors) + 1) * node_s
        return step_seconds(interior, messages, load.edge_work * node_s) + packing


# The CPU's: 100 million updates a second on a core (measured), messages through shared memory (assumed).
CPU_STEP = StepCost(node_s=1.0e-8, latency_s=2.0e-6, bytes_per_s=5.0e9, exchange_s=0.0)
STEP_COSTS: Mapping[str, StepCost] = MappingProxyType({"numpy": CPU_STEP, "cpu": CPU_STEP, "cuda": StepCost()})
