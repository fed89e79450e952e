"""Coefficients of dispersion over time, ``dispersion.csv``, and at the end of a run with what they may still change."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.porous.pores import leads_through
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.output.series import read_series
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.dispersion.section import SERIES_FILE
from muphy_lb.physics.scalar import CarriedScalar

COEFFICIENT = "dispersion_over_diffusivity"
QUANTITIES = {COEFFICIENT: "dispersion over diffusivity"}
UNSETTLED = 0.01  # relative change that may still come without a warning


class Spreading:
    """Measures the coefficients of dispersion of the periodic parts of some scalars with a slope along an axis; every
    call is collective."""

    def __init__(self, view: FlowView, scalars: Sequence[CarriedScalar], axis: int):
        self._view, self.scalars, self._axis = view, scalars, axis
        self._open: tuple[np.ndarray, np.ndarray] | None = None

    def coefficients(self) -> tuple[list[float], float] | None:
        """D_L / D of each scalar, and the mean velocity along the axis [voxels a step], on rank 0."""
        view, (first, *_), stride = self._view, self.scalars, self._view.stride
        ahead, behind = 2 * self._axis + 1, 2 * self._axis + 2
        density: Any = view.model_field(first.carrier)
        carrier: list[Any] = [view.model_field(first.carrier_rows[q]) for q in (ahead, behind)]
        found: list[tuple[Any, list[Any]]] = [
            (view.model_field(each.name), [view.model_field(each.rows[q]) for q in (ahead, behind)])
            for each in self.scalars
        ]
        if view.communicator.rank:
            return None
        density = 1.0 + density.astype(np.float64)
        ahead_to, behind_to = self._faces()
        n_open, told = np.count_nonzero(self.connected), list[float]()
        speed, density = self._crossing(carrier) / n_open, density * self.connected
        # of a face, which lies between two nodes, each population carries half of the slope to it
        slope = 0.5 * (np.sum(carrier[0][ahead_to], dtype=np.float64) + np.sum(carrier[1][behind_to], dtype=np.float64))
        for scalar, (values, rows) in zip(self.scalars, found, strict=True):
            mean = float(np.sum(values * density, dtype=np.float64) / np.sum(density, dtype=np.float64))
            mean -= 0.5 * speed  # half a step later, while populations cross
            swing = [row - mean * own.astype(np.float64) for row, own in zip(rows, carrier, strict=True)]
            told.append(float(slope - self._crossing(swing)) / (stride * scalar.diffusivity) / n_open)
        return told, speed / stride

    @cached_property
    def connected(self) -> np.ndarray:
        """(n,) whether a node lies in a pore that leads along the axis, through faces of voxels; on rank 0. Fluid
        elsewhere stays behind, and as a part of the mean would spread for ever. All nodes if no pore does."""
        found = leads_through(whole_nodes(self._view), np.arange(3) == self._axis)
        return found if found.any() else np.ones_like(found)

    def _crossing(self, rows: Sequence[np.ndarray]) -> float:
        """The sum of all that crosses faces of voxels ahead, less that behind, of populations that leave both ways."""
        to_ahead, to_behind = self._faces()
        return float(np.sum(rows[0][to_ahead], dtype=np.float64) - np.sum(rows[1][to_behind], dtype=np.float64))

    def _faces(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) whether a node has a neighbour ahead, and behind; on rank 0."""
        if self._open is None:
            nodes, step = whole_nodes(self._view), np.eye(3, dtype=np.int64)[self._axis]
            codes = NeighbourSearch(nodes).table_through_solids(np.array([step, -step]))
            self._open = tuple((row >= 0) & self.connected for row in codes)
        return self._open

    def monitored(self) -> dict[str, float]:
        """The coefficients by name."""
        found = self.coefficients()
        return {} if found is None else {each.name: value for each, value in zip(self.scalars, found[0], strict=True)}


