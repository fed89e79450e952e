"""The command line: ``muphy-lb new | run | resume | permeability | bench | compare | scaling | trace | ...``.

Every command is a function ``(options, say, communicator) -> exit code``; ``say(text)`` prints on rank 0. The
modules of a command are imported when it is executed, so that help and usage errors appear at once.
"""

import argparse
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from muphy_lb.base.arguments import Parser
from muphy_lb.base.errors import BackendError, InputError, MuphyError, OutputError, printable
from muphy_lb.base.files.atomic import remove_empty_folders
from muphy_lb.base.phases import PROFILE, READING, SETTING_UP, spent_on
from muphy_lb.base.version import __version__
from muphy_lb.geometry.limits import shown
from muphy_lb.output.terminal import (
    KeptInterrupt,
    coloured,
    configure_logging,
    lost_output,
    missing_package,
    open_closed_streams,
    show_held_warnings,
    silence,
)
from muphy_lb.run.options import (
    DEFAULT_OUTPUT,
    NO_PICTURES,
    add_plot_options,
    add_set,
    add_trace_options,
    add_view,
    add_warm_options,
)

INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT
BROKEN_PIPE_EXIT_CODE = 128 + signal.SIGPIPE

PREPARING = {
    "geometry": "prepare an image or a surface as CASE.h5",
    "partition": "cut a prepared geometry into parts, for given numbers of ranks",
}


DOCTOR = {"doctor": "show what this machine offers, and what to install"}


class Command(NamedTuple):
    """A command of the command line."""

    text: str  #: one line for the help
    add_options: Callable[[argparse.ArgumentParser], None]  #: gives an argument parser the options
    execute: Callable  #: ``(options, say, communicator) -> exit code``; collective
    is_long: bool = False  #: whether it takes seconds, or hours, before its first output


