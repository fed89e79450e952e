"""The command ``muphy-lb bench``: whole time steps relative to the copy bandwidth of the same device."""

import json
from collections.abc import Callable
from itertools import product

from muphy_lb.backends import BACKENDS
from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import triple
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import offered, tables
from muphy_lb.bench.built_in import BUILT_IN, PAPERS, built_in_table
from muphy_lb.case.section import did_you_mean, names_among
from muphy_lb.run.options import add_set

TABLE_1 = "table1"
OF_PHYSICS = offered("PAPERS")
NAMES = (*PAPERS, TABLE_1, *OF_PHYSICS)
VARIED, DEFAULT_STEPS, DEFAULT_RUNS = ("precision", "streaming", "order"), 200, 5
FILES = (".toml", ".h5")


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    built_in = "; ".join(f"{name}: {item.meaning} ({item.size})" for name, item in BUILT_IN.items())
    parser.add_argument("case", nargs="?", metavar="CASE.toml", help="case file, or a prepared geometry CASE.h5")
    parser.add_argument(
        "--geometry", metavar="NAME|FILE", help=f"{', '.join(BUILT_IN)}, or a file, instead of CASE.toml"
    )
    parser.add_argument("--size", type=int, metavar="N", help=f"of a built-in geometry, voxels (default): {built_in}")
    parser.add_argument("--tile", metavar="NX,NY,NZ", help="copies of a geometry without openings along x, y, z")
    papers = ", ".join(NAMES)
    parser.add_argument(
        "--paper", metavar="NAME", help=f"run a paper's benchmarks and compare with its figures: {papers}"
    )
    for name in VARIED:
        parser.add_argument(f"--{name}", help="comma-separated (default: the case's)")
    parser.add_argument("--backend", help=f"auto, {', '.join(BACKENDS)} (default: the case's)")
    parser.add_argument("--steps", type=int, default=DEFAULT_STEPS, help="steps of a run (default: %(default)s)")
    parser.add_argument(
        "--runs", type=int, default=DEFAULT_RUNS, help="runs, of which the median counts (default: %(default)s)"
    )
    parser.add_argument("--whole", action="store_true", help="time whole runs by phase, a first and a second start")
    parser.add_argument("--launcher", metavar="WORDS", help="of the ranks of a whole run, such as 'mpirun -n 4'")
    parser.add_argument("--json", metavar="FILE", help="write the measurements")
    add_set(parser)


def bench(options, say: Callable[[str], None], communicator) -> int:
    """Run the requested benchmarks and report them; returns the exit code 0; collective. Raises InputError: an option
    or the case is wrong; BackendError: the backend cannot be used here, or not in this precision; MuphyError: the case
    cannot be run; OutputError: the JSON file cannot be written."""
    from muphy_lb.base.files.atomic import write_text
    from muphy_lb.bench.stream import record

    _check(options)
    # The function that times the benchmarks of a paper or those selected by the options; it returns title, device and
    # records.
    paper = options.paper
    found = tables("muphy_lb.bench") if paper in OF_PHYSICS else ()
    of_physics = {name: time_paper for table in found for name, time_paper in table.PAPERS.items()}
    time_all = _time_whole if options.whole else (of_physics | {TABLE_1: _time_table_1}).get(paper, _time_jobs)
    title, device, measurements = time_all(options, say, communicator)
    if options.json and communicator.rank == 0:
        write_text(options.json, json.dumps(record(title, device, measurements), indent=2) + "\n")
    return 0


def _time_whole(options, say, communicator) -> tuple[str, str, list[dict]]:
    from muphy_lb.bench.whole import time_whole

    return time_whole(options, say, communicator)


def _time_jobs(options, say, communicator) -> tuple[str, str, list[dict]]:
    """Title, device and records of all jobs in all variants."""
    from muphy_lb.bench import stream

    effort, measurements, title = stream.Effort(options.steps, options.runs), [], options.paper
    for job in _jobs(options, communicator):
        for number, choice in enumerate(variants(options, job.case.compute)):
            found = stream.measure(job.case, job.nodes, stream.ComputeVariant(*choice), effort, communicator)
            if number == 0:
                say(stream.head(job.case.title, job.published, found))
            say(stream.row(found))
            measurements.append({"title": job.case.title, "published": job.published} | found.record())
        title = title or job.case.title
    say(stream.LEGEND)
    return title, measurements[0]["device"], measurements


