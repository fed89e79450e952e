"""What tracers tell of a flow: how many have left and where, how long they stayed, how far apart they have come."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.units import Units
from muphy_lb.physics.particles.tracers.walk import (
    BORN,
    END,
    END_STEP,
    STUCK,
    UNDER_WAY,
    WAITING,
    travelled,
)

HALF_A_STEP = 0.5
"""A tracer leaves within a step: half of one before its end on average."""


@dataclass(frozen=True)
class TracerStatistics:
    """State of all tracers of a set at one time.

    Attributes:
        waiting: how many have not started.
        under_way: how many move.
        stuck: how many stick to walls.
        left: how many have left through each opening, by name.
        mean_residence_s: how long those stayed on average [s]; NaN where none left.
        displacement_m: (3,) mean displacement of those that move [m].
        variance_m2: (3,) variance of their displacement along each axis [m^2].
        mean_square_m2: mean of the square of their displacement [m^2].
    """

    waiting: int
    under_way: int
    stuck: int
    left: dict[str, int]
    mean_residence_s: dict[str, float]
    displacement_m: np.ndarray
    variance_m2: np.ndarray
    mean_square_m2: float


def tracer_statistics(columns: Mapping[str, np.ndarray], openings, units: Units) -> TracerStatistics:
    """The statistics of all tracers of a set.

    Args:
        columns: of all tracers, by name.
        openings: names of all openings, in order.
        units: SI sizes of the lattice units.
    """
    end = columns[END]
    moves = end == UNDER_WAY
    distance_m = units.spacing_m * travelled(columns)[:, moves]
    nothing = np.full(3, np.nan)
    stays = {name: residence_s(columns, k, units) for k, name in enumerate(openings)}
    return TracerStatistics(
        waiting=int((end == WAITING).sum()),
        under_way=int(moves.sum()),
        stuck=int((end == STUCK).sum()),
        left={name: stay.size for name, stay in stays.items()},
        mean_residence_s={name: float(stay.mean()) if stay.size else np.nan for name, stay in stays.items()},
        displacement_m=distance_m.mean(axis=1) if moves.any() else nothing,
        variance_m2=distance_m.var(axis=1) if moves.any() else nothing,
        mean_square_m2=float((distance_m**2).sum(axis=0).mean()) if moves.any() else np.nan,
    )


def residence_s(columns: Mapping[str, np.ndarray], opening: int, units: Units) -> np.ndarray:
    """Times [s] between start and end of the tracers that have left through an opening, given by its number."""
    has_left = columns[END] == opening + 1
    steps = columns[END_STEP][has_left] - columns[BORN][has_left]
    return units.time_step_s * (steps - HALF_A_STEP)


def breakthrough(residence: Mapping[str, np.ndarray], count: int, n_rows: int) -> tuple[np.ndarray, dict]:
    """Breakthrough curves: residence times (n_rows,) [s], evenly spaced up to the longest, and for each opening the
    share of all ``count`` tracers that stayed no longer and left there."""
    longest = max((float(stay.max()) for stay in residence.values() if stay.size), default=0.0)
    times = np.linspace(0.0, longest, n_rows)
    return times, {
        name: np.searchsorted(np.sort(stay), times, side="right") / count for name, stay in residence.items()
    }
