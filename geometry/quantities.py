"""Numbers with a unit, as text: ``"0.2 mm"``, ``"100 mmHg"``, ``"5 mL/min"``, to numbers in SI. The units are those of
Pint (https://pint.readthedocs.io), which is imported when the first such text is met. ``mD`` is the millidarcy here,
not the millidebye."""

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from numbers import Real

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown

METRES_PER_UNIT = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6}
UNIT_WORDS = f"{', '.join(METRES_PER_UNIT)}, a length such as '0.2 mm', or a number of metres"

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
UNIT = r"[A-Za-zµμÅ°%1][\wµμÅ°%/*^.²³ -]*"
#: A number and a unit. No sums, brackets or powers of numbers: Pint would evaluate them.
QUANTITY = rf"({NUMBER})\s*({UNIT})"
PLAIN = ("", "1", "-")  # in the brackets of a heading: numbers without a unit
MAX_TEXT = 60
LARGEST = 1e30
SHORTEST, LONGEST = 1e-15, 1e15  # bounds of the length unit of a file [m]

DIGITS = 15  # of the SI value: "5 um" is then 5e-06, not 4.9999999999999996e-06


def is_quantity(text: str) -> bool:
    """Whether a text has the form of a number with a unit."""
    return len(text) <= MAX_TEXT and re.fullmatch(QUANTITY, text.strip()) is not None


def in_si(text: str, unit: str) -> float:
    """The value in SI of a number with a unit.

    Args:
        text: such as ``"0.2 mm"``; powers as ``mm2``, ``mm^2`` or ``mm**2``.
        unit: the SI unit that is wanted, such as ``"m"`` or ``"Pa*s"``.

    Raises ValueError: no such text, an unknown unit, a unit of another dimension, or a value beyond 1e30.
    """
    found = re.fullmatch(QUANTITY, text.strip()) if len(text) <= MAX_TEXT else None
    if found is None:
        raise ValueError(
            f"must be a valid number [{unit}], or one with its unit as a string, such as {example(unit)!r}"
        )
    number, name = float(found[1]), found[2].strip()
    registry = _registry()
    try:
        given = registry.Quantity(number, registry.parse_units(_with_powers(name))).to_base_units()
    # Pint hands on whatever its tokenizer raises.
    except Exception as error:
        raise ValueError(
            f"has the unknown unit {name!r}; give one of the dimension of {unit}, as in {example(unit)!r}"
        ) from error
    asked = registry.Quantity(1.0, registry.parse_units(unit)).to_base_units()
    if given.units != asked.units:  # not the dimension alone: 1 Hz is no angular velocity of 1 rad/s
        raise ValueError(f"has the unit {name!r}, which is not of the dimension of {unit}, as {example(unit)!r} is")
    value = float(f"{given.magnitude / asked.magnitude:.{DIGITS}g}")
    if not abs(value) <= LARGEST:
        raise ValueError(f"is {value:g} {unit}: it must be at most {LARGEST:g}, with either sign")
    return value


def difference_in_si(text: str, unit: str) -> float:
    """The value in SI of a difference, in which a unit with an offset has none: 2 degC are 2 K; ValueError as of
    :func:`in_si`."""
    value, found = in_si(text, unit), re.fullmatch(QUANTITY, text.strip())
    return float(f"{value - in_si(f'0 {found[2]}', unit):.{DIGITS - 3}g}") if found else value


def column_in_si(column, heading: str, unit: str):
    """A column of a table, an array, in SI. Its heading may name the unit in square brackets, ``time [ms]``; what
    stands in round ones or at its end, ``time (ms)``, ``time_ms``, ``time/ms``, ``velocity_cm_s``, counts if it is such
    a unit. ValueError as of :func:`in_si`, and for one or two letters at the end, such as ``_in``, that are a unit, but
    no decimal multiple of that in SI, and may be a part of the name."""
    square, round_ones, ends = _names_of_units(heading)
    for name in square or round_ones or ends:
        try:
            zero, one = (in_si(f"{number} {name}", unit) for number in (0, 1))
        except ValueError:
            if square:
                raise
            continue
        if len(name) < 3 and not (square or round_ones or math.log10(one - zero).is_integer()):
            raise ValueError(f"ends in {name!r}, {one:g} {unit} or a word: for the unit write [{name}], else rename it")
        return zero + (one - zero) * column
    return column


