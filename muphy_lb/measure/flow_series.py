"""Time series of the flow: flow rates and pressures of openings, and forces on labelled walls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path

from muphy_lb.geometry.voxels import opening_title
from muphy_lb.measure.flow_view import FlowView, on_root
from muphy_lb.measure.observer import Observer
from muphy_lb.operators import PRESSURE
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.output.series import CsvSeries
from muphy_lb.parallel import agreed_on_root

OPENING_QUANTITIES = {"flow_rate_m3_s": "flow rate [m3/s]", "pressure_pa": "pressure [Pa]"}
DEVELOPED_CELL_REYNOLDS = 3.0
"""Cell Reynolds number, with the mean velocity, up to which a developed flow enters through a pressure nearly
unchanged: 1 to 2 % of it are lost at 2, up to 8 % at 6."""
WALL_QUANTITIES = (
    *(f"force_{axis}_n" for axis in "xyz"),
    *(f"torque_{axis}_n_m" for axis in "xyz"),
    "drag_coefficient",
    "lift_coefficient",
)


class SeriesObserver(Observer):
    """Appends rows of named numbers to a CSV file every ``output.series_every_steps`` steps, and at the end; subclasses
    define ``numbers`` for one row, or ``rows`` for any number of them. ``resume_step``: rows up to that step are kept;
    None for a new file."""

    file: str

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self.every = view.case.output.series_every_steps
        self._view, self._folder = view, folder
        self._series = agreed_on_root(
            view.communicator,
            lambda: CsvSeries(folder / self.file, ("step", "time_s", *self.columns()), resume_step),
        )
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    def columns(self) -> list[str]:
        """Names of the columns after step and time, on rank 0."""
        raise NotImplementedError

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        raise NotImplementedError

    def rows(self) -> Iterable[Sequence[float]] | None:
        """Numbers of each row, on rank 0; collective."""
        numbers = self.numbers()
        return None if numbers is None else [numbers]

    def act(self) -> None:
        """Write the rows of this step, unless it is already written."""
        if self._view.step_number == self._written_step:
            return
        self._written_step = self._view.step_number
        rows = self.rows()
        if self._series:
            now = {"step": self._view.step_number, "time_s": self._view.time_s}
            for row in on_root(rows):
                self._series.append(now | dict(zip(self.columns(), row, strict=True)))

    def close(self) -> None:
        """Write the last row."""
        self.act()


class OpeningSeries(SeriesObserver):
    """Appends flow rate and pressure of every opening to ``openings.csv``, and the states of those that answer their
    flow."""

    file = "openings.csv"
    files = (file,)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if there are openings."""
        return (cls(view, folder, resume_step),) if view.header.openings else ()

    def columns(self) -> list[str]:
        """Flow rate, pressure and state of each opening."""
        pairs = zip(self._view.header.openings, self._view.conditions, strict=True)
        return [
            f"{opening.name}_{quantity}"
            for opening, condition in pairs
            for quantity in (*OPENING_QUANTITIES, *(condition.feedback.told if condition.feedback else ()))
        ]

    def numbers(self) -> list[float] | None:
        """Flow rate and pressure of each opening, on rank 0; collective."""
        states = self._view.openings()
        if states is None:
            return None
        return [
            x
            for state in states.values()
            for x in (state.flow_rate_m3_s, state.mean_pressure_pa, *state.feedback.values())
        ]

    def lines(self, summary: Mapping) -> list[str]:
        """State of each opening, flow split, pressure drops; where a pressure lets in what loses flow there."""
        return opening_lines(summary) + list(self._entrances(summary["openings"]))

    def _entrances(self, states: Mapping) -> Iterator[str]:
        view, remedy = self._view, "give velocity_m_s or flow_rate_m3_s and a profile where a developed flow is meant"
        per_length = 0.0 if view.fluid.equilibrium.is_linear else 1.0 / view.case.fluid.viscosity_m2_s
        for opening, condition in zip(view.header.openings, view.conditions, strict=True):
            state = states[opening.name]
            entering = state["flow_rate_m3_s"] * (1.0 if opening.kind == "inlet" else -1.0)
            of_voxel = entering / state["area_m2"] * view.header.spacing_m * per_length
            if condition.kind == PRESSURE and of_voxel > DEVELOPED_CELL_REYNOLDS:
                yield (
                    f"warning: {opening.name} lets fluid in by its pressure at a cell Reynolds number of"
                    f" {of_voxel:.3g}: a developed flow loses about 1 % for each unit of it on its way in; make"
                    f" geometry.spacing_m smaller, or {remedy}"
                )

    def section(self, summary: Mapping) -> ReportPart:
        """Tables of these quantities, and charts over time."""
        shares = [
            (f"share of the outflow through {name}", 100.0 * share, "%")
            for name, share in summary["flow_split"].items()
        ]
        drops = [
            (f"pressure drop from the inlets to {name}", drop_pa, "Pa")
            for name, drop_pa in summary["pressure_drops_pa"].items()
        ]
        rows = [
            (f"{name} ({state['kind']})", state["flow_rate_m3_s"], state["mean_pressure_pa"], state["area_m2"])
            for name, state in summary["openings"].items()
        ]
        return ReportPart(
            results=(*shares, *drops),
            tables=(ReportTable("Openings", ("", "flow rate [m3/s]", "pressure [Pa]", "area [m2]"), rows),),
            charts=partial(series_charts, self._folder / self.file, "Openings", OPENING_QUANTITIES),
        )


