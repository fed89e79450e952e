"""Command line: distribute the nodes of a CASE.h5 among ranks."""

import argparse
import json
import logging
import sys
from pathlib import Path

from muphy_lb.base.arguments import Parser
from muphy_lb.base.errors import OutputError, printable
from muphy_lb.base.files.atomic import write_text
from muphy_lb.partition.costs import NODE_COSTS, STEP_COSTS, StepCost
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import METHODS
from muphy_lb.partition.partition import (
    AUTO,
    BYTES_OF_POPULATION,
    check_parts,
    compare,
    comparison_table,
    partition_with_reason,
)
from muphy_lb.partition.quality import quality
from muphy_lb.partition.store import list_partitions, partition_name, read_graph, read_weighted_graph, write_partition
from muphy_lb.partition.voxels import VoxelGraph

LOG = logging.getLogger(__name__)


def main(arguments=None) -> int:
    """Run the command; returns the exit code: 0, or after a one-line error message 2 for bad input and 4 for a file
    that cannot be written."""
    options = _parser().parse_args(arguments)
    try:
        print(printable(_run(options)))
    except (PartitionError, OutputError) as error:
        print(printable(f"partition: error: {error}"), file=sys.stderr)
        return error.exit_code
    return 0


class _Parser(Parser):
    """An argument parser whose error messages fit on one line."""

    def error(self, message):
        self.exit(2, f"partition: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="muphy-lb partition", description="Distribute the nodes of CASE.h5 among ranks and store the result there."
    )
    add = parser.add_argument
    add("case", metavar="CASE.h5", help="file made by muphy-lb geometry")
    add("n_parts", metavar="N_PARTS", type=_counts, nargs="?", help="number of parts (ranks), or several: 2,4,8")
    add("--method", default="metis", help=f"one of: {AUTO}, {', '.join(METHODS)} (default: metis)")
    add("--name", help="name of the partitioning in the file (default: METHOD-N_PARTS)")
    add(
        "--weights",
        metavar="GROUP:COST",
        type=_group_cost,
        nargs="+",
        default=[],
        help="cost per node of node groups (0: plain nodes, 1 + k: nodes at opening k), others cost 1;"
        " default: the costs of the backend",
    )
    add("--shares", metavar="SPEED", type=float, nargs="+", help="relative speeds of the ranks (default: equal)")
    add(
        "--precision",
        choices=BYTES_OF_POPULATION,
        default="fp32",
        help="of the halo's populations (default: %(default)s)",
    )
    add(
        "--backend", choices=STEP_COSTS, default="cuda", help="backend whose costs predict times (default: %(default)s)"
    )
    add(
        "--costs",
        metavar=("NODE_S", "LATENCY_S", "BYTES_PER_S"),
        type=float,
        nargs=3,
        help="predict times with these seconds per node and message and this bandwidth instead",
    )
    add("--compare", action="store_true", help="print a table of all methods and store nothing")
    add("--json", metavar="FILE", help="with --compare: also write the table to this file")
    add("--list", action="store_true", help="print the partitionings in the file")
    return parser


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}; write 4, or 2,4,8") from None


def _group_cost(text: str) -> tuple[int, float]:
    group, _, cost = text.partition(":")
    try:
        return int(group), float(cost)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not GROUP:COST, for example 1:2.5") from None


def _run(options) -> str:
    if options.list:
        return _listing(options.case)
    if options.n_parts is None:
        list_partitions(options.case)  # what is wrong with the file comes first
        raise PartitionError("the number of parts is missing; write muphy-lb partition CASE.h5 N_PARTS, or use --list")
    if options.name and len(options.n_parts) > 1:
        raise PartitionError(f"--name {options.name} cannot name {len(options.n_parts)} partitionings; leave it out")
    if options.json and not options.compare:
        raise PartitionError(f"--json {options.json} takes the table of --compare, which is missing; give it, too")
    exchange = Exchange(bytes_per_population=BYTES_OF_POPULATION[options.precision])
    LOG.info("reading %s", options.case)
    if options.weights:
        graph = read_graph(options.case, dict(options.weights))
    else:
        graph = read_weighted_graph(options.case, NODE_COSTS[options.backend], exchange)
    if options.compare:
        return _comparison(graph, exchange, options)
    return "\n".join(_store(graph, n_parts, exchange, options) for n_parts in options.n_parts)


def _step_cost(options) -> StepCost:
    return StepCost(*options.costs) if options.costs else STEP_COSTS[options.backend]


def _store(graph: VoxelGraph, n_parts: int, exchange: Exchange, options) -> str:
    """Compute, write and evaluate one partitioning; returns the text to print."""
    check_parts(graph, n_parts, options.method)
    LOG.info("sharing %s nodes among %d ranks (%s)", f"{graph.n_nodes:,}", n_parts, options.method)
    cost = _step_cost(options)
    owner, choice = partition_with_reason(graph, n_parts, options.method, exchange, cost, options.shares)
    name = options.name or partition_name(options.method, n_parts)
    write_partition(options.case, name, owner, choice.method)
    found = f"{options.case}: {name}: {quality(graph, owner, n_parts, exchange, cost, options.shares)}"
    return "\n".join(filter(None, (str(choice), found)))


def _comparison(graph: VoxelGraph, exchange: Exchange, options) -> str:
    cost = _step_cost(options)
    LOG.info("sharing %s nodes by every method", f"{graph.n_nodes:,}")
    comparisons = [compare(graph, n_parts, exchange, cost, options.shares) for n_parts in options.n_parts]
    if options.json:
        parts = {str(n): found.as_dict() for n, found in zip(options.n_parts, comparisons, strict=True)}
        settings = {"case": Path(options.case).name, "nodes": graph.n_nodes, "precision": options.precision}
        record = settings | {"cost": vars(cost), "parts": parts}
        write_text(options.json, json.dumps(record, indent=1))
    return comparison_table(comparisons)


def _listing(case: str) -> str:
    stored = list_partitions(case)
    return "\n".join(f"{p.name}: {p.n_parts} parts by {p.method}" for p in stored) or f"{case} has no partitioning"


if __name__ == "__main__":
    sys.exit(main())
