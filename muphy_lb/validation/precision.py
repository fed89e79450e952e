"""How far single precision takes a case from double precision."""

from dataclasses import replace

from muphy_lb.validation.record import Validation, absolute

# Largest difference of any computed value of a case, over its reference, or over a tenth of the case's largest
# reference where its own is smaller (errors, slips, residuals). Measured on all quick cases: see benchmarks/README.md.
BOUND = 5e-3
SMALL = 0.1


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
    pairs = [(row, found[row.quantity]) for row in double.rows if row.quantity in found]
    floor = SMALL * max((abs(row.reference) for row in double.rows), default=1.0) or 1.0
    differences = [abs(computed - row.computed) / max(abs(row.reference), floor) for row, computed in pairs]
    what = f"largest difference of fp32 from fp64 in {len(pairs)} values"
    return replace(double, rows=(*double.rows, absolute(what, 0.0, max(differences, default=0.0), BOUND)))
