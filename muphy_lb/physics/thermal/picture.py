"""A picture of the temperature of a thermal flow on its most informative cut, with isotherms."""

import os

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.pictures.cut import PlaneCut, best_cut
from muphy_lb.output.pictures.panels import (
    Style,
    add_panels,
    cut_title,
    draw_cut,
    draw_heading,
    draw_scale,
    figure_at,
    make_style,
)
from muphy_lb.output.pictures.theme import DARK, Theme

COLOUR_MAP, LINE_COLOUR = "coolwarm", "#10182a"
LINE_WIDTH, LINE_WIDTH_ON_SCALE = 1.0, 0.8
N_ISOTHERMS = 12  # at most
UNIFORM = 1e-6  # differences below this part of a temperature are rounding


def draw_temperature(
    path: str | os.PathLike, nodes: NodeList, temperature_k: np.ndarray, title: str = "", theme: Theme = DARK
) -> None:
    """Write a PNG of the temperature.

    The axis-aligned cut is one that shows much fluid, and of these the one in which the temperature varies most.

    Args:
        temperature_k: (n,) temperature [K] in the order of the nodes, finite.

    Raises OutputError: the file cannot be written.
    """
    temperature_k = np.asarray(temperature_k, dtype=np.float64)
    low, high = float(temperature_k.min()), float(temperature_k.max())
    is_uniform = high - low <= UNIFORM * max(abs(low), abs(high))
    levels = np.array([0.5 * (low + high)]) if is_uniform else _levels(low, high)
    widened = 0.5 * is_uniform
    colours = ScalarMappable(Normalize(low - widened, high + widened), COLOUR_MAP)
    style, cut = make_style(nodes, "temperature", colours), best_cut(nodes, temperature_k, temperature_k)
    facts = [cut_title(cut, style)] if nodes.shape[0] > 1 else []
    facts.append(f"temperature {low:.6g} to {high:.6g} K")
    with figure_at(path, theme) as figure:
        (axes,) = add_panels(figure, [cut.extent_m])
        draw_cut(axes, nodes, cut, style)
        bar = _draw_scale(figure, colours, levels)
        if not is_uniform:
            _draw_isotherms(axes, cut, style, levels)
            bar.ax.hlines(levels, 0.0, 1.0, colors=LINE_COLOUR, linewidths=LINE_WIDTH_ON_SCALE)
            facts.append(f"isotherms every {levels[1] - levels[0]:.3g} K")
        draw_heading(figure, title, tuple(facts))


def _draw_scale(figure: Figure, colours: ScalarMappable, levels: np.ndarray) -> Colorbar:
    """The colour bar, with the temperatures of the isotherms."""
    bar = draw_scale(figure, colours, "temperature [K]")
    bar.set_ticks(levels.tolist())
    bar.formatter = ScalarFormatter(useOffset=False)
    return bar


def _levels(low: float, high: float) -> np.ndarray:
    """Round temperatures between two; at least two of them."""
    levels = np.asarray(MaxNLocator(N_ISOTHERMS, min_n_ticks=2).tick_values(low, high))
    return levels[(levels >= low) & (levels <= high)]


def _draw_isotherms(axes: Axes, cut: PlaneCut, style: Style, levels: np.ndarray) -> None:
    """Lines through the centres of voxels; nothing where the cut has no two values or lies between two isotherms."""
    inside = levels[(levels > np.nanmin(cut.values)) & (levels < np.nanmax(cut.values))]
    if min(cut.values.shape) < 2 or not inside.size:
        return
    extent = np.asarray(cut.extent_m) / style.unit_m
    values = np.ma.masked_invalid(cut.values)
    axes.contour(
        values, levels=inside, origin="lower", extent=extent, colors=LINE_COLOUR, linewidths=LINE_WIDTH, zorder=3
    )
