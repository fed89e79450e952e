"""Precisions: units that round nothing, and what half precision can hold in its unit."""

from math import frexp

import numpy as np
import pytest

from muphy_lb.base.precision import FP16, PRECISIONS

EVERY_PRECISION = pytest.mark.parametrize("precision", PRECISIONS.values(), ids=PRECISIONS)


@EVERY_PRECISION
def test_a_unit_is_a_power_of_two_which_changes_no_rounding(precision):
    assert frexp(precision.unit)[0] == 0.5


@EVERY_PRECISION
def test_the_arithmetic_holds_every_stored_population(precision):
    assert np.can_cast(precision.storage, precision.real)


def test_half_precision_holds_every_deviation_below_two_reference_densities():
    largest = float(np.finfo(FP16.storage).max) / FP16.unit
    assert 1.999 < largest < 2.0 and np.isfinite(FP16.storage(1.999 * FP16.unit))


def test_deviations_of_two_billionths_are_normal_numbers_in_half_precision():
    assert float(np.finfo(FP16.storage).smallest_normal) / FP16.unit < 2e-9


def test_precisions_cannot_be_replaced():
    with pytest.raises(TypeError):
        PRECISIONS["fp32"] = FP16
