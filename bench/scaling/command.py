"""The command ``muphy-lb scaling``: one case on increasing numbers of ranks, and a prediction for larger ones."""

import json
import shlex
from collections.abc import Callable
from itertools import product
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.bench.built_in import BUILT_IN, built_in_table
from muphy_lb.bench.scaling.problem import MEANING, STRONG
from muphy_lb.case.section import did_you_mean, names_among
from muphy_lb.run.options import add_set

PAPERS, VARIED = ("table2", "table2-box"), ("precision", "streaming", "transport")
DEFAULT_STEPS, DEFAULT_RUNS = 200, 5
WORDS = ("geometry", "size", "paper", "measured", "ranks", "mode", *VARIED, "steps", "runs", "json", "plots")
PREDICTED = ("link_gb_s", "latency_us", "gpus_per_node", "gpu_gb")
SCALING_FILE, SPLIT_FILE, PREDICTION_FILE = "scaling.png", "split.png", "prediction.png"


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    built_in = "; ".join(f"{name}: {item.meaning} ({item.size})" for name, item in BUILT_IN.items())
    parser.add_argument("case", nargs="?", metavar="CASE.toml", help="case file, or a prepared geometry CASE.h5")
    parser.add_argument("--geometry", metavar="NAME", help=f"{', '.join(BUILT_IN)}, instead of CASE.toml")
    parser.add_argument("--size", type=int, metavar="N", help=f"of a built-in geometry, voxels (default): {built_in}")
    parser.add_argument("--paper", metavar="NAME", help=f"run a paper's study beside its numbers: {', '.join(PAPERS)}")
    parser.add_argument(
        "--ranks", metavar="N,N,..", help="numbers of ranks (default: powers of two up to those started, and these)"
    )
    modes = "; ".join(f"{name}: {text}" for name, text in MEANING.items())
    parser.add_argument("--mode", help=f"{modes} (default: {STRONG})")
    for name in VARIED:
        parser.add_argument(f"--{name}", help="comma-separated (default: the case's)")
    parser.add_argument("--steps", type=int, help=f"steps of a run (default: {DEFAULT_STEPS}, or the paper's)")
    parser.add_argument("--runs", type=int, help=f"runs, of which the median counts (default: {DEFAULT_RUNS})")
    parser.add_argument("--json", metavar="FILE", help="write the measurements and the predictions")
    parser.add_argument("--plots", metavar="FOLDER", help="draw speed-up, time split and prediction there")
    add_set(parser)
    parser.add_argument(
        "--measured", metavar="FILE", help="measure nothing: take the points from the --json of an earlier study"
    )
    parser.add_argument("--predict", action="store_true", help="fit a model and predict 8 to 4096 GPUs")
    parser.add_argument("--link-gb-s", type=float, metavar="X", help="predicted: GB/s per GPU between nodes (25)")
    parser.add_argument("--latency-us", type=float, metavar="X", help="predicted: us a message between nodes (5)")
    parser.add_argument("--gpus-per-node", type=int, metavar="N", help="predicted: GPUs connected as measured (8)")
    parser.add_argument("--gpu-gb", type=float, metavar="X", help="predicted: GB of memory of a GPU (141)")


def scaling(options, say: Callable[[str], None], communicator) -> int:
    """Run the requested study and report it; returns the exit code 0; collective. Raises InputError: an option or the
    case is wrong, or fewer ranks were started than are asked for; BackendError: a backend, precision or transport
    cannot be used here; MuphyError: the case cannot be run; OutputError: a file cannot be written."""
    from muphy_lb.base.files.atomic import check_file, check_writable
    from muphy_lb.bench.scaling import study

    _check(options)
    if options.measured:
        return _read(options, say, communicator)
    ranks = _ranks(options, communicator.size)
    if communicator.rank == 0:
        if options.plots:
            check_writable(options.plots)
        if options.json:
            check_file(options.json)
    base = _job(options, communicator)
    plan = _plan(options, ranks, base.case.compute)

    def report(points):
        if len(points) == 1:
            say(study.head(base.case.title, plan.mode, points[0]))
        say(study.row(points[-1]))
        if options.json and communicator.rank == 0:
            _write(options, base, plan, points)

    points = study.run_study(base, plan, communicator, report)
    say(study.LEGEND)
    if communicator.rank == 0:
        _finish(options, say, base, plan, points)
    return 0


