"""Results that a record remembers, so that flows which share the record share them, too."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Result = TypeVar("Result")


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function, whose last result its first argument remembers: a record that does not change. The same further
    arguments give that result again, as long as the record lives."""

    @wraps(function)
    def found(record, *further) -> Result:
        memory = vars(record).setdefault("_remembered", {})
        before = memory.get(function)
        if before is None or before[0] != further:
            memory[function] = before = further, function(record, *further)
        return before[1]

    return found
