"""The command ``muphy-lb compare``: one flow in several sizes on several backends, timed side by side."""

import inspect
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

from muphy_lb.backends import BACKENDS, make_backend, resolve_backend
from muphy_lb.base.errors import BackendError, InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.section import names_among
from muphy_lb.geometry.shapes.catalogue import SHAPES
from muphy_lb.lattice import lattice_named
from muphy_lb.run.options import add_set

BANG = "bang"
FAILED_EXIT_CODE, DEFAULT_SIZES = 1, "16,32,64,128,256,512"
DEFAULT_STEPS, DEFAULT_SECONDS = 1000, 2.0
DEFAULT_FOLDER = Path("out") / "compare"
TABLE_FILE, JSON_FILE = "compare.txt", "compare.json"
TIME_FILE, SPEED_FILE, QUIVER_FILE = "time.png", "speed.png", "quiver.png"


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("case", help="case file (TOML) of a shape with the option size")
    parser.add_argument(
        "--backends",
        default=",".join(BACKENDS),
        help="comma-separated, the first is the reference (default: %(default)s)",
    )
    parser.add_argument("--sizes", default=DEFAULT_SIZES, help="geometry.options.size (default: %(default)s)")
    parser.add_argument(
        "--paper", help=f"{BANG}: the seconds of Bang and Salomonsen 2011 beside those of numpy and cuda"
    )
    parser.add_argument("--precision", help="comma-separated (default: the case's)")
    parser.add_argument("--steps", type=int, default=DEFAULT_STEPS, help="most steps of a run (default: %(default)s)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        help="time for a measurement [s]; as many steps as fit are timed, at least 10 (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help=f"output folder (default: {DEFAULT_FOLDER}/CASE)")
    parser.add_argument("--json", metavar="FILE", help="write the measurements there too")
    add_set(parser)


def compare(options, say: Callable[[str], None], communicator) -> int:
    """Time, compare and draw one flow; returns the exit code: 1 if two backends do not compute the same flow. Raises
    InputError: an option or the case is wrong, or more than one rank; BackendError: none of the backends can be used
    here; MuphyError: the flow cannot be run at one of the sizes; OutputError: the output folder cannot be written."""
    from muphy_lb.base.files.atomic import check_file, write_text
    from muphy_lb.bench.compare import study
    from muphy_lb.bench.papers.published import BANG_5_6, BANG_SECONDS
    from muphy_lb.case.case import load_case

    if communicator.size > 1:
        raise InputError(
            f"compare was started on {communicator.size} ranks; it runs in one process: start it without mpirun"
        )
    if options.paper not in (None, BANG):
        raise InputError(f"compare: --paper is {options.paper!r}; allowed: {BANG}")
    case = load_case(options.case, options.set)
    case = case if case.title else case.model_copy(update={"title": Path(options.case).stem})
    plan, unusable = _plan(options, case)
    folder = Path(options.output or DEFAULT_FOLDER / Path(options.case).stem)
    for path in filter(None, (folder / JSON_FILE, options.json)):
        check_file(path)
    lines = []

    def report(text):
        lines.append(text)
        say(text)

    published = BANG_SECONDS if options.paper else {}
    report(f"{case.title}\n{study.header(published)}")
    timings = study.time_all(case, plan, lambda timing: report(study.row(timing, published)))
    report(study.notes(timings, unusable))
    if published:
        report(f"{BANG_5_6.key}: open channel on a Core i7 (numpy) and a GeForce GT 330M (cuda)")
    agreements = list(study.check_agreement(case, plan))
    report(study.agreement_text(agreements))
    write_text(folder / TABLE_FILE, "\n".join(lines) + "\n")
    for path in filter(None, (folder / JSON_FILE, options.json)):
        write_text(path, json.dumps(study.record(case.title, timings, unusable, agreements), indent=2) + "\n")
    _draw(case, timings, folder, say, published)
    say(f"written to {folder}: {', '.join((TABLE_FILE, JSON_FILE, TIME_FILE, SPEED_FILE, QUIVER_FILE))}")
    return 0 if all(agreement.passed for agreement in agreements) else FAILED_EXIT_CODE


def _plan(options, case):
    """The plan, and the reason for each backend that cannot be used here."""
    backends = names_among(options.backends, BACKENDS, "compare: --backends")
    for name in ("steps", "seconds"):
        if not getattr(options, name) > 0:
            raise InputError(f"compare: --{name} is {getattr(options, name)}; give a number above zero")
    effort = options.steps, options.seconds
    return usable_plan(case, backends, _sizes(options.sizes), options.precision, effort)


def usable_plan(case, backends, sizes, precision: str | None, effort: tuple[int, float]):
    """The plan, and the reason for each backend that cannot be used here. ``backends``: their names, the reference
    first; ``sizes``: of the shape; ``precision``: comma-separated, the case's if None; ``effort``: most steps of a run,
    seconds of a measurement. Raises InputError: the case has no shape with a size, or a precision is unknown;
    BackendError: none of the backends can be used."""
    from muphy_lb.bench.compare.study import ComparisonPlan

    precisions = names_among(precision or case.compute.precision, tuple(PRECISIONS), "compare: --precision")
    _check_has_size(case)
    unusable = {backend: reason for backend in backends if (reason := _objection(backend))}
    usable = tuple(backend for backend in backends if backend not in unusable)
    impossible = {pair: reason for pair in product(usable, precisions) if (reason := _objection(*pair))}
    unusable |= {f"{backend} in {precision}": reason for (backend, precision), reason in impossible.items()}
    plan = ComparisonPlan(usable, sizes, precisions, *effort, frozenset(impossible))
    if any(not plan.backends_in(precision) for precision in precisions):
        raise BackendError(f"compare: none of the backends can be used: {'; '.join(unusable.values())}")
    return plan, unusable


def _sizes(text: str) -> tuple[int, ...]:
    """The comma-separated sizes in rising order, each once."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isdecimal() and int(word) > 0):
            raise InputError(f"compare: --sizes has {word!r}; give whole numbers of voxels above zero, such as 16,32")
    return tuple(sorted({int(word) for word in words}))


def _check_has_size(case) -> None:
    shape = case.geometry.shape
    if shape is None:
        raise InputError(
            f"compare: the geometry of the case is the file {case.geometry.file}, which has one size only; give a case"
            f" with geometry.shape, one of: {', '.join(_shapes_with_size())}"
        )
    if shape in SHAPES and shape not in _shapes_with_size():
        raise InputError(
            f"compare: shape {shape!r} has no option size, so it cannot be made in several sizes; shapes that have it:"
            f" {', '.join(_shapes_with_size())}"
        )


def _shapes_with_size() -> list[str]:
    return [name for name, make in SHAPES.items() if "size" in inspect.signature(make).parameters]


def _objection(backend: str, precision: str = "") -> str:
    """Why a backend cannot be used here, or cannot do a precision; empty if it can."""
    try:
        name = resolve_backend(backend)
        if precision:
            make_backend(name, lattice_named("D2Q9"), PRECISIONS[precision])
    except BackendError as error:
        return str(error)
    return ""


def _draw(case, timings, folder, say, published) -> None:
    """Draw all pictures; the flow is that of the largest size after the case's number of steps, on the fastest
    backend."""
    from muphy_lb.bench import plots
    from muphy_lb.bench.compare.study import fastest, run_to_end, variant

    plots.draw_times(folder / TIME_FILE, timings, case.title, published)
    chosen = fastest(timings)
    say(f"drawing the flow of size {chosen.size}, computed on {chosen.backend} in {chosen.precision}")
    simulation = run_to_end(variant(case, chosen.size, chosen.backend, chosen.precision))
    plane = plots.middle_plane(simulation.nodes, simulation.velocity_m_s())
    title = f"{case.title}: size {chosen.size}, step {simulation.step_number:,} (t = {simulation.time_s:.4g} s)"
    plots.draw_speed(folder / SPEED_FILE, plane, title)
    plots.draw_quiver(folder / QUIVER_FILE, plane, title)
