"""Options of the commands that run a case or read its files; heavy modules are imported on execution."""

import argparse
from collections.abc import Callable
from math import isfinite
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import quantity_option
from muphy_lb.output.drawing import PICTURE_FORMATS

VIEW = "show the run on a page for a browser on this machine; PORT of the page (default: any free one)"


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add ``--view [PORT]``: None without it, 0 for any free port."""
    parser.add_argument("--view", nargs="?", type=_port, const=0, metavar="PORT", help=VIEW)


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add ``--set KEY=VALUE``, repeatable."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of the case; with no value, remove it; repeatable",
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no port; give --view behind everything else, or --view=PORT"
        )
    return int(text)


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("folder", metavar="OUT", help="output folder of a finished run")
    parser.add_argument(
        "--field",
        default="speed",
        help="speed, pressure, wall_shear, or another field that the files of the run hold, or a series such as"
        " openings.csv (default: %(default)s)",
    )
    parser.add_argument("--axis", choices=["x", "y", "z"], help="axis across which a plane lies, or walls are seen")
    place = "position of the plane on that axis [m], or as '5 mm'"
    parser.add_argument("--at", "--position-m", dest="at", type=quantity_option("m"), metavar="M", help=place)
    parser.add_argument(
        "--time", type=quantity_option("s"), metavar="S", help="the snapshot nearest to that time [s] (default: last)"
    )
    parser.add_argument("--scale", metavar="LOW,HIGH", help="ends of the colours [SI], as --scale=-1,1")
    parser.add_argument("--style", choices=["dark", "light"], help="ground (default: that of the case)")
    parser.add_argument("--format", choices=PICTURE_FORMATS, help="format (default: the ending of FILE, or png)")
    parser.add_argument("-o", "--output", metavar="FILE", help="the picture (default: OUT/plot_FIELD.FORMAT)")


def plot(options, say: Callable[[str], None], communicator) -> int:
    """Draw one picture; returns the exit code 0.

    Args:
        options: parsed options, see :func:`add_options`.
        say: called with text.
        communicator: the ranks, of which the first draws.

    Raises:
        InputError: no run, file or field is there, or options do not go together.
        OutputError: the picture cannot be written.
    """
    if communicator.rank == 0:
        from muphy_lb.run.plots import Choices, redraw

        path = _path(options)
        limits = None if options.scale is None else _limits(options.scale)
        redraw(
            Path(options.folder),
            path,
            Choices(options.field, options.axis, options.at, options.time, limits, options.style),
        )
        say(f"written to {path}")
    return 0


def _path(options) -> Path:
    """Where the picture goes, with the ending of its format."""
    if options.output is None:
        return Path(options.folder) / f"plot_{Path(options.field).stem}.{options.format or 'png'}"
    path = Path(options.output)
    ending = path.suffix.removeprefix(".").lower()
    if not ending:
        return path.with_name(f"{path.name}.{options.format or 'png'}")
    if ending not in PICTURE_FORMATS or (options.format or ending) != ending:
        allowed = options.format or ", ".join(PICTURE_FORMATS)
        raise InputError(f"plot: -o is {options.output}, which ends in {path.suffix!r}; allowed: {allowed}")
    return path


def _limits(text: str) -> tuple[float, float]:
    """The two numbers of a scale."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = 0.0
    if not (isfinite(low) and isfinite(high) and low < high):
        raise InputError(f"plot: --scale is {text!r}; give two numbers, the lower first, as in --scale 0,0.5")
    return low, high
