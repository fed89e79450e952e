"""What every campaign does with its attempts: some at a time, a line for each, a table, and a verdict."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from math import inf
from pathlib import Path


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


def compute_of(options) -> dict[str, str]:
    """The keys of the section ``compute`` of the cases that the options ask for."""
    return {"backend": options.backend} | ({"transport": options.transport} if options.transport else {})


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
