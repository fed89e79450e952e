"""The command ``muphy-lb trace``: time every stage of some steps on every rank, and write a time line."""

from collections.abc import Callable

from muphy_lb.base.errors import InputError
from muphy_lb.run.options import add_set


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("case", help="case file (TOML)")
    parser.add_argument("-o", "--output", metavar="FILE", default="trace.json", help="time line (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps to record (default: %(default)s)")
    add_set(parser)


def trace(options, say: Callable[[str], None], communicator) -> int:
    """Record some steps, print the table and write the time line; returns the exit code 0.

    Args:
        options: parsed options, see :func:`add_options`.
        say: called with text.
        communicator: the ranks.

    Raises:
        InputError: no step to record, or no valid case.
        OutputError: the file cannot be written.
    """
    from muphy_lb.case.case import load_case
    from muphy_lb.run.solver import Solver
    from muphy_lb.run.trace import trace as traced

    if options.steps < 1:
        raise InputError(f"trace: --steps is {options.steps}; give the number of steps to record, 1 or more")
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    simulation = Solver(case, communicator)
    table = traced(simulation, options.steps, options.output)
    transport = simulation.engine.transport
    say(f"microseconds a step of each stage, {options.steps} steps; halo exchange: {transport}\n{table}")
    say(f"written to {options.output}; open it at https://ui.perfetto.dev or in chrome://tracing")
    return 0
