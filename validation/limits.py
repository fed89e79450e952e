"""Limitations of half precision and in-place streaming in the validation cases, and differences between precisions.

Half precision stores a population's deviation from rest with 11 significant bits: each step rounds it by 2^-11 of
itself or less. In a steady flow that rounding competes with the driving force, which changes a population by
the share 8 nu / H^2 in a step: the velocity is off by up to H^2 / (8 nu) 2^-11, were all roundings of one sign (3.7 %
between plates of H = 10 at nu = 1/6; 1.1 % was measured). It grows with the size squared where the error of the grid
falls with it. So half precision is judged at the small sizes, its steady flows with ``FLOOR``, and orders of
convergence not at all.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.validation.case import Difference, Row, Settings, Skipped, Validation, absolute, at_least, relative

HALF = "fp16"
FLOOR = 0.02  # error of a steady velocity over the largest, of channels ten wide
NO_ORDERS = (
    "fp16: ratios of a grid's errors (orders of convergence) are shown, not judged: the velocity is rounded by up to"
    " H^2 / (8 nu) 2^-11 of itself, which grows where the error of the grid falls"
)
SHARES = "fp16: slips and errors are compared as shares of the velocity: rounding moves the whole profile"


def order_at_least(quantity: str, least: float, order: float, tolerance: float, settings: Settings) -> Row:
    """A row for an order of convergence, or another ratio of a grid's errors; half precision has it shown only."""
    return at_least(quantity, least, order, inf if settings.precision == HALF else tolerance)


def share_row(quantity: str, expected: float, found: float, tolerance: float, settings: Settings) -> Row:
    """A row for a small share of the velocity, a slip or an error: relative to it, in half precision absolute."""
    compared = absolute if settings.precision == HALF else relative
    return compared(quantity, expected, found, tolerance)


def refuse_half(settings: Settings, reason: str) -> None:
    """Raises Skipped, with the reason, if the precision is half."""
    if settings.precision == HALF:
        raise Skipped(reason)


def in_half(settings: Settings, *reasons: str) -> tuple[str, ...]:
    """The reasons, if the precision is half; else none."""
    return reasons if settings.precision == HALF else ()


def possible_rules(rules, settings: Settings) -> tuple[str, ...]:
    """The wall rules that the streaming can do."""
    return tuple(rule for rule in rules if rule == HALF_WAY or settings.interpolates)


def left_out_rules(rules, settings: Settings) -> tuple[str, ...]:
    """A reason that names the wall rules which the streaming cannot do; none if it can do all."""
    missing = [rule for rule in rules if rule not in possible_rules(rules, settings)]
    return (f"{', '.join(missing)} walls: need pull or aa, streaming is {settings.streaming}",) if missing else ()


# Largest difference of any computed value of a case, over its reference, or over 1 or more where the case takes the
# error as it is (errors and residuals in natural units). fp32, measured on all quick cases (benchmarks/README.md): at
# most 6e-4, but for three fitted orders of convergence, differences of nearly equal numbers, which reach 4e-2. fp16:
# values of the flow differ by up to 1.3e-2; where the value is itself the error of a grid, by up to 3.9e-2 of that.
BOUNDS = MappingProxyType({"fp32": 5e-2, "fp16": 1e-1})
LAYOUT = "{:<24}{:<11}{:>9}{:>9}  {}"
HEADINGS = ("case", "precision", "largest", "allowed", "where")
TITLE = "largest difference of a computed value from fp64, over the size of its reference"


def possible_precisions(backend: str, device_index: int = 0) -> tuple[str, ...]:
    """Names of the precisions that a backend supports here, the highest first. ``backend``: a name of a backend, or
    ``"auto"``; ``device_index``: which of the devices of this machine. Raises InputError, BackendError: no such
    backend, or not here."""
    from muphy_lb.backends import make_backend, resolve_backend
    from muphy_lb.base.errors import BackendError
    from muphy_lb.base.precision import PRECISIONS
    from muphy_lb.lattice import lattice_named

    name, possible = resolve_backend(backend), []
    for precision in PRECISIONS.values():
        try:
            make_backend(name, lattice_named("D2Q9"), precision, device_index)
        except BackendError:
            continue
        possible.append(precision.name)
    return tuple(possible)


def with_difference(outcome: Validation, double: Validation, other: Validation, precision: str) -> Validation:
    """An outcome with a row for the largest difference of a precision from double precision, and with the comparisons
    that failed in that precision. ``outcome``: of the case in double precision; ``double``, ``other``: outcomes of the
    case at one size in double and in the other precision; rows are matched by what they compare. Rows with a
    verdict in double precision alone are not compared; ``precision``: of ``other``."""
    left_out = tuple(dict.fromkeys((*outcome.left_out, *other.left_out)))
    if outcome.skipped or other.skipped:
        reasons = () if outcome.skipped else (f"{precision}: {other.skipped}",)
        return replace(outcome, left_out=(*left_out, *reasons))
    if other.failure:
        failure = "; ".join(filter(None, (outcome.failure, f"in {precision}: {other.failure}")))
        return replace(outcome, failure=failure)
    difference = _difference(double, other, precision)
    failed = [replace(row, quantity=f"{precision}: {row.quantity}") for row in other.rows if not row.passed]
    rows, differences = (*outcome.rows, *failed, difference.row), (*outcome.differences, difference)
    return replace(outcome, rows=rows, differences=differences, left_out=left_out)


def table(outcomes: Sequence[Validation]) -> str:
    """The differences of all outcomes as text; empty if there are none."""
    lines = [LAYOUT.format(*row) for row in table_rows(outcomes)]
    return "\n".join((TITLE, LAYOUT.format(*HEADINGS), *lines)) if lines else ""


def table_rows(outcomes: Sequence[Validation]) -> list[tuple[str, ...]]:
    """A tuple of texts, in the order of ``HEADINGS``, for each difference of each outcome."""
    return [
        (outcome.name, each.precision, f"{each.largest:.1e}", f"{each.bound:.1e}", each.quantity)
        for outcome in outcomes
        for each in outcome.differences
    ]


def _difference(double: Validation, other: Validation, precision: str) -> Difference:
    """Infinite where no value can be compared."""
    found = {row.quantity: row for row in other.rows}
    differences = {
        row.quantity: abs(found[row.quantity].computed - row.computed) / found[row.quantity].scale
        for row in double.rows
        if row.quantity in found and found[row.quantity].is_judged >= row.is_judged
    }
    differences = {name: value if value < inf else inf for name, value in differences.items()}
    worst = max(differences, key=lambda name: differences[name], default="none")
    return Difference(precision, differences.get(worst, inf), worst, len(differences), BOUNDS[precision])