def _read(options, say, communicator) -> int:
    """The table, the prediction and the files of an earlier study."""
    from muphy_lb.bench.scaling import study
    from muphy_lb.bench.stream import Effort

    mode, points = study.read_study(options.measured)
    base = _job(options, communicator)
    travelled = [point for point in points if point.ranks > 1] or points
    variants = tuple(dict.fromkeys(point.variant for point in travelled))
    plan = study.ScalingPlan(
        tuple(sorted({point.ranks for point in points})), mode, variants, Effort(points[0].n_steps, 1)
    )
    if communicator.rank == 0:
        say(study.head(base.case.title, mode, points[0]))
        say("\n".join([*map(study.row, points), study.LEGEND]))
        _finish(options, say, base, plan, points)
    return 0


def _finish(options, say, base, plan, points) -> None:
    """The paper, the prediction and the files, on rank 0."""
    from muphy_lb.bench.papers.table import text
    from muphy_lb.bench.scaling import model, predict, study, table2
    from muphy_lb.lattice import lattice_named

    groups, forecasts = study.named_series(points, plan.variants), []
    if options.paper:
        beside = text(table2.PRESETS[options.paper].table, points[0].device, table2.rows(options.paper, points))
        say("\n".join(filter(None, (beside, table2.steps_note(options.paper, points)))))
    if options.predict:
        plans, cuts = _plans(options), model.partition_cuts(base.nodes, lattice_named(base.case.lattice.name))
        n_nodes = base.nodes.n_nodes if plan.mode == STRONG else None
        forecasts = [predict.forecast(name, some, n_nodes, cuts, plans) for name, some in groups.items()]
        say(predict.text(forecasts, plans))
    if options.json:
        _write(options, base, plan, points, forecasts)
    if options.plots:
        from muphy_lb.bench import plots

        folder, title = Path(options.plots), base.case.title
        plots.draw_scaling(folder / SCALING_FILE, groups, f"{title}, {plan.mode} scaling")
        plots.draw_split(folder / SPLIT_FILE, groups, f"{title}, {plan.mode} scaling: where the time goes")
        if forecasts:
            plots.draw_forecasts(folder / PREDICTION_FILE, forecasts, f"{title}: model fitted to the measured ranks")


def _write(options, base, plan, points, forecasts=()) -> None:
    """Write the JSON file; after every point, so that those so far are kept if a later one fails."""
    from muphy_lb.base.files.atomic import write_text
    from muphy_lb.bench.scaling import table2
    from muphy_lb.bench.stream import record

    table = record(base.case.title, points[0].device, [point.record() for point in points])
    table["mode"] = plan.mode
    if options.paper:
        table["tables"] = {table2.PRESETS[options.paper].table.key: table2.rows(options.paper, points)}
    table["forecasts"] = [item.record() for item in forecasts]
    write_text(options.json, json.dumps(table, indent=2) + "\n")


def _job(options, communicator):
    """The job of one rank; collective."""
    from muphy_lb.bench.jobs import job_of_file, job_of_table
    from muphy_lb.bench.scaling import table2

    if options.paper:
        return job_of_table(table2.case_table(options.paper, options.size), options.set, communicator)
    if options.geometry:
        return job_of_table(built_in_table(options.geometry, options.size), options.set, communicator)
    return job_of_file(options.case, options.set, communicator)