class DispersionSeries(SeriesObserver):
    """Appends the mean velocity along the axis, and each coefficient over its diffusivity."""

    file = SERIES_FILE
    files = (file,)

    def __init__(self, spreading: Spreading, view: FlowView, folder: Path, resume_step: int | None):
        self._spreading = spreading
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return ["velocity_m_s", *(f"{each.name}_{COEFFICIENT}" for each in self._spreading.scalars)]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0."""
        found = self._spreading.coefficients()
        if found is None:
            return None
        told, speed = found
        return [float(self._view.units.velocity_to_si(speed)), *told]


class DispersionRecord(Observer):
    """The coefficients at the end of a run, and by how much they may still change."""

    name = "dispersion"

    def __init__(self, spreading: Spreading, series: DispersionSeries, view: FlowView, folder: Path):
        self._spreading, self._series, self._view, self._folder = spreading, series, view, folder

    def finish(self) -> dict | None:
        """Velocity along the axis, and for each diffusivity the coefficient, its uncertainty and the Peclet number, on
        rank 0."""
        self._series.act()
        is_root = self._view.communicator.rank == 0
        return agreed_on_root(self._view.communicator, lambda: self._record() if is_root else None)

    def _record(self) -> dict:
        table, section = read_series(self._folder / SERIES_FILE), self._view.case.dispersion
        velocity_m_s = float(table["velocity_m_s"][-1])
        rows = []
        for scalar, diffusivity_m2_s in zip(self._spreading.scalars, section.diffusivities_m2_s, strict=True):
            ratio = table[f"{scalar.name}_{COEFFICIENT}"]
            third = float(ratio[-1])
            *_, before, change = [np.nan] * 2 + np.diff(ratio[_at_equal_intervals(table["step"])]).tolist()
            to_come = rest_of_change(before, change)
            peclet = None if section.length_m is None else abs(velocity_m_s) * section.length_m / diffusivity_m2_s
            rows.append(
                {
                    "diffusivity_m2_s": diffusivity_m2_s,
                    "peclet": peclet,
                    "dispersion_m2_s": third * diffusivity_m2_s,
                    "uncertainty_m2_s": to_come * diffusivity_m2_s if np.isfinite(to_come) else None,
                    "dispersion_over_diffusivity": third,
                }
            )
        apart = 1.0 - float(self._spreading.connected.mean())
        return {"axis": section.axis, "velocity_m_s": velocity_m_s, "left_out_share": apart, "coefficients": rows}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        record = summary[self.name]
        share = record["left_out_share"]
        apart = f"dispersion: {100.0 * share:.2g} % of the fluid, in pores that lead nowhere, do not count"
        return [*(_line(record, row) for row in record["coefficients"]), *[apart] * (share > 0.0)]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        record = summary[self.name]
        keys = ("diffusivity_m2_s", "dispersion_m2_s", "uncertainty_m2_s", "peclet")
        rows = [tuple("-" if row[key] is None else row[key] for key in keys) for row in record["coefficients"]]
        headings = ("diffusivity [m2/s]", "dispersion [m2/s]", "may still change by [m2/s]", "Peclet number")
        title = f"Dispersion along {record['axis']}"
        charts = partial(series_charts, self._folder / SERIES_FILE, "Dispersion", QUANTITIES)
        return ReportPart(tables=(ReportTable(title, headings, rows),), charts=charts)


def _at_equal_intervals(steps: np.ndarray) -> np.ndarray:
    """The numbers of the looks, but for the last one if it came sooner behind the one before than that did."""
    is_early = steps.size > 2 and steps[-1] - steps[-2] < steps[-2] - steps[-3]
    return np.arange(steps.size - is_early)


def _line(record: Mapping, row: Mapping) -> str:
    given = row["uncertainty_m2_s"]
    to_come = "the uncertainty is unknown: it takes three samples" if given is None else f"+- {given:.2g}"
    peclet = "" if row["peclet"] is None else f", Peclet number {row['peclet']:.4g}"
    unsettled = given is not None and given > UNSETTLED * abs(row["dispersion_m2_s"])
    remedy = "; not settled: give the run more steps" if unsettled else ""
    return (
        f"dispersion along {record['axis']}: {row['dispersion_m2_s']:.4g} m2/s ({to_come}),"
        f" {row['dispersion_over_diffusivity']:.4g} of the diffusivity {row['diffusivity_m2_s']:.4g} m2/s"
        f"{peclet}{remedy}"
    )
