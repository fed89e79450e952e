"""Checks of option names and values from case files and command lines."""

import difflib
from collections.abc import Iterable

from muphy_lb.geometry.errors import GeometryError

AXES = "xyz"
METRES_PER_UNIT = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6}


def check_names(given: Iterable[str], allowed: Iterable[str], what: str) -> None:
    """Raise GeometryError for the first name of ``given`` that is not allowed; the message suggests the closest one."""
    allowed = tuple(allowed)
    for name in given:
        if name not in allowed:
            hint = nearest_name(str(name), allowed)
            raise GeometryError(f"{what}: unknown name {name!r}{hint and '; ' + hint} Allowed: {', '.join(allowed)}")


def nearest_name(name: str, allowed: Iterable[str]) -> str:
    """A question that proposes the nearest of the allowed names; empty if none is near."""
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else ""


def check_positive(**values: float) -> None:
    """Raise GeometryError for the first keyword whose value is not a positive number."""
    for name, value in values.items():
        if isinstance(value, (str, bool)) or not value > 0:
            raise GeometryError(f"{name} is {value!r}; it must be a number above zero")


def periodic_axes(value: str | Iterable[bool]) -> tuple[bool, bool, bool]:
    """(x, y, z) booleans from such a triple or from axis letters: ``"xz"`` is (True, False, True)."""
    if isinstance(value, str):
        if set(value) - set(AXES):
            raise GeometryError(f'periodic is {value!r}; give letters out of "xyz", such as "xy", or three true/false')
        return tuple(axis in value for axis in AXES)
    value = tuple(value)
    if len(value) != 3 or not all(isinstance(flag, bool) for flag in value):
        raise GeometryError(f'periodic is {value}; give letters out of "xyz", such as "xy", or three true/false')
    return value


def metres_per_unit(unit: str) -> float:
    """Length of one ``unit`` [m]; GeometryError for an unknown unit."""
    if unit not in METRES_PER_UNIT:
        raise GeometryError(f"unit is {unit!r}; allowed: {', '.join(METRES_PER_UNIT)}")
    return METRES_PER_UNIT[unit]
