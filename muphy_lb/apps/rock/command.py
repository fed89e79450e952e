"""The commands of rocks; nothing heavy is imported, so that their first line appears at once."""

from collections.abc import Callable

from muphy_lb.run.options import DEFAULT_OUTPUT, add_set

SHORT, OF_CASE = "short", "case"


def add_permeability_options(parser) -> None:
    """Add the options of ``muphy-lb permeability``."""
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
    parser.add_argument("--profile", action="store_true", help="print the wall time of every phase on every rank")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help=f"folder with one folder for each flow; repeating the command continues from what it holds (default:"
        f" {DEFAULT_OUTPUT}/CASE-permeability)",
    )
    _add_overwrite(parser)


def _add_overwrite(parser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="start again, even if OUT holds earlier flows")
    add_set(parser)


def add_relative_permeability_options(parser) -> None:
    """Add the options of ``muphy-lb relative-permeability``."""
    parser.add_argument("case", help="case file (TOML) of two fluids that a uniform body force drives")
    parser.add_argument(
        "--saturations",
        metavar="S,...",
        default="0.8,0.65,0.5,0.35,0.2",
        help="saturations of the first fluid, one after another, each from the end of the one before: falling for"
        " drainage, then rising for imbibition, where it wets (default: %(default)s)",
    )
    _add_table_output(parser, "relative-permeability")


def add_drainage_options(parser) -> None:
    """Add the options of ``muphy-lb drainage``."""
    parser.add_argument("case", help="case file (TOML) of two fluids between openings")
    points = parser.add_mutually_exclusive_group(required=True)
    points.add_argument(
        "--pressures",
        metavar="PA,...",
        help="pressures of the opening through which the second fluid enters, one after another [Pa]: rising for"
        " drainage, then falling for imbibition",
    )
    points.add_argument(
        "--saturations",
        metavar="S,...",
        help="saturations of the first fluid instead, each held by the share of the second one in what enters at the"
        " flow rate of the case: fractional flow",
    )
    parser.add_argument(
        "--settled-within",
        metavar="SHARE",
        type=float,
        default=1e-3,
        help="a pressure has settled once the saturation has no more than this left to change, as its changes over two"
        " twentieths of the steps of the case say, twice in a row, and one of --saturations if it is met within this,"
        " after 8 lengths of the rock; these steps are the most (default: %(default)s)",
    )
    _add_table_output(parser, "drainage")


def add_dissolve_options(parser) -> None:
    """Add the options of ``muphy-lb dissolve``."""
    parser.add_argument("case", help="case file (TOML) of a solid that dissolves or grows ([dissolution])")
    _add_table_output(parser, "dissolve")


def _add_table_output(parser, name: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="folder of the table, its chart and the flows; repeating the command continues from them (default:"
        f" {DEFAULT_OUTPUT}/CASE-{name})",
    )
    _add_overwrite(parser)


def permeability(options, say: Callable[[str], None], communicator) -> int:
    """Compute and print a permeability; see :func:`muphy_lb.apps.rock.permeability.permeability`."""
    from muphy_lb.apps.rock import permeability as computed

    return computed.permeability(options, say, communicator)


def relative_permeability(options, say: Callable[[str], None], communicator) -> int:
    """Compute relative permeabilities; see :mod:`muphy_lb.apps.rock.relative_permeability`."""
    from muphy_lb.apps.rock.relative_permeability import relative_permeability as computed

    return computed(options, say, communicator)


def drainage(options, say: Callable[[str], None], communicator) -> int:
    """Compute a curve of capillary pressure; see :mod:`muphy_lb.apps.rock.drainage`."""
    from muphy_lb.apps.rock.drainage import drainage as computed

    return computed(options, say, communicator)


def dissolve(options, say: Callable[[str], None], communicator) -> int:
    """Move the surface of a solid; see :mod:`muphy_lb.apps.rock.dissolve`."""
    from muphy_lb.apps.rock.dissolve import dissolve as computed

    return computed(options, say, communicator)
