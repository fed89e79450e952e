"""Command line: share out the nodes of a CASE.h5 among ranks."""

import argparse
import sys

from partition.errors import PartitionError
from partition.graph import Graph
from partition.partition import METHODS, partition
from partition.quality import BYTES_PER_LINK, quality, quality_table
from partition.store import list_partitions, partition_name, read_graph, write_partition


def main(arguments=None) -> int:
    """Run the command; returns the exit code: 0, or 2 after a one-line error message."""
    options = _parser().parse_args(arguments)
    try:
        print(_answer(options))
    except PartitionError as error:
        print(f"partition: error: {error}", file=sys.stderr)
        return 2
    return 0


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors take one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="partition", description="Share out the nodes of CASE.h5 among ranks and store the result there."
    )
    parser.add_argument("case", metavar="CASE.h5", help="file made by python -m geometry")
    parser.add_argument("n_parts", metavar="N_PARTS", type=int, nargs="?", help="number of parts (ranks)")
    parser.add_argument("--method", default="metis", help=f"one of: {', '.join(METHODS)} (default: metis)")
    parser.add_argument("--name", help="name of the partitioning in the file (default: METHOD-N_PARTS)")
    parser.add_argument(
        "--weights",
        metavar="GROUP:COST",
        type=_group_cost,
        nargs="+",
        default=[],
        help="cost per node of node groups (0: plain nodes, 1 + k: nodes at opening k); others cost 1",
    )
    parser.add_argument(
        "--bytes-per-link",
        metavar="BYTES",
        type=int,
        default=BYTES_PER_LINK,
        help="bytes a cut face sends per step and direction in the halo estimate (default: %(default)s)",
    )
    parser.add_argument("--compare", action="store_true", help="print a table of all methods and store nothing")
    parser.add_argument("--list", action="store_true", help="print the partitionings in the file")
    return parser


def _group_cost(text: str) -> tuple[int, float]:
    group, _, cost = text.partition(":")
    try:
        return int(group), float(cost)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not GROUP:COST, for example 1:2.5") from None


def _answer(options) -> str:
    if options.list:
        return _listing(options.case)
    if options.n_parts is None:
        raise PartitionError("the number of parts is missing; write python -m partition CASE.h5 N_PARTS, or use --list")
    graph = read_graph(options.case, dict(options.weights))
    if options.compare:
        return quality_table({method: _cut(graph, method, options)[1] for method in METHODS})
    owner, report = _cut(graph, options.method, options)
    name = partition_name(options.method, options.n_parts) if options.name is None else options.name
    write_partition(options.case, name, owner, options.method)
    return f"{options.case}: {name}: {report}"


def _cut(graph: Graph, method: str, options) -> tuple:
    owner = partition(graph, options.n_parts, method)
    return owner, quality(graph, owner, options.n_parts, options.bytes_per_link)


def _listing(case: str) -> str:
    stored = list_partitions(case)
    return "\n".join(f"{p.name}: {p.n_parts} parts by {p.method}" for p in stored) or f"{case} has no partitioning"


if __name__ == "__main__":
    sys.exit(main())
