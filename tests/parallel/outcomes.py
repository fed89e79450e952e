"""What every campaign does with its attempts: some at a time, a line for each, a table, and a verdict."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from math import inf
from pathlib import Path
from types import MappingProxyType

from tests.parallel.disturbed import N_STEPS, undisturbed_runs


def add_options(parser, what: str, count: int) -> None:
    """Give an argument parser the options that all campaigns have.

    Args:
        parser: the parser.
        what: of which there are a number, for the help.
        count: their number unless told.
    """
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=count, help=f"number of {what} (default {count})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--backend", default="cpu", choices=("numpy", "cpu", "cuda"))
    parser.add_argument("--transport", help="compute.transport (default: that of the case)")
    parser.add_argument("--most-ranks", type=int, default=4, help="ranks of a run at most (default 4)")
    parser.add_argument("--seconds", type=float, default=inf, help="begin no other run after that time")


def campaign(description: str, what: str, count: int, drawn: Callable, study: Callable, more=lambda found: "") -> int:
    """A campaign as a program; exit code 1 if an end was not clean.

    Args:
        description: of the program.
        what: of which there are a number, for the help.
        count: their number unless told.
        drawn: gives the situations for the options.
        study: gives the outcomes of ``(folder, situations, compute, jobs, until)``.
        more: gives what is told of the outcomes besides.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    add_options(parser, what, count)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    until, compute = time.monotonic() + options.seconds, {"backend": options.backend}
    compute |= {"transport": options.transport} if options.transport else {}
    found = study(options.folder, drawn(options), compute, options.jobs, until)
    return tell(found, f"seed {options.seed}, {N_STEPS} steps in all, {compute}{more(found)}")


def study(
    folder: Path, situations: Sequence, compute: Mapping = MappingProxyType({}), jobs=1, until=inf, *, outcome_of
) -> list:
    """What came of each situation.

    Args:
        folder: for all files.
        situations: what is done, each with its ``case``.
        compute: keys of that section of the cases.
        jobs: runs at a time.
        until: time of ``time.monotonic()`` after which no other run is begun.
        outcome_of: gives an outcome of ``(case, folder, situation, undisturbed run)``.
    """
    runs = undisturbed_runs(folder, sorted({each.case for each in situations}), compute, jobs)

    def attempt(number: int, situation):
        case, undisturbed = runs[situation.case]
        return outcome_of(case, folder / f"attempt-{number}", situation, undisturbed)

    return attempts(attempt, situations, jobs, until)


def attempts(attempt: Callable, situations: Sequence, jobs: int = 1, until: float = inf) -> list:
    """The outcomes of ``attempt(number, situation)``, some at a time; each is told as it comes.

    Args:
        attempt: gives an outcome, a dataclass with ``is_clean``.
        situations: what to attempt.
        jobs: attempts at a time.
        until: time of ``time.monotonic()`` after which no other is begun.
    """

    def told(number: int, situation):
        if time.monotonic() > until:
            return None
        outcome = attempt(number, situation)
        print(f"{number}: {'clean' if outcome.is_clean else outcome}", flush=True)  # should the campaign be cut short
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        return [outcome for outcome in pool.map(told, range(len(situations)), situations) if outcome]


def tell(outcomes: Sequence, settings: str) -> int:
    """Print the table and the count of clean outcomes; the exit code is 1 unless all are."""
    n_clean = sum(outcome.is_clean for outcome in outcomes)
    print(table(outcomes))
    print(f"{n_clean} of {len(outcomes)} clean: {settings}")
    return int(n_clean < len(outcomes))


def table(outcomes: Sequence) -> str:
    """One line an outcome."""
    heads = [field.name for field in fields(outcomes[0])] if outcomes else []
    lines = [heads, *([_cell(getattr(outcome, name)) for name in heads] for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _cell(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
