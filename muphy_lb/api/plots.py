"""Figures of a flow in the style of the pictures of a run; matplotlib figures, to be edited and saved."""

from collections.abc import Iterable
from io import BytesIO
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg

from muphy_lb.api.fields import SPEED, chosen_fields, known_fields, node_values
from muphy_lb.base.errors import InputError
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.measure.pictures import shown_flow, sight_of
from muphy_lb.output.pictures.cut import AXES, best_cut, cut_at, upright_raster
from muphy_lb.output.pictures.theme import THEMES, Theme, ThemedFigure, chosen_theme
from muphy_lb.output.pictures.vessel import Shown, as_scalar, fill_figure, fill_slice, slice_colours
from muphy_lb.parallel import agreed_on_root, from_root

if TYPE_CHECKING:
    from muphy_lb.api.results import Results

DPI = 110


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

    def __init__(self, simulation: "Results"):
        self._simulation = simulation

    def __call__(self, style: str | None = None) -> FlowFigure | None:
        """The geometry with the speed below its surface, and the cut that shows most; the picture of a run.

        Args:
            style: ``"dark"`` or ``"light"``; by default that of the case.

        Raises:
            InputError: another style.
        """
        core = self._simulation.core
        theme = from_root(core.communicator, lambda: self._theme(style))
        shown = shown_flow(core, theme)

        def drawn() -> FlowFigure:
            nodes, speed, how = on_root(shown)
            figure = FlowFigure(theme)
            fill_figure(figure, nodes, speed, core.case.title, how)
            return figure

        return agreed_on_root(core.communicator, drawn)

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
            field: its name; of vectors the magnitude, unless a component is chosen.
            axis: ``"x"``, ``"y"`` or ``"z"``; by default the plane that shows most.
            position_m: place of the plane on that axis [m]; by default the fullest plane.
            component: ``"x"``, ``"y"`` or ``"z"``, of a vector.
            limits: lowest and highest value of the colours [SI], such as those that all pictures of a film share; by
                default those of this plane, robust against single nodes.
            style: ``"dark"`` or ``"light"``; by default that of the case.

        Raises:
            InputError: no such field, axis or component, no fluid at that position, a position without an axis, or
                limits that are not two ascending numbers.
        """
        core = self._simulation.core

        def checked() -> str:
            _check_letters(axis=axis, component=component)
            _check_numbers(axis, position_m, limits)
            self._theme(style)
            return chosen_fields(core, (field,))[0]

        chosen = from_root(core.communicator, checked)
        gathered, sight = node_values(core, chosen), sight_of(core)

        def drawn() -> FlowFigure:
            name, values = as_scalar(chosen, on_root(gathered), component)
            nodes = whole_nodes(core)
            if axis is not None:
                cut = cut_at(nodes, values, AXES.index(axis), position_m)
            else:
                cut = best_cut(nodes, values) if sight is None else upright_raster(nodes, nodes, sight).image(values)
            facts = (f"{name} after {core.step_number:,} steps, {core.time_s:.4g} s",)
            mirrors = str(core.case.geometry.options.get("mirror", ""))
            colours, unit = slice_colours(name, values, cut, limits), known_fields(core)[chosen]
            figure = FlowFigure(self._theme(style))
            fill_slice(figure, nodes, cut, Shown(name, unit, colours, core.case.title, facts, mirrors))
            return figure

        return agreed_on_root(core.communicator, drawn)

    def _theme(self, style: str | None) -> Theme:
        if style is not None and style not in THEMES:
            raise InputError(f"plot: style is {style!r}; allowed: {', '.join(THEMES)}")
        return chosen_theme(self._simulation.core.case.output) if style is None else THEMES[style]


def _check_letters(**letters: str | None) -> None:
    for name, letter in letters.items():
        if letter is not None and letter not in tuple(AXES):
            raise InputError(f"plot.slice: {name} is {letter!r}; allowed: 'x', 'y' or 'z'")


def _check_numbers(axis: str | None, position_m: float | None, limits: tuple[float, float] | None) -> None:
    if position_m is not None and axis is None:
        raise InputError(f"plot.slice: position_m is {position_m}; give the axis that it lies on, as in axis='x'")
    if position_m is not None and not _are_finite(position_m):
        raise InputError(f"plot.slice: position_m is {position_m!r}; give a number")
    if limits is None:
        return
    numbers = tuple(limits) if isinstance(limits, Iterable) else ()
    if len(numbers) != 2 or not _are_finite(*numbers) or not numbers[0] < numbers[1]:
        raise InputError(f"plot.slice: limits is {limits!r}; give two numbers, the lower one first")


def _are_finite(*numbers) -> bool:
    return all(isinstance(number, Real) and isfinite(number) for number in numbers)
