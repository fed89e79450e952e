"""The command ``muphy-lb validate``: run cases with reference solutions and check the solver against them."""

import inspect
import time
from collections.abc import Callable
from dataclasses import replace

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.case.section import did_you_mean
from muphy_lb.validation.case import DEFAULT, Settings
from muphy_lb.validation.limits import HALF

FAILED_EXIT_CODE = 1


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the cases without running them")
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds instead of minutes")
    parser.add_argument("--backend", default=DEFAULT.backend, help="auto, cpu, cuda or numpy (default: auto)")
    parser.add_argument(
        "--precision", default=DEFAULT.precision, help="fp64, fp32, or fp16 at the sizes of --quick (default: fp64)"
    )
    parser.add_argument("--streaming", default=DEFAULT.streaming, help="pull, push or aa (default: pull)")
    parser.add_argument(
        "--ranks", type=int, metavar="N", help="that share a simulation where a case searches with several (default: 1)"
    )
    parser.add_argument(
        "--compare-precisions",
        action="store_true",
        help="run in every precision, and report the deviation of each from fp64",
    )
    parser.add_argument("--json", metavar="FILE", help="write the outcome")
    parser.add_argument("--report", metavar="FOLDER", help="write a page with tables and plots, and each plot")


def validate(options, say: Callable[[str], None], communicator=DEFAULT.communicator) -> int:
    """Run the chosen cases; returns the exit code: 1 if a comparison failed, or a case ended early on one rank. Raises
    InputError: an unknown case, backend, precision or streaming, or several ranks for a case of one; BackendError: the
    backend cannot run here, or not in this precision; MuphyError: on several ranks, what ended a case; OutputError: the
    report or the JSON file cannot be written."""
    from muphy_lb.base.files.atomic import check_file, check_writable, write_text
    from muphy_lb.validation.cases import CASES
    from muphy_lb.validation.limits import possible_precisions, table
    from muphy_lb.validation.report import as_json, verdict, write_report

    names = options.names or list(CASES)
    for name in names:
        if name not in CASES:
            raise InputError(f"validate: unknown case {name!r}; {did_you_mean(name, list(CASES))}")
    if options.list:
        say("\n".join(f"{name:<24}{_description(CASES[name])}" for name in names))
        return 0
    _check_ranks(names, communicator.size, options.ranks)
    settings, device = _settings(options, communicator)
    devices = settings.backend, communicator.local_rank
    others = possible_precisions(*devices)[1:] if options.compare_precisions else ()
    json, report = (options.json, options.report) if communicator.rank == 0 else (None, None)
    if report:
        check_writable(report)
    if json:
        check_file(json)
    outcomes = []
    for name in names:
        outcomes.append(_compared(name, CASES[name], settings, others, device))
        say(f"{outcomes[-1]}\n")
        if json:  # each time: a run that is ended keeps what it has found
            write_text(json, as_json(outcomes))
    if report:
        say(f"written: {write_report(report, outcomes)}")
    say("\n\n".join(filter(None, (table(outcomes), verdict(outcomes)))))
    return 0 if all(outcome.passed for outcome in outcomes) else FAILED_EXIT_CODE


def _check_ranks(names, n_ranks: int, n_shared: int | None) -> None:
    from muphy_lb.validation.cases import SHARED

    if n_shared is not None and (n_shared < 1 or n_ranks % n_shared):
        raise InputError(f"validate: --ranks is {n_shared}; give a divisor of the ranks that were started, {n_ranks}")
    if n_ranks > 1 and not SHARED.issuperset(names):
        raise InputError(
            f"validate was started on {n_ranks} ranks, which only {' and '.join(sorted(SHARED))} share; name these, or"
            " start it without mpirun"
        )


def _settings(options, communicator) -> tuple[Settings, str]:
    """The settings, and the device that they choose, as text."""
    from muphy_lb.backends import make_backend, resolve_backend
    from muphy_lb.base.precision import PRECISIONS
    from muphy_lb.domain import STREAMINGS
    from muphy_lb.lattice import lattice_named

    for key, allowed in (("precision", PRECISIONS), ("streaming", STREAMINGS)):
        if getattr(options, key) not in allowed:
            raise InputError(f"validate: {key} is {getattr(options, key)!r}; allowed: {', '.join(allowed)}")
    if options.compare_precisions and options.precision != "fp64":
        raise InputError("validate: --compare-precisions compares all with fp64; leave --precision out")
    name = resolve_backend(options.backend)
    backend = make_backend(name, lattice_named("D2Q9"), PRECISIONS[options.precision], communicator.local_rank)
    quick = options.quick or options.precision == HALF
    settings = Settings(quick, name, options.precision, options.streaming, communicator, options.ranks or 1)
    return settings, f"{backend.device}, backend {name}, {options.precision}, {options.streaming}"


def _compared(name: str, case: Callable, settings: Settings, precisions, device: str):
    """The outcome of a case, and its difference in the other precisions; half precision at the small sizes
    (:mod:`muphy_lb.validation.limits` gives the reason)."""
    from muphy_lb.validation.limits import with_difference

    outcome = _outcome(name, case, settings, device)
    doubles = {settings.quick: outcome}
    for precision in precisions:
        chosen = replace(settings, precision=precision, quick=settings.quick or precision == HALF)
        if chosen.quick not in doubles:
            doubles[chosen.quick] = _outcome(name, case, replace(settings, quick=chosen.quick), device)
        other = _outcome(name, case, chosen, device)
        outcome = with_difference(outcome, doubles[chosen.quick], other, precision)
    return outcome


def _outcome(name: str, case: Callable, settings: Settings, device: str):
    """The outcome of a case; on one rank an error ends that case only, so that the others still run."""
    from muphy_lb.validation.case import Validation

    before = time.perf_counter()
    try:
        outcome = case(settings)
    except MuphyError as error:
        if settings.communicator.size > 1:
            raise  # the other ranks would wait for this one
        outcome = Validation(name, _description(case), failure=str(error))
    return replace(outcome, device=device, seconds=time.perf_counter() - before)


def _description(case: Callable) -> str:
    """First line of a case's docstring."""
    return (inspect.getdoc(case) or "").partition("\n")[0]
