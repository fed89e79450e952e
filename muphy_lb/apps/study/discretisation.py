"""The share of the grid in a band: the case on other grids, the extrapolated answer, and the grid convergence index.

Of values f_1, f_2, f_3 on three grids, the finest first, the observed order p follows from the ratio of their changes,
and f_1 + (f_1 - f_2) / (r_21^p - 1) is the extrapolated answer (Richardson). The index is 1.25 times the distance of a
value to it (Roache, J. Fluids Eng. 116, 405 (1994); Celik et al., J. Fluids Eng. 130, 078001 (2008)), an interval of
about 95 %. An observed order that is not reasonable, below 1/2 or above that of the method, is one of noise: the
nearest reasonable one takes its place, and 3 that of 1.25 (Roache, J. Fluids Eng. 133, 115501 (2011); the bounds are
those of Oberkampf and Roy, Verification and Validation in Scientific Computing, 2010).

The half widths of the band and of this interval are independent, so their squares are added (ASME V&V 20-2009).
"""

from dataclasses import dataclass
from math import hypot, log

import numpy as np

from muphy_lb.apps.grids import geometry_on, measured_order, towards
from muphy_lb.case.case import Case

SAFETY, SAFETY_OF_NOISE = 1.25, 3.0
LEAST_ORDER, ORDER = 0.5, 2.0  # least reasonable order, and that of the lattice Boltzmann method, which walls may lower
MARGIN = 0.1  # by which an observed order may lie above that of the method
MOST_OBSERVED = 20.0  # largest order that is reported
SAME = 1e-12


def on_grid(case: Case, factor: float) -> Case:
    """A case with ``factor`` times as many voxels along an edge and the same relaxation time: the time step and the
    square of the Mach number fall with the square of the voxel edge, so all errors do together.

    Raises:
        InputError: as :func:`muphy_lb.apps.grids.geometry_on`.
    """
    if factor == 1.0:
        return case
    lattice, run, longer = case.lattice, case.run, factor**2
    scaled = {"time_step_s": longer, "lattice_velocity": factor}
    shorter = {key: value / by for key, by in scaled.items() if (value := getattr(lattice, key)) is not None}
    counts = {
        key: max(1, round(longer * value))
        for key in ("steps", "ramp_steps", "steady_interval_steps")
        if (value := getattr(run, key))
    }
    update = {
        "geometry": geometry_on(case, factor, "study: another grid"),
        "lattice": lattice.model_copy(update=shorter),
        "run": run.model_copy(update=counts),
    }
    return case.model_copy(update=update)


@dataclass(frozen=True)
class Discretisation:
    """An answer on three grids.

    Attributes:
        grids: ascending numbers of voxels along an edge over that of the case.
        values: of the answer on each.
        kind: ``monotonic``; ``oscillatory``, where the answer goes up and down; ``divergent``, where it moves the
            faster the finer the grid; ``same``; ``missing``, where a member has no answer.
        order: observed; None but for monotonic ones.
        limit: extrapolated answer; None where there is none.
        error: half width of the interval of the grid of the case; None where the grids say nothing of it.
    """

    grids: tuple[float, ...]
    values: tuple[float, ...]
    kind: str
    order: float | None = None
    limit: float | None = None
    error: float | None = None

    @property
    def index(self) -> float | None:
        """The grid convergence index of the grid of the case: its error over the value there."""
        value = abs(self.values[self.grids.index(1.0)])
        return self.error / value if self.error is not None and value > 0.0 else None

    @property
    def _instead(self) -> str:
        """The order that takes the place of an unreasonable one, as text."""
        taken = min(max(self.order or 0.0, LEAST_ORDER), ORDER + MARGIN)
        return "" if taken == self.order else f", which is not reasonable ({min(taken, ORDER):g} takes its place)"

    @property
    def told(self) -> str:
        """Order of convergence and error of the grid, as text."""
        there = ", ".join(f"{value:.5g}" for value in self.values)
        where = (
            f"on grids of {', '.join(f'{grid:g}' for grid in self.grids)} times as many voxels along an edge {there}"
        )
        index = "" if self.index is None else f", {100.0 * self.index:.2g} % of it"
        if self.kind == "missing":
            return f"{where}: a member has no answer, so nothing is known of the error of the grid"
        if self.kind == "same":
            return f"{where}: the grid makes no difference"
        if self.kind == "divergent":
            return f"{where}: no convergence, so nothing is known of the error of the grid; give finer grids"
        if self.kind == "oscillatory":
            return f"{where}: no monotonic convergence; the error of the grid is their spread, {self.error:.2g}{index}"
        return (
            f"{where}: observed order {self.order:.2g}{self._instead}, extrapolated {self.limit:.5g}, error of the grid"
            f" {self.error:.2g}{index}"
        )


def discretisation_of(grids, values) -> Discretisation:
    """The share of the grid in an answer; ``grids``: three ascending factors, 1 among them."""
    grids, values = tuple(map(float, grids)), tuple(map(float, values))
    if not np.isfinite(values).all():
        return Discretisation(grids, values, "missing")
    before, after = values[1] - values[0], values[2] - values[1]
    if max(abs(before), abs(after)) <= SAME * max(map(abs, values)):
        return Discretisation(grids, values, "same", None, values[-1], 0.0)
    if before * after < 0.0:
        return Discretisation(grids, values, "oscillatory", error=float(np.ptp(values)))
    slowest = log(grids[1] / grids[0]) / log(grids[2] / grids[1])  # ratio of the changes for an order of 0
    if abs(before) <= slowest * abs(after):
        return Discretisation(grids, values, "divergent")
    order = measured_order(grids, values) or MOST_OBSERVED
    limit = towards(grids, values, min(max(order, LEAST_ORDER), ORDER))
    safety = SAFETY if LEAST_ORDER <= order <= ORDER + MARGIN else SAFETY_OF_NOISE
    error = safety * abs(values[grids.index(1.0)] - limit)
    return Discretisation(grids, values, "monotonic", float(order), limit, error)


def widened(middle: float, end: float, error: float) -> float:
    """The end of a band with the error of the grid besides."""
    return middle + np.copysign(hypot(end - middle, error), end - middle)
