"""Style of the page: the colours of the pictures of a run."""

from bokeh.models import GlobalInlineStyleSheet, InlineStyleSheet

from muphy_lb.output.pictures.theme import Theme

FRAME = (640, 500)  # columns and rows of the picture; in a window that is smaller it is smaller, too
AROUND = (150, 100)  # pixels beside it and above it, for its title, axes and bar of colours
SIDE, CURVES = 230, (340, 205)


def sheet(theme: Theme) -> InlineStyleSheet:
    """The style of a control or text."""
    return InlineStyleSheet(
        css=f"""
:host {{ color: {theme.foreground}; font-family: sans-serif; font-size: 14px; }}
label, .bk-slider-title {{ color: {theme.foreground}; }}
.bk-input, .bk-btn, .bk-btn:hover {{
  background: {theme.shadow}; color: {theme.foreground}; border: 1px solid {theme.faint}; }}
.bk-input:disabled {{ background: {theme.shadow}; color: {theme.faint}; }}
.bk-input option {{ background: {theme.shadow}; }}
.bk-btn[disabled], .bk-btn[disabled]:hover {{
  background: {theme.shadow}; color: {theme.faint}; opacity: 0.6; }}
.bk-btn.bk-active, .bk-btn.bk-active:hover {{ background: {theme.faint}; color: {theme.background}; }}
"""
    )


def page_sheet(theme: Theme) -> GlobalInlineStyleSheet:
    """The style of the page itself."""
    return GlobalInlineStyleSheet(css=f"html, body {{ background: {theme.background}; margin: 6px; }}")


def paint(plot, theme: Theme) -> None:
    """Give a plot the colours of the page."""
    plot.background_fill_color = plot.border_fill_color = theme.background
    plot.outline_line_color = None
    plot.title.text_color = theme.foreground
    plot.title.text_font_style = "normal"
    plot.grid.grid_line_color = theme.shadow
    for axis in plot.axis:
        axis.axis_label_text_color = axis.major_label_text_color = theme.faint
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = theme.faint
        axis.axis_label_text_font_style = "normal"
