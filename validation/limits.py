"""Limitations of half precision and in-place streaming in the validation cases, with the reasons.

Half precision stores a population's deviation from rest with 11 significant bits: each step rounds it by 2^-11 of
itself or less. In a steady flow that rounding competes with the driving force, which changes a population by
the share 8 nu / H^2 in a step: the velocity is off by up to H^2 / (8 nu) 2^-11, were all roundings of one sign (3.7 %
between plates of H = 10 at nu = 1/6; 1.1 % was measured). It grows with the size squared where the error of the grid
falls with it. So half precision is judged at the small sizes, its steady flows with ``FLOOR``, and orders of
convergence not at all.
"""

from math import inf

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.validation.case import Row, Settings, absolute, at_least, relative

HALF = "fp16"
FLOOR = 0.02  # error of a steady velocity over the largest, of channels ten wide
NO_ORDERS = (
    "fp16: ratios of a grid's errors (orders of convergence) are shown, not judged: the velocity is rounded by up to"
    " H^2 / (8 nu) 2^-11 of itself, which grows where the error of the grid falls"
)
SHARES = "fp16: slips and errors are compared as shares of the velocity: rounding moves the whole profile"


def order_at_least(quantity: str, least: float, order: float, tolerance: float, settings: Settings) -> Row:
    """A row for an order of convergence, or another ratio of a grid's errors; half precision has it shown only."""
    return at_least(quantity, least, order, inf if settings.precision == HALF else tolerance)


def share_row(quantity: str, expected: float, found: float, tolerance: float, settings: Settings) -> Row:
    """A row for a small share of the velocity, a slip or an error: relative to it, in half precision absolute."""
    compared = absolute if settings.precision == HALF else relative
    return compared(quantity, expected, found, tolerance)


def in_half(settings: Settings, *reasons: str) -> tuple[str, ...]:
    """The reasons, if the precision is half; else none."""
    return reasons if settings.precision == HALF else ()


def possible_rules(rules, settings: Settings) -> tuple[str, ...]:
    """Those of the wall rules that the streaming can do."""
    return tuple(rule for rule in rules if rule == HALF_WAY or settings.interpolates)


def left_out_rules(rules, settings: Settings) -> tuple[str, ...]:
    """A reason that names the wall rules which the streaming cannot do; none if it can do all."""
    missing = [rule for rule in rules if rule not in possible_rules(rules, settings)]
    return (f"{', '.join(missing)} walls: need pull or aa, streaming is {settings.streaming}",) if missing else ()