def variants(options, compute):
    """All combinations of the requested values; the case's where nothing is requested."""
    from muphy_lb.domain.local import ORDERS
    from muphy_lb.domain.streaming import STREAMINGS

    allowed = dict(zip(VARIED, (tuple(PRECISIONS), STREAMINGS, ORDERS), strict=True))
    return product(
        *(
            names_among(getattr(options, key) or getattr(compute, key), allowed[key], f"bench: --{key}")
            for key in VARIED
        )
    )


def _jobs(options, communicator):
    from muphy_lb.bench.jobs import job_of_file, job_of_table

    overrides, copies = overrides_of(options), _copies(options.tile)
    source = options.geometry or options.case
    if options.paper:
        for table, published in PAPERS[options.paper]:
            yield job_of_table(table, overrides, communicator, published)
    elif source == options.case or source.endswith(FILES):
        yield job_of_file(source, overrides, communicator, copies)
    else:
        yield job_of_table(built_in_table(source, options.size), overrides, communicator, copies=copies)


def overrides_of(options) -> list[str]:
    """Assignments of case keys that are not varied."""
    return [*options.set, *([f"compute.backend={options.backend}"] if options.backend else [])]


def _time_table_1(options, say, communicator) -> tuple[str, str, list[dict]]:
    """Title, device and records of Table I for the paper's box and for one that fills a GPU."""
    from muphy_lb.bench import table1
    from muphy_lb.bench.stream import Effort

    if communicator.size > 1:
        raise InputError(f"bench: --paper {TABLE_1} runs in one process, and {communicator.size} ranks were started")
    edge, effort = options.size or table1.BOX_EDGE, Effort(options.steps, options.runs)
    measurements = []
    say(f"Bernaschi et al. 2009, Table I\n{table1.HEADER}")
    for box, precision in product(
        (table1.PAPER_BOX, (edge,) * 3),
        names_among(options.precision or "fp32", tuple(PRECISIONS), "bench: --precision"),
    ):
        for timing in table1.time_rows(box, options.backend or "auto", precision, effort):
            say(table1.text(timing))
            measurements.append(timing.record())
    say(table1.LEGEND)
    return TABLE_1, measurements[0]["device"], measurements


def _check(options) -> None:
    """Refuse invalid options and invalid combinations of them."""
    given = [name for name in ("case", "geometry", "paper") if getattr(options, name)]
    if len(given) != 1:
        raise InputError("bench needs exactly one of a case file, --geometry NAME and --paper NAME")
    if options.paper and options.paper not in NAMES:
        raise InputError(f"bench: --paper is {options.paper!r}; {did_you_mean(options.paper, NAMES)}")
    if options.backend not in (None, "auto", *BACKENDS):
        raise InputError(
            f"bench: --backend is {options.backend!r}; {did_you_mean(options.backend, ('auto', *BACKENDS))}"
        )
    for name in ("steps", "runs", "size"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"bench: --{name} is {value}; give a whole number above zero")
    _refuse_without_effect(options)


def _refuse_without_effect(options) -> None:
    *others, last = sized = (TABLE_1, *OF_PHYSICS)
    has_size = options.paper in sized or options.geometry in BUILT_IN
    with_size = ", ".join(["a built-in --geometry", *(f"--paper {name}" for name in others)]) + f" or --paper {last}"
    ignored = [("size", with_size)] if options.size and not has_size else []
    ignored += [("tile", "a geometry")] if options.tile and options.paper else []
    if options.paper == TABLE_1:
        ignored += [(name, "whole time steps") for name in ("streaming", "order", "set") if getattr(options, name)]
    if options.whole:
        not_steps = ("paper", "geometry", "tile", *VARIED)
        ignored += [(name, "time steps, without --whole") for name in not_steps if getattr(options, name)]
    ignored += [("launcher", "--whole")] if options.launcher and not options.whole else []
    if ignored:
        raise InputError("; ".join(f"bench: --{name} goes with {where}, leave it out here" for name, where in ignored))


def _copies(text: str | None) -> tuple[int, int, int]:
    """Numbers of copies along x, y, z."""
    words = (text or "1,1,1").split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() and int(word) > 0 for word in words):
        raise InputError(f"bench: --tile is {text!r}; give the numbers of copies along x, y and z, such as 4,4,4")
    return triple(int(word) for word in words)
