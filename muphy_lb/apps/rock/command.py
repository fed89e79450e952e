"""The command ``muphy-lb permeability``; imports nothing heavy, so that its first line appears at once."""

from collections.abc import Callable

from muphy_lb.run.options import DEFAULT_OUTPUT, add_set

SHORT, OF_CASE = "short", "case"


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("case", help="case file (TOML) of a flow that a uniform body force drives")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--axis", choices="xyz", help="turn the force along this axis (default: as in the case)")
    which.add_argument("--tensor", action="store_true", help="one flow along each axis: the whole tensor")
    parser.add_argument(
        "--refine",
        metavar="PARTS",
        help="numbers of parts into which voxels are divided, as 1,2 or 1,2,3: k on infinitely fine voxels, with an"
        " error bar",
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        type=float,
        help="with --refine: most that a flow may take on each rank; crops beyond (default: what is free)",
    )
    parser.add_argument(
        "--time-step",
        choices=(SHORT, OF_CASE),
        default=SHORT,
        help="the one that settles k in the fewest steps where k does not depend on it (collision trt, walls half-way"
        " or central-linear), or that of the case (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the outcome, after each flow")
    parser.add_argument("--plot", metavar="FILE", help="draw the distribution of the velocity in the pores (PNG)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help=f"folder with one folder for each flow; the same command again goes on from what it holds (default:"
        f" {DEFAULT_OUTPUT}/CASE-permeability)",
    )
    parser.add_argument("--overwrite", action="store_true", help="begin anew, whatever OUT holds of earlier flows")
    add_set(parser)


def permeability(options, say: Callable[[str], None], communicator) -> int:
    """Compute and print a permeability; see :func:`muphy_lb.apps.rock.permeability.permeability`."""
    from muphy_lb.apps.rock import permeability as computed

    return computed.permeability(options, say, communicator)
