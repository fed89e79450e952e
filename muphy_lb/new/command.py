"""The command ``muphy-lb new``: write a commented case file that runs without changes."""

import json
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.errors import MissingOptionError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import UNIT_WORDS, quantity_option
from muphy_lb.new import BLOOD, FLUIDS, KINDS, THINNING_BLOOD

DEFAULT_CASE = "case.toml"


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)} (default: vessel)")
    parser.add_argument("file", nargs="?", metavar="FILE", help="image or surface (default: a built-in example)")
    parser.add_argument("--spacing", type=quantity_option("m"), metavar="M", help="voxel edge [m], or as '0.2 mm'")
    parser.add_argument("--across", type=int, metavar="N", help="voxels across inlet, cube or channel, instead")
    parser.add_argument("--fluid", metavar="NAME", help=f"{', '.join(FLUIDS)} (default: blood in vessels, else water)")
    velocity = "mean velocity at the inlet [m/s], or as '20 cm/s'"
    parser.add_argument("--velocity", type=quantity_option("m/s"), metavar="M/S", help=velocity)
    _add_circulation(parser)
    unit = f"length unit of a surface: {UNIT_WORDS} (default: mm), or of --spacing for an image"
    parser.add_argument("--unit", metavar="UNIT", help=unit)
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="repeatable: option of the file's reader"
    )
    parser.add_argument(
        "-o", "--output", metavar="CASE.toml", default=DEFAULT_CASE, help="file to write (default: %(default)s)"
    )
    parser.add_argument("--yes", action="store_true", help="do not prompt, use defaults, replace an existing case file")


def _add_circulation(parser) -> None:
    group = parser.add_argument_group("a beating heart", "outlets with resistance and compliance, a pulsating inlet")
    pressure = "pressure at the outlets [Pa], or as '93 mmHg'"
    group.add_argument("--mean-pressure", type=quantity_option("Pa"), metavar="PA", help=f"mean {pressure}")
    highest = f"highest less lowest {pressure.replace('93', '40')}"
    group.add_argument("--pulse-pressure", type=quantity_option("Pa"), metavar="PA", help=highest)
    flow = "mean flow rate (cardiac output) through the inlets [m3/s], or as '5 L/min', in place of --velocity"
    group.add_argument("--flow-rate", "--cardiac-output", type=quantity_option("m^3/s"), metavar="M3/S", help=flow)
    group.add_argument("--beat", type=quantity_option("s"), metavar="S", help="duration of a beat [s] (default: 0.8)")
    murray = "outlets share the flow as this power of their radii (default: 3, Murray's law)"
    group.add_argument("--murray", type=float, metavar="EXPONENT", help=murray)
    split = "repeatable: share of the flow of an outlet, in place of --murray"
    group.add_argument("--split", action="append", default=[], metavar="OUTLET=SHARE", help=split)


def _circulation(options):
    from muphy_lb.new.circulation import BEAT_S, Circulation

    names = ("mean_pressure", "pulse_pressure", "flow_rate", "beat", "murray", "split")
    given = [name for name in names if getattr(options, name) not in (None, [])]
    if not given:
        return None
    needed = [name for name in ("mean_pressure", "pulse_pressure") if name not in given]
    if needed:
        words = [f"--{name.replace('_', '-')}" for name in (*given, *needed)]
        raise InputError(f"new: {', '.join(words[: len(given)])} needs {' and '.join(words[len(given) :])}, too")
    return Circulation(
        options.mean_pressure,
        options.pulse_pressure,
        options.flow_rate,
        BEAT_S if options.beat is None else options.beat,
        options.murray,
        _shares(options.split),
    )


