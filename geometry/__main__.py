"""Command ``muphy-lb geometry INPUT OUT.h5``: convert an image, surface or shape to numbered fluid nodes. With
``--find-openings`` it first reports what the input is and where its openings are; OUT.h5 is then optional."""

import argparse
import logging
import re
import shlex
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from muphy_lb.base.arguments import Parser
from muphy_lb.base.errors import OutputError, printable
from muphy_lb.base.files import PREPARED
from muphy_lb.base.files.atomic import write_text
from muphy_lb.base.narrow import known
from muphy_lb.geometry.axes import PERIODIC
from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.limits import regular_file, shown
from muphy_lb.geometry.load import FOLDER, LOADERS, SHAPE_PREFIX, file_ending, load_with_notes
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve, opening_from_mapping, read_openings
from muphy_lb.geometry.quantities import UNIT_WORDS, quantity_option
from muphy_lb.geometry.repeats import without_effect
from muphy_lb.geometry.shapes.catalogue import SHAPES
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER, Opening, Voxels

LOG = logging.getLogger(__name__)
FAILURE = 2
INPUT_OPTIONS = (
    "spacing_m",
    "origin_m",
    "periodic",
    "fluid_value",
    "fluid_below",
    "fluid_above",
    "otsu",
    "resample_m",
    "array",
    "frame",
    "channel",
    "time",
    "shape_zyx",
    "dtype",
    "header_bytes",
    "unit",
    "margin",
    "vote",
)


