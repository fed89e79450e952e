"""What is told of bubbles while a run goes on: ``bubbles.csv``, and lines of the summary."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.free_surface.bubbles import VOXEL, Bubbles
from muphy_lb.physics.free_surface.cells import BUBBLE, CELL, GAS, INTERFACE
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.section import BUBBLES_FILE

COLUMNS = ("label", "volume_m3", "pressure_pa", "x_m", "y_m", "z_m", "is_open")


class BubbleSeries(SeriesObserver):
    """Appends a row for each region of gas: its label, the smallest voxel id in it; volume, pressure, centre, and
    whether its pressure stays.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: rows up to that step are kept; None for a new file.
        bubbles: that follow the regions.
    """

    file = BUBBLES_FILE
    files = (file,)
    name = "bubbles"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, bubbles: Bubbles):
        super().__init__(view, folder, resume_step)
        self._bubbles = bubbles

    def columns(self) -> list[str]:
        """Those of a region."""
        return list(COLUMNS)

    def rows(self) -> Iterable[Sequence[float]] | None:
        """One for each region."""
        view, centres_m = self._view, self._centres_m()
        if centres_m is None:
            return None
        regions = self._bubbles.regions
        volume_m3 = regions.volume / VOXEL * view.units.spacing_m**3
        pressure_pa = self._bubbles.pressure_pa(view.units)
        columns = (regions.label, volume_m3, pressure_pa, *centres_m, regions.is_open)
        return np.array(columns, dtype=float).T.tolist()

    def finish(self) -> dict | None:
        """How many regions of gas there are, and what became of the gas."""
        regions, volume_m3 = self._bubbles.regions, self._view.units.spacing_m**3
        is_closed = ~regions.is_open
        return {
            "count": int(is_closed.sum()),
            "open_count": int(regions.is_open.sum()),
            "volume_m3": float(regions.volume[is_closed].sum()) / VOXEL * volume_m3,
            "content_m3": float(regions.content[is_closed].sum()) / VOXEL * volume_m3,
            "dissolved_m3": self._bubbles.dissolved / VOXEL * volume_m3,
            "at_limit_count": int(self._bubbles.is_limited().sum()),
        }

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        text = f"bubbles: {record['count']:,} of {record['volume_m3']:.4g} m3, and {record['open_count']:,} open"
        if record["at_limit_count"]:
            text += f"; {record['at_limit_count']:,} with a pressure that the lattice does not bear"
        return [text]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=(("bubbles", record["count"], ""), ("gas in bubbles", record["volume_m3"], "m3")))

    def _centres_m(self) -> np.ndarray | None:
        """(3, k) centres of the regions [m], on rank 0; collective."""
        view, nodes = self._view, self._view.nodes
        cell, number, share = view.model_field(CELL), view.model_field(BUBBLE), fill(view)
        if cell is None or number is None or share is None or not isinstance(nodes, NodeList):
            return None
        has_gas = (cell == GAS) | (cell == INTERFACE)
        number, gas, place = number[has_gas], 1.0 - share[has_gas], nodes.coordinates()[has_gas]
        label, size = self._bubbles.regions.label, np.array(nodes.shape[::-1])
        first = voxel_coordinates(label, nodes.shape)
        away = place - first[number]
        away = np.where(nodes.periodic, (away + size // 2) % size - size // 2, away)
        whole = np.maximum(np.bincount(number, gas, label.size), 1.0 / VOXEL)
        centre = first.T + np.array([np.bincount(number, gas * along, label.size) / whole for along in away.T])
        return np.asarray(nodes.origin_m)[:, None] + nodes.spacing_m * centre
