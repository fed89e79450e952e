"""Signatures that Numba has found while it compiles a kernel, so that it does not look for the same one again.

At every use of an operator or a built-in function Numba tries its implementations one after the other, with types of
arguments that nearly always were there before: a quarter of the time of a large kernel for GPUs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_look_up = BaseFunction.get_call_type
_found: dict[tuple, tuple] | None = None  # while a kernel compiles; Numba's lock is held then


@contextmanager
def remembered() -> Iterator[None]:
    """A context in which signatures are remembered, until the outermost one ends. Numba's lock is to be held."""
    global _found
    is_outermost = _found is None
    _found = {} if is_outermost else _found
    try:
        yield
    finally:
        if is_outermost:
            _found = None


def _get_call_type(self, context, args, kws):
    """The signature of a function of Numba for the types of its arguments; takes the place of Numba's own method."""
    if _found is None or kws or not isinstance(args, tuple):
        return _look_up(self, context, args, kws)
    settings = ConfigStack.top_or_none()  # of the function at hand: implementations are compiled by them
    key = id(self), id(context), id(settings), args
    if key not in _found:
        _found[key] = _look_up(self, context, args, kws), self, settings  # which keep their ids
    return _found[key][0]


BaseFunction.get_call_type = _get_call_type  # type: ignore[method-assign]
