"""Options of commands that run a case; imports nothing heavy, so that help appears at once."""

import argparse

from muphy_lb.geometry.limits import shown

DEFAULT_OUTPUT = "out"
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
