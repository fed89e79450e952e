"""Layout: the elements of a page, and the picture in its middle."""

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from bokeh.events import DoubleTap, MouseWheel, Pan, PanEnd
from bokeh.layouts import column, row
from bokeh.models import ColorBar, ColumnDataSource, CustomJS, Div, LinearColorMapper, Range1d
from bokeh.plotting import figure

from muphy_lb.output.drawing import LENGTH_UNITS, SMALLEST_LENGTH, suitable_unit
from muphy_lb.output.pictures.theme import DARK, THEMES
from muphy_lb.view.controls import AXES, Controls
from muphy_lb.view.curves import Curves
from muphy_lb.view.messages import BODY, CUT, Demand, Description
from muphy_lb.view.scene import Drawn, Scale, palette
from muphy_lb.view.style import AROUND, FRAME, page_sheet, paint, sheet

GONE = "the run has ended without a reason; this is its last picture"
NO_PICTURE, NO_VALUES = "waiting for the first picture", "no values yet"
MARGIN = 1.04
LARGEST_NOTCH = 500.0
ACKNOWLEDGE = "requestAnimationFrame(() => { drawn.data = {number: source.data.number} })"
FIT = """
const fit = () => {
  const share = Math.max(0.25, Math.min(1, (innerWidth - around[0]) / frame[0], (innerHeight - around[1]) / frame[1]));
  for (const plot of plots) plot.setv({frame_width: share * frame[0] | 0, frame_height: share * frame[1] | 0});
};
addEventListener("resize", fit);
fit();
"""
LOAD_AGAIN = "setTimeout(() => window.location.reload(), 1500)"
POINT_SIZE = 3
NO_POINTS: dict[str, list] = {"x": [], "y": []}
NO_LINES: dict[str, list] = {"xs": [], "ys": []}


def plain_page(document, text: str, is_loaded_again: bool = False) -> None:
    """Fill a document with nothing but a text."""
    document.title = "muphy-lb"
    document.add_root(Div(text=f"<p>{escape(text)}</p>", stylesheets=[page_sheet(DARK), sheet(DARK)]))
    if is_loaded_again:
        document.js_on_event("document_ready", CustomJS(code=LOAD_AGAIN))


