"""Checks of option names and values from case files and command lines."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown

#: Bounds of every number of an option: beyond them it is a mistake, and products of a few no longer are numbers.
SMALLEST, LARGEST = 1e-15, 1e15
Record = TypeVar("Record")


def field_names(record: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass."""
    return tuple(field.name for field in fields(record))


def split_options(record: type[Record], options: Mapping[str, Any]) -> tuple[Record, dict[str, Any]]:
    """A dataclass made from the options that are its fields, and the remaining options."""
    own = {name: value for name, value in options.items() if name in field_names(record)}
    return record(**own), {name: value for name, value in options.items() if name not in own}


def not_one_array(path, names: list[str]) -> str:
    """The message for a file that holds no array, or several, of which none is chosen."""
    if not names:
        return f"{path} holds no array; name another file"
    return f"{path} holds {len(names)} arrays; give array, one of: {', '.join(names)}"


def check_names(given: Iterable[str], allowed: Iterable[str], what: str) -> None:
    """Raise GeometryError for the first name of ``given`` that is not allowed; the message suggests the closest one."""
    allowed = tuple(allowed)
    for name in given:
        if name not in allowed:
            hint = nearest_name(str(name), allowed)
            remedy = f"{hint} Allowed: " if hint else "allowed: "
            raise GeometryError(f"{what}: unknown name {shown(name)}; {remedy}{', '.join(allowed)}")


def nearest_name(name: str, allowed: Iterable[str]) -> str:
    """A question that proposes the nearest of the allowed names; empty if none is near."""
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else ""


def is_number(value) -> bool:
    """Whether a value is a number, no truth value, and not beyond LARGEST."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(abs(value) <= LARGEST)  # type: ignore[operator]


def is_whole(value) -> bool:
    """Whether a value is a whole number, no truth value, and not beyond LARGEST."""
    return isinstance(value, Integral) and is_number(value)


def check_positive(**values: float) -> None:
    """Raise GeometryError for the first keyword whose value is no number from SMALLEST to LARGEST."""
    wanted = f"it must be a number above zero, from {SMALLEST:g} to {LARGEST:g}"
    _refuse_others(values, lambda value: is_number(value) and value >= SMALLEST, wanted)


def check_counts(**values: float) -> None:
    """Raise GeometryError for the first keyword whose value is no whole number above zero, of voxels."""
    check_positive(**values)
    _refuse_others(values, lambda value: value == int(value), "it is a number of voxels: give a whole one")


def check_whole(least: int, most: int, **values: int) -> None:
    """Raise GeometryError for the first keyword whose value is no whole number from ``least`` to ``most``."""
    wanted = f"give a whole number, {least} or more, at most {most}"
    _refuse_others(values, lambda value: is_whole(value) and least <= value <= most, wanted)


def check_flag(**values: bool) -> None:
    """Raise GeometryError for the first keyword whose value is neither true nor false."""
    _refuse_others(values, lambda value: isinstance(value, bool), "it must be true or false")


def check_text(**values: str | None) -> None:
    """Raise GeometryError for the first keyword whose value is given and no text."""
    _refuse_others(values, lambda value: value is None or isinstance(value, str), "it must be a text")


def check_labels(**values: Mapping[str, int]) -> None:
    """Raise GeometryError for the first keyword that is no table of whole numbers by name."""
    wanted = "give a table of whole numbers by name, such as {lid = 3}"
    _refuse_others(values, lambda table: isinstance(table, Mapping) and all(map(is_whole, table.values())), wanted)


def _refuse_others(values: Mapping[str, object], is_right: Callable[..., bool], wanted: str) -> None:
    for name, value in values.items():
        if not is_right(value):
            raise GeometryError(f"{name} is {shown(value)}; {wanted}")


def vector(name: str, value, n: int) -> np.ndarray:
    """(n,) float64 of an option; GeometryError unless it is a list of ``n`` numbers."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(listed, list | tuple) or len(listed) != n or not all(map(is_number, listed)):
        raise GeometryError(f"{name} is {shown(value)}; give a list of {n} numbers")
    return np.array(listed, dtype=np.float64)