class _Parser(Parser):
    """An ArgumentParser whose errors fit on one line."""

    def error(self, message):
        self.exit(FAILURE, f"geometry: {message}; see muphy-lb geometry --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code, with one line on stderr: 2 for bad input, 4 for a file that cannot be
    written."""
    arguments = _parser().parse_args(argv)
    try:
        _check_files(arguments)
        LOG.info("reading     %s", arguments.input)
        found = _find_openings(arguments) if arguments.find_openings else ()
        if arguments.output is not None:
            _convert(arguments, found)
    except OutputError as error:
        print(printable(f"geometry: {error}"), file=sys.stderr)
        return error.exit_code
    except (GeometryError, MemoryError) as error:
        said = error.spelled(_option) if isinstance(error, MissingOptionError) else str(error)
        text = " ".join(said.split())
        prefix = "" if arguments.input in text else f"{arguments.input}: "
        print(printable(f"geometry: {prefix}{text}"), file=sys.stderr)
        return FAILURE
    return 0


def _option(name: str, value: object) -> str:
    words = value if isinstance(value, list) else [value]
    return " ".join([f"--{name.replace('_', '-')}", *map(str, words)])


def _check_files(arguments: argparse.Namespace) -> None:
    """GeometryError unless there is an input, and an output to write that is no input."""
    if not arguments.input.startswith(SHAPE_PREFIX) and file_ending(arguments.input) != FOLDER:
        regular_file(arguments.input)
    if arguments.output is not None and Path(arguments.output).suffix.lower() != PREPARED:
        raise GeometryError(f"the file to write is {shown(arguments.output)}; it must end with {PREPARED}")
    if arguments.find_openings:
        return
    if arguments.output is None:
        raise GeometryError(f"OUT{PREPARED} is missing; give it, or --find-openings to inspect the input")
    if arguments.toml or arguments.preview:
        raise GeometryError("--toml and --preview need --find-openings")


def opening_from_text(text: str) -> Opening:
    """The Opening of ``name=inlet kind=inlet centre_m=x,y,z normal=x,y,z radius_m=r``."""
    values = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise GeometryError(f"--opening {shown(text)}: {error}; close the quote") from error
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise GeometryError(f"--opening {shown(text)}: {shown(word)} is not name=value")
        values[key] = value.split(",") if key in ("centre_m", "normal") else value
    return opening_from_mapping(values, f"--opening {shown(text)}")


def _find_openings(arguments: argparse.Namespace) -> tuple[Opening, ...]:
    """Report what the input is and where its openings are; returns the openings that the input does not define."""
    from muphy_lb.geometry.inspection import inspect_input
    from muphy_lb.geometry.openings.find import openings_table, openings_toml

    inspection = inspect_input(arguments.input, **_input_options(arguments))
    for line in inspection.health:
        _tell(f"health      {line}")
    _tell(openings_table(inspection.found))
    if arguments.toml:
        write_text(arguments.toml, openings_toml(inspection.found))
    elif inspection.found:
        _tell(f"\n{openings_toml(inspection.found)}")
    if arguments.preview:
        inspection.draw(arguments.preview, f"{Path(arguments.input).name}: {len(inspection.found)} openings")
    for path in filter(None, (arguments.toml, arguments.preview)):
        _tell(f"written     {path}")
    return inspection.new_openings


def _tell(text: str) -> None:
    print(printable(text), flush=True)


def _convert(arguments: argparse.Namespace, found: Sequence[Opening]) -> None:
    from muphy_lb.geometry.clean import clean
    from muphy_lb.geometry.openings.find import end_states, end_warnings, with_image_ends
    from muphy_lb.geometry.store import write_geometry

    start = time.perf_counter()
    loaded = load_with_notes(arguments.input, **_input_options(arguments))
    voxels = loaded.voxels if arguments.input.startswith(SHAPE_PREFIX) else with_image_ends(loaded.voxels)
    for note in loaded.notes:
        _tell(f"input       {note}")
    _tell(f"voxels      {_describe(voxels)}")
    LOG.info("numbering the fluid nodes")
    openings = [*found, *map(opening_from_text, arguments.opening)]
    if arguments.openings:
        openings += read_openings(arguments.openings)
    voxels = carve(voxels, openings)
    nodes, report = clean(build_nodes(voxels), arguments.keep or ("openings" if voxels.openings else "all"))
    counts = np.bincount(nodes.label_number, minlength=FIRST_WALL_NUMBER)[: len(nodes.openings)]
    for opening, count in zip(nodes.openings, counts, strict=True):
        _tell(f"opening     {opening.name} ({opening.kind}): {count} opening voxels")
    for wall in nodes.walls:
        _tell(f"wall        {wall.name}: {wall.n_voxels} voxels")
    _tell(f"cleaning    {report}")
    doubtful = without_effect(voxels) if hasattr(arguments, PERIODIC) else ()
    for text in (*doubtful, *end_warnings(end_states(voxels, nodes))):
        _tell(f"warning     {text}")
    if arguments.cut_distances:
        LOG.info("cutting the links at the wall")
        nodes = _cut(nodes, voxels, arguments.input)
    if arguments.solid:
        from muphy_lb.geometry.labels import add_solids

        n_fluid, nodes = nodes.n_nodes, add_solids(nodes, voxels, arguments.solid)
        _tell(f"solids      {nodes.n_nodes - n_fluid} nodes: {', '.join(arguments.solid)}")
    write_geometry(arguments.output, nodes)
    _tell(f"written     {arguments.output}: {nodes.n_nodes} nodes in {time.perf_counter() - start:.2f} s")


def _cut(nodes: NodeList, voxels: Voxels, source: str) -> NodeList:
    """The nodes with their cut distances; prints how many links were cut."""
    from muphy_lb.geometry.neighbours import cut_links

    if voxels.wall_shape is None:
        raise GeometryError(
            f"--cut-distances: {source} defines only which voxels are solid, not where between them the wall lies;"
            " leave the option out, or give a surface, a .gmy file or a shape with smooth walls"
        )
    nodes = cut_links(nodes, voxels.wall_shape)
    cuts = known(nodes.cuts)
    _tell(f"cuts        {cuts.n_links} links cut, {cuts.n_missed} of them miss the wall (taken half-way)")
    return nodes


def _describe(voxels: Voxels) -> str:
    nz, ny, nx = voxels.shape
    porosity = voxels.n_fluid / voxels.flags.size
    return (
        f"{nx} x {ny} x {nz} of {voxels.spacing_m:g} m: {voxels.n_fluid} fluid, porosity {porosity:.4f}"
        f"; periodic: {''.join(a for a, p in zip('xyz', voxels.periodic, strict=True) if p) or 'no axis'}"
    )


def _input_options(arguments: argparse.Namespace) -> dict[str, object]:
    """The input options given on the command line, under the names that ``load_voxels`` uses."""
    options = {name: getattr(arguments, name) for name in INPUT_OPTIONS if hasattr(arguments, name)}
    for kind in ("opening", "wall"):
        words = getattr(arguments, f"{kind}_value")
        if words:
            options[f"{kind}_values"] = dict(_tag_and_value(text, kind) for text in words)
    for text in arguments.shape_option:
        try:
            options = _with_new(options, tomllib.loads(text))
        except GeometryError:
            raise
        except (ValueError, RecursionError) as error:
            raise GeometryError(
                f"--shape-option {shown(text)}: {error}; write name=value, with text in quotes: axis='x'"
            ) from error
    return options


def _with_new(options: dict[str, object], further: dict[str, object]) -> dict[str, object]:
    """Merged options. Raises GeometryError: an option is given twice."""
    for name in options.keys() & further.keys():
        raise GeometryError(f"--shape-option {name} is given already, as {shown(options[name])}; give it once")
    return options | further


def _tag_and_value(text: str, kind: str) -> tuple[str, int]:
    tag, _, value = text.partition("=")
    if not re.fullmatch(r"-?[0-9]{1,15}", value):
        example = {
            "opening": "TAG=VALUE with a whole number, such as inlet:left=2",
            "wall": "NAME=VALUE, such as lid=3",
        }
        raise GeometryError(f"--{kind}-value {shown(text)} is not {example[kind]}")
    return tag, int(value)


def _fluid_value(text: str) -> int | None:
    if text != "flags" and not re.fullmatch(r"-?[0-9]{1,15}", text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is neither a whole number nor 'flags'")
    return None if text == "flags" else int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="muphy-lb geometry",
        description="Prepare an image or a surface as a geometry in an .h5 file, or inspect one.",
    )
    parser.add_argument(
        "input", metavar="INPUT", help=f"a file ({', '.join(LOADERS)}) or {SHAPE_PREFIX}NAME ({', '.join(SHAPES)})"
    )
    parser.add_argument("output", metavar="OUT.h5", nargs="?", help="the file to write; not needed to find openings")
    _add_input_options(parser.add_argument_group("input (only options that apply to its format)"))
    group = parser.add_argument_group("openings and nodes")
    group.add_argument(
        "--opening",
        action="append",
        default=[],
        metavar="WORDS",
        help='repeatable: "name=inlet kind=inlet centre_m=x,y,z normal=x,y,z radius_m=r"',
    )
    group.add_argument("--openings", metavar="FILE", help=".toml or .json file with a list of tables 'openings'")
    group.add_argument(
        "--find-openings", action="store_true", help="find flat caps, open ends, fluid at faces of the box; take them"
    )
    group.add_argument("--toml", metavar="FILE", help="write the found openings as [[openings]] of a case file")
    group.add_argument("--preview", metavar="FILE.png", help="draw the found openings with their names")
    group.add_argument("--keep", choices=("openings", "largest", "all"), help="default: openings if any, else all")
    group.add_argument(
        "--cut-distances", action="store_true", help="store where along each link the true wall lies (smooth walls)"
    )
    group.add_argument(
        "--solid", action="append", default=[], metavar="WALL", help="repeatable: scalars diffuse in this wall's voxels"
    )
    return parser


def _add_input_options(group) -> None:
    absent = {"default": argparse.SUPPRESS}
    group.add_argument(
        "--spacing-m", type=quantity_option("m"), help="edge length of a voxel [m], or as '5 um'", **absent
    )
    group.add_argument("--origin-m", type=quantity_option("m"), nargs=3, metavar=("X", "Y", "Z"), **absent)
    group.add_argument("--periodic", metavar="AXES", help='periodic axes, such as "xy"', **absent)
    group.add_argument("--fluid-value", type=_fluid_value, help='an integer, or "flags"', **absent)
    group.add_argument("--fluid-below", type=float, metavar="T", help="fluid where the value is below T", **absent)
    group.add_argument("--fluid-above", type=float, metavar="T", help="fluid where the value is T or above", **absent)
    group.add_argument("--otsu", choices=("below", "above"), help="side of Otsu's threshold that is fluid", **absent)
    group.add_argument(
        "--resample-m", type=quantity_option("m"), metavar="H", help="resample to cubes of this edge [m]", **absent
    )
    group.add_argument("--array", metavar="NAME", help=".npz, .vti, .vtu: which array", **absent)
    group.add_argument("--frame", choices=("world", "image"), help="axes of the header or of the image", **absent)
    group.add_argument("--channel", type=int, metavar="N", help=".tif: which channel, counted from 0", **absent)
    group.add_argument("--time", type=int, metavar="N", help=".tif: which time, counted from 0", **absent)
    group.add_argument(
        "--opening-value", action="append", default=[], metavar="TAG=VALUE", help='repeatable: such as "inlet:left=2"'
    )
    group.add_argument(
        "--wall-value", action="append", default=[], metavar="NAME=VALUE", help='repeatable: such as "lid=3"'
    )
    group.add_argument("--shape-zyx", type=int, nargs="+", metavar="N", help=".raw: nz ny nx", **absent)
    group.add_argument("--dtype", help=".raw: numpy type name, such as uint8 or '>u2'", **absent)
    group.add_argument("--header-bytes", type=int, metavar="N", help=".raw: bytes to skip, 0 if none", **absent)
    group.add_argument("--unit", help=f"length unit of the file: {UNIT_WORDS}", **absent)
    votes = "surface that cannot be mended: voxels by majority along the three axes"
    group.add_argument("--vote", action="store_true", help=votes, **absent)
    group.add_argument("--margin", type=int, metavar="N", help="surface: solid layers around its box", **absent)
    group.add_argument(
        "--shape-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="repeatable: argument of a shape, or a step that prepares an image, such as reservoir_layers=3",
    )


if __name__ == "__main__":
    sys.exit(main())
