"""Figures of a flow in the style of the pictures of a run; matplotlib figures, to be edited and saved."""

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from muphy_lb.api.fields import SPEED, chosen_fields, known_fields, node_values
from muphy_lb.errors import InputError
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.output.pictures.cut import AXES, PlaneCut, best_cut, cut_at
from muphy_lb.output.pictures.panels import (
    add_panels,
    cut_title,
    draw_cut,
    draw_heading,
    draw_scale,
    make_style,
    mark_mirrors,
)
from muphy_lb.output.pictures.projection import is_rock
from muphy_lb.output.pictures.theme import THEMES, Theme, ThemedFigure, chosen_theme, theme_of
from muphy_lb.output.pictures.vessel import Presentation, draw_speed_scale, fill_figure, speed_colours

if TYPE_CHECKING:
    from muphy_lb.api.results import Results

COLOUR_MAP = "viridis"
SHARES = (0.3, 99.7)
"""Percentiles that the colours reach from and to: robust against single nodes."""

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
        theme = self._theme(style)
        speed = node_values(core, SPEED)
        if speed is None:
            return None
        figure = FlowFigure(theme)
        mirrors = str(core.case.geometry.options.get("mirror", ""))
        fill_figure(figure, whole_nodes(core), speed, core.case.title, Presentation(mirrors, theme=theme))
        return figure

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
            InputError: no such field, axis or component, no fluid at that position, or a position without an axis.
        """
        core = self._simulation.core
        chosen_fields(core, (field,))
        theme = self._theme(style)
        for name, letter in (("axis", axis), ("component", component)):
            if letter is not None and (not letter or letter not in AXES):
                raise InputError(f"plot.slice: {name} is {letter!r}; allowed: 'x', 'y' or 'z'")
        if position_m is not None and axis is None:
            raise InputError(f"plot.slice: position_m is {position_m}; give the axis that it lies on, as in axis='x'")
        values = node_values(core, field)
        if values is None:
            return None
        name, values = _scalar(field, values, component)
        nodes = whole_nodes(core)
        cut = best_cut(nodes, values) if axis is None else cut_at(nodes, values, AXES.index(axis), position_m)
        colours = speed_colours(values) if name == SPEED else _colours(cut.values)
        if limits is not None:
            colours = ScalarMappable(Normalize(*limits, clip=True), colours.get_cmap())
        return self._drawn(cut, name, colours, known_fields(core)[field], theme)

    def _theme(self, style: str | None) -> Theme:
        if style is not None and style not in THEMES:
            raise InputError(f"plot: style is {style!r}; allowed: {', '.join(THEMES)}")
        return chosen_theme(self._simulation.core.case.output) if style is None else THEMES[style]

    def _drawn(self, cut: PlaneCut, name: str, colours: ScalarMappable, unit: str, theme: Theme) -> FlowFigure:
        core, figure = self._simulation.core, FlowFigure(theme)
        nodes = whole_nodes(core)
        style = make_style(nodes, name, colours)
        (panel,) = add_panels(figure, [cut.extent_m])
        draw_cut(panel, nodes, cut, style, nodes.shape[0] > 1 and is_rock(nodes))
        mark_mirrors(panel, nodes, cut, style, str(core.case.geometry.options.get("mirror", "")))
        if nodes.shape[0] > 1:
            panel.set_title(cut_title(cut, style), color=theme_of(panel).faint, fontsize=10, loc="left")
        if name == SPEED:
            draw_speed_scale(figure, style)
        else:
            draw_scale(figure, style.colours, f"{name} [{unit}]", extend="both")
        draw_heading(figure, core.case.title, (f"{name} after {core.step_number:,} steps, {core.time_s:.4g} s",))
        return figure


def _scalar(field: str, values: np.ndarray, component: str | None) -> tuple[str, np.ndarray]:
    """Name and (n,) values of what is drawn of a field."""
    if component is not None and values.ndim == 1:
        raise InputError(f"plot.slice: {field} has no components; leave component = {component!r} out")
    if values.ndim == 1:
        return field, values
    if component is not None:
        return f"{field} along {component}", values[:, AXES.index(component)]
    return SPEED if field == "velocity" else f"{field} (magnitude)", np.linalg.norm(values, axis=1)


def _colours(values: np.ndarray) -> ScalarMappable:
    low, high = np.nanpercentile(values, SHARES)
    room = 0.0 if high > low else abs(low) or 1.0
    return ScalarMappable(Normalize(low - room, high + room, clip=True), colormaps[COLOUR_MAP])
