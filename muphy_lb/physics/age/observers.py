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
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.age.section import FIELD, SERIES_FILE
from muphy_lb.physics.model import row_names

OUTLET_AGE, VOLUME_AGE = "mean_age_s", "volume_mean_age_s"
NOTHING = "(nothing leaves)"
QUANTITIES = {OUTLET_AGE: "mean age of what leaves [s]"}


class AgeSeries(SeriesObserver):
    """Appends the mean age of what leaves through each outlet, weighted by the flow, and that of all fluid.

    The former is the flux of age, what populations carry through the links of the outlet, over the flow rate.

    Args:
        view, folder, resume_step: as of all series.
        populations: name of the field of the age's populations.
    """

    file = SERIES_FILE
    files = (file,)
    name = "age"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, populations: str):
        self._outlets = [number for number, each in enumerate(view.header.openings) if each.kind == "outlet"]
        self._names = [view.header.openings[number].name for number in self._outlets]
        self._scalar = scalar_lattice(view.lattice.dimension)
        self._rows = row_names(populations, self._scalar.q)
        self._surveyed: LocalDomain | None = None
        self._found: list[tuple[np.ndarray, np.ndarray]] = []
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*(f"{name}_{OUTLET_AGE}" for name in self._names), VOLUME_AGE]

    def numbers(self) -> list[float] | None:
        """Mean ages [s], on rank 0; NaN for an outlet through which nothing leaves; collective."""
        view = self._view
        leaving, age, states = self.age_fluxes(), view.model_field(FIELD), view.openings()
        if leaving is None or age is None or states is None:
            return None
        flows = [view.units.flow_rate_to_lattice(states[name].flow_rate_m3_s) for name in self._names]
        means = [flux / flow if flow > 0.0 else np.nan for flux, flow in zip(leaving, flows, strict=True)]
        return [view.units.steps_to_time(float(x)) for x in (*means, age.mean(dtype=np.float64))]

    def age_fluxes(self) -> np.ndarray | None:
        """(n_outlets,) age that leaves through each outlet in a step [lattice units], summed in the order of voxels and
        directions, on rank 0; collective."""
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

    def finish(self) -> dict | None:
        """The last row by name, on rank 0; None for an outlet through which nothing leaves."""
        numbers = self.numbers()
        if numbers is None:
            return None
        return {name: None if isnan(number) else number for name, number in zip(self.columns(), numbers, strict=True)}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        of_outlets = ", ".join(f"{name} {_age_text(record[f'{name}_{OUTLET_AGE}'])}" for name in self._names)
        return [f"mean age of what leaves: {of_outlets}; of all fluid {record[VOLUME_AGE]:.4g} s"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        record = summary[self.name]
        ages = [record[f"{name}_{OUTLET_AGE}"] for name in self._names]
        rows = [(name, NOTHING if age is None else age) for name, age in zip(self._names, ages, strict=True)]
        table = ReportTable("Age of the fluid", ("", "mean age [s]"), [*rows, ("all fluid", record[VOLUME_AGE])])
        return ReportPart(tables=(table,), charts=partial(series_charts, self._folder / self.file, "Age", QUANTITIES))


def _age_text(age_s: float | None) -> str:
    return NOTHING if age_s is None else f"{age_s:.4g} s"
