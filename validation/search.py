"""Search for the number at which a flow changes, with as many flows side by side as there are groups of ranks."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from muphy_lb.validation.case import Settings

Found = TypeVar("Found")


def searched(
    run_at: Callable[[float, Settings], Found],
    is_beyond: Callable[[Found], bool],
    ends: tuple[float, float],
    half_width: float,
    settings: Settings,
) -> dict[float, Found]:
    """The flows computed in search of the number from which on ``is_beyond`` holds, by rising number; collective.

    Both ends are computed, with further numbers between them where there are more than two groups of
    ``settings.ranks`` ranks; then the first interval at whose upper end ``is_beyond`` holds is divided again, by one
    number for each group, until it is at most twice ``half_width`` wide. With one group that is a bisection. If
    ``is_beyond`` holds nowhere or everywhere, the search ends with the first numbers.

    Args:
        run_at: computes the flow of a number on the ranks of its settings; what it returns travels between ranks.
        is_beyond: whether a flow lies beyond the change.
        ends: lowest and highest number; equal ones ask for a single flow.
        half_width: of the last interval.
        settings: how the flows are computed, on which ranks.
    """
    communicator = settings.communicator
    n_groups, alone = communicator.size // settings.ranks, communicator.group(settings.ranks)
    group = communicator.rank // settings.ranks
    own = replace(settings, communicator=alone)
    low, high = ends
    numbers = np.unique(np.linspace(low, high, max(2, n_groups)))
    found: dict[float, Found] = {}
    while numbers.size:
        for first in range(0, numbers.size, n_groups):
            mine = numbers[first : first + n_groups]
            result = (float(mine[group]), run_at(float(mine[group]), own)) if group < mine.size else None
            leads = alone.rank == 0 and result is not None
            found |= dict(filter(None, communicator.broadcast(communicator.gather(result if leads else None))))
        ordered = sorted(found)
        beyond = [number for number in ordered if is_beyond(found[number])]
        if not beyond or beyond[0] == ordered[0]:
            break
        high = beyond[0]
        low = ordered[ordered.index(high) - 1]
        is_narrow = high - low <= 2 * half_width * (1 + 1e-9)
        numbers = np.empty(0) if is_narrow else np.linspace(low, high, n_groups + 2)[1:-1]
    return {number: found[number] for number in sorted(found)}