def main(arguments=None) -> int:
    """Run one command; returns the exit code. A failure on any rank is reported once and ends all ranks."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    open_closed_streams()
    if words and words[0] in DOCTOR:  # it begins where packages are missing without which no other command does
        code = import_module("muphy_lb.doctor.command").doctor(words[1:], _print)
        if reason := lost_output():
            print(f"muphy-lb: error: {reason}", file=sys.stderr)
        return OutputError.exit_code if reason else code
    with KeptInterrupt() as interrupt:
        try:
            communicator, options, usage_error = _begin(words)
        except ModuleNotFoundError as error:
            print(f"muphy-lb: error: {missing_package(error)}", file=sys.stderr)
            return 1
    try:
        interrupt.obey()
        if usage_error is not None:
            raise usage_error
        code = _prepare(words, communicator) if options is None else _execute(options, communicator)
    except MuphyError as error:
        _end_all(communicator, f"muphy-lb: error: {error}", error.exit_code)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more would interrupt the ending
        _end_all(communicator, "muphy-lb: interrupted", INTERRUPTED_EXIT_CODE)
    except BrokenPipeError as error:  # a reader of the output that has seen enough
        silence(error)
        code = BROKEN_PIPE_EXIT_CODE
    except ModuleNotFoundError as error:
        _end_all(communicator, f"muphy-lb: error: {missing_package(error)}", 1)
    except MemoryError as error:
        reason = f"there is not enough memory ({error}); use fewer particles, coarser voxels or more ranks"
        _end_all(communicator, f"muphy-lb: error: {reason}", BackendError.exit_code)
    except Exception:  # no rank may die alone: the others would wait for it for ever
        _end_all(communicator, f"muphy-lb: unexpected error\n{traceback.format_exc()}", 1)
    show_held_warnings()
    if reason := lost_output():
        _end_all(communicator, f"muphy-lb: error: {reason}", code or OutputError.exit_code)
    communicator.finalise()
    return code


def _begin(words):
    """The ranks, the options (None for a command that has its own), and what is wrong with them, if anything."""
    usage_error = options = None
    if not words or words[0] not in PREPARING:
        try:
            options = _parse(words)
        except InputError as error:
            usage_error = error
    from muphy_lb.parallel.communicator import SerialCommunicator, connect

    try:
        communicator = connect()
    except InputError as error:
        _end_all(SerialCommunicator(), f"muphy-lb: error: {error}", error.exit_code)
    configure_logging(communicator)
    return communicator, options, usage_error


def _parse(words) -> argparse.Namespace:
    """The options of a command; InputError if it has no such option, with a list of its own."""
    options, unknown = _parser(words).parse_known_args(words)
    if not unknown:
        return options
    parser = _Parser(prog=f"muphy-lb {options.command}")
    COMMANDS[options.command].add_options(parser)
    remedy = "; a key of the case is changed by --set, as in --set run.steps=1000" if hasattr(options, "set") else ""
    parser.error(f"{options.command} does not take {shown(' '.join(unknown))}{remedy}")


def _execute(options, communicator) -> int:
    command, say = COMMANDS[options.command], partial(_say, communicator)
    if command.is_long:
        _say_what_begins(options.command, say, communicator)
    return command.execute(options, say, communicator)


def _end_all(communicator, message: str, exit_code: int):
    from muphy_lb.parallel.communicator import wait_for_lower_ranks

    remove_empty_folders()
    wait_for_lower_ranks(communicator)
    on_rank = f" [rank {communicator.rank} of {communicator.size}]" if communicator.size > 1 else ""
    print(coloured(printable(f"{message}{on_rank}"), sys.stderr), file=sys.stderr, flush=True)
    communicator.abort(exit_code)


def run(options, say, communicator) -> int:
    """Run a case; returns the exit code."""
    _say_what_begins(options.case, say, communicator)
    options.set += NO_PICTURES if options.no_pictures else ()
    case = _load_case(options.case, options, communicator)
    folder = options.output or Path(DEFAULT_OUTPUT) / Path(options.case).stem
    if communicator.rank == 0 and not options.overwrite:
        _refuse_to_forget(folder)
    return _run_case(case, folder, say, communicator, view=options.view, is_profiled=options.profile)


def resume(options, say, communicator) -> int:
    """Continue a run; returns the exit code."""
    from muphy_lb.run.checkpoint import geometry_of
    from muphy_lb.run.folder import CASE_FILE, refuse_missing_files, refuse_to_resume_nothing, refuse_to_resume_other

    _say_what_begins(options.folder, say, communicator)
    folder, found = Path(options.folder), None

    def remedy(changes) -> str:
        texts = (f"--set {shlex.quote(text)}" for text in changes)
        return " ".join([f"muphy-lb resume {shlex.quote(str(folder))}", *texts])

    if communicator.rank == 0:
        refuse_to_resume_nothing(folder)
    case = _load_case(folder / CASE_FILE, options, communicator)
    if communicator.rank == 0:
        refuse_missing_files(case, remedy)
        found = refuse_to_resume_other(folder, case)
    geometry = geometry_of(found, case, communicator)
    return _run_case(case, options.folder, say, communicator, geometry, view=options.view)


def _say_what_begins(what, say, communicator) -> None:
    """The first line, printed immediately, since the rest takes seconds or minutes."""
    n_ranks = "1 rank" if communicator.size == 1 else f"{communicator.size} ranks"
    say(f"muphy-lb {__version__} on {n_ranks}: {what}")


def _refuse_to_forget(folder) -> None:
    """Refuse a new run that would remove what an earlier one has left and took long, perhaps days of work."""
    from muphy_lb.run.folder import CHECKPOINTS, PATTERN, results_of_hours

    checkpoints = Path(folder) / CHECKPOINTS
    found = sorted(checkpoints.glob(PATTERN)) if os.path.isdir(checkpoints) else []  # Path.is_dir fails for long names
    if found:
        raise InputError(
            f"{folder} holds checkpoints of an earlier run (newest: {found[-1].name}); continue it with"
            f" muphy-lb resume {shlex.quote(str(folder))}, or give --overwrite, or another output folder with -o"
        )
    if results := results_of_hours(Path(folder)):
        raise InputError(f"{folder} holds {results}; give --overwrite, or another output folder with -o")


def _load_case(path, options, communicator):
    """The case as read by rank 0, so that errors in it are reported once."""
    from muphy_lb.case.case import load_case

    with spent_on(READING):
        return communicator.broadcast(load_case(path, options.set) if communicator.rank == 0 else None)


def _run_case(
    case, folder, say, communicator, geometry=None, view: int | None = None, is_profiled: bool = False
) -> int:
    """A new run, or, given the geometry of its checkpoint, one that continues."""
    from muphy_lb.base.files.atomic import check_writable
    from muphy_lb.parallel.watchdog import Sentry
    from muphy_lb.run.loop import ENDS, STOPPED_EXIT_CODE, Clock, Run
    from muphy_lb.run.solver import Solver
    from muphy_lb.run.stop_signals import StopSignals
    from muphy_lb.run.verdict import DOUBTFUL, DOUBTFUL_EXIT_CODE

    PROFILE.enter(SETTING_UP)
    if communicator.rank == 0:
        check_writable(folder)
    clock, live = Clock(), None if view is None else import_module("muphy_lb.view.live")
    server = live.open_socket(view) if live and communicator.rank == 0 else None
    with StopSignals() as signals, Sentry(communicator, folder):
        simulation = Solver(case, communicator, geometry)
        say(simulation.describe())
        this = Run(simulation, folder, geometry is not None, clock)
        del simulation  # a viewer's change may put another in its place
        signals.set_up()
        with live.shown(this.simulation, server, say, Path(folder)) if live else nullcontext():
            reason, summary = this.execute(signals)
    if is_profiled:
        _tell_profile(folder, summary, say, communicator)
    if summary:
        say(_closing_text(summary, this.closing_lines(summary), folder))
    if reason in ENDS:
        return DOUBTFUL_EXIT_CODE if this.verdict == DOUBTFUL else 0
    say(f"stopped by {reason}; continue with: muphy-lb resume {shlex.quote(str(folder))}")
    return STOPPED_EXIT_CODE


def _tell_profile(folder, summary: dict | None, say, communicator) -> None:
    """Print the profile of a run so far, and add it to its summary; collective."""
    from muphy_lb.output.series import write_summary
    from muphy_lb.run.folder import SUMMARY_FILE
    from muphy_lb.run.profile import profile_of_ranks, profile_table

    profile = profile_of_ranks(communicator)
    if profile is not None:
        say(profile_table(profile))
    if profile is not None and summary:
        write_summary(Path(folder) / SUMMARY_FILE, summary | {"profile": profile})


def _prepare(words, communicator) -> int:
    """The commands of the packages that prepare a geometry; they parse their own options and run on one rank."""
    main = import_module(f"muphy_lb.{words[0]}.__main__").main
    return main(words[1:]) if communicator.rank == 0 else 0


def _say(communicator, text: str) -> None:
    if communicator.rank == 0:
        _print(coloured(printable(text)))


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        silence(error)


def _closing_text(summary: dict, measured: list[str], folder) -> str:
    """The summary in a few lines in physical units, with measured quantities."""
    from muphy_lb.run.loop import ending
    from muphy_lb.run.observers import written_files

    at_rest = " (voxels without fluid counted as at rest)" if "mflups_fluid" in summary else ""
    fluid = f" ({summary['mflups_fluid']:.1f} of nodes with fluid)" if "mflups_fluid" in summary else ""
    lines = [
        f"ended: {ending(summary['ended'])} at step {summary['steps']} (t = {summary['time_s']:.4g} s),"
        f" {summary['wall_time_s']:.1f} s, {summary['mflups']:.1f} MFLUPS{fluid}",
        f"velocity: max {summary['max_velocity_m_s']:.4g} m/s, mean {summary['mean_velocity_m_s']:.4g} m/s{at_rest}",
    ]
    verdict = [*summary["statements"], f"verdict: {summary['verdict']}"]
    verdict += [f"  - {text}" for text in summary["objections"] or summary["not_judged"]]
    files = ", ".join(written_files(folder))
    return "\n".join([*lines, *measured, *verdict, f"written to {folder}: {files}"])


class _Parser(Parser):
    """Raises usage errors, so that they are reported once and not by every rank."""

    def error(self, message) -> NoReturn:
        raise InputError(f"{message}\n{self.format_usage().rstrip()}")


def _add_run_options(parser) -> None:
    parser.add_argument("case", help="case file (TOML)")
    parser.add_argument("-o", "--output", metavar="OUT", help=f"output folder (default: {DEFAULT_OUTPUT}/CASE)")
    parser.add_argument("--overwrite", action="store_true", help="remove the checkpoints of an earlier run in OUT")
    parser.add_argument("--no-pictures", action="store_true", help="draw no pictures and no film")
    parser.add_argument("--profile", action="store_true", help="print the wall time of every phase on every rank")
    add_view(parser)
    add_set(parser)


def _add_resume_options(parser) -> None:
    parser.add_argument("folder", metavar="OUT", help="output folder of the run")
    add_view(parser)
    add_set(parser)


def _command_of(
    name: str, module: str, text: str, is_long: bool = True, add_options: Callable | None = None
) -> Command:
    """The command ``name`` of a module, which is imported on first use. Without ``add_options`` the module has it: for
    all its commands, or as ``add_NAME_options``."""
    function = name.replace("-", "_")

    def own_options(parser):
        found = import_module(module)
        own = getattr(found, f"add_{function}_options", None)
        (own or found.add_options)(parser)

    def execute(options, say, communicator):
        return getattr(import_module(module), function)(options, say, communicator)

    return Command(text, add_options or own_options, execute, is_long)


_ROWS: dict[str, tuple] = {
    "new": ("muphy_lb.new.command", "write a commented case file for a vessel, a rock or a channel"),
    "examples": ("muphy_lb.new.examples", "list the example cases, or copy one", False),
    "run": (__name__, "run a case", False, _add_run_options),
    "resume": (__name__, "continue a run from its newest checkpoint", False, _add_resume_options),
    "permeability": ("muphy_lb.apps.rock.command", "compute the permeability of a rock"),
    "relative-permeability": ("muphy_lb.apps.rock.command", "compute the relative permeabilities of two fluids"),
    "drainage": ("muphy_lb.apps.rock.command", "inject a fluid into a rock in steps: capillary pressures"),
    "dissolve": ("muphy_lb.apps.rock.command", "dissolve a solid, or let it grow: porosity, permeability over time"),
    "study": ("muphy_lb.apps.study.command", "run a case many times with uncertain values: answers with bands"),
    "bench": ("muphy_lb.bench.command", "time the steps of a case relative to the copy bandwidth of the device"),
    "compare": ("muphy_lb.bench.compare.command", "time one flow in several sizes on several backends"),
    "scaling": (
        "muphy_lb.bench.scaling.command",
        "time a case on increasing numbers of ranks, and predict larger ones",
    ),
    "validate": ("muphy_lb.validation.command", "compare the solver with analytic and published numbers"),
    "warm": (
        "muphy_lb.run.warm",
        "compile ahead all kernels that a case uses but those of pictures",
        True,
        add_warm_options,
    ),
    "trace": (
        "muphy_lb.run.trace",
        "time every stage of some steps on every rank, and write a time line",
        True,
        add_trace_options,
    ),
    "plot": ("muphy_lb.run.plots", "draw the files of a finished run with other choices", True, add_plot_options),
    "slurm": ("muphy_lb.new.slurm", "write a batch script that runs a case under SLURM", False),
    "info": ("muphy_lb.run.description", "describe a case or a prepared geometry without running it"),
}
"""Of each command what :func:`_command_of` takes; :func:`run` and :func:`resume` are here."""

COMMANDS: Mapping[str, Command] = MappingProxyType({name: _command_of(name, *row) for name, row in _ROWS.items()})


def _parser(words) -> argparse.ArgumentParser:
    """A parser with all commands, and the options of the one that ``words`` begin with."""
    parser = _Parser(prog="muphy-lb", description="Sparse lattice Boltzmann flow in vessels and rocks.")
    parser.add_argument("--version", action="version", version=f"muphy-lb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.text, description=command.text)
        if words and words[0] == name:
            command.add_options(sub)
    for name, text in (PREPARING | DOCTOR).items():
        commands.add_parser(name, help=text)
    return parser


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # MPI is finalised; a plain exit code must reach the launcher without its abort banner.
    os._exit(code) if code else sys.exit(0)
