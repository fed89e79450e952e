"""The comparison of precisions with fp64, and what half precision is judged by, see what they should."""

from math import inf, nan

import numpy as np
import pytest

from muphy_lb.validation import limits
from muphy_lb.validation.case import Settings, Validation, absolute, at_least, relative
from muphy_lb.validation.cases import CASES
from muphy_lb.validation.flow.channels import channel_difference
from muphy_lb.validation.flow.conservation import TOLERANCES, mass_drift
from muphy_lb.validation.limits import BOUNDS, possible_precisions, table, with_difference

HALF = Settings(quick=True, backend="numpy", precision="fp16")


def outcome(*values):
    """A case with two comparisons, one of them with the reference 0."""
    return Validation("case", "", (relative("drag", 5.0, values[0], 1.0), absolute("residual", 0.0, values[1], 1.0)))


def compared(double, other, precision="fp32"):
    """An outcome in double precision beside another."""
    return with_difference(double, double, other, precision)


def row_of(double, single):
    """The row that compares the precisions."""
    return compared(outcome(*double), outcome(*single)).rows[-1]


def test_the_worst_value_is_told():
    row = row_of((5.0, 1e-9), (5.01, 1e-6))
    assert row.quantity.endswith("of 2 values: drag") and row.computed == pytest.approx(0.002) and row.passed


@pytest.mark.parametrize(
    "single", [(5.0 * (1.0 + 1.1 * BOUNDS["fp32"]), 0.0), (5.0, 1.1 * BOUNDS["fp32"]), (nan, 0.0), (5.0, nan)]
)
def test_a_value_too_far_off_fails(single):
    assert not row_of((5.0, 0.0), single).passed


def test_a_case_that_a_precision_cannot_run_fails():
    broken = Validation("case", "", failure="not steady")
    assert compared(outcome(5.0, 0.0), broken).failure == "in fp32: not steady"


def test_a_skipped_case_stays_skipped_and_one_skipped_in_one_precision_tells_the_reason_and_passes():
    skipped = Validation("case", "", skipped="no data")
    assert compared(skipped, skipped) == skipped
    found = compared(outcome(5.0, 0.0), Validation("case", "", skipped="too few bits"), "fp16")
    assert found.passed and found.left_out == ("fp16: too few bits",) and not found.differences


def test_what_fails_in_the_other_precision_fails_the_case():
    found = compared(outcome(5.0, 0.0), Validation("case", "", (relative("drag", 5.0, 5.01, 1e-3),)))
    assert [row.quantity for row in found.rows if not row.passed] == ["fp32: drag"]


def test_a_comparison_of_no_value_fails():
    other = Validation("case", "", (absolute("another", 0.0, 0.0, 1.0),))
    (difference,) = compared(outcome(5.0, 0.0), other).differences
    assert difference.n_values == 0 and not difference.row.passed


def test_a_value_without_a_verdict_in_the_other_precision_is_not_compared():
    orders = [Validation("case", "", (at_least("order", 2.0, *pair),)) for pair in ((2.0, 0.1), (1.0, inf))]
    drags = [Validation("case", "", (relative("drag", 5.0, 5.0, 1.0), *case.rows)) for case in orders]
    (difference,) = compared(*drags).differences
    assert difference.n_values == 1 and difference.largest == 0.0


def test_table_has_a_line_for_each_case_and_precision():
    found = compared(outcome(5.0, 0.0), outcome(5.01, 0.0))
    found = with_difference(found, found, outcome(5.1, 0.0), "fp16")
    *_, single, half = table([found]).splitlines()
    assert single.split() == ["case", "fp32", "2.0e-03", "5.0e-02", "drag"]
    assert half.split() == ["case", "fp16", "2.0e-02", "1.0e-01", "drag"]
    assert table([outcome(5.0, 0.0)]) == ""


@pytest.mark.parametrize(("backend", "names"), [("numpy", ("fp64", "fp32", "fp16")), ("cpu", ("fp64", "fp32"))])
def test_a_backend_tells_the_precisions_that_it_can_do(backend, names):
    assert possible_precisions(backend) == names


# Half precision


@pytest.mark.parametrize("name", ["plane-channel", "free-slip", "taylor-green", "conservation"])
def test_case_passes_in_half_precision(name):
    found = CASES[name](HALF)
    assert found.passed and any(row.is_judged for row in found.rows), str(found)


def test_a_case_that_half_precision_cannot_resolve_says_why():
    assert "too few bits" in CASES["smagorinsky"](HALF).skipped


def test_an_order_of_convergence_is_judged_but_in_half_precision_and_a_slip_is_off_by_its_share_of_the_velocity():
    rows = [limits.order_at_least("order", 2.0, 1.0, 0.1, Settings(precision=name)) for name in ("fp64", "fp16")]
    assert [row.verdict for row in rows] == ["FAILED", "shown"]
    errors = [limits.share_row("slip", 0.01, 0.02, 1.0, Settings(precision=name)).error for name in ("fp64", "fp16")]
    assert errors == pytest.approx([1.0, 0.01])


def test_half_precision_sees_walls_a_tenth_of_a_voxel_off():
    exact = 0.5 + (3.0 / 16.0) ** 0.5  # relaxation time at which half-way walls are exact
    errors = [np.abs(channel_difference(10, "D2Q9", exact, place, HALF)).max() for place in (0.5, 0.4, 0.6)]
    assert [error < limits.FLOOR for error in errors] == [True, False, False]


def test_half_precision_loses_more_mass_than_single_may():
    drift, _ = mass_drift("fp16", 200, HALF)
    assert TOLERANCES["fp64"] < abs(drift) < TOLERANCES["fp16"]
