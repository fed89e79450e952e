"""Saturation and capillary number over time, ``two_fluid.csv``, and at the end."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.physics.two_fluid.operators import FIRST, SECOND
from muphy_lb.physics.two_fluid.section import SERIES_FILE

COLUMNS = ("second_saturation", "first_amount_m3", "second_amount_m3", "capillary_number", "largest_capillary_number")


HALF_BITS = 32


def exact_sum(values: np.ndarray) -> int:
    """The sum of int32 or int64 numbers, also beyond the range of int64."""
    wide = values.astype(np.int64)
    high, low = wide >> HALF_BITS, wide & ((1 << HALF_BITS) - 1)
    return (int(high.sum()) << HALF_BITS) + int(low.sum())


class TwoFluidSeries(SeriesObserver):
    """Appends saturation, amounts and capillary numbers; the amounts are exact sums. Capillary numbers are those of the
    mean and of the largest speed of all nodes, with the viscosity of the more viscous fluid.

    Args:
        view, folder, resume_step: as of all series.
        full: amount of a full node.
        viscosity_pa_s, tension_n_m: dynamic viscosity of the more viscous fluid, interfacial tension.
    """

    file = SERIES_FILE
    files = (SERIES_FILE,)
    name = "two_fluid"

    def __init__(
        self,
        view: FlowView,
        folder: Path,
        resume_step: int | None,
        full: float,
        viscosity_pa_s: float,
        tension_n_m: float,
    ):
        self._full, self._per_speed = full, viscosity_pa_s / tension_n_m
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(COLUMNS)

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        view = self._view
        of_first, of_second, health = view.model_field(FIRST), view.model_field(SECOND), view.health()
        if of_first is None or of_second is None:
            return None
        volume_m3 = view.units.spacing_m**3 / self._full
        first, second = exact_sum(of_first), exact_sum(of_second)
        speeds = [view.units.velocity_to_si(speed) * self._per_speed for speed in (health.mean_speed, health.max_speed)]
        return [second / (first + second), first * volume_m3, second * volume_m3, *map(float, speeds)]

    def finish(self) -> dict | None:
        """The numbers at the end, on rank 0."""
        numbers = self.numbers()
        return None if numbers is None else dict(zip(COLUMNS, numbers, strict=True))

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        return [
            f"two fluids: saturation of the second {record['second_saturation']:.4g}, capillary number"
            f" {record['capillary_number']:.3g}, at most {record['largest_capillary_number']:.3g}"
        ]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table."""
        rows = [(name.replace("_", " "), value) for name, value in summary[self.name].items()]
        return ReportPart(tables=(ReportTable("Two fluids", ("", "at the end"), rows),))
