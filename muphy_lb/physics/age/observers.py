"""The mean age of what leaves and of what is there: ``age.csv``, and a line of the summary."""

from collections.abc import Mapping
from functools import partial
from math import isnan
from pathlib import Path

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK
from muphy_lb.lattice import scalar_lattice
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.period import PeriodMeans
from muphy_lb.model.model import row_names
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.age.section import FIELD, SERIES_FILE

OUTLET_AGE, VOLUME_AGE = "mean_age_s", "volume_mean_age_s"
NOTHING = "(nothing leaves)"
QUANTITIES = {OUTLET_AGE: "mean age of what leaves [s]"}

BELOW_ZERO = 0.1
"""Ages below 0, over the mean age, beyond which an age is no age: ripples of sharp fronts stay below."""
GOOD_PECLET = 10.0
"""Peclet number of a voxel with which ripples are small."""


class OutletAges:
    """Measures how much age leaves through each outlet, and what age there is; every call is collective.

    Args:
        view: the flow.
        populations: name of the field of the age's populations.

    Attributes:
        names: names of the outlets.
    """

    def __init__(self, view: FlowView, populations: str):
        self._view = view
        self._outlets = [number for number, each in enumerate(view.header.openings) if each.kind == "outlet"]
        self.names = [view.header.openings[number].name for number in self._outlets]
        self._scalar = scalar_lattice(view.lattice.dimension)
        self._rows = row_names(populations, self._scalar.q)
        self._surveyed: LocalDomain | None = None
        self._found: list[tuple[np.ndarray, np.ndarray]] = []

    def numbers(self) -> np.ndarray | None:
        """(2 n_outlets + 1,) lattice units: age that leaves through each outlet in a step, fluid that does, and the
        mean age of all fluid, on rank 0."""
        view = self._view
        leaving, age, states = self.age_fluxes(), view.model_field(FIELD), view.openings()
        if leaving is None or age is None or states is None:
            return None
        flows = [view.units.flow_rate_to_lattice(states[name].flow_rate_m3_s) for name in self.names]
        return np.array([*leaving, *flows, age.mean(dtype=np.float64)])

    def mean_ages_s(self, numbers: np.ndarray) -> list[float]:
        """Mean age of what leaves through each outlet, weighted by the flow, and that of all fluid [s], from
        :meth:`numbers` or means of them; NaN for an outlet through which nothing leaves."""
        leaving, flows = numbers[:-1].reshape(2, -1)
        means = [flux / flow if flow > 0.0 else np.nan for flux, flow in zip(leaving, flows, strict=True)]
        return [self._view.units.steps_to_time(float(x)) for x in (*means, numbers[-1])]

    def age_fluxes(self) -> np.ndarray | None:
        """(n_outlets,) age that leaves through each outlet in a step [lattice units], what populations carry through
        its links, summed in the order of voxels and directions, on rank 0."""
        view, pieces = self._view, []
        rows = [view.local_field(name) for name in self._rows]
        for q, (node, opening) in enumerate(self._links(), start=1):
            # What an outlet sends back is what the node has sent that way, away from the outlet.
            net = rows[q][node].astype(np.float64) - rows[self._scalar.opposite[q]][node]
            pieces.append((view.domain.voxel[node], np.full(node.size, q), opening, net))
        gathered = view.communicator.gather(tuple(np.concatenate(part) for part in zip(*pieces, strict=True)))
        if gathered is None:
            return None
        voxel, direction, opening, flux = (np.concatenate(part) for part in zip(*gathered, strict=True))
        order = np.lexsort((direction, voxel))
        return np.array([flux[order][opening[order] == number].sum() for number in self._outlets])

    def _links(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each direction but rest, the nodes of this rank whose link leads into an outlet, and the number of that;
        found once for the nodes that the rank has."""
        domain = self._view.domain
        if self._surveyed is not domain:
            self._surveyed, self._found = domain, []
            codes = [FIRST_OPENING_LINK - number for number in self._outlets]
            for q in range(1, self._scalar.q):
                code = domain.neighbours_with_ghosts(self._scalar.c[q : q + 1], slice(0, domain.n_nodes))[0]
                node = np.flatnonzero(np.isin(code, codes))
                self._found.append((node, FIRST_OPENING_LINK - code[node]))
        return self._found


class AgeSeries(SeriesObserver):
    """Appends the mean age of what leaves through each outlet, weighted by the flow, and that of all fluid.

    Args:
        ages: measures them.
        view, folder, resume_step: as of all series.
    """

    file = SERIES_FILE
    files = (file,)

    def __init__(self, ages: OutletAges, view: FlowView, folder: Path, resume_step: int | None):
        self._ages = ages
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return age_columns(self._ages.names)

    def numbers(self) -> list[float] | None:
        """Mean ages [s], on rank 0; NaN for an outlet through which nothing leaves; collective."""
        found = self._ages.numbers()
        return None if found is None else self._ages.mean_ages_s(found)


class AgeMean(PeriodMeans):
    """The mean ages at the end of a run; of a periodic flow those of all that leaves within its last period.

    Args:
        ages: measures them.
        diffusivity_m2_s: of the age [m2/s].
        view, folder: as of all observers.
    """

    name = "age"

    def __init__(self, ages: OutletAges, diffusivity_m2_s: float, view: FlowView, folder: Path):
        self._ages, self._diffusivity_m2_s = ages, diffusivity_m2_s
        super().__init__(ages, view, folder)

    def record(self, means: np.ndarray) -> dict:
        """The ages by name; None for an outlet through which nothing leaves."""
        ages_s = zip(age_columns(self._ages.names), self._ages.mean_ages_s(means), strict=True)
        return {name: None if isnan(age_s) else age_s for name, age_s in ages_s}

    def objections(self) -> tuple[str, ...]:
        """Ages below zero, or above the time that has passed."""
        view = self._view
        age, health = view.model_field(FIELD), view.health()
        if age is None:
            return ()
        least, mean, most = float(age.min()), float(age.mean(dtype=np.float64)), float(age.max())
        if least >= -BELOW_ZERO * mean and most <= view.step_number + BELOW_ZERO * mean:
            return ()
        peclet = view.units.velocity_to_si(health.max_speed) * view.units.spacing_m / self._diffusivity_m2_s
        smoother_m2_s = self._diffusivity_m2_s * peclet / GOOD_PECLET
        least_s, most_s = (view.units.steps_to_time(value) for value in (least, most))
        return (
            f"the age of the fluid goes from {least_s:.3g} to {most_s:.3g} s, after {view.time_s:.4g} s: its diffusion"
            f" does not smooth what lies between the voxels (Peclet number of a voxel {peclet:.3g}); it is"
            f" {GOOD_PECLET:g} with age.diffusivity_m2_s = {smoother_m2_s:.2g}, or with finer voxels",
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


def age_columns(outlets: list[str]) -> list[str]:
    """Names of the mean ages of outlets, and of that of all fluid."""
    return [*(f"{name}_{OUTLET_AGE}" for name in outlets), VOLUME_AGE]


def _age_text(age_s: float | None) -> str:
    return NOTHING if age_s is None else f"{age_s:.4g} s"
