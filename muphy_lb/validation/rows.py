"""Rows with a one-sided verdict, and rows without one."""

from math import inf

from muphy_lb.validation.record import Row


def at_most(quantity: str, reference: float, computed: float, tolerance: float = 0.0) -> Row:
    """A row whose error is how far the computed value passes the reference; less is as good."""
    return _row(quantity, reference, computed, max(computed - reference, 0.0 * computed), tolerance)


def shown(quantity: str, reference: float, computed: float) -> Row:
    """A row for the reader: its relative error has no bound, which its words say; only what is not a number fails."""
    return _row(quantity, reference, computed, abs(computed / reference - 1.0), inf)


def _row(quantity, *numbers) -> Row:
    return Row(quantity, *map(float, numbers))
