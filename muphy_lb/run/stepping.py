"""How many steps somebody asks for: a whole number, or those that a time takes."""

from math import ceil, isfinite
from numbers import Real

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import number_in_si

ROUNDING = 1e-9
"""Share of a step by which the quotient of two times may miss a whole number of steps."""


COVER_A_TIME = "round it, or give the time to run_for(time_s), which takes as many steps as cover it"


def whole_steps(n_steps, call: str = "step", remedy: str = COVER_A_TIME) -> int:
    """A number of steps; a float counts if it is whole.

    Args:
        n_steps: what was given.
        call, remedy: to what, and what else to give, for the message of the error.

    Raises:
        InputError: it is not a whole number of 0 or more.
    """
    is_number = isinstance(n_steps, Real) and not isinstance(n_steps, bool)
    if not is_number or not isfinite(n_steps) or n_steps < 0 or n_steps != int(n_steps):
        raise InputError(f"{call}: the number of steps is {n_steps!r}; it must be a whole number, 0 or more: {remedy}")
    return int(n_steps)


def steps_covering(time_s, time_step_s: float, call: str = "run_for") -> int:
    """The least number of steps that cover a time [s], a number or a text with a unit such as ``"1 ms"``; ``call``: to
    which it was given, for the message of the error.

    Raises:
        InputError: it is not a finite time of 0 or more.
    """
    if isinstance(time_s, str):
        try:
            time_s = number_in_si(time_s, "s")
        except ValueError as error:
            raise InputError(f"{call}: the time is {shown(time_s)}; it {error}") from error
    is_number = isinstance(time_s, Real) and not isinstance(time_s, bool)
    if not is_number or not isfinite(time_s) or time_s < 0:
        raise InputError(f"{call}: the time is {time_s!r}; it must be a finite number of seconds, 0 or more")
    steps = float(time_s) / time_step_s
    return ceil(steps - ROUNDING * max(1.0, steps))
