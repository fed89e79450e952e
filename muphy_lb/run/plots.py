"""Figures in the style of the pictures of a run: of a flow in memory, and of the files of a finished run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from math import isfinite
from numbers import Real
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import unit_of
from muphy_lb.case.case import Case, load_case
from muphy_lb.case.output import SPEED
from muphy_lb.case.section import did_you_mean
from muphy_lb.measure.at_particles import particles_drawn
from muphy_lb.measure.field_snapshots import FieldSnapshots, known_fields
from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.pictures import shown_flow, sight_of
from muphy_lb.measure.shear.observer import AREA, SHEAR_FILE
from muphy_lb.measure.shear.wall_nodes import INDICES, STRESS
from muphy_lb.output.drawing import PICTURE_FORMATS
from muphy_lb.output.pictures.cut import AXES, best_cut, cut_at, upright_raster
from muphy_lb.output.pictures.panels import figure_at, fill_curves
from muphy_lb.output.pictures.theme import THEMES, Theme, ThemedFigure, chosen_theme
from muphy_lb.output.pictures.vessel import (
    MOST_LEVELS,
    Presentation,
    Shown,
    as_scalar,
    field_colours,
    fill_figure,
    fill_isosurfaces,
    fill_slice,
    slice_colours,
    usual_levels,
)
from muphy_lb.output.pictures.wall import Marks, draw_walls
from muphy_lb.output.series import read_series
from muphy_lb.output.vtkhdf import find_snapshot
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.run.exports import chosen_fields, node_values
from muphy_lb.run.folder import CASE_FILE

DPI = 110

SHORT = {"wall_shear": STRESS.field} | {name: quantity.field for name, quantity in INDICES.items()}
"""Short names of the fields on walls."""

NOT_DRAWN = ("counted", AREA)
COLUMNS = ("step", "time_s")
LONGEST_HEADER = 2**20


class FlowFigure(ThemedFigure):
    """A figure that notebooks show; add to its ``axes``, then ``savefig``."""

    def __init__(self, theme: Theme):
        super().__init__(theme, dpi=DPI)
        FigureCanvasAgg(self)

    def png(self) -> bytes:
        """The figure as a PNG, as notebooks and films take it."""
        stream = BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()

    _repr_png_ = png


class Plots:
    """Figures of a simulation, ``sim.plot()`` and ``sim.plot.slice(...)``; collective, on rank 0 (None elsewhere)."""

    def __init__(self, flow: Callable[[], FlowView]):
        self._flow = flow

    def __call__(self, style: str | None = None) -> FlowFigure | None:
        """The geometry with the speed below its surface, and the cut that shows most; the picture of a run.

        Args:
            style: ``"dark"`` or ``"light"``; by default that of the case.

        Raises:
            InputError: another style.
        """
        flow = self._flow()
        theme = from_root(flow.communicator, lambda: self._theme(style))
        shown = shown_flow(flow, theme)

        def drawn() -> FlowFigure:
            nodes, speed, how = on_root(shown)
            figure = FlowFigure(theme)
            fill_figure(figure, nodes, speed, flow.case.title, how)
            return figure

        return agreed_on_root(flow.communicator, drawn)

    def slice(
        self,
        field: str = SPEED,
        axis: str | None = None,
        position_m: float | None = None,
        component: str | None = None,
        limits: tuple[float, float] | None = None,
        style: str | None = None,
    ) -> FlowFigure | None:
        """A field on a plane across an axis.

        Args:
            field: its name; of vectors the magnitude, of tensors that of shear, unless a component is chosen.
            axis: ``"x"``, ``"y"`` or ``"z"``; by default the plane that shows most.
            position_m: position of the plane on that axis [m]; by default the fullest plane.
            component: ``"x"``, ``"y"`` or ``"z"`` of a vector; ``"xx"``, ``"yy"``, ``"zz"``, ``"xy"``, ``"yz"`` or
                ``"zx"`` of a tensor.
            limits: lowest and highest value of the colours [SI], such as those that all pictures of a film share; by
                default those of this plane, robust against single nodes.
            style: ``"dark"`` or ``"light"``; by default that of the case.

        Raises:
            InputError: no such field, axis or component, no fluid at that position, a position without an axis, or
                limits that are not two ascending numbers.
        """
        flow = self._flow()

        def checked() -> str:
            if axis is not None and axis not in tuple(AXES):
                raise InputError(f"plot.slice: axis is {axis!r}; allowed: 'x', 'y' or 'z'")
            _check_numbers(axis, position_m, limits)
            self._theme(style)
            return chosen_fields(flow, (field,))[0]

        chosen = from_root(flow.communicator, checked)
        gathered, sight, points = node_values(flow, chosen), sight_of(flow), particles_drawn(flow)

        def drawn() -> FlowFigure:
            name, values = as_scalar(chosen, on_root(gathered), component)
            nodes = whole_nodes(flow)
            if axis is not None:
                cut = cut_at(nodes, values, AXES.index(axis), position_m)
            else:
                cut = best_cut(nodes, values) if sight is None else upright_raster(nodes, nodes, sight).image(values)
            figure, field = FlowFigure(self._theme(style)), (name, known_fields(flow)[chosen])
            colours, when = slice_colours(name, values, cut, limits), (flow.step_number, flow.time_s)
            shown = replace(_shown(field, colours, when, flow.case), points=points)
            fill_slice(figure, nodes, cut, shown)
            return figure

        return agreed_on_root(flow.communicator, drawn)

    def isosurfaces(
        self,
        field: str = SPEED,
        levels: Sequence[float] | None = None,
        component: str | None = None,
        limits: tuple[float, float] | None = None,
        style: str | None = None,
    ) -> FlowFigure | None:
        """Surfaces in space on which a field has given values, each seen through those around it.

        Args:
            field, component, limits, style: as of :meth:`slice`.
            levels: up to eight values [SI]; by default three between the ends of the values.

        Raises:
            InputError: no such field or component, levels that are no numbers, or a geometry in two dimensions.
        """
        flow = self._flow()

        def checked() -> str:
            _check_numbers(None, None, limits)
            _check_levels(levels, flow.header.shape)
            self._theme(style)
            return chosen_fields(flow, (field,))[0]

        chosen = from_root(flow.communicator, checked)
        gathered, sight = node_values(flow, chosen), sight_of(flow)

        def drawn() -> FlowFigure:
            name, values = as_scalar(chosen, on_root(gathered), component)
            figure, unit = FlowFigure(self._theme(style)), known_fields(flow)[chosen]
            chosen_levels = usual_levels(values) if levels is None else levels
            colours, when = field_colours(name, values, limits), (flow.step_number, flow.time_s)
            shown = _shown((name, unit), colours, when, flow.case)
            fill_isosurfaces(figure, whole_nodes(flow), values, chosen_levels, shown, sight)
            return figure

        return agreed_on_root(flow.communicator, drawn)

    def _theme(self, style: str | None) -> Theme:
        if style is not None and style not in THEMES:
            raise InputError(f"plot: style is {style!r}; allowed: {', '.join(THEMES)}")
        return chosen_theme(self._flow().case.output) if style is None else THEMES[style]


def _check_numbers(axis: str | None, position_m: float | None, limits: tuple[float, float] | None) -> None:
    if position_m is not None and axis is None:
        raise InputError(f"plot.slice: position_m is {position_m}; give the axis that it lies on, as in axis='x'")
    if position_m is not None and not _are_finite(position_m):
        raise InputError(f"plot.slice: position_m is {position_m!r}; give a number")
    if limits is None:
        return
    numbers = tuple(limits) if isinstance(limits, Iterable) else ()
    if len(numbers) != 2 or not _are_finite(*numbers) or not numbers[0] < numbers[1]:
        raise InputError(f"plot: limits is {limits!r}; give two numbers, the lower one first")


def _check_levels(levels: Sequence[float] | None, shape: tuple[int, ...]) -> None:
    if shape[0] == 1:
        raise InputError(
            "plot.isosurfaces: the geometry lies in a plane, where a field has no surfaces; draw plot.slice"
        )
    numbers = tuple(levels) if isinstance(levels, Sequence | np.ndarray) else ()
    if levels is not None and not (0 < len(numbers) <= MOST_LEVELS and _are_finite(*numbers)):
        raise InputError(f"plot.isosurfaces: levels is {levels!r}; give one to {MOST_LEVELS} numbers")


def _are_finite(*numbers) -> bool:
    return all(isinstance(number, Real) and isfinite(number) for number in numbers)


def _shown(field: tuple[str, str], colours, when: tuple, case: Case) -> Shown:
    """The presentation of a field (name, unit) of a snapshot (step, time [s])."""
    (name, unit), (step, time_s) = field, when
    facts = (f"{name.replace('_', ' ')} after {step:,} steps, {time_s:.4g} s",)
    return Shown(name.replace("_", " "), unit, colours, case.title, facts, _mirrors(case))


def _mirrors(case: Case) -> str:
    return str(case.geometry.options.get("mirror", ""))


def plot(options, say: Callable[[str], None], communicator) -> int:
    """Draw one picture from the files of a run; returns the exit code 0.

    Raises:
        InputError: no run, file or field is there, or options do not go together.
        OutputError: the picture cannot be written.
    """
    if communicator.rank == 0:
        picture = _Picture(options)
        picture.draw()
        say(f"written to {picture.path}")
    return 0


def _path(options) -> Path:
    if options.output is None:
        return Path(options.folder) / f"plot_{Path(options.field).stem}.{options.format or 'png'}"
    path = Path(options.output)
    ending = path.suffix.removeprefix(".").lower()
    if not ending:
        return path.with_name(f"{path.name}.{options.format or 'png'}")
    if ending not in PICTURE_FORMATS or (options.format or ending) != ending:
        allowed = options.format or ", ".join(PICTURE_FORMATS)
        raise InputError(f"plot: -o is {options.output}, which ends in {path.suffix!r}; allowed: {allowed}")
    return path


def _limits(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = 0.0
    if not (isfinite(low) and isfinite(high) and low < high):
        raise InputError(f"plot: --scale is {text!r}; give two numbers, the lower first, as in --scale 0,0.5")
    return low, high


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(map(float, text.split(",")))
    except ValueError:
        levels = ()
    if not (0 < len(levels) <= MOST_LEVELS and all(map(isfinite, levels))):
        raise InputError(f"plot: --levels is {text!r}; give one to {MOST_LEVELS} numbers, as in --levels 0.1,0.2")
    return levels


class _Picture:
    def __init__(self, options):
        self.folder, self.path = Path(options.folder), _path(options)
        self.limits = None if options.scale is None else _limits(options.scale)
        self.field, self.axis, self.at_m, self.time_s = options.field, options.axis, options.at, options.time
        self.levels = None if options.levels is None else _levels(options.levels)
        if not (self.folder / CASE_FILE).is_file():
            raise InputError(f"plot: {self.folder} has no {CASE_FILE}; give the output folder of a run")
        if self.at_m is not None and self.axis is None:
            raise InputError(f"plot: --at is {self.at_m:g}; give the axis that it lies on, as in --axis x")
        if self.levels is not None and self.axis is not None:
            raise InputError("plot: --axis does not go with --levels, surfaces in space; leave one of them out")
        self.case = load_case(self.folder / CASE_FILE)
        self.theme = THEMES[options.style or self.case.output.picture_style]

    def draw(self) -> None:
        if self.field.endswith(".csv"):
            self._draw_series()
            return
        name = SHORT.get(self.field, self.field)
        flow, walls = self._fields_of(FieldSnapshots.file), self._fields_of(SHEAR_FILE)
        if name in flow:
            self._draw_flow(name)
        elif name in walls:
            self._draw_walls(name)
        else:
            raise InputError(self._missing([*flow, *walls]))

    @property
    def _number_of_axis(self) -> int | None:
        return None if self.axis is None else AXES.index(self.axis)

    def _fields_of(self, file: str) -> list[str]:
        """Names of what can be drawn of a file; none if it is not there."""
        if not (self.folder / file).is_file():
            return []
        names = [name for name in find_snapshot(self.folder / file).units if name not in NOT_DRAWN]
        return [*names, SPEED] if "velocity" in names else names

    def _series(self) -> dict[str, str]:
        """Names of the CSV files that hold a series over time, or over another quantity in seconds, with its column."""
        over = {path.name: _column_of_time(path) for path in sorted(self.folder.glob("*.csv"))}
        return {name: column for name, column in over.items() if column}

    def _missing(self, there: list[str]) -> str:
        field = self.field
        known = [*there, *(name for name, of_walls in SHORT.items() if of_walls in there), *self._series()]
        lacking = [file for file in (FieldSnapshots.file, SHEAR_FILE) if not (self.folder / file).is_file()]
        wanted = SHEAR_FILE if field in SHORT or field in SHORT.values() else FieldSnapshots.file
        if wanted in lacking and not field.endswith(".csv"):
            remedy = "output.wall_shear = true" if wanted == SHEAR_FILE else "output.vtk = true"
            others = f"; there are {', '.join(known)}" if known else ""
            return f"plot: {self.folder} has no {wanted}, which holds {field}; run with {remedy}{others}"
        return f"plot: {self.folder} holds no {field!r}; {did_you_mean(field, known)}"

    def _draw_flow(self, name: str) -> None:
        """A field on a plane; the speed without an axis as in the picture of a run, on the vessel and on a plane."""
        snapshot, axis = find_snapshot(self.folder / FieldSnapshots.file, self.time_s), self._number_of_axis
        field = "velocity" if name == SPEED else name
        nodes, (shown, values) = snapshot.nodes(), as_scalar(field, snapshot.values(field))
        when = (snapshot.step, snapshot.time_s)
        if self.levels is not None:
            _check_levels(self.levels, nodes.shape)
        with figure_at(self.path, self.theme) as figure:
            if self.levels is not None:
                colours = field_colours(shown, values, self.limits)
                about = _shown((shown, snapshot.units[field]), colours, when, self.case)
                fill_isosurfaces(figure, nodes, values, self.levels, about, None)
                return
            if shown == SPEED and axis is None:
                how = Presentation(_mirrors(self.case), theme=self.theme, limits=self.limits)
                fill_figure(figure, nodes, values, self.case.title, how)
                return
            cut = best_cut(nodes, values) if axis is None else cut_at(nodes, values, axis, self.at_m)
            colours = slice_colours(shown, values, cut, self.limits)
            fill_slice(figure, nodes, cut, _shown((shown, snapshot.units[field]), colours, when, self.case))

    def _draw_walls(self, name: str) -> None:
        if self.at_m is not None:
            raise InputError(f"plot: --at does not go with {self.field}, which lies on walls; leave it out")
        if self.levels is not None:
            raise InputError(f"plot: --levels does not go with {self.field}, which lies on walls; leave it out")
        snapshot = find_snapshot(self.folder / SHEAR_FILE, self.time_s)
        values = snapshot.values(name)
        values = np.linalg.norm(values, axis=1) if values.ndim == 2 else values
        what = f"{name.replace('_', ' ')} [{snapshot.units[name]}]"
        counted = (snapshot.values("counted") > 0.0) & np.isfinite(values)
        marks = Marks(counted=counted, theme=self.theme, limits=self.limits, sight=self._number_of_axis)
        draw_walls(self.path, snapshot.nodes(), values, what, marks)

    def _draw_series(self) -> None:
        path, over_of = self.folder / self.field, self._series()
        if self.field not in over_of:
            raise InputError(self._missing([]))
        options = {"--axis": self.axis, "--at": self.at_m, "--scale": self.limits, "--time": self.time_s}
        options |= {"--levels": self.levels}
        for option in (option for option, value in options.items() if value is not None):
            raise InputError(f"plot: {option} does not go with {self.field}, a series over time; leave it out")
        series, over = read_series(path), over_of[self.field]
        told = [name for name in series.keys() - {*COLUMNS, over} if np.isfinite(series[name]).any()]
        if not told or not series[over].any():
            raise InputError(f"plot: {path} has no numbers to draw; run for longer")
        if not (np.diff(series[over]) > 0.0).all():
            raise InputError(
                f"plot: {path} has several rows at one time; choose a series with one row at a time:"
                f" {', '.join(over_of)}"
            )
        with figure_at(self.path, self.theme) as figure:
            fill_curves(figure, series, self.case.title, (self.field,), over)


def _column_of_time(path: Path) -> str | None:
    """The column of a CSV file that is a time [s]: behind the number of the step, or the first; None without one."""
    with open(path, encoding="utf-8", errors="replace") as file:
        names = file.readline(LONGEST_HEADER).rstrip("\n").split(",")
    if tuple(names[:2]) == COLUMNS:
        return "time_s"
    return names[0] if unit_of(names[0], {}) == "s" else None
