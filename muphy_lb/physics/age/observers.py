"""The mean age of what leaves and of what is there at the end of a run: a record and a line of the summary."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan
from pathlib import Path

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.period import PeriodMeans
from muphy_lb.measure.records import Health
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.age.section import FIELD, SERIES_FILE
from muphy_lb.physics.scalar import setting_of
from muphy_lb.physics.scalar_series import OutletFluxes

OUTLET_AGE, VOLUME_AGE = "mean_age_s", "volume_mean_age_s"
NOTHING = "(nothing leaves)"
QUANTITIES = {OUTLET_AGE: "mean age of what leaves [s]"}

GROWS = 0.05  # share of the ageing of all fluid that nothing takes away, from which an age is not steady
BELOW_ZERO = 0.1  # ages below 0, over the mean age, beyond which an age is no age: ripples of sharp fronts stay below
GOOD_PECLET = 10.0  # cell Peclet number with which ripples are small


class AgeMean(PeriodMeans):
    """The mean ages at the end of a run; of a periodic flow those of all that leaves within its last period.

    Args:
        ages: measures them.
        diffusivity_m2_s: of the age [m2/s].
        view, folder: as of all observers.
    """

    name = "age"

    def __init__(self, ages: OutletFluxes, diffusivity_m2_s: float, view: FlowView, folder: Path):
        self._ages, self._diffusivity_m2_s = ages, diffusivity_m2_s
        super().__init__(ages, view, folder)

    def record(self, means: np.ndarray) -> dict:
        """The ages by name; None for an outlet through which nothing leaves."""
        ages_s = zip(self._ages.columns, self._ages.means_si(means), strict=True)
        return {name: None if isnan(age_s) else age_s for name, age_s in ages_s}

    def objections(self) -> tuple[str, ...]:
        """Ages below zero, or above the time that has passed; ages that still grow in a flow that is to be steady."""
        view = self._view
        age, health, entering = view.model_field(FIELD), view.health(), self._ages.entering()
        if age is None or entering is None:
            return ()
        return (*self._impossible(age, health), *self._growing(float(entering.sum())))

    def _growing(self, entering: float) -> Iterator[str]:
        """``entering``: age that enters through all openings in a step, less what leaves [lattice units]."""
        stays = 1.0 + entering / self._view.header.n_nodes
        if self._view.case.run.steady_tolerance is not None and stays > GROWS:
            yield (
                "the age is not steady, though the flow may be, which run.steady_tolerance watches alone: what leaves"
                f" takes away {100.0 * (1.0 - stays):.3g} % of what all fluid ages by; resume without it and with more"
                " run.steps"
            )

    def _impossible(self, age: np.ndarray, health: Health) -> tuple[str, ...]:
        view = self._view
        least, mean, most = float(age.min()), float(age.mean(dtype=np.float64)), float(age.max())
        if least >= -BELOW_ZERO * mean and most <= view.step_number + BELOW_ZERO * mean:
            return ()
        peclet = view.units.velocity_to_si(health.max_speed) * view.units.spacing_m / self._diffusivity_m2_s
        smoother_m2_s = self._diffusivity_m2_s * peclet / GOOD_PECLET
        remedy = setting_of(view.case.age, "age", smoother_m2_s, view.case.fluid.viscosity_m2_s)
        least_s, most_s = (view.units.steps_to_time(value) for value in (least, most))
        return (
            f"the age of the fluid goes from {least_s:.3g} to {most_s:.3g} s, after {view.time_s:.4g} s: its diffusion"
            f" does not smooth what lies between the voxels (cell Peclet number {peclet:.3g}); it is"
            f" {GOOD_PECLET:g} with {remedy}, or with finer voxels",
        )

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        of_outlets = ", ".join(f"{name} {_age_text(record[f'{name}_{OUTLET_AGE}'])}" for name in self._ages.names)
        over_s = record["averaged_over_s"]
        when = f" (all of {over_s:.4g} s)" if over_s else ""
        return [f"mean age of what leaves{when}: {of_outlets}; of all fluid {record[VOLUME_AGE]:.4g} s"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        record = summary[self.name]
        ages = [record[f"{name}_{OUTLET_AGE}"] for name in self._ages.names]
        rows = [(name, NOTHING if age is None else age) for name, age in zip(self._ages.names, ages, strict=True)]
        over_s = record["averaged_over_s"]
        note = f"of all that leaves within {over_s:.4g} s" if over_s else "at the end"
        table = ReportTable("Age of the fluid", ("", "mean age [s]"), [*rows, ("all fluid", record[VOLUME_AGE])], note)
        return ReportPart(tables=(table,), charts=partial(series_charts, self._folder / SERIES_FILE, "Age", QUANTITIES))


def _age_text(age_s: float | None) -> str:
    return NOTHING if age_s is None else f"{age_s:.4g} s"
