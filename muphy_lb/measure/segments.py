"""Segments: pressure drop, ratio of pressures and flow between two planes through a vessel.

The fractional flow reserve (FFR) is the mean pressure behind a stenosis over that before it, both over whole beats and
above the venous pressure, at the largest flow that the bed behind takes (Pijls, van Son, Kirkeeide, De Bruyne, Gould,
Circulation 87, 1354 (1993)). Pressures contain ``flow.reference_pressure_pa``; that the flow is the largest one is up
to the case.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.case.output import SegmentSection
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period_means import PeriodMeans
from muphy_lb.measure.probes import PlaneValues
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts

SERIES_FILE = "segments.csv"
QUANTITIES = {
    "pressure_drop_pa": "pressure drop [Pa]",
    "pressure_ratio": "distal over proximal pressure",
    "proximal_pressure_pa": "proximal pressure [Pa]",
    "distal_pressure_pa": "distal pressure [Pa]",
    "flow_rate_m3_s": "flow rate [m3/s]",
}
NO_REFERENCE = (
    "the ratio of pressures (FFR) is that of pressures above 0 Pa, and flow.reference_pressure_pa is 0: give the"
    " pressure that the openings' pressures are relative to"
)


class SegmentValues:
    """Pressures at both ends of every segment of a case, and the flow; every call is collective.

    Args:
        view: the flow.

    Raises:
        InputError: a plane lies outside the fluid.
    """

    def __init__(self, view: FlowView):
        planes = {section.name: section for section in view.case.probes}
        nodes = whole_nodes(view) if view.communicator.rank == 0 else None
        wanted = {end for segment in view.case.segments for end in (segment.proximal, segment.distal)}
        self._planes = {name: PlaneValues(planes[name], view, nodes) for name in sorted(wanted)}
        self._segments = view.case.segments

    def numbers(self) -> np.ndarray | None:
        """(n_segments, 3): proximal and distal pressure [Pa], and the mean of both flow rates [m3/s], on rank 0."""
        measured = {name: plane.flow_and_pressure() for name, plane in self._planes.items()}
        found = {name: values for name, values in measured.items() if values is not None}
        if len(found) < len(measured):
            return None
        return np.array([_of_segment(segment, found) for segment in self._segments])


def _of_segment(segment: SegmentSection, found: Mapping[str, tuple[float, float]]) -> tuple[float, float, float]:
    (proximal_flow, proximal_pa), (distal_flow, distal_pa) = found[segment.proximal], found[segment.distal]
    return proximal_pa, distal_pa, 0.5 * (proximal_flow + distal_flow)


def segment_record(proximal_pa: float, distal_pa: float, flow_rate_m3_s: float) -> dict[str, float]:
    """What is told of a segment, by :data:`QUANTITIES`; the ratio is NaN unless the proximal pressure is positive."""
    ratio = distal_pa / proximal_pa if proximal_pa > 0.0 else float("nan")
    return dict(zip(QUANTITIES, (proximal_pa - distal_pa, ratio, proximal_pa, distal_pa, flow_rate_m3_s), strict=True))


class SegmentSeries(SeriesObserver):
    """Appends the quantities of every segment to ``segments.csv``."""

    file = SERIES_FILE
    files = (file,)

    def __init__(self, values: SegmentValues, view: FlowView, folder: Path, resume_step: int | None):
        self._values = values
        super().__init__(view, folder, resume_step)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """The series, and what comes of it at the end, if the case has segments."""
        if not view.case.segments:
            return ()
        values = SegmentValues(view)
        return cls(values, view, folder, resume_step), SegmentMeans(values, view, folder)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"{section.name}_{quantity}" for section in self._view.case.segments for quantity in QUANTITIES]

    def numbers(self) -> list[float] | None:
        """Quantities of each segment, on rank 0; collective."""
        found = self._values.numbers()
        return None if found is None else [x for row in found for x in segment_record(*row.tolist()).values()]


class SegmentMeans(PeriodMeans):
    """The quantities of every segment at the end of a run, of a periodic flow from means over its last period."""

    name = "segments"

    def record(self, means: np.ndarray) -> dict:
        """The record of each segment by name."""
        names = (section.name for section in self._view.case.segments)
        records = {name: segment_record(*row.tolist()) for name, row in zip(names, means, strict=True)}
        return {"warnings": self._warnings(), "of": records}

    def _warnings(self) -> list[str]:
        case = self._view.case
        is_absolute = case.flow.reference_pressure_pa or any(o.windkessel or o.coronary for o in case.openings)
        return [] if is_absolute else [NO_REFERENCE]

    def lines(self, summary: Mapping) -> list[str]:
        """A line for each segment."""
        record = summary[self.name]
        when = f"mean of {record['averaged_over_s']:.4g} s" if record["averaged_over_s"] else "at the end"
        lines = [
            f"segment {name} ({when}): pressure drop {one['pressure_drop_pa']:.5g} Pa, distal over proximal pressure"
            f" {one['pressure_ratio']:.4g}, flow rate {one['flow_rate_m3_s']:.5g} m3/s"
            for name, one in record["of"].items()
        ]
        return lines + [f"warning: {text}" for text in record["warnings"]]

    def section(self, summary: Mapping) -> ReportPart:
        """A table of the segments, and charts over time."""
        record = summary[self.name]
        rows = [(name, *one.values()) for name, one in record["of"].items()]
        note = f"means over {record['averaged_over_s']:.4g} s" if record["averaged_over_s"] else "at the end"
        table = ReportTable("Segments", ("", *QUANTITIES.values()), rows, note)
        charts = partial(series_charts, self._folder / SERIES_FILE, "Segments", QUANTITIES)
        return ReportPart(tables=(table,), warnings=record["warnings"], charts=charts)
