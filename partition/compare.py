"""Comparison of all partitioning methods, for several numbers of parts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from muphy_lb.partition.choice import CANDIDATES, best_of, mark
from muphy_lb.partition.costs import StepCost
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import METHODS
from muphy_lb.partition.partition import partition
from muphy_lb.partition.quality import Quality, qualities, quality_table
from muphy_lb.partition.voxels import NODE_GRAPH_LIMIT, VoxelGraph


@dataclass(frozen=True)
class MethodComparison:
    """All methods for one number of parts.

    Attributes:
        qualities: the quality of each method.
        chosen: the automatically chosen method.
        reason: the reason for the choice, in one sentence.
    """

    qualities: dict[str, Quality]
    chosen: str
    reason: str

    def as_dict(self) -> dict:
        """Plain values for a JSON file."""
        rows = {name: asdict(found) for name, found in self.qualities.items()}
        return {"auto": self.chosen, "reason": self.reason, "methods": rows}


def compare(graph: VoxelGraph, n_parts: int, exchange: Exchange, cost: StepCost, shares=None) -> MethodComparison:
    """Partition a graph by every method and evaluate all; beyond ``NODE_GRAPH_LIMIT`` nodes, all but METIS.

    Args:
        graph: the nodes.
        n_parts: number of parts.
        exchange: the data exchanged between parts.
        cost: cost model of the machine.
        shares: relative speeds of the ranks; equal by default.

    Raises:
        PartitionError: n_parts below 1 or above the number of nodes.
    """
    is_large = graph.n_nodes > NODE_GRAPH_LIMIT
    methods = [method for method in METHODS if not (is_large and method == "metis")]
    owners = {method: partition(graph, n_parts, method, shares) for method in methods}
    found = qualities(graph, owners, n_parts, exchange, cost, shares)
    choice = best_of({method: found[method] for method in (("tiles",) if is_large else CANDIDATES)})
    return MethodComparison(found, choice.method, choice.reason)


def comparison_table(comparisons: Sequence[MethodComparison]) -> str:
    """One line per method and number of parts, the automatic choice marked."""
    return quality_table(
        [(name, found, mark(name, c.chosen)) for c in comparisons for name, found in c.qualities.items()]
    )
