"""Narrowing: a value as the type that it is known to have, where a type checker cannot infer it."""

from collections.abc import Iterable
from typing import TypeVar

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    """The value, which an earlier check ensures. Raises TypeError: there is none."""
    if value is None:
        raise TypeError("a value that an earlier check ensures is None")
    return value


def pair(values: Iterable[Value]) -> tuple[Value, Value]:
    """The two values."""
    first, second = values
    return first, second


def triple(values: Iterable[Value]) -> tuple[Value, Value, Value]:
    """The three values."""
    first, second, third = values
    return first, second, third
