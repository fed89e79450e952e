"""The command ``muphy-lb validate``: run cases with known answers and judge the solver by them."""

import json
from collections.abc import Callable

from muphy_lb.errors import InputError
from muphy_lb.section import did_you_mean

FAILED_EXIT_CODE = 1


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds instead of minutes")
    parser.add_argument("--json", metavar="FILE", help="write the outcome")


def validate(options, say: Callable[[str], None], n_ranks: int = 1) -> int:
    """Run the chosen cases; returns the exit code: 1 if a comparison failed.

    Args:
        options: parsed options, see :func:`add_options`.
        say: told each outcome as it comes, as text.
        n_ranks: ranks that were started.

    Raises:
        InputError: an unknown case, or more than one rank.
    """
    from muphy_lb.output.atomic import write_text
    from muphy_lb.validation.cases import CASES

    if n_ranks > 1:
        raise InputError(f"validate was started on {n_ranks} ranks; its cases are small: start it without mpirun")
    for name in options.names:
        if name not in CASES:
            raise InputError(f"validate: unknown case {name!r}; {did_you_mean(name, list(CASES))}")
    outcomes = []
    for name in options.names or CASES:
        outcomes.append(CASES[name](options.quick))
        say(f"{outcomes[-1]}\n")
    if options.json:
        write_text(options.json, json.dumps([outcome.record() for outcome in outcomes], indent=2) + "\n")
    say(_verdict(outcomes))
    return 0 if all(outcome.passed for outcome in outcomes) else FAILED_EXIT_CODE


def _verdict(outcomes) -> str:
    rows = [row for outcome in outcomes for row in outcome.rows]
    skipped = [outcome.name for outcome in outcomes if outcome.skipped]
    verdict = f"{sum(row.passed for row in rows)} of {len(rows)} comparisons passed"
    return f"{verdict}; skipped: {', '.join(skipped)}" if skipped else verdict
