"""The command ``muphy-lb bench``: whole time steps relative to the copy bandwidth of the same device."""

import json
from collections.abc import Callable
from itertools import product

from muphy_lb.backends import BACKENDS
from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import triple
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import offered, tables
from muphy_lb.bench.built_in import BUILT_IN, built_in_table
from muphy_lb.case.section import did_you_mean, names_among
from muphy_lb.run.options import add_set

TOELKE, TABLE_1, BANG = "toelke", "table1", "bang"
NAMES = (TOELKE, TABLE_1, BANG, *offered("PAPERS"))
VARIED, DEFAULT_STEPS, DEFAULT_RUNS = ("precision", "streaming", "order"), 200, 5
FILES, AUTO = (".toml", ".h5"), "auto"


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
    parser.add_argument(
        "--threads", metavar="N,N,..", help=f"of a block of stream-and-collide; {AUTO}: the fastest (default: {AUTO})"
    )
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
    from muphy_lb.base.files.atomic import check_file, write_text
    from muphy_lb.bench.papers.table import text
    from muphy_lb.bench.stream import record

    _check(options)
    if options.json and communicator.rank == 0:
        check_file(options.json)
    study = (_time_whole if options.whole else _timed(options.paper))(options, say, communicator)
    tables = {table: rows for table, rows in study.tables.items() if any(any(row) for row in rows.values())}
    for table, rows in tables.items():
        say("\n" + text(table, study.device, rows))
    if options.json and communicator.rank == 0:
        found = record(study.title, study.device, study.measurements)
        found["tables"] = {table.key: rows for table, rows in tables.items()}
        write_text(options.json, json.dumps(found, indent=2) + "\n")
    return 0


def _timed(paper: str | None) -> Callable:
    """The function that times the benchmarks of a paper, or without one those selected by the options."""
    from muphy_lb.bench.papers import bang, table1, toelke

    own = {None: _time_job, TOELKE: toelke.time_toelke, TABLE_1: table1.time_table_1, BANG: bang.time_bang}
    if paper in own:
        return own[paper]
    return next(table.PAPERS[paper] for table in tables("muphy_lb.bench") if paper in table.PAPERS)


def _time_whole(options, say, communicator):
    """Whole runs of a case by phase."""
    from muphy_lb.bench.papers.table import Study
    from muphy_lb.bench.whole import time_whole

    return Study(*time_whole(options, say, communicator))


def _time_job(options, say, communicator):
    """A case or a geometry in all variants."""
    from muphy_lb.bench import stream
    from muphy_lb.bench.papers.table import Study

    job = _job(options, communicator)
    measurements = time_variants(job, options, say, communicator, threads_of(options))
    say(stream.LEGEND)
    title = job.case.title
    return Study(title, measurements[0].device, [{"title": title} | found.record() for found in measurements])


def time_variants(job, options, say, communicator, threads=(None,)) -> list:
    """The :class:`muphy_lb.bench.stream.Measurement` of a job in every requested variant, each said; collective.
    ``threads``: of a block, varied last."""
    from muphy_lb.bench import stream

    effort = stream.Effort(options.steps, options.runs)
    measurements: list = []
    for choice in variants(options, job.case.compute):
        variant = stream.ComputeVariant(*choice)
        found = stream.measure_blocks(job.case, job.nodes, variant, effort, communicator, threads)
        if not measurements:
            say(stream.head(job.case.title, found[0]))
        say("\n".join(map(stream.row, found)))
        measurements += found
    return measurements


def variants(options, compute):
    """All combinations of the requested values, with those of the case where nothing is requested."""
    from muphy_lb.domain.local import ORDERS
    from muphy_lb.domain.streaming import STREAMINGS

    allowed = dict(zip(VARIED, (tuple(PRECISIONS), STREAMINGS, ORDERS), strict=True))
    return product(
        *(
            names_among(getattr(options, key) or getattr(compute, key), allowed[key], f"bench: --{key}")
            for key in VARIED
        )
    )


def threads_of(options, default=(None,)):
    """The requested threads of a block, each once, None for ``auto`` before the others. Raises InputError: neither
    ``auto`` nor a number above zero."""
    if not options.threads:
        return default
    words = [word.strip() for word in options.threads.split(",")]
    if not all(word == AUTO or (word.isdecimal() and int(word) > 0) for word in words):
        raise InputError(
            f"bench: --threads is {options.threads!r}; give whole numbers above zero, or {AUTO}, such as {AUTO},64,128"
        )
    return tuple(n or None for n in sorted({0 if word == AUTO else int(word) for word in words}))


def _job(options, communicator):
    from muphy_lb.bench.jobs import job_of_file, job_of_table

    overrides, copies = overrides_of(options), _copies(options.tile)
    source = options.geometry or options.case
    if source == options.case or source.endswith(FILES):
        return job_of_file(source, overrides, communicator, copies)
    return job_of_table(built_in_table(source, options.size), overrides, communicator, copies=copies)


def overrides_of(options) -> list[str]:
    """Assignments of case keys that are not varied."""
    return [*options.set, *([f"compute.backend={options.backend}"] if options.backend else [])]


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
    sized = [name for name in NAMES if name != TOELKE]
    ignored = []
    if options.size and not (options.paper in sized or options.geometry in BUILT_IN):
        ignored.append(("size", f"a built-in --geometry or --paper {' or '.join(sized)}"))
    if options.tile and options.paper:
        ignored.append(("tile", "a geometry"))
    of_steps = {TABLE_1: ("streaming", "order", "threads", "set"), BANG: ("streaming", "order", "threads")}
    ignored += [(name, "whole time steps") for name in of_steps.get(options.paper, ()) if getattr(options, name)]
    if options.whole:
        not_steps = ("paper", "geometry", "tile", "threads", *VARIED)
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
