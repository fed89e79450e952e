"""A picture of a quantity on walls: the nodes beside them seen along each axis, nearest in front."""

import os

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.atomic import atomic_write
from muphy_lb.output.pictures.marks import BACKGROUND, FAINT, FOREGROUND, dress_axes

WIDTH_IN, HEIGHT_IN, DPI = 13.0, 5.0, 130
MAX_PIXELS = 900
TOP_PERCENTILE = 99.0  # single nodes at the rims must not darken the rest
COLOUR_MAP = "turbo"
VIEWS = ((0, 2, 1), (0, 1, 2), (1, 2, 0))  # axes to the right, upwards, towards the eye


def draw_walls(path: str | os.PathLike, nodes: NodeList, values: np.ndarray, what: str) -> None:
    """Write a PNG with three views of the walls.

    Args:
        path: the PNG file.
        nodes: the nodes beside walls.
        values: (n,) quantity, not negative.
        what: its name and unit.

    Raises:
        OutputError: the file cannot be written.
    """
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI, facecolor=BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    top = float(np.percentile(values, TOP_PERCENTILE)) or float(values.max()) or 1.0
    views = [view for view in VIEWS if nodes.shape[0] > 1 or view[2] == 2]
    panels = figure.subplots(1, len(views), squeeze=False)[0]
    for axes, view in zip(panels, views, strict=True):
        image, extent = _seen(nodes, values, view)
        drawn = axes.imshow(image, origin="lower", extent=extent, vmin=0.0, vmax=top, cmap=COLOUR_MAP)
        drawn.set_interpolation("nearest")
        dress_axes(axes, [f"{'xyz'[axis]} [m]" for axis in view[:2]])
        axes.ticklabel_format(style="sci", scilimits=(-2, 3))
        for offset in (axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
            offset.set_color(FAINT)
    bar = figure.colorbar(drawn, ax=list(panels), extend="max", fraction=0.03)
    bar.set_label(what, color=FOREGROUND)
    bar.ax.tick_params(colors=FOREGROUND)
    with atomic_write(path) as temporary:
        canvas.print_png(temporary)


def _seen(nodes: NodeList, values: np.ndarray, view) -> tuple[np.ndarray, tuple[float, ...]]:
    """(rows, columns) values of the nodes in front, nan where there is none, and left, right, bottom, top [m]."""
    place = nodes.coordinates()[:, view]
    low, high = place.min(axis=0), place.max(axis=0)
    stride = -(-int((high - low)[:2].max() + 1) // MAX_PIXELS)
    column, row = ((place[:, :2] - low[:2]) // stride).T
    image = np.full((row.max() + 1, column.max() + 1), np.nan)
    order = np.argsort(place[:, 2], kind="stable")
    image[row[order], column[order]] = values[order]
    left, bottom = np.asarray(nodes.origin_m)[list(view[:2])] + nodes.spacing_m * (low[:2] - 0.5)
    height, width = stride * nodes.spacing_m * np.array(image.shape)
    return image, (left, left + width, bottom, bottom + height)