def _shares(texts: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for text in texts:
        name, _, share = text.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError as error:
            raise InputError(f"new: --split {shown(text)} is not OUTLET=SHARE, such as outlet_1=0.4") from error
    if len(shares) < len(texts):
        raise InputError(f"new: --split names an outlet twice: {', '.join(texts)}; give each outlet one share")
    return shares


def new(options, say: Callable[[str], None], communicator, ask: Callable[[str], str] | None = None) -> int:
    """Write the case file defined by the options and by the answers to prompts; returns the exit code 0.

    Args:
        ask: takes a question and returns the answer; by default ``input``, if there is a terminal.

    Raises InputError: an invalid option or answer, or the case file exists; GeometryError: the file cannot be read or
    is unsuitable for the kind of flow; OutputError: the case file cannot be written.
    """
    if communicator.rank > 0:
        return 0
    from muphy_lb.base.files.atomic import write_text
    from muphy_lb.case.case import case_from_dict
    from muphy_lb.new.kinds import DRAFTS
    from muphy_lb.new.options import check_voxel_edge, prompt_options
    from muphy_lb.new.text import case_text
    from muphy_lb.run.description import describe_case

    path = Path(options.output)
    if path.exists() and not options.yes:
        raise InputError(f"new: {path} exists; give --yes to replace it, or another name with -o")
    if ask is None and sys.stdin.isatty():
        ask = _ask_terminal
    requested = prompt_options(_options_by_name(options), None if options.yes else ask)
    check_voxel_edge(requested, options.unit)
    say(f"a {requested.kind}: {requested.file or 'a built-in example'}")
    try:
        table, notes = DRAFTS[requested.kind](requested, path.parent)
    except MissingOptionError as error:
        raise InputError(f"new: {error.spelled(_as_option)}") from error
    source = requested.file.name if requested.file else "a built-in example"
    head = f"A {requested.kind} ({source}), {requested.fluid}; written by muphy-lb new."
    head += f"\nRun: muphy-lb run {shlex.quote(path.name)}"
    text = case_text(table, head, _proposals(requested.fluid, table))
    summary = describe_case(case_from_dict(tomllib.loads(text), path.parent))
    write_text(path, text)
    command = "permeability" if requested.kind == "rock" else "run"
    say("\n".join([*notes, summary, f"written to {path}; run it with: muphy-lb {command} {shlex.quote(str(path))}"]))
    return 0


def _as_option(name: str, value: object) -> str:
    own = {"spacing_m": "--spacing", "unit": "--unit"}
    return f"{own[name]} {value}" if name in own else f"--option {shlex.quote(f'{name}={json.dumps(value)}')}"


def _ask_terminal(question: str) -> str:
    try:
        return input(question)
    except EOFError as error:
        raise InputError(
            "new: the input ended before all questions were answered; give the options, or --yes"
        ) from error


def _options_by_name(options) -> dict:
    from muphy_lb.new.options import SURFACES, in_metres

    file = Path(options.file) if options.file else None
    is_surface = file is not None and file.suffix.lower() in SURFACES
    return {
        "kind": options.kind,
        "file": options.file,
        "spacing_m": in_metres(options.spacing, options.unit, file, is_surface),
        "across": options.across,
        "fluid": options.fluid,
        "velocity_m_s": options.velocity,
        "unit": options.unit,
        "reader": _reader_options(options) or None,
        "circulation": _circulation(options),
    }


def _reader_options(options) -> Mapping[str, object]:
    """The options of the reader; none of them has an option of the command of its own that is given as well."""
    found: dict[str, object] = {}
    for text in options.option:
        try:
            found |= tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"new: --option {shown(text)} is not NAME=VALUE in TOML ({error}); strings need quotes and lists"
                " need brackets, protected from the shell: --option \"dtype='uint8'\""
                " --option 'shape_zyx=[50, 40, 30]'"
            ) from error
    for name, own, given in (("spacing_m", "--spacing", options.spacing), ("unit", "--unit", options.unit)):
        if name in found and given is not None:
            raise InputError(f"new: {own} {given} and --option {name} are both given; leave one of them out")
    return found


def _proposals(fluid: str, table: Mapping):
    from muphy_lb.new.text import Proposal

    if fluid != BLOOD:
        return {}
    remark = "human blood that thins under shear, the fit that HemeLB uses"
    if "smagorinsky" in table["lattice"]:
        remark += "; in place of lattice.smagorinsky, which sets the viscosity as well: leave that out"
    return {"fluid.carreau_yasuda": Proposal(THINNING_BLOOD, remark)}
