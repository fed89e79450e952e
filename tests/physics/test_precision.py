"""The comparison of single with double precision sees what it should."""

from math import nan

import pytest

from muphy_lb.validation.precision import BOUND, with_single_precision
from muphy_lb.validation.record import Validation, absolute, relative


def outcome(*values):
    """A case with two comparisons, one of them with the reference 0."""
    return Validation("case", "", (relative("drag", 5.0, values[0], 1.0), absolute("residual", 0.0, values[1], 1.0)))


def row_of(double, single):
    """The row that compares the precisions."""
    return with_single_precision(outcome(*double), outcome(*single)).rows[-1]


def test_the_worst_value_is_told():
    row = row_of((5.0, 1e-9), (5.01, 1e-6))
    assert row.quantity.endswith("of 2 values: drag") and row.computed == pytest.approx(0.002) and row.passed


@pytest.mark.parametrize("single", [(5.0 * (1.0 + 1.1 * BOUND), 0.0), (5.0, 1.1 * BOUND), (nan, 0.0), (5.0, nan)])
def test_a_value_too_far_off_fails(single):
    assert not row_of((5.0, 0.0), single).passed


def test_a_case_that_single_precision_cannot_run_fails():
    broken = Validation("case", "", failure="not steady")
    assert with_single_precision(outcome(5.0, 0.0), broken).failure == "in fp32: not steady"


def test_a_skipped_case_stays_skipped():
    skipped = Validation("case", "", skipped="no data")
    assert with_single_precision(skipped, skipped) is skipped
