"""How far single precision takes a case from double precision."""

from dataclasses import replace
from math import inf

from muphy_lb.validation.record import Validation, absolute

# Largest difference of any computed value of a case, over its reference, or over 1 where that is 0 (errors and
# residuals in natural units). Measured on all quick cases (benchmarks/README.md): at most 6e-4, but for three fitted
# orders of convergence, differences of nearly equal numbers, which reach 4e-2.
BOUND = 5e-2


def with_single_precision(double: Validation, single: Validation) -> Validation:
    """The outcome in double precision with a row for the largest difference of the one in single precision.

    Args:
        double, single: outcomes of the same case; rows are matched by what they compare.
    """
    if double.skipped or single.skipped:
        return double
    if single.failure:
        return replace(double, failure=f"in fp32: {single.failure}")
    found = {row.quantity: row.computed for row in single.rows}
    differences = {
        row.quantity: _or_infinite(abs(found[row.quantity] - row.computed) / (abs(row.reference) or 1.0))
        for row in double.rows
        if row.quantity in found
    }
    worst = max(differences, key=differences.get, default="none")
    what = f"fp32 from fp64, worst of {len(differences)} values: {worst}"
    return replace(double, rows=(*double.rows, absolute(what, 0.0, differences.get(worst, 0.0), BOUND)))


def _or_infinite(difference: float) -> float:
    return difference if difference < inf else inf
