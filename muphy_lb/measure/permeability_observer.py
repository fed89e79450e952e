"""The permeability of a rock during a run: whether it has settled, and its outcome."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite

import numpy as np

from muphy_lb.measure.flow_view import FlowView, PreparedView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.permeability import (
    driving_acceleration,
    has_permeability,
    measured_permeability,
    squares_beside,
    throat_lines,
)
from muphy_lb.output.charts import line_chart
from muphy_lb.output.report_html import ReportPart

N_LOOKS = 3
MOST_LOOKS = 100.0
"""Most intervals that the rest of a change is taken to last: that of changes which do not shrink, such as rounding."""
UNSETTLED = 0.01  # share of k that may still be to come without a warning
REMEDY = "with run.steady_tolerance = 1e-4 the run ends when the flow is steady"


def rest_of_change(before: float, change: float) -> float:
    """Sum of the changes to come after two successive ones of a quantity."""
    if change == 0.0:
        return 0.0
    if not isfinite(before):
        return inf
    rest = change / (before - change) if abs(change) < abs(before) else MOST_LOOKS
    return abs(change) * min(abs(rest), MOST_LOOKS)


class Settling(Observer):
    """Remembers the mean velocity of the last looks at a flow of which a permeability may be asked; k is proportional
    to it."""

    def __init__(self, view: FlowView):
        self.begin_anew(view)

    def begin_anew(self, view: FlowView) -> None:
        """Forget the flow, which has changed."""
        self._view = view
        self.every = view.case.run.check_interval_steps if has_permeability(view.case, view.header) else 0
        self._steps: list[int] = []
        self._velocities: list[list[float]] = []

    def act(self) -> None:
        """Take note of the present flow; looks that do not follow each other are forgotten."""
        view = self._view
        if self._steps and view.step_number != self._steps[-1] + self.every:
            self._steps, self._velocities = [], []
        self._steps = [*self._steps, view.step_number][-N_LOOKS:]
        self._velocities = [*self._velocities, view.mean_velocity_m_s().tolist()][-N_LOOKS:]

    def to_come(self) -> float:
        """Share of k along the force by which it may still change, if changes continue shrinking as the last two did;
        infinite where that is not known."""
        view = self._view
        is_recent = self._steps and view.step_number - self._steps[-1] < self.every
        if not is_recent or len(self._steps) < N_LOOKS:
            return inf
        first, second, third = np.array(self._velocities) @ driving_acceleration(view.case, view.header)
        return rest_of_change(second - first, third - second) / third if third > 0.0 else inf

    def warnings(self) -> tuple[str, ...]:
        """Doubts about k, or that nothing is known of it."""
        to_come = self.to_come()
        if to_come <= UNSETTLED:
            return ()
        if to_come == inf:
            return (
                "not judged: whether the flow is steady; that takes three samples, one every"
                f" {self.every} steps; {REMEDY}",
            )
        return (
            f"the flow is not steady yet: by its last samples, one every {self.every} steps, k may still change by"
            f" {100.0 * to_come:.2g} %; {REMEDY}",
        )


class PermeabilityObserver(Settling):
    """Measures the permeability of the last step, and follows it until then."""

    name = "permeability"

    def __init__(self, view: FlowView):
        super().__init__(view)
        self._squares = squares_beside(view)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case requests it."""
        return (cls(view),) if view.case.output.permeability else ()

    @classmethod
    def check(cls, view: PreparedView) -> None:
        """Refuse a flow that is driven by anything but a uniform, constant body force."""
        if view.case.output.permeability:
            driving_acceleration(view.case, view.header)

    def state(self) -> dict | None:
        """Values of the last looks."""
        return {"every": self.every, "steps": self._steps, "velocities_m_s": self._velocities}

    def restore(self, state: dict) -> None:
        """Continue from them; with other steps between looks they say nothing."""
        if state.get("every") == self.every:
            self._steps, self._velocities = list(state["steps"]), [list(row) for row in state["velocities_m_s"]]

    def finish(self) -> dict | None:
        """The permeability with indicators of its reliability."""
        found = measured_permeability(self._view, self._squares)
        if found is None:
            return None
        return found.record() | {"warnings": (*found.warnings, *self.warnings())}

    def lines(self, summary: Mapping) -> list[str]:
        """Permeability, porosity, tortuosity, Reynolds number."""
        return permeability_lines(summary[self.name])

    def section(self, summary: Mapping) -> ReportPart:
        """The same as a table, and the distribution of the velocity."""
        rock = summary[self.name]
        return ReportPart(results=list(_results(rock)), warnings=rock["warnings"], charts=lambda: _charts(rock))


def permeability_lines(record: Mapping) -> list[str]:
    """A record of :class:`muphy_lb.measure.permeability.Permeability` as lines of text."""
    lines = [
        f"permeability along {record['along']}: {record['permeability_m2']:.5g} m2 = {record['permeability_darcy']:.5g}"
        f" darcy = {record['permeability_voxel2']:.5g} voxel2; porosity {record['porosity']:.5g}, tortuosity"
        f" {record['tortuosity']:.4g}",
    ]
    if record["pore_size_voxels"] < inf:
        lines.append(
            f"Reynolds number {record['reynolds']:.3g} (mean pore velocity, mean pore size"
            f" {record['pore_size_m']:.3g} m = {record['pore_size_voxels']:.3g} voxels)"
        )
    lines += throat_lines(record["throats"]) if record.get("throats") else []
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _results(rock: Mapping) -> Iterator[tuple]:
    along = rock["along"]
    yield f"permeability along {along}", rock["permeability_m2"], "m2"
    yield f"permeability along {along}", rock["permeability_darcy"], "darcy"
    yield f"permeability along {along}", rock["permeability_voxel2"], "voxel edges squared"
    yield "porosity", rock["porosity"], ""
    yield "tortuosity", rock["tortuosity"], ""
    yield "mean pore size, 4 V / S", rock["pore_size_m"], "m"
    yield "mean pore size", rock["pore_size_voxels"], "voxels"
    yield "shortest edge of the rock", rock["box_in_pores"], "mean pore sizes"
    yield "Reynolds number of a mean pore", rock["reynolds"], ""
    if rock.get("throats"):
        yield "half of the pressure is lost in throats up to", rock["throats"]["widths_voxels"][1], "voxels"
        yield "k too high by, expected of the grid", rock["throats"]["expected_error"], "of k"


def _charts(rock: Mapping) -> list[tuple[str, bytes]]:
    spread = rock["distribution"]
    return [("pore velocities", distribution_chart({"": spread}))] if spread else []


def distribution_chart(spreads: Mapping[str, Mapping]) -> bytes:
    """PNG of distributions of the velocity in pores, by name; see
    :func:`muphy_lb.measure.permeability.velocity_distribution`."""
    lines = {name: (s["velocity_over_mean"], s["probability_density"]) for name, s in spreads.items() if s}
    labels = "Velocity in the pores", "velocity along the force / its mean", "probability density"
    return line_chart(*labels, lines, log=True)
