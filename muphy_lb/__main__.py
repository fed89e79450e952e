"""The command line: ``muphy-lb new | run | resume | permeability | bench | compare | scaling | trace | ...``."""

import argparse
import importlib
import logging
import os
import sys
import traceback
from pathlib import Path

from muphy_lb import __version__
from muphy_lb.errors import InputError, MuphyError
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.new.command import add_options as add_new_options
from muphy_lb.parallel import SerialCommunicator, connect, wait_for_turn
from muphy_lb.partition.errors import PartitionError
from muphy_lb.run.permeability import add_options as add_permeability_options
from muphy_lb.studies.bench.command import add_options as add_bench_options
from muphy_lb.studies.compare.command import add_options as add_compare_options
from muphy_lb.studies.scaling.command import add_options as add_scaling_options
from muphy_lb.studies.validation.command import add_options

INPUT_EXIT_CODE = 2
DEFAULT_OUTPUT = "out"
PREPARING = {
    "geometry": "prepare an image or a surface as CASE.h5",
    "partition": "cut a prepared geometry into parts, for given numbers of ranks",
}


def main(arguments=None) -> int:
    """Run one command; returns the exit code. Whatever fails on a rank is told once and ends all ranks."""
    try:
        communicator = connect()
    except InputError as error:
        _end_all(SerialCommunicator(), f"muphy-lb: error: {error}", error.exit_code)
    _configure_logging(communicator)
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        if words and words[0] in PREPARING:
            code = _prepare(words, communicator)
        else:
            options = _parser().parse_args(words)
            code = options.command(options, communicator)
    except (MuphyError, GeometryError, PartitionError) as error:
        _end_all(communicator, f"muphy-lb: error: {error}", getattr(error, "exit_code", INPUT_EXIT_CODE))
    except (Exception, KeyboardInterrupt):  # no rank may die alone: the others would wait for it for ever
        _end_all(communicator, f"muphy-lb: unexpected error\n{traceback.format_exc()}", 1)
    communicator.finalise()
    return code


def _end_all(communicator, message: str, exit_code: int):
    wait_for_turn(communicator)
    on_rank = f" [rank {communicator.rank} of {communicator.size}]" if communicator.size > 1 else ""
    print(f"{message}{on_rank}", file=sys.stderr, flush=True)
    communicator.abort(exit_code)


def _configure_logging(communicator) -> None:
    logging.basicConfig(format="%(message)s", stream=sys.stdout)
    logging.getLogger("muphy_lb").setLevel(logging.INFO if communicator.rank == 0 else logging.WARNING)


def _new(options, communicator) -> int:
    from muphy_lb.new.command import new

    return new(options, lambda text: _say(communicator, text)) if communicator.rank == 0 else 0


def _run(options, communicator) -> int:
    case = _load_case(options.case, options, communicator)
    folder = options.output or Path(DEFAULT_OUTPUT) / Path(options.case).stem
    if communicator.rank == 0 and not options.overwrite:
        _refuse_to_forget(folder)
    return _execute(case, folder, communicator, resume=False)


def _resume(options, communicator) -> int:
    from muphy_lb.run.loop import CASE_FILE

    case = _load_case(Path(options.folder) / CASE_FILE, options, communicator)
    return _execute(case, options.folder, communicator, resume=True)


def _refuse_to_forget(folder) -> None:
    """A new run removes what an earlier one left; checkpoints may be days of work."""
    from muphy_lb.run.loop import CHECKPOINTS

    found = sorted((Path(folder) / CHECKPOINTS).glob("*.h5"))
    if found:
        raise InputError(
            f"{folder} holds checkpoints of an earlier run (newest: {found[-1].name}); continue it with"
            f" muphy-lb resume {folder}, or give --overwrite, or another output folder with -o"
        )


def _load_case(path, options, communicator):
    """The case as rank 0 reads it, so that a mistake in it is told once."""
    from muphy_lb.case.case import load_case

    return communicator.broadcast(load_case(path, options.set) if communicator.rank == 0 else None)


def _execute(case, folder, communicator, resume: bool) -> int:
    from muphy_lb.output.atomic import check_writable
    from muphy_lb.run.loop import COMPLETED, STEADY, STOPPED_EXIT_CODE, Clock, Run, StopSignals
    from muphy_lb.run.simulation import Simulation
    from muphy_lb.run.watchdog import Sentry

    if communicator.rank == 0:
        check_writable(folder)
    clock = Clock()
    with StopSignals() as signals, Sentry(communicator, folder):
        simulation = Simulation(case, communicator)
        _say(communicator, simulation.describe())
        run = Run(simulation, folder, resume, clock)
        reason, summary = run.execute(signals)
    if summary:
        _say(communicator, _closing_text(summary, run.closing_lines(summary), folder))
    if reason in (COMPLETED, STEADY):
        return 0
    _say(communicator, f"stopped by {reason}; continue with: muphy-lb resume {folder}")
    return STOPPED_EXIT_CODE


