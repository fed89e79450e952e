"""Tuples of a known length, which a type checker tells from those of any length."""

from collections.abc import Iterable
from typing import TypeVar

Value = TypeVar("Value")


def pair(values: Iterable[Value]) -> tuple[Value, Value]:
    """The two values."""
    first, second = values
    return first, second


def triple(values: Iterable[Value]) -> tuple[Value, Value, Value]:
    """The three values."""
    first, second, third = values
    return first, second, third