def named_unit(heading: str) -> str | None:
    """The unit that the heading of a column of plain numbers names, of any dimension: in brackets, ``flow [mL/s]``,
    ``flow (mL/s)``, or at its end, ``flow_mL_s``; None without one. Names of one letter or word are units in square
    brackets alone."""
    square, round_ones, ends = _names_of_units(heading)
    if square:
        return None if square[0].strip() in PLAIN else square[0].strip()
    for name in round_ones or [end for end in ends if "/" in end]:
        with suppress(Exception):  # what Pint raises for a word
            if len(name) > 1 and _registry().parse_units(_with_powers(name)):
                return name
    return None


def _names_of_units(heading: str) -> tuple[list[str], list[str], list[str]]:
    """Texts of a heading that may be units: the last in square brackets, all in round ones, its ends, longest first."""
    square, round_ones = (re.findall(pattern, heading) for pattern in (r"\[([^][]+)\]", r"\(([^()]+)\)"))
    words = re.split(r"[_\s/]+", heading.strip())
    ends = [sign.join(words[-n:]) for n in (3, 2, 1) if n < len(words) for sign in "/*"]
    return square[-1:], round_ones, ends


def number_in_si(text: str, unit: str) -> float:
    """The value in SI of a plain number, which is in SI, or of a number with a unit; ValueError as of :func:`in_si`."""
    return float(text) if re.fullmatch(NUMBER, text.strip()) else in_si(text, unit)


class WithUnit(float):
    """A number in SI whose text has named its unit."""


def quantity_option(unit: str) -> Callable[[str], float]:
    """The reader of an option of the command line: a number in an SI unit, or a number with its unit (WithUnit)."""

    def read(text: str) -> float:
        try:
            value = number_in_si(text, unit)
            return value if re.fullmatch(NUMBER, text.strip()) else WithUnit(value)
        except ValueError as error:
            raise ArgumentTypeError(f"{shown(text)} {error}") from error

    return read


def metres_per_unit(unit: str | float) -> float:
    """Length [m] of the unit of a file: a word of METRES_PER_UNIT, a length such as ``"0.2 mm"``, or a number of
    metres; GeometryError for anything else."""
    if isinstance(unit, str) and unit in METRES_PER_UNIT:
        return METRES_PER_UNIT[unit]
    metres = math.nan
    if isinstance(unit, str):
        with suppress(ValueError):
            metres = number_in_si(unit, "m")
    elif isinstance(unit, Real) and not isinstance(unit, bool):
        metres = float(unit)
    if not SHORTEST <= metres <= LONGEST:
        raise GeometryError(f"unit is {shown(unit)}; allowed: {UNIT_WORDS}")
    return metres


def example(unit: str) -> str:
    """A text that has the dimension of a unit, in the units of clinics and laboratories where they have one."""
    return _EXAMPLES.get(unit, f"1 {unit}")


_EXAMPLES = {
    "m": "0.2 mm",
    "m^2": "5 mm^2",
    "m/s": "20 cm/s",
    "m/s^2": "0.1 g_0",
    "m^3/s": "5 mL/min",
    "kg/s": "5 g/min",
    "Pa": "10 mmHg",
    "Pa*s": "3.5 cP",
    "m^2/s": "3.3 mm^2/s",
    "kg/m^3": "1.06 g/mL",
    "s": "10 ms",
    "K": "37 degC",
    "N/m": "72 mN/m",
    "rad": "10 deg",
    "deg": "60 deg",
    "rad/s": "30 rpm",
}


@cache
def _registry():
    import pint

    registry = pint.UnitRegistry()
    registry.define("mD = 1e-3 * darcy")
    return registry


def _with_powers(name: str) -> str:
    """A unit in Pint's spelling: ``mm2`` is ``mm^2``, but cmH2O stays as it is. Raises ValueError for powers of powers
    and of more than one digit, which Pint would compute."""
    if re.search(r"\d\s*(?:\^|\*\*|\d)", name):
        raise ValueError(f"{name!r} has a power of a power, or one of several digits")
    return re.sub(r"([A-Za-zµμ]+?)(-?\d)(?!\w)", r"\1^\2", name)
