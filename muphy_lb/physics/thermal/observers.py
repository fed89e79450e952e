"""Heat over time, through walls and midway between them: gradients and Nusselt numbers, in ``heat.csv`` and in the
summary; and a picture of the temperature at the end, ``temperature.png``."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.drawing import drawing
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.thermal.mid_plane import NAME as MIDDLE
from muphy_lb.physics.thermal.mid_plane import MiddleHeat, middle_heat
from muphy_lb.physics.thermal.section import PICTURE_FILE, SERIES_FILE
from muphy_lb.physics.thermal.temperature import setup_of, temperature_k, wall_gradients_k_m, wall_heat

QUANTITIES = {"gradient_k_m": "temperature gradient [K/m]", "nusselt": "Nusselt number"}


def nusselt(gradient_k_m: float, difference_k: float, length_m: float | None) -> float | None:
    """Nusselt number of a mean gradient [K/m]; None if length or temperature difference is missing."""
    return abs(gradient_k_m) * length_m / difference_k if length_m and difference_k else None


class HeatSeries(SeriesObserver):
    """Appends gradient and Nusselt number of every wall of fixed or outer temperature, and of the plane midway between
    two, to ``heat.csv``."""

    file = SERIES_FILE
    files = (file,)
    name = "heat"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self._middle = middle_heat(view)
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of two columns per wall and for the middle plane, and of the extremes in the fluid."""
        names = (*wall_heat(self._view).walls, *((MIDDLE,) if self._middle else ()))
        return [f"{name}_{what}" for name in names for what in QUANTITIES] + ["lowest_k", "highest_k"]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        state = heat_state(self._view, self._middle)
        if state is None:
            return None
        records = (*state["walls"].values(), *((state[MIDDLE],) if self._middle else ()))
        numbers = [*(record[what] for record in records for what in QUANTITIES), state["lowest_k"], state["highest_k"]]
        return [np.nan if value is None else value for value in numbers]

    def finish(self) -> dict | None:
        """Gradients, Nusselt numbers and extremes as the record for the summary."""
        return heat_state(self._view, self._middle)

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        return heat_lines(summary[self.name])

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        return ReportPart(
            tables=(_table(summary[self.name]),),
            charts=partial(series_charts, self._folder / self.file, "Heat", QUANTITIES),
        )


class TemperaturePicture(Observer):
    """Draws the temperature on a cut. ``view``: a thermal flow; ``folder``: output folder."""

    file = PICTURE_FILE
    files = (file,)

    def __init__(self, view: FlowView, folder: Path):
        self._view, self._folder = view, folder

    def close(self) -> None:
        """Draw the picture."""
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.physics.thermal.picture import draw_temperature

        values = temperature_k(self._view)
        if values is not None:
            with drawing(self.file):
                case = self._view.case
                theme = chosen_theme(case.output)
                draw_temperature(self._folder / self.file, whole_nodes(self._view), values, case.title, theme)

    def section(self, summary: Mapping) -> ReportPart:
        """The picture for report.html."""
        return ReportPart(pictures={self.file: "temperature"})


def heat_state(view: FlowView, middle: MiddleHeat | None) -> dict | None:
    """The record of the heat transfer for the summary, on rank 0; collective."""
    values, through_middle = temperature_k(view), middle.gradient_k_m() if middle else None
    gradients = wall_gradients_k_m(view)
    if values is None:
        return None
    length_m, difference_k = view.case.thermal.length_m, setup_of(view).difference_k

    def record(gradient_k_m: float) -> dict:
        return {"gradient_k_m": gradient_k_m, "nusselt": nusselt(gradient_k_m, difference_k, length_m)}

    return {
        "walls": {name: record(gradient) for name, gradient in gradients.items()},
        **({} if through_middle is None else {MIDDLE: record(through_middle)}),
        "lowest_k": float(values.min()),
        "highest_k": float(values.max()),
    }


def heat_lines(record: Mapping) -> list[str]:
    """The record of a summary as lines of text."""
    lines = [f"temperature: {record['lowest_k']:.6g} to {record['highest_k']:.6g} K"]
    lines += [f"wall {name}: mean temperature gradient {_gradient(wall)}" for name, wall in record["walls"].items()]
    if MIDDLE in record:
        lines.append(f"midway between the walls: heat flux of a mean temperature gradient {_gradient(record[MIDDLE])}")
    return lines


def _gradient(values: Mapping) -> str:
    number = "" if values["nusselt"] is None else f", Nusselt number {values['nusselt']:.5g}"
    return f"{values['gradient_k_m']:.5g} K/m{number}"


def _table(record: Mapping) -> ReportTable:
    surfaces = dict(record["walls"])
    if MIDDLE in record:
        surfaces["midway between the walls"] = record[MIDDLE]
    rows = [
        (name, values["gradient_k_m"], "-" if values["nusselt"] is None else values["nusselt"])
        for name, values in surfaces.items()
    ]
    note = f"temperature from {record['lowest_k']:.6g} to {record['highest_k']:.6g} K"
    return ReportTable("Heat", ("", "mean temperature gradient [K/m]", "Nusselt number"), rows, note)
