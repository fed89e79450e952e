"""Products of options: every pair of values meets in the tests of a push, every combination in those of the night.

A test marked ``pairs`` stands for the product of its parameters; a parameter that is a combination itself has
``options``, a tuple of its values. Push tests are a covering array of strength two, found greedily.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations


def covering(rows: Sequence[Sequence[Hashable]]) -> set[int]:
    """Numbers of a few rows in which every two values stand together that do so in any row.

    Each is the row with most pairs that are not in those before it.
    """
    pairs = [set(combinations(enumerate(row), min(2, len(row)))) for row in rows]
    missing, chosen = set().union(*pairs), set()
    while missing:
        best = max(range(len(rows)), key=lambda number: len(pairs[number] & missing))
        chosen.add(best)
        missing -= pairs[best]
    return chosen


def leave_products_to_the_night(items) -> None:
    """Mark ``night`` the items of tests marked ``pairs`` that no pair of values needs; those for GPUs by themselves."""
    products = defaultdict(list)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "pairs" in marks and "night" not in marks and hasattr(item, "callspec"):
            products[item.path, item.originalname, "gpu" in marks].append(item)
    for product in products.values():
        needed = covering([_row(item.callspec.params) for item in product])
        for number, item in enumerate(product):
            if number not in needed:
                item.add_marker("night")


def _row(params: Mapping) -> list[Hashable]:
    """The values of one combination; those without options by their identity, which all combinations share."""
    return [value for name in sorted(params) for value in getattr(params[name], "options", (id(params[name]),))]
