"""Options of the commands that run a case or read its files; nothing heavy is imported: help appears at once."""

import argparse

from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import quantity_option
from muphy_lb.output.drawing import PICTURE_FORMATS

DEFAULT_OUTPUT = "out"
NO_PICTURES = (
    "output.picture=false",
    *(f"output.{key}=" for key in ("picture_format", "frames_every_steps", "frames_field", "film")),
)
"""Changes of a case without which pictures are drawn; with no value a key is removed."""
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
            f"{shown(text)} is not a port; give --view behind everything else, or --view=PORT"
        )
    return int(text)


def add_plot_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``muphy-lb plot``."""
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
    parser.add_argument("--levels", metavar="VALUE,...", help="draw the surfaces in space of these values [SI]")
    parser.add_argument("--scale", metavar="LOW,HIGH", help="ends of the colours [SI], as --scale=-1,1")
    parser.add_argument("--style", choices=["dark", "light"], help="ground (default: that of the case)")
    parser.add_argument("--format", choices=PICTURE_FORMATS, help="format (default: the ending of FILE, or png)")
    parser.add_argument("-o", "--output", metavar="FILE", help="the picture (default: OUT/plot_FIELD.FORMAT)")


def add_trace_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``muphy-lb trace``."""
    parser.add_argument("case", help="case file (TOML)")
    parser.add_argument("-o", "--output", metavar="FILE", default="trace.json", help="time line (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps to record (default: %(default)s)")
    add_set(parser)


def add_warm_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``muphy-lb warm``."""
    parser.add_argument("case", help="case file (TOML)")
    add_set(parser)