class WallSeries(SeriesObserver):
    """Appends force and torque on every labelled wall to ``walls.csv``, each the mean of two consecutive steps."""

    file = "walls.csv"
    files = (file,)
    tells_walls = True

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if there are labelled walls."""
        return (cls(view, folder, resume_step),) if view.header.walls else ()

    def columns(self) -> list[str]:
        """Column names of force, torque and coefficients of each wall."""
        return [f"{wall.name}_{quantity}" for wall in self._view.header.walls for quantity in WALL_QUANTITIES]

    def numbers(self) -> list[float] | None:
        """Force, torque and coefficients of each wall; NaN for a coefficient without reference values."""
        walls = self._view.wall_forces()
        if walls is None:
            return None
        rows = [(*w.force_n, *w.torque_n_m, w.drag_coefficient, w.lift_coefficient) for w in walls.values()]
        return [nan if x is None else x for row in rows for x in row]

    def lines(self, summary: Mapping) -> list[str]:
        """Force, torque and coefficients of each wall, and what they lack."""
        lacking = [each.lacks_at_walls for each in self._view.physics if each.lacks_at_walls]
        return [*wall_lines(summary["walls"]), *(f"forces on walls are without {what}" for what in lacking)]

    def section(self, summary: Mapping) -> ReportPart:
        """Table of force and torque of each wall, and charts over time."""
        rows = [(name, *wall["force_n"], *wall["torque_n_m"]) for name, wall in summary["walls"].items()]
        headings = ("", *(f"force {axis} [N]" for axis in "xyz"), *(f"torque {axis} [N m]" for axis in "xyz"))
        labels = {quantity: quantity for quantity in WALL_QUANTITIES}
        return ReportPart(
            tables=(ReportTable("Labelled walls", headings, rows),),
            charts=partial(series_charts, self._folder / self.file, "Walls", labels),
        )


def opening_lines(summary: Mapping) -> list[str]:
    """The openings of a summary as lines of text."""
    lines = [
        f"{opening_title(state['kind'], name)}: flow rate {state['flow_rate_m3_s']:.5g} m3/s,"
        f" mean pressure {state['mean_pressure_pa']:.5g} Pa, area {state['area_m2']:.4g} m2"
        for name, state in summary["openings"].items()
    ]
    if summary.get("flow_split"):
        lines.append("flow split: " + ", ".join(f"{name} {100 * x:.2f} %" for name, x in summary["flow_split"].items()))
    if summary.get("pressure_drops_pa"):
        drops = ", ".join(f"{name} {drop:.5g} Pa" for name, drop in summary["pressure_drops_pa"].items())
        lines.append(f"pressure drop from the inlets to: {drops}")
    return lines


def wall_lines(walls: Mapping) -> list[str]:
    """The labelled walls of a summary as lines of text."""
    lines = []
    for name, wall in walls.items():
        force, torque = (" ".join(f"{c:.5g}" for c in wall[key]) for key in ("force_n", "torque_n_m"))
        drag = wall["drag_coefficient"]
        coefficients = "" if drag is None else f", drag {drag:.5g}, lift {wall['lift_coefficient']:.5g}"
        lines.append(f"wall {name}: force ({force}) N, torque ({torque}) N m{coefficients}")
    return lines
