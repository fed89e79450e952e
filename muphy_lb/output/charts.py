"""Small line charts as PNG bytes."""

import io
from collections.abc import Callable, Mapping

import numpy as np

SIZE_IN, DPI = (6.4, 3.8), 110
MOST_NAMES = 12
MOST_POINTS = 4000


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, tuple], log: bool = False) -> bytes:
    """Chart of one or more lines.

    Args:
        title, x_label, y_label: words around it.
        lines: (x, y) arrays by name, or (x, y, x_error, y_error) with bars; values that are not finite leave gaps.
        log: logarithmic scale upwards, of what is positive.
    """

    def draw(axes) -> None:
        for name, (x, y, *errors) in lines.items():
            stride = -(-len(x) // MOST_POINTS) or 1
            y = np.asarray(y, dtype=np.float64)
            shown = np.where(np.isfinite(y) & ((y > 0.0) | (not log)), y, np.nan)
            style = {"label": name, "marker": "." if len(x) < 30 else None, "linewidth": 1.4}
            if errors:
                axes.errorbar(x, shown, errors[1], errors[0], elinewidth=1.0, capsize=2.0, **style)
            else:
                axes.plot(x[::stride], shown[::stride], **style)
        if log and any(np.nanmax(line.get_ydata(), initial=0.0) > 0.0 for line in axes.lines):
            axes.set_yscale("log")
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set_title(title, parse_math=False)
        axes.grid(alpha=0.3)
        if 1 < len(lines) <= MOST_NAMES:
            for text in axes.legend(fontsize=8).get_texts():
                text.set_parse_math(False)

    return png_of(SIZE_IN, draw)


def png_of(size_in: tuple[float, float], draw: Callable, *shape: int, dpi: int = DPI) -> bytes:
    """The PNG of a figure of this size [inches] after ``draw(axes)``; ``shape``: rows and columns of panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and needed only at the end of a run
    from matplotlib.figure import Figure

    figure = Figure(figsize=size_in, dpi=dpi, layout="constrained")
    canvas, buffer = FigureCanvasAgg(figure), io.BytesIO()
    draw(figure.subplots(*shape))
    canvas.print_png(buffer)
    return buffer.getvalue()
