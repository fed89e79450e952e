"""The command ``muphy-lb study``; imports nothing heavy, so that its first line appears at once."""

from collections.abc import Callable
from pathlib import Path

from muphy_lb.run.options import DEFAULT_OUTPUT, add_set


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("study", help="case with a table [study], or a file with that table and the name of a case")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help=f"output folder; repeating the command continues from there (default: {DEFAULT_OUTPUT}/STUDY-study)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes that share the members (default: 1)"
    )
    parser.add_argument(
        "--member", type=int, metavar="I", help="run this member alone, counted from 0, as in an array of SLURM"
    )
    parser.add_argument(
        "--no-results", action="store_true", help="run members, and leave the results to another command"
    )
    parser.add_argument("--list", action="store_true", help="list the members and their values, and run none")
    parser.add_argument("--parquet", action="store_true", help="write the table of the members as members.parquet, too")
    parser.add_argument("--overwrite", action="store_true", help="start again, even if OUT holds another study")
    add_set(parser)


def study(options, say: Callable[[str], None], communicator) -> int:
    """Run a study; returns the exit code: 75 if it was stopped, or other processes are at members that have not ended,
    from where the same command continues; 1 if all members failed. Raises InputError: a study that cannot be run, or an
    option out of bounds; OutputError: a file cannot be written."""
    from muphy_lb.apps.study.started import started

    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.study).stem}-study")
    return started(options, folder, say, communicator)
