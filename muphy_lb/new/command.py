"""The command ``muphy-lb new``: write a commented case file that runs as it is."""

import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from muphy_lb.errors import InputError
from muphy_lb.new.words import FLUIDS, KINDS

DEFAULT_CASE = "case.toml"


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)} (default: vessel)")
    parser.add_argument("file", nargs="?", metavar="FILE", help="image or surface (default: a built-in example)")
    parser.add_argument("--spacing", type=float, metavar="M", help="voxel edge [m]")
    parser.add_argument("--across", type=int, metavar="N", help="voxels across inlet, cube or channel, instead")
    parser.add_argument("--fluid", metavar="NAME", help=f"{', '.join(FLUIDS)} (default: blood in vessels, else water)")
    parser.add_argument("--velocity", type=float, metavar="M/S", help="mean velocity at the inlet [m/s]")
    parser.add_argument("--unit", metavar="UNIT", help="length unit of a surface: m, cm, mm, um (default: mm)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="repeatable: option of the file's reader"
    )
    parser.add_argument(
        "-o", "--output", metavar="CASE.toml", default=DEFAULT_CASE, help="file to write (default: %(default)s)"
    )
    parser.add_argument("--yes", action="store_true", help="ask nothing, take defaults, replace an old case file")


def new(options, say: Callable[[str], None], communicator, ask: Callable[[str], str] | None = None) -> int:
    """Write the case file that the options, and answers to questions, describe; returns the exit code 0.

    Args:
        options: parsed options, see :func:`add_options`.
        say: told what was found and written, as text.
        communicator: the ranks, of which the first does all.
        ask: takes a question and returns the answer; by default the terminal's ``input``, if there is a terminal.

    Raises:
        InputError: an option or an answer is wrong, or the case file exists.
        GeometryError: the file cannot be read or does not suit the kind of flow.
        OutputError: the case file cannot be written.
    """
    if communicator.rank > 0:
        return 0
    from muphy_lb.case.case import case_from_dict
    from muphy_lb.new.kinds import DRAFTS
    from muphy_lb.new.text import case_text
    from muphy_lb.new.wishes import ask_wishes
    from muphy_lb.output.atomic import write_text
    from muphy_lb.setup.info import describe_case

    path = Path(options.output)
    if path.exists() and not options.yes:
        raise InputError(f"new: {path} exists; give --yes to replace it, or another name with -o")
    if ask is None and sys.stdin.isatty():
        ask = _ask_terminal
    wishes = ask_wishes(_given(options), None if options.yes else ask)
    draft = DRAFTS[wishes.kind](wishes, path.parent)
    text = case_text(draft.table, _head(wishes, path))
    meant = describe_case(case_from_dict(tomllib.loads(text), path.parent))
    write_text(path, text)
    say("\n".join([*draft.notes, meant, f"written to {path}; run it with: muphy-lb run {path}"]))
    return 0


def _ask_terminal(question: str) -> str:
    try:
        return input(question)
    except EOFError as error:
        raise InputError("new: the answers ended before the questions; give the options, or --yes") from error


def _given(options) -> dict:
    """The options by the names of the attributes of Wishes."""
    return {
        "kind": options.kind,
        "file": options.file,
        "spacing_m": options.spacing,
        "across": options.across,
        "fluid": options.fluid,
        "velocity_m_s": options.velocity,
        "unit": options.unit,
        "reader": _reader_options(options.option) or None,
    }


def _reader_options(texts: list[str]) -> Mapping[str, object]:
    found = {}
    for text in texts:
        try:
            found |= tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(
                f"new: --option {text!r} is not NAME=VALUE in TOML ({error}); texts need quotes: dtype='uint8'"
            ) from error
    return found


def _head(wishes, path: Path) -> str:
    source = wishes.file.name if wishes.file else "a built-in example"
    return f"A {wishes.kind} ({source}), {wishes.fluid}; written by muphy-lb new.\nRun: muphy-lb run {path.name}"
