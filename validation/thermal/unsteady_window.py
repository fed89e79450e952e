"""The window of Rayleigh numbers in which the flow of the heated cube is unsteady, and its upper end.

The flow starts at rest with a disturbance of every symmetry, on a sequence of grids. It is steady where the temperature
changes by less than 1e-5 of the difference of the walls in 500 steps (Obrecht et al., Eq. 23). The lower end of the
window is the first bifurcation (:mod:`muphy_lb.validation.thermal.heated_bifurcation`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from muphy_lb.validation.case import Row, Settings, absolute, at_least, at_most, case, shown
from muphy_lb.validation.limits import refuse_half
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.search import searched
from muphy_lb.validation.thermal.heated_cavity import (
    CHANGE_STEPS,
    RETURN,
    STEADY_AT_MOST,
    TELLING_ASYMMETRY,
    ConvergenceHistory,
    grid_sequence,
)

GRIDS, QUICK_GRIDS = (128, 256), (8, 12)
INSIDE, ENDS, HALF_WIDTH = 5e7, (6.2e7, 6.6e7), 0.01e7
QUICK_RAYLEIGH, DECAYED = 1e4, 1e-6


class LongRun(NamedTuple):
    """The end of a long run from a disturbed start."""

    rayleigh: float
    size: int
    history: ConvergenceHistory
    asymmetry: float  # about the centre
    mirror_asymmetry: float

    @property
    def is_steady(self) -> bool:
        """Whether the temperature has ceased to change."""
        return self.history.change <= STEADY_AT_MOST

    @property
    def swing(self) -> float:
        """Largest less smallest Nusselt number over their mean, in the last quarter of the run."""
        late = self.history.wall[-max(2, len(self.history.wall) // 4) :]
        return float(np.ptp(late) / late.mean())


@case(
    "heated-window",
    "Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012), Section 5.4: the cube on 256^3 is unsteady"
    " up to Ra2 = 6.4015e7",
)
def heated_window(settings: Settings) -> Iterator:
    """The unsteady flow of the cube, and its return to steadiness: an hour on a GPU for each Rayleigh number."""
    refuse_half(settings, "fp16 does not settle to the tolerances of this case")
    if settings.quick:
        run = long_run(QUICK_RAYLEIGH, settings)
        yield at_most(f"{_name(run)}: change in {CHANGE_STEPS} steps, steady", STEADY_AT_MOST, run.history.change)
        allowed = DECAYED if settings.precision == "fp64" else TELLING_ASYMMETRY
        yield at_most(f"{_name(run)}: asymmetry about the centre, decayed", allowed, run.asymmetry)
        yield at_most(f"{_name(run)}: asymmetry about the mirror, decayed", allowed, run.mirror_asymmetry)
        return
    inside = long_run(INSIDE, settings)
    runs = searched(long_run, lambda run: run.is_steady, ENDS, HALF_WIDTH, settings)
    low, high = (runs[end] for end in ENDS)
    for run in (inside, low):
        what = f"{_name(run)}: change in {CHANGE_STEPS} steps, unsteady"
        yield at_least(what, STEADY_AT_MOST, run.history.change, 0.0)
    yield at_most(f"{_name(high)}: change in {CHANGE_STEPS} steps, steady", STEADY_AT_MOST, high.history.change)
    for run in (inside, *runs.values()):
        yield from _told(run)
    steady = next((rayleigh for rayleigh, run in runs.items() if run.is_steady), ENDS[1])
    unsteady = max((rayleigh for rayleigh in runs if rayleigh < steady), default=ENDS[0])
    yield shown("Rayleigh number of the return to steadiness", RETURN, (steady + unsteady) / 2)
    yield at_most("half the width of the bracket", HALF_WIDTH, (steady - unsteady) / 2)


def long_run(rayleigh: float, settings: Settings) -> LongRun:
    """The flow from a disturbed start, until it is steady or its time has come; collective."""
    sizes = QUICK_GRIDS if settings.quick else GRIDS
    cavity, history = grid_sequence(rayleigh, sizes, settings, is_disturbed=True)
    return LongRun(rayleigh, sizes[-1], history, cavity.asymmetry, cavity.mirror_asymmetry)


def _name(run: LongRun) -> str:
    return f"Ra {run.rayleigh:.4g}, {run.size}^3"


def _told(run: LongRun) -> Iterator[Row | Plot]:
    yield absolute(f"{_name(run)}: swing of the Nusselt number over its mean", 0.0, run.swing, np.inf)
    yield absolute(f"{_name(run)}: asymmetry about the centre", 0.0, run.asymmetry, np.inf)
    yield absolute(f"{_name(run)}: asymmetry about the mirror", 0.0, run.mirror_asymmetry, np.inf)
    line = Series("hot wall", run.history.steps, run.history.wall)
    yield Plot(f"Cube, {_name(run)}: Nusselt number", "steps", "Nusselt number", (line,))