def _plan(options, ranks, compute):
    """The measurements; the case's values where nothing is requested."""
    from muphy_lb.bench.scaling import table2
    from muphy_lb.bench.scaling.study import ScalingPlan, SeriesVariant
    from muphy_lb.bench.stream import Effort
    from muphy_lb.domain.streaming import STREAMINGS
    from muphy_lb.parallel.choice import TRANSPORTS

    allowed = dict(zip(VARIED, (tuple(PRECISIONS), STREAMINGS, TRANSPORTS), strict=True))
    chosen = [
        names_among(getattr(options, key) or getattr(compute, key), allowed[key], f"scaling: --{key}") for key in VARIED
    ]
    steps, runs = DEFAULT_STEPS, DEFAULT_RUNS
    if options.paper:
        steps, runs = table2.PRESETS[options.paper].steps, table2.RUNS
    effort = Effort(options.steps or steps, options.runs or runs)
    return ScalingPlan(
        ranks, options.mode or STRONG, tuple(SeriesVariant(*names) for names in product(*chosen)), effort
    )


def _plans(options):
    from dataclasses import replace

    from muphy_lb.bench.scaling.model import Link
    from muphy_lb.bench.scaling.predict import TargetMachine

    plans = TargetMachine()
    link = Link(options.link_gb_s or plans.link.gb_s, options.latency_us or plans.link.latency_us)
    given = {name: value for name in PREDICTED[2:] if (value := getattr(options, name))}
    return replace(plans, link=link, **given)


def _ranks(options, n_started: int) -> tuple[int, ...]:
    """The numbers of ranks in rising order, each once. Raises InputError: one is no number above zero, or not as many
    were started."""
    if options.ranks is None:
        return tuple(sorted({n_started, *(1 << k for k in range(n_started.bit_length()))}))
    words = [word.strip() for word in options.ranks.split(",")]
    for word in words:
        if not (word.isdecimal() and int(word) > 0):
            raise InputError(f"scaling: --ranks has {word!r}; give whole numbers above zero, such as 1,2,4")
    ranks = tuple(sorted({int(word) for word in words}))
    if ranks[-1] > n_started:
        started = "1 rank was" if n_started == 1 else f"{n_started} ranks were"
        raise InputError(
            f"scaling: --ranks asks for {ranks[-1]} and {started} started; type:"
            f" ./run_mpi.sh -n {ranks[-1]} scaling {shlex.join(_words(options))}"
        )
    return ranks


def _words(options) -> list[str]:
    words = [options.case] if options.case else []
    for name in (*WORDS, *PREDICTED):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    for override in options.set:
        words += ["--set", override]
    return words + ["--predict"] * options.predict


def _check(options) -> None:
    """Refuse invalid options and invalid combinations of them."""
    given = [name for name in ("case", "geometry", "paper") if getattr(options, name)]
    if len(given) != 1:
        raise InputError("scaling needs exactly one of a case file, --geometry NAME and --paper NAME")
    for name, allowed in (("paper", PAPERS), ("geometry", tuple(BUILT_IN)), ("mode", tuple(MEANING))):
        value = getattr(options, name)
        if value is not None and value not in allowed:
            raise InputError(f"scaling: --{name} is {value!r}; {did_you_mean(value, allowed)}")
    for name in ("size", "steps", "runs", *PREDICTED):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise InputError(f"scaling: --{name.replace('_', '-')} is {value}; give a number above zero")
    _refuse_without_effect(options)


def _refuse_without_effect(options) -> None:
    ignored = [("size", "a built-in --geometry or --paper")] if options.size and options.case else []
    if options.paper and options.mode not in (None, STRONG):
        ignored.append((f"mode {options.mode}", "a case or --geometry"))
    measuring = ("ranks", "mode", *VARIED, "steps", "runs")
    ignored += [(name, "what is measured") for name in measuring if options.measured and getattr(options, name)]
    if not options.predict:
        ignored += [(name.replace("_", "-"), "--predict") for name in PREDICTED if getattr(options, name)]
    if ignored:
        raise InputError(
            "; ".join(f"scaling: --{name} goes with {where}, leave it out here" for name, where in ignored)
        )
