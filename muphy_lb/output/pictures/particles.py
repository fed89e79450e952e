"""Particles and chains on pictures of a flow: points, joined by lines where they are bonded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from muphy_lb.output.drawing import shown_unit
from muphy_lb.output.pictures.theme import theme_of

COLOUR_MAP = "viridis"
AREA_PT2, MOST_AREA_PT2, LEAST_AREA_PT2 = 6000.0, 42.0, 3.0  # of all points together, and of one
BOND_PT, EDGE_PT = 1.8, 0.4
ABOVE_ALL = 7  # order of drawing, above vessel, arrows and labels


@dataclass(frozen=True, eq=False)
class Points:
    """Particles as they are drawn."""

    position_m: np.ndarray  #: (m, 3) positions [m]
    bonds: np.ndarray  #: (k, 2) rows of the points that a line joins
    values: np.ndarray  #: (m,) SI values that colour them, nan where there is none
    label: str = ""  #: name of these values; empty for points of one colour
    unit: str = ""  #: their unit
    top: float = 0.0  #: largest value of the colours, which begin at 0

    def meaning(self) -> str:
        """The meaning of their colours, as text; empty without any."""
        if not self.label:
            return ""
        name, size = shown_unit(self.unit, self.top)
        return f"\npoints: {self.label}, 0 (dark) to {self.top / size:.3g} {name} (light)"


def draw_points(axes: Axes, points: Points, plane: np.ndarray, depth: np.ndarray | None = None) -> None:
    """Draw particles on a panel whose limits are set.

    Args:
        plane: (m, 2) where they lie, in units of the axes.
        depth: (m,) distance from the viewer, the nearest drawn last; None: in their order.
    """
    theme, order = theme_of(axes), np.arange(len(plane)) if depth is None else np.argsort(-depth)
    if len(points.bonds):
        lines = LineCollection(list(plane[points.bonds]), colors=theme.foreground, linewidths=BOND_PT, zorder=ABOVE_ALL)
        axes.add_collection(lines, autolim=False)
    area = float(np.clip(AREA_PT2 / max(len(plane), 1), LEAST_AREA_PT2, MOST_AREA_PT2))
    style: dict[str, Any] = {"s": area, "edgecolors": theme.background, "linewidths": EDGE_PT, "zorder": ABOVE_ALL + 1}
    x, y, values = *plane[order].T, points.values[order]
    if points.label:
        is_known = np.isfinite(values)
        axes.scatter(x[~is_known], y[~is_known], color=theme.faint, **style)
        scale: dict[str, Any] = {"c": values[is_known], "cmap": COLOUR_MAP, "vmin": 0.0, "vmax": points.top or 1.0}
        axes.scatter(x[is_known], y[is_known], **scale, **style)
    else:
        axes.scatter(x, y, color=theme.foreground, **style)