class Layout:
    """The elements of one page.

    Attributes:
        controls, curves: what is beside the picture.
    """

    def __init__(self, document, description: Description, curves: Sequence[str]):
        self._description, self._theme = description, (theme := THEMES[description.style])
        extent_m = (np.subtract(description.high, description.low).max() + 1) * description.header.spacing_m
        self._length = suitable_unit(LENGTH_UNITS, extent_m, SMALLEST_LENGTH)
        self._colours = LinearColorMapper(palette=palette(description.field), low=0, high=1, nan_color=theme.shadow)
        self._bars: list[ColorBar] = []
        self._palette_of, self._framed = description.field, -1
        self._drawn = ColumnDataSource({"number": [0]})
        empty: dict[str, list] = {"image": [], "number": []}
        self._cut_source = self._source({**empty, "x": [], "y": [], "dw": [], "dh": []})
        self._body_source = self._source(empty)
        self._points, self._surface = ColumnDataSource(NO_POINTS), ColumnDataSource(NO_LINES)
        self._cut, self._body = self._cut_figure(), self._body_figure()
        self.controls, self.curves = Controls(document, description), Curves(curves, theme)

    def fill(self, document) -> None:
        """Fill a document with the elements, when all their callbacks are known."""
        document.title = f"{self._description.title or 'muphy-lb'}: live view"
        parts = (column(self._cut, self._body), self.controls.column, self.curves.column)
        plots = {"plots": [self._cut, self._body], "frame": FRAME, "around": AROUND}
        document.js_on_event("document_ready", CustomJS(args=plots, code=FIT))
        document.add_root(row(*parts, styles={"flex-wrap": "wrap"}, stylesheets=[page_sheet(self._theme)]))

    def on_mouse(self, turn: Callable, tilt: Callable, zoom: Callable, reset: Callable) -> None:
        """Call ``turn(right, up, with shift)`` [pixels] while the mouse drags, ``tilt(right, up)`` [pixels] when it has
        dragged with Ctrl, ``zoom(notches)`` and ``reset()``."""
        pulled = [0.0, 0.0]

        def dragged(event):
            held = event.modifiers or {}
            if not abs(event.delta_x) + abs(event.delta_y) < sum(FRAME):
                return
            if held.get("ctrl"):
                pulled[0], pulled[1] = pulled[0] + event.delta_x, pulled[1] + event.delta_y
            else:
                turn(event.delta_x, event.delta_y, bool(held.get("shift")))

        def released(_event):
            if any(pulled):
                tilt(*pulled)
            pulled[:] = 0.0, 0.0

        def wheeled(event):
            if np.isfinite(event.delta):
                zoom(float(np.clip(event.delta, -LARGEST_NOTCH, LARGEST_NOTCH)))

        self._body.on_event(Pan, dragged)
        self._body.on_event(PanEnd, released)
        self._body.on_event(MouseWheel, wheeled)
        self._body.on_event(DoubleTap, lambda _event: reset())

    def on_drawn(self, acknowledge: Callable[[int], None]) -> None:
        """Call ``acknowledge`` with the number of a picture that is on the screen."""

        def drawn(_name, _old, data):
            numbers = data.get("number") if isinstance(data, dict) else None
            if numbers is not None and len(numbers) and isinstance(numbers[0], int | float):
                acknowledge(int(numbers[0]))

        self._drawn.on_change("data", drawn)

    def describe(self, description: Description) -> None:
        """Take the new fields of the watched flow."""
        self._description = description
        self.controls.offer(description.units)

    def choose(self, demand: Demand) -> None:
        """Set the page to what is looked at."""
        self.controls.choose(demand)
        self._body.visible, self._cut.visible = demand.place == BODY, demand.place == CUT
        if demand.place == CUT:
            self._look_along(demand)

    def show(self, drawn: Drawn, scale: Scale, number: int) -> None:
        """Show an image, on a scale of colours; the browser will answer with its number."""
        demand, unit = drawn.demand, "" if scale.unit == "1" else f" [{scale.unit}]"
        self._colours.update(low=scale.low / scale.size, high=scale.high / scale.size)
        if self._palette_of != demand.field:
            self._palette_of = demand.field
            self._colours.palette = palette(demand.field)
        for bar in self._bars:
            bar.title = f"{demand.field}{unit}"
        if demand.place == BODY:
            where = "largest below the surface" if demand.field in self._description.below_wall else "at the surface"
            self._body.title.text = f"{demand.field}, {where if drawn.has_values else NO_VALUES}"
            self._points.data = dict(zip("xy", drawn.points, strict=True))
            self._body_source.data = {"image": [drawn.image], "number": [number]}
            return
        left, right, bottom, top = self._look_along(demand)
        header, (length, length_m) = self._description.header, self._length
        position = (header.origin_m[demand.axis] + demand.index * header.spacing_m) / length_m
        place = "" if self._description.is_flat else f"{AXES[demand.axis]} = {position:.4g} {length}"
        self._cut.title.text = place if drawn.has_values else NO_VALUES
        size, low = header.spacing_m / length_m, np.array([left, bottom])[:, None]
        self._points.data = dict(zip("xy", low + size * (drawn.points + 0.5), strict=True))
        lines = [low + size * (line + 0.5) for line in drawn.lines]
        self._surface.data = {"xs": [line[0] for line in lines], "ys": [line[1] for line in lines]}
        data = {"image": [drawn.image / np.float32(scale.size)], "number": [number]}
        self._cut_source.data = data | {"x": [left], "y": [bottom], "dw": [right - left], "dh": [top - bottom]}

    def _source(self, data: dict) -> ColumnDataSource:
        """A source whose pictures the browser acknowledges."""
        source = ColumnDataSource(data)
        source.js_on_change("data", CustomJS(args={"source": source, "drawn": self._drawn}, code=ACKNOWLEDGE))
        return source

    def _cut_figure(self):
        plot = self._figure("pan,wheel_zoom,box_zoom,reset,save,hover")
        plot.hover.tooltips = [("", "@image{0.0000}")]
        image = plot.image(source=self._cut_source, x="x", y="y", dw="dw", dh="dh", color_mapper=self._colours)
        plot.hover.renderers = [image]
        plot.multi_line("xs", "ys", source=self._surface, color=self._theme.foreground, line_width=1.5)
        plot.toolbar.logo, plot.toolbar_location = None, "above"
        return self._completed(plot)

    def _body_figure(self):
        plot = self._figure("")
        plot.image_rgba(source=self._body_source, x=0, y=0, dw=1, dh=1)
        plot.axis.visible = plot.grid.visible = False
        plot.toolbar_location = None
        return self._completed(plot)

    @staticmethod
    def _figure(tools: str):
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1)}
        return figure(frame_width=FRAME[0], frame_height=FRAME[1], tools=tools, title=NO_PICTURE, **ranges)

    def _completed(self, plot):
        """A plot with the particles and the bar of colours."""
        plot.scatter("x", "y", source=self._points, size=POINT_SIZE, color=self._theme.foreground, line_color=None)
        bar = ColorBar(color_mapper=self._colours, background_fill_color=self._theme.background, title=" ")
        bar.title_text_color = bar.major_label_text_color = self._theme.foreground
        bar.title_text_font_style, bar.major_tick_line_color = "normal", self._theme.faint
        plot.add_layout(bar, "right")
        self._bars.append(bar)
        paint(plot, self._theme)
        return plot

    def _look_along(self, demand: Demand) -> tuple[float, float, float, float]:
        """Edges of the image of a cut, in the unit of the axes; the plot shows all of it when the axis is another."""
        header, frame, (unit, unit_m) = self._description.header, self._description.frames[demand.axis], self._length
        across, up = (axis for axis in range(3) if axis != demand.axis)
        size = header.spacing_m / unit_m
        left, bottom = (
            header.origin_m[a] / unit_m + (low - 0.5) * size for a, low in zip((across, up), frame.low, strict=True)
        )
        rows, columns = frame.shape
        right, top = left + columns * frame.stride * size, bottom + rows * frame.stride * size
        if self._framed != demand.axis:
            self._framed = demand.axis
            self._points.data, self._surface.data = NO_POINTS, NO_LINES
            self._cut_source.data = {name: [] for name in self._cut_source.data}
            self._frame((left, right, bottom, top))
            self._cut.xaxis.axis_label, self._cut.yaxis.axis_label = (f"{AXES[a]} [{unit}]" for a in (across, up))
        return left, right, bottom, top

    def _frame(self, edges: tuple[float, float, float, float]) -> None:
        """Show all between the edges, with the same scale along both axes."""
        left, right, bottom, top = edges
        scale = MARGIN * max((right - left) / FRAME[0], (top - bottom) / FRAME[1])
        for span, low, high, n in (
            (self._cut.x_range, left, right, FRAME[0]),
            (self._cut.y_range, bottom, top, FRAME[1]),
        ):
            middle, half = 0.5 * (low + high), 0.5 * scale * n
            span.update(start=middle - half, end=middle + half)
            span.reset_start, span.reset_end = middle - half, middle + half