def _bench(options, communicator) -> int:
    from muphy_lb.studies.bench.command import bench

    return bench(options, lambda text: _say(communicator, text), communicator)


def _permeability(options, communicator) -> int:
    from muphy_lb.run.permeability import permeability

    return permeability(options, lambda text: _say(communicator, text), communicator)


def _compare(options, communicator) -> int:
    from muphy_lb.studies.compare.command import compare

    return compare(options, lambda text: _say(communicator, text), communicator.size)


def _scaling(options, communicator) -> int:
    from muphy_lb.studies.scaling.command import scaling

    return scaling(options, lambda text: _say(communicator, text), communicator)


def _validate(options, communicator) -> int:
    from muphy_lb.studies.validation.command import validate

    return validate(options, lambda text: _say(communicator, text), communicator)


def _trace(options, communicator) -> int:
    from muphy_lb.run.simulation import Simulation
    from muphy_lb.run.trace import trace

    if options.steps < 1:
        raise InputError(f"trace: --steps is {options.steps}; give the number of steps to record, 1 or more")
    simulation = Simulation(_load_case(options.case, options, communicator), communicator)
    table = trace(simulation, options.steps, options.output)
    transport = simulation.engine.transport
    _say(communicator, f"microseconds a step of each stage, {options.steps} steps; halo exchange: {transport}\n{table}")
    _say(communicator, f"written to {options.output}; open it at https://ui.perfetto.dev or in chrome://tracing")
    return 0


def _prepare(words, communicator) -> int:
    """The commands of the packages that prepare a geometry; they take their own options, and one rank."""
    main = importlib.import_module(f"muphy_lb.{words[0]}.__main__").main
    return main(words[1:]) if communicator.rank == 0 else 0


def _info(options, communicator) -> int:
    from muphy_lb.setup.info import describe_file

    if communicator.rank == 0:
        print(describe_file(options.file, communicator.size))
    return 0


def _say(communicator, text: str) -> None:
    if communicator.rank == 0:
        print(text, flush=True)


def _closing_text(summary: dict, measured: list[str], folder) -> str:
    """The summary in a few lines of physical units, with what was measured."""
    lines = [
        f"ended: {summary['ended']} at step {summary['steps']} (t = {summary['time_s']:.4g} s),"
        f" {summary['wall_time_s']:.1f} s, {summary['mflups']:.1f} MFLUPS",
        f"velocity: max {summary['max_velocity_m_s']:.4g} m/s, mean {summary['mean_velocity_m_s']:.4g} m/s;"
        f" relative mass change {summary['mass_relative_drift']:+.2e}",
    ]
    files = ", ".join(sorted(path.name for path in Path(folder).iterdir() if path.is_file()))
    return "\n".join([*lines, *measured, f"written to {folder}: {files}"])


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage as an error that is told once, not by every rank."""

    def error(self, message):
        raise InputError(f"{message}\n{self.format_usage().rstrip()}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="muphy-lb", description="Sparse lattice Boltzmann flow in vessels and rocks.")
    parser.add_argument("--version", action="version", version=f"muphy-lb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name, command, text):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        return sub

    def add_set(sub):
        sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the case")

    add_new_options(add("new", _new, "write a commented case file for a vessel, a rock or a channel"))
    run = add("run", _run, "run a case")
    run.add_argument("case", help="case file (TOML)")
    run.add_argument("-o", "--output", metavar="OUT", help=f"output folder (default: {DEFAULT_OUTPUT}/CASE)")
    run.add_argument("--overwrite", action="store_true", help="remove the checkpoints of an earlier run in OUT")
    add_set(run)
    resume = add("resume", _resume, "continue a run from its newest checkpoint")
    resume.add_argument("folder", metavar="OUT", help="output folder of the run")
    add_set(resume)
    add_permeability_options(add("permeability", _permeability, "tell the permeability of a rock"))
    add_bench_options(add("bench", _bench, "time the step of a case beside the copy bandwidth of the device"))
    add_compare_options(add("compare", _compare, "time one flow in several sizes on several backends"))
    add_scaling_options(add("scaling", _scaling, "time a case on more and more ranks, and predict many more"))
    add_options(add("validate", _validate, "compare the solver with analytic and published numbers"))
    trace = add("trace", _trace, "time every stage of some steps on every rank, and draw them on a time line")
    trace.add_argument("case", help="case file (TOML)")
    trace.add_argument("-o", "--output", metavar="FILE", default="trace.json", help="time line (default: %(default)s)")
    trace.add_argument("--steps", type=int, default=10, help="steps to record (default: %(default)s)")
    add_set(trace)
    info = add("info", _info, "tell what a case or a prepared geometry would be, without running it")
    info.add_argument("file", metavar="CASE.toml|CASE.h5")
    for name, text in PREPARING.items():
        commands.add_parser(name, help=text)
    return parser


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # MPI is finalised; a plain exit code must reach the launcher without its abort banner.
    os._exit(code) if code else sys.exit(0)
