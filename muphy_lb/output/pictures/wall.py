"""An image of a quantity on walls: the wall-adjacent nodes viewed along each axis, the nearest in front."""

import os

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from muphy_lb.files.atomic import atomic_write
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.pictures.marks import BACKGROUND, FAINT, FOREGROUND, style_axes

WIDTH_IN, HEIGHT_IN, DPI = 13.0, 5.0, 130
MAX_PIXELS = 900
TOP_PERCENTILE = 99.0  # robust against single nodes at rims
COLOUR_MAP = "turbo"
VIEWS = ((0, 2, 1), (0, 1, 2), (1, 2, 0))  # axes to the right, upwards, towards the viewer


def draw_walls(path: str | os.PathLike, nodes: NodeList, values: np.ndarray, what: str) -> None:
    """Write a PNG with three views of the walls.

    Args:
        path: the PNG file.
        nodes: the wall-adjacent nodes.
        values: (n,) non-negative quantity.
        what: name and unit of the quantity.

    Raises:
        OutputError: the file cannot be written.
    """
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI, facecolor=BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    top = float(np.percentile(values, TOP_PERCENTILE)) or float(values.max()) or 1.0
    views = [view for view in VIEWS if nodes.shape[0] > 1 or view[2] == 2]
    panels = figure.subplots(1, len(views), squeeze=False)[0]
    for axes, view in zip(panels, views, strict=True):
        image, extent = _front_values(nodes, values, view)
        drawn = axes.imshow(image, origin="lower", extent=extent, vmin=0.0, vmax=top, cmap=COLOUR_MAP)
        drawn.set_interpolation("nearest")
        style_axes(axes, [f"{'xyz'[axis]} [m]" for axis in view[:2]])
        axes.ticklabel_format(style="sci", scilimits=(-2, 3))
        for offset in (axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
            offset.set_color(FAINT)
    bar = figure.colorbar(drawn, ax=list(panels), extend="max", fraction=0.03)
    bar.set_label(what, color=FOREGROUND)
    bar.ax.tick_params(colors=FOREGROUND)
    with atomic_write(path) as temporary:
        canvas.print_png(temporary)


def _front_values(nodes: NodeList, values: np.ndarray, view) -> tuple[np.ndarray, tuple[float, ...]]:
    """((rows, columns) values of the front nodes, nan where there is none; left, right, bottom, top [m])."""
    position = nodes.coordinates()[:, view]
    low, high = position.min(axis=0), position.max(axis=0)
    stride = -(-int((high - low)[:2].max() + 1) // MAX_PIXELS)
    column, row = ((position[:, :2] - low[:2]) // stride).T
    image = np.full((row.max() + 1, column.max() + 1), np.nan)
    order = np.argsort(position[:, 2], kind="stable")
    image[row[order], column[order]] = values[order]
    left, bottom = np.asarray(nodes.origin_m)[list(view[:2])] + nodes.spacing_m * (low[:2] - 0.5)
    height, width = stride * nodes.spacing_m * np.array(image.shape)
    return image, (left, left + width, bottom, bottom + height)
