"""Small line charts as PNG bytes."""

import io
from collections.abc import Mapping

import numpy as np

SIZE_IN, DPI = (6.4, 3.8), 110
MOST_NAMES = 12
MOST_POINTS = 4000


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, tuple], log: bool = False) -> bytes:
    """One chart.

    Args:
        title, x_label, y_label: words around it.
        lines: (x, y) arrays by name; values that are not finite leave gaps.
        log: logarithmic scale upwards, of what is positive.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and needed only at the end of a run
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, (x, y) in lines.items():
        stride = -(-len(x) // MOST_POINTS) or 1
        y = np.asarray(y, dtype=np.float64)
        shown = np.where(np.isfinite(y) & ((y > 0.0) | (not log)), y, np.nan)
        axes.plot(x[::stride], shown[::stride], label=name, marker="." if len(x) < 30 else None, linewidth=1.4)
    if log and any(np.nanmax(line.get_ydata(), initial=0.0) > 0.0 for line in axes.lines):
        axes.set_yscale("log")
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, parse_math=False)
    axes.grid(alpha=0.3)
    if 1 < len(lines) <= MOST_NAMES:
        for text in axes.legend(fontsize=8).get_texts():
            text.set_parse_math(False)
    buffer = io.BytesIO()
    canvas.print_png(buffer)
    return buffer.getvalue()
