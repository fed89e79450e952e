"""Texts with a unit become numbers in SI, and nothing else is computed from them."""

import math

import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.quantities import in_si, metres_per_unit

VALUES = [
    ("0.2 mm", "m", 2e-4),
    ("5um", "m", 5e-6),
    ("100 mmHg", "Pa", 13332.2387415),
    ("10 cmH2O", "Pa", 980.665),
    ("5 mL/min", "m^3/s", 5e-6 / 60.0),
    ("3.5 cP", "Pa*s", 3.5e-3),
    ("3.3 mm2/s", "m^2/s", 3.3e-6),
    ("3.3 mm**2/s", "m^2/s", 3.3e-6),
    ("200 mD", "m^2", 200e-3 * 9.869233e-13),
    ("37 degC", "K", 310.15),
    ("5 degC/m", "K/m", 5.0),
    ("60 rpm", "rad/s", 2.0 * math.pi),
    ("1.06 g/cm3", "kg/m^3", 1060.0),
    ("-9.81 m/s^2", "m/s^2", -9.81),
    ("72 1/min", "1/s", 1.2),
]
REFUSED = [
    ("5 foo", "m", "has the unknown unit 'foo'; give one of the dimension of m, as in '0.2 mm'"),
    ("5 mm", "Pa", "has the unit 'mm', which is not of the dimension of Pa, as '10 mmHg' is"),
    ("1 Hz", "rad/s", "has the unit 'Hz', which is not of the dimension of rad/s"),
    ("5 mm", "K", "not of the dimension of K"),
    ("0,2 mm", "m", "must be a valid number [m], or one with its unit"),
    ("mm", "m", "must be a valid number [m]"),
    ("2**99999999 m", "m", "must be a valid number [m]"),
    ("2 m^9^9^9^9", "m", "unknown unit"),
    ("2 m^", "m", "unknown unit"),
    ("1e40 m", "m", "at most 1e+30"),
    ("1 " + "m" * 1000, "m", "must be a valid number [m]"),
]


@pytest.mark.parametrize(("text", "unit", "value"), VALUES)
def test_a_number_with_a_unit_is_converted(text, unit, value):
    assert in_si(text, unit) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(("text", "unit", "expected"), REFUSED)
def test_what_is_no_such_number_is_refused(text, unit, expected):
    with pytest.raises(ValueError, match=r".") as caught:
        in_si(text, unit)
    assert expected in str(caught.value)


@pytest.mark.parametrize(("unit", "metres"), [("um", 1e-6), ("0.2mm", 2e-4), ("2e-4", 2e-4), (2e-4, 2e-4)])
def test_the_unit_of_a_surface_is_a_word_a_length_or_a_number_of_metres(unit, metres):
    assert metres_per_unit(unit) == metres


@pytest.mark.parametrize("unit", ["mile-high", "0.2 s", 0, -1.0, True, "nan", None, [1]])
def test_another_unit_of_a_surface_is_refused_with_what_is_allowed(unit):
    with pytest.raises(
        GeometryError, match=r"allowed: m, cm, mm, um, a length such as '0.2 mm', or a number of metres"
    ):
        metres_per_unit(unit)
