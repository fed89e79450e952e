"""The curves of a watched run: what the openings and the criteria for a steady flow have come to so far."""

from collections.abc import Sequence

import numpy as np

from muphy_lb.view.messages import Update

MOST_POINTS = 1200
"""When there are so many, every other one is dropped."""
MOST_CURVES = 12


class History:
    """Flow rates, pressures and relative changes over time.

    Args:
        names: of all openings.

    Attributes:
        openings: names of those with curves.
        n_points: number of points that have come so far.
    """

    def __init__(self, names: Sequence[str] = ()):
        self.openings = tuple(names)[:MOST_CURVES]
        self.n_points = 0
        self._flow: list[tuple[float, ...]] = []
        self._change: list[tuple[float, ...]] = []

    def add(self, update: Update) -> None:
        """Add the points of an update."""
        if update.openings:
            numbers = [number for name in self.openings for number in update.openings[name]]
            self.n_points += _append(self._flow, (update.time_s, *numbers))
        changes = [each for each in update.status.steadiness if each.change is not None]
        if changes:
            self.n_points += _append(self._change, (float(update.step), changes[0].change, changes[0].tolerance))

    def of_openings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k,) times [s], and (n, k) flow rates [m^3/s] and pressures [Pa] of the openings."""
        table = np.array(self._flow).reshape(-1, 1 + 2 * len(self.openings)).T
        return table[0], table[1::2], table[2::2]

    def of_changes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k,) steps, relative changes, and tolerances."""
        return tuple(np.array(self._change).reshape(-1, 3).T)


def _append(rows: list, row: tuple) -> bool:
    """Add a row, unless it is as old as the last one; whether it was added."""
    if rows and rows[-1][0] >= row[0]:
        return False
    rows.append(row)
    if len(rows) > MOST_POINTS:
        del rows[-2::-2]
    return True
